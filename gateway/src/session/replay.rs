//! After a crash: bringing the store up to what the log has.

use super::{
    Continuity, SessionError, Sessions, chain,
    store::{Acquired, Durable, Lease},
    turn::{Head, Location, Turn},
};

/// The last event of a session that the log's recovery found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The session's reference.
    pub sid: String,
    /// The event's number in the session.
    pub sseq: u64,
    /// SHA-256(0x02 ‖ its exact bytes).
    pub digest: [u8; 32],
}

impl Sessions {
    /// Brings the sessions named in `logged` up to the log, before the first request: where the log
    /// is ahead, the chain goes on behind what it has; where the store is ahead, what the log lacks
    /// is noted, and the session's next turn declares it. Either is what an honest crash leaves.
    ///
    /// Returns how many sessions could not be brought up to date: damaged ones, whose damage shows
    /// when they are used.
    ///
    /// # Errors
    /// The store or the keys are not available. Nothing may be served then.
    pub async fn replay(&self, logged: &[Logged]) -> Result<usize, SessionError> {
        let mut failed = 0;
        for last in logged {
            match self.replay_one(last).await {
                Ok(()) => {}
                Err(error @ (SessionError::Store(_) | SessionError::Keys(_))) => return Err(error),
                Err(error) => {
                    tracing::warn!(session = last.sid, %error, "session not brought up to the log");
                    failed += 1;
                }
            }
        }
        Ok(failed)
    }

    async fn replay_one(&self, last: &Logged) -> Result<(), SessionError> {
        let shared = &self.shared;
        let page = shared
            .store
            .list(&format!("{}/", last.sid), None, 1)
            .await?;
        // A session that never got its row, or has ended since, has nothing to bring up to date.
        let Some(name) = page.names.first() else {
            return Ok(());
        };
        let location = Location::parse(name).ok_or(SessionError::Damaged)?;
        let Some(mut loaded) = self.peek(&location).await? else {
            return Ok(());
        };
        let acquired = shared
            .store
            .acquire(&location.name, shared.holder, shared.limits.lease);
        let (fence, row) = match acquired.await? {
            Acquired::Held { fence, row } | Acquired::Expired { fence, row } => (fence, row),
            // Another process works with it and knows better.
            Acquired::Busy | Acquired::Missing => return Ok(()),
        };
        if row.version != loaded.version {
            return Err(SessionError::Conflict);
        }
        chain::reconcile(&mut loaded.state, last.sseq, last.digest);
        let mut turn = Turn {
            shared: shared.clone(),
            keys: loaded.keys.with_uses(row.version, shared.limits.seals),
            state: loaded.state,
            head: Some(Head {
                fence,
                version: row.version,
            }),
            wrapped: None,
            fresh: false,
            unsure: None,
            freed: None,
            broken: false,
            overtaken: false,
            // A crash is no use of the session: it ends when it would have.
            expires_us: Some(row.expires_us),
            continuity: Continuity::Sent,
            followed: None,
            named: None,
            _place: None,
            location,
        };
        turn.commit(None, Lease::Free, Durable::Soon).await
    }
}
