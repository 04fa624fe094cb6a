//! After a crash: bringing the store up to what the log has, or, where others share the store, seeing
//! whether it still has what the log has.

use std::collections::HashMap;

use tokio::time::Instant;

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
    /// A store that others share was written before the log, and others have gone on since: it may be
    /// ahead by any number, but not behind. A session of which it has lost something is set aside. Then
    /// the events that this data directory's outbox still holds are brought to their end.
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
        let left = std::mem::take(&mut *self.shared.left.lock());
        let known: HashMap<&str, u64> = logged.iter().map(|l| (l.sid.as_str(), l.sseq)).collect();
        self.conclude_left(&left, |reference| known.get(reference).copied())
            .await?;
        Ok(failed)
    }

    /// Whether a shared store is behind the log.
    async fn compare(&self, last: &Logged) -> Result<(), SessionError> {
        let prefix = format!("{}/", last.sid);
        let page = self.shared.store.list(&prefix, None, 1).await?;
        let Some(location) = page.names.first().and_then(|name| Location::parse(name)) else {
            return Ok(());
        };
        let Some(loaded) = self.peek(&location).await? else {
            return Ok(());
        };
        let state = &loaded.state;
        let is_there = match state.digest_of(last.sseq) {
            Some(digest) => last.digest.starts_with(&digest),
            None => state.link.sseq > last.sseq,
        };
        if is_there || loaded.set_aside {
            return Ok(());
        }
        let found = state.link.sseq;
        self.set_aside(&location, found, Some(last.sseq + 1)).await
    }

    async fn replay_one(&self, last: &Logged) -> Result<(), SessionError> {
        if self.shared.is_shared() {
            return self.compare(last).await;
        }
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
            Acquired::Busy | Acquired::Full | Acquired::Missing => return Ok(()),
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
            exchange: None,
            leased: Instant::now(),
            place: None,
            location,
        };
        turn.commit(None, Lease::Free, Durable::Soon).await
    }
}
