//! Taking the lease of a session that is there, and what has to be done before anything else.

use std::{sync::Arc, time::Duration};

use gatehouse_envelope::keys::SessionKeys;
use tokio::time::Instant;

use super::{
    Absence, Continuity, SessionError, SessionState, Sessions,
    begin::subject,
    find::{Loaded, unseal},
    queue::Place,
    store::{Acquired, Durable, Lease, Row},
    turn::{Head, Location, Turn},
};
use crate::audit::AuditGap;

/// How long to wait before asking again for a lease that another process holds.
const ASK_AGAIN: Duration = Duration::from_millis(100);

impl Sessions {
    /// Takes the lease of a session that is there and the caller's, as soon as it is free.
    pub(super) async fn take(
        &self,
        location: Location,
        peeked: Loaded,
    ) -> Result<Turn, SessionError> {
        let patience = self.shared.limits.wait;
        Box::pin(self.lease(location, peeked, None, patience)).await
    }

    /// The same within `patience`; with `expires_us` the session ends then, as if it had not been used.
    pub(super) async fn lease(
        &self,
        location: Location,
        peeked: Loaded,
        expires_us: Option<i64>,
        patience: Duration,
    ) -> Result<Turn, SessionError> {
        let shared = &self.shared;
        let deadline = Instant::now() + patience;
        let place = shared.queue.wait(&location.name, patience).await;
        let place = place.ok_or(SessionError::Busy)?;
        let (fence, row) = loop {
            match shared
                .store
                .acquire(&location.name, shared.holder, shared.limits.lease)
                .await?
            {
                Acquired::Held { fence, row } => break (fence, row),
                Acquired::Missing => {
                    return Err(SessionError::NotFound(self.absence(&location).await?));
                }
                Acquired::Expired { fence, .. } => {
                    shared.store.free(&location.name, fence).await?;
                    return Err(SessionError::NotFound(Absence::Expired));
                }
                Acquired::Busy if Instant::now() + ASK_AGAIN < deadline => {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                Acquired::Busy => return Err(SessionError::Busy),
            }
        };
        let opened = self.under_lease(&location, peeked, &row);
        let (keys, state) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                shared.store.free(&location.name, fence).await?;
                return Err(error);
            }
        };
        let head = Head {
            fence,
            version: row.version,
        };
        let mut turn = self.held(location, (keys, state), head, place);
        turn.expires_us = expires_us;
        match self.declare_gaps(&mut turn).await {
            Ok(()) => Ok(turn),
            Err(error) => {
                // What is not declared stays noted, in the store if it takes anything.
                let _kept = turn.release().await;
                Err(error)
            }
        }
    }

    /// A turn that holds its session's lease.
    fn held(
        &self,
        location: Location,
        (keys, state): (SessionKeys, SessionState),
        head: Head,
        place: Place,
    ) -> Turn {
        Turn {
            shared: Arc::clone(&self.shared),
            keys: keys.with_uses(head.version, self.shared.limits.seals),
            state,
            head: Some(head),
            wrapped: None,
            fresh: false,
            unsure: None,
            freed: None,
            broken: false,
            overtaken: false,
            expires_us: None,
            continuity: Continuity::Sent,
            followed: None,
            named: None,
            _place: Some(place),
            location,
        }
    }

    /// The state as it is under the lease: what was peeked at, if nobody has written since.
    pub(super) fn under_lease(
        &self,
        location: &Location,
        peeked: Loaded,
        row: &Row,
    ) -> Result<(SessionKeys, SessionState), SessionError> {
        let chains = &self.shared.chains;
        if chains.put_back(&location.name, row.version) || row.version < peeked.version {
            return Err(SessionError::Damaged);
        }
        let Loaded {
            keys,
            mut state,
            version,
            ..
        } = peeked;
        if row.version != version {
            state = unseal(location, &keys, row)?;
        }
        // A holder that is not this process and did not say goodbye was cut short, maybe between
        // the store and the log.
        if row.holder != 0 && row.holder != self.shared.holder {
            state.gaps.push(state.link.sseq.saturating_sub(1));
        }
        chains.settle(&location.name, &mut state);
        Ok((keys, state))
    }

    /// Brings the store up to what this process knows of the session, and writes `audit.gap` for
    /// every event that may be missing, before anything else happens in it. A gap is forgotten only
    /// with the write after its record: declared twice is better than never.
    async fn declare_gaps(&self, turn: &mut Turn) -> Result<(), SessionError> {
        if turn.state.gaps.is_empty() && !self.shared.chains.doubts(&turn.location.name) {
            return Ok(());
        }
        // The store first. A record behind the gap that only the log has would outlive what this
        // process knows of the gap, and an honest fault would read as records taken out.
        let lease = Lease::Keep(self.shared.limits.lease);
        turn.commit(None, lease, Durable::Now).await?;
        for missing in turn.state.gaps.clone() {
            let gap = AuditGap {
                subject: subject(turn.reference()),
                missing,
            };
            let event = gap.build(turn.link()).map_err(|_| SessionError::Log)?;
            let admitted = turn.admit(event, || ()).await;
            admitted.map_err(|unadmitted| unadmitted.error)?;
            turn.state.gaps.retain(|gap| *gap != missing);
        }
        Ok(())
    }
}
