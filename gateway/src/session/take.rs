//! Taking the lease of a session that is there, and what has to be done before anything else.

use std::{sync::Arc, time::Duration};

use gatehouse_envelope::{keys::SessionKeys, secret::equal};
use tokio::time::Instant;

use super::{
    Absence, Continuity, Limits, OnBusy, SessionError, SessionState, Sessions,
    begin::subject,
    chain::Seen,
    find::{Loaded, unseal},
    queue::{Patience, Place, Turned},
    store::{Acquired, Durable, Lease, Row},
    turn::{Head, Location, Turn},
};
use crate::{audit::AuditGap, auth::Caller};

/// How long to wait before asking again for a lease that another process holds: at first, and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));

/// A lease, and the row under it.
struct Held {
    fence: u64,
    row: Row,
    /// What was remembered before the row was read.
    floor: Seen,
    /// When the lease was asked for.
    leased: Instant,
    place: Place,
}

impl Sessions {
    /// Takes the lease of a session that is there and the caller's, as soon as it is free.
    pub(super) async fn take(
        &self,
        location: Location,
        peeked: Loaded,
    ) -> Result<Turn, SessionError> {
        let patience = self.patience();
        Box::pin(self.lease(location, peeked, None, patience)).await
    }

    fn patience(&self) -> Patience {
        let Limits { on_busy, wait, .. } = self.shared.limits;
        match on_busy {
            OnBusy::Interrupt => Patience::Interrupts(wait),
            OnBusy::Queue => Patience::Waits(wait),
            OnBusy::Reject => Patience::Waits(Duration::ZERO),
        }
    }

    /// Takes the lease of a session in a shared store that is known to be the caller's, and reads it,
    /// in one step. `None`: it cannot be had so, and has to be looked at first.
    pub(super) async fn take_known(
        &self,
        caller: &Caller,
        location: &Location,
        id_digest: &[u8; 32],
    ) -> Result<Option<Turn>, SessionError> {
        let (shared, principal) = (&self.shared, caller.principal());
        if !shared.is_shared() || !shared.owners.owns(&location.name, &principal) {
            return Ok(None);
        }
        let patience = self.patience();
        let deadline = Instant::now() + patience.longest();
        let mut place = self.enter(location, patience).await?;
        let floor = shared.chains.floor(&location.name);
        let (acquired, leased, wrapped) = self.ask_with_key(location, &mut place, deadline).await?;
        let (fence, row) = match acquired {
            Acquired::Held { fence, row } => (fence, row),
            Acquired::Expired { fence, .. } => {
                shared.store.free(&location.name, fence).await?;
                return Ok(None);
            }
            Acquired::Full => return Err(SessionError::Busy),
            Acquired::Busy | Acquired::Missing => return Ok(None),
        };
        let opened = match wrapped {
            Ok(Some(wrapped)) => self.opened(location, &row, &wrapped, floor).await,
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        let is_meant = |loaded: &Loaded| {
            let state = &loaded.state;
            equal(&state.id_digest, id_digest)
                && equal(state.principal.as_bytes(), principal.as_bytes())
        };
        match opened {
            Ok(Some(loaded)) if is_meant(&loaded) => {
                let held = Held {
                    fence,
                    row,
                    floor,
                    leased,
                    place,
                };
                let turn = self.begun(location.clone(), loaded, held, None);
                Ok(Some(Box::pin(turn).await?))
            }
            other => {
                shared.store.free(&location.name, fence).await?;
                other.map(|_| None)
            }
        }
    }

    /// Asks for the lease and reads the wrapped key beside it. Says since when the lease is held at the
    /// latest. A turn that may wait does so here: it stands in line by then, and must not lose its
    /// place.
    async fn ask_with_key(
        &self,
        location: &Location,
        place: &mut Place,
        deadline: Instant,
    ) -> Result<(Acquired, Instant, Result<Option<Vec<u8>>, SessionError>), SessionError> {
        let leased = Instant::now();
        let (acquired, wrapped) = tokio::join!(self.ask(location, place), self.wrapped(location));
        let acquired = acquired?;
        if !matches!(acquired, Acquired::Busy) || place.ticket.is_none() {
            return Ok((acquired, leased, wrapped));
        }
        match self.acquire_by(location, place, deadline).await? {
            (Acquired::Busy, _) => Err(SessionError::Busy),
            // It may have been set aside or wrapped anew meanwhile.
            (acquired, leased) => Ok((acquired, leased, self.wrapped(location).await)),
        }
    }

    /// Gets to the front of this process's line.
    pub(super) async fn enter(
        &self,
        location: &Location,
        patience: Patience,
    ) -> Result<Place, SessionError> {
        let outside = match patience {
            Patience::Waits(longest) if !longest.is_zero() => self.outside(),
            Patience::Interrupts(_) | Patience::Waits(_) => None,
        };
        let queue = &self.shared.queue;
        let entering = queue.enter(&location.name, patience, outside);
        let place = self.gone.run_until_cancelled(entering).await;
        place
            .unwrap_or(Err(Turned::Away))
            .map_err(|turned| match turned {
                Turned::Away => SessionError::Busy,
                Turned::Aside => SessionError::Interrupted,
            })
    }

    /// The same for what never interrupts a turn, whatever turns do among themselves.
    pub(super) async fn take_in_line(
        &self,
        location: Location,
        peeked: Loaded,
    ) -> Result<Turn, SessionError> {
        let wait = match self.shared.limits.on_busy {
            OnBusy::Interrupt | OnBusy::Queue => self.shared.limits.wait,
            OnBusy::Reject => Duration::ZERO,
        };
        Box::pin(self.lease(location, peeked, None, Patience::Waits(wait))).await
    }

    /// The same within `patience`; with `expires_us` the session ends then, as if it had not been used.
    pub(super) async fn lease(
        &self,
        location: Location,
        peeked: Loaded,
        expires_us: Option<i64>,
        patience: Patience,
    ) -> Result<Turn, SessionError> {
        let deadline = Instant::now() + patience.longest();
        let mut place = self.enter(&location, patience).await?;
        let floor = self.shared.chains.floor(&location.name);
        let acquired = self.acquire(&location, &mut place, patience, deadline);
        let (fence, row, leased) = acquired.await?;
        let held = Held {
            fence,
            row,
            floor,
            leased,
            place,
        };
        self.begun(location, peeked, held, expires_us).await
    }

    /// The turn under a lease that was taken, with all done that has to be done before anything else.
    async fn begun(
        &self,
        location: Location,
        peeked: Loaded,
        held: Held,
        expires_us: Option<i64>,
    ) -> Result<Turn, SessionError> {
        let shared = &self.shared;
        let Held {
            fence,
            row,
            floor,
            leased,
            place,
        } = held;
        let opened = match self.under_lease(&location, peeked, &row, floor) {
            Err(SessionError::RolledBack(reference)) => {
                let found = self.set_aside(&location, None, None).await;
                Err(found.err().unwrap_or(SessionError::RolledBack(reference)))
            }
            opened => opened,
        };
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
        turn.leased = leased;
        let concluded = turn.conclude_outbox().await;
        let begun = match concluded {
            Ok(()) => self.declare_gaps(&mut turn).await,
            Err(error) => Err(error),
        };
        match begun {
            Ok(()) => Ok(turn),
            Err(error) => {
                // What is not declared stays noted, in the store if it takes anything.
                let _kept = turn.release().await;
                Err(error)
            }
        }
    }

    /// Asks for the lease until it can be had, or it is late, or the caller is gone: [`Acquired::Busy`]. Says since when it is held
    /// at the latest.
    pub(super) async fn acquire_by(
        &self,
        location: &Location,
        place: &mut Place,
        deadline: Instant,
    ) -> Result<(Acquired, Instant), SessionError> {
        let mut pause = ASK_AGAIN.0;
        loop {
            let leased = Instant::now();
            let acquired = self.ask(location, place).await?;
            if !matches!(acquired, Acquired::Busy) {
                return Ok((acquired, leased));
            }
            let waits = Instant::now() + pause < deadline;
            let waiting = self.gone.run_until_cancelled(tokio::time::sleep(pause));
            if !waits || waiting.await.is_none() {
                self.leave(place).await;
                return Ok((acquired, leased));
            }
            pause = (pause * 2).min(ASK_AGAIN.1);
        }
    }

    /// Takes the lease, once it is free or at once, and says since when it is held at the latest.
    async fn acquire(
        &self,
        location: &Location,
        place: &mut Place,
        patience: Patience,
        deadline: Instant,
    ) -> Result<(u64, Row, Instant), SessionError> {
        let (store, name) = (&self.shared.store, location.name.as_str());
        let by = match patience {
            Patience::Interrupts(_) => Instant::now(),
            Patience::Waits(_) => deadline,
        };
        let (mut acquired, mut leased) = self.acquire_by(location, place, by).await?;
        if let (Acquired::Busy, Patience::Interrupts(_)) = (&acquired, patience) {
            // Another process has it, and finds out at its next write or renewal.
            leased = Instant::now();
            acquired = self.seize(location, place).await?;
        }
        match acquired {
            Acquired::Held { fence, row } => Ok((fence, row, leased)),
            Acquired::Missing => Err(SessionError::NotFound(self.absence(location).await?)),
            Acquired::Expired { fence, .. } => {
                store.free(name, fence).await?;
                Err(SessionError::NotFound(Absence::Expired))
            }
            Acquired::Busy | Acquired::Full => Err(SessionError::Busy),
        }
    }

    /// A turn that holds its session's lease.
    pub(super) fn held(
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
            exchange: None,
            leased: Instant::now(),
            place: Some(place),
            location,
        }
    }

    /// The state as it is under the lease: what was peeked at, if nobody has written since.
    pub(super) fn under_lease(
        &self,
        location: &Location,
        peeked: Loaded,
        row: &Row,
        floor: Seen,
    ) -> Result<(SessionKeys, SessionState), SessionError> {
        let chains = &self.shared.chains;
        let is_older = floor.is_after(row.version) || row.version < peeked.version;
        if is_older && !self.shared.is_shared() {
            return Err(SessionError::Damaged);
        }
        if is_older || peeked.set_aside {
            return Err(SessionError::RolledBack(location.reference.clone()));
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
        if chains.is_missed(&location.name, floor, &state) {
            return Err(SessionError::RolledBack(location.reference.clone()));
        }
        chains.saw(&location.name, row.version, state.link);
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
    pub(super) async fn declare_gaps(&self, turn: &mut Turn) -> Result<(), SessionError> {
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
