//! How sessions end: closed by their caller, revoked or erased by an operator, or past their time.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Absence, SessionError, SessionState, SessionView, Sessions, Shared,
    begin::{is_reference, subject},
    find::view,
    hold::Hold,
    key_row::KeyRow,
    queue::{Patience, Place},
    store::{Acquired, Durable},
    turn::{Head, Location, Turn},
    typed::parts::prefix,
};
use crate::{
    audit::{AuditGap, BuildError, Event, Link, SessionEnd, SessionEnding},
    registry::{Expected, Put, Table},
};

/// Rows looked at in one step of a sweep or a list.
const PAGE: usize = 256;

/// How an ended session ended, as its row says.
fn code(ending: SessionEnding) -> u8 {
    match ending {
        SessionEnding::Closed => b'c',
        SessionEnding::Erased => b'e',
        SessionEnding::Expired => b'x',
        SessionEnding::Revoked => b'r',
    }
}

fn absence(code: u8) -> Absence {
    match code {
        b'c' => Absence::Closed,
        b'e' => Absence::Erased,
        b'r' => Absence::Revoked,
        b'x' => Absence::Expired,
        _ => Absence::Unknown,
    }
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Sessions that were past their end and are gone now.
    pub ended: u64,
    /// Sessions that could not be ended; the next sweep tries again.
    pub failed: u64,
}

impl Sessions {
    /// Shows an operator all sessions, or one tenant's, in the order of their references. Those
    /// that can't be opened are left out.
    pub async fn list(&self, tenant: Option<&str>) -> Result<Vec<SessionView>, SessionError> {
        let mut views = Vec::new();
        let mut from: Option<String> = None;
        loop {
            let page = self.shared.store.list("", from.as_deref(), PAGE).await?;
            for name in page.names {
                let Some(location) = Location::parse(&name) else {
                    continue;
                };
                if tenant.is_some_and(|tenant| tenant != location.tenant) {
                    continue;
                }
                match self.peek(&location).await {
                    Ok(Some(loaded)) if !loaded.expired => views.push(view(&location, &loaded)),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(session = location.reference, %error, "session not shown");
                    }
                }
            }
            from = page.next;
            if from.is_none() {
                views.sort_by(|a, b| a.reference.cmp(&b.reference));
                return Ok(views);
            }
        }
    }

    /// Shows an operator one session, whoever's it is.
    pub async fn inspect(&self, reference: &str) -> Result<SessionView, SessionError> {
        let location = self.find(reference).await?;
        let loaded = self.peek(&location).await?;
        let loaded = loaded.ok_or(SessionError::NotFound(Absence::Erased))?;
        Ok(SessionView {
            hold: self.hold_on(&location).await?,
            ..view(&location, &loaded)
        })
    }

    /// Ends a session for an operator: its state is destroyed, and its key unless that is kept.
    pub async fn revoke(&self, reference: &str) -> Result<(), SessionError> {
        let location = self.find(reference).await?;
        let wait = self.shared.limits.wait;
        self.end(location, SessionEnding::Revoked, wait).await
    }

    /// Ends every session that is past its end, and forgets how sessions ended that nobody can ask
    /// for any more.
    pub async fn sweep(&self) -> Result<Swept, SessionError> {
        let mut swept = Swept::default();
        let mut from: Option<String> = None;
        loop {
            let page = self.shared.store.ended(from.as_deref(), PAGE).await?;
            for name in page.names {
                let Some(location) = Location::parse(&name) else {
                    continue;
                };
                let reference = location.reference.clone();
                match self.end_past_its_time(location).await {
                    Ok(()) => swept.ended += 1,
                    // Another replica ends it, or has done so.
                    Err(
                        SessionError::Busy | SessionError::Conflict | SessionError::NotFound(_),
                    ) if self.shared.is_shared() => {}
                    Err(error) => {
                        tracing::debug!(session = reference, %error, "session not ended");
                        swept.failed += 1;
                    }
                }
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        self.shared.registry.sweep().await?;
        self.shared.index.sweep().await?;
        Ok(swept)
    }

    /// A row that the store has let go by itself leaves its key and its parts. Its name goes last: by it
    /// a sweep finds what the one before could not take away.
    async fn end_past_its_time(&self, location: Location) -> Result<(), SessionError> {
        let ended = self.end(location.clone(), SessionEnding::Expired, Duration::ZERO);
        match ended.await {
            Err(SessionError::NotFound(_)) => {
                let is_kept = self.retire_key(&location, SessionEnding::Expired).await?;
                self.shared.blobs.remove(&prefix(&location)).await?;
                self.shared.store.forget(&location.name).await?;
                if is_kept {
                    // Its hold may have been released while its name was there.
                    self.after_hold(&location).await?;
                }
                Ok(())
            }
            done => done,
        }
    }

    /// Writes the last record of a session and destroys its state and its key. Waits so long for a turn
    /// of it that another process is at; for one of this process as long as turns wait for each other.
    pub(super) async fn end(
        &self,
        location: Location,
        ending: SessionEnding,
        wait: Duration,
    ) -> Result<(), SessionError> {
        let shared = &self.shared;
        let deadline = Instant::now() + wait;
        let mut place = self.enter_to_end(&location, wait).await?;
        let floor = shared.chains.floor(&location.name);
        let loaded = self.peek(&location).await?;
        let acquired = self.acquire_by(&location, &mut place, deadline).await?;
        let (fence, row) = match acquired.0 {
            Acquired::Held { fence, row } | Acquired::Expired { fence, row } => (fence, row),
            Acquired::Missing => {
                return Err(SessionError::NotFound(self.absence(&location).await?));
            }
            Acquired::Busy | Acquired::Full => return Err(SessionError::Busy),
        };
        // Other turns of this process wait until all of it is done.
        let _turn = place.hold();
        let may_end = match ending {
            SessionEnding::Erased => self.doom(&location).await,
            _ => Ok(()),
        };
        // Without its key there is no state to read, and nothing more to say in its chain; nor is
        // there if the store has lost a part of it.
        let readable = loaded.filter(|loaded| !loaded.set_aside);
        let mut version = row.version;
        let written = async {
            may_end?;
            let Some(loaded) = readable else {
                return match ending {
                    SessionEnding::Erased => self.record_erasure(&location).await,
                    _ => Ok(()),
                };
            };
            let opened = self.under_lease(&location, loaded, &row, floor)?;
            if shared.is_shared() {
                let head = Head { fence, version };
                let mut turn = self.held(location.clone(), opened, head, place);
                turn.expires_us = Some(row.expires_us);
                let written = self.write_last(&mut turn, ending).await;
                version = turn.head.map_or(version, |head| head.version);
                return written;
            }
            self.write_down_last(&location, opened.1, ending).await
        };
        if let Err(error) = written.await {
            shared.store.free(&location.name, fence).await?;
            return Err(error);
        }
        self.clear_away(&location, Head { fence, version }, ending)
            .await
    }

    /// Destroys the state of a session whose last record is written, and its key unless that stays.
    async fn clear_away(
        &self,
        location: &Location,
        head: Head,
        ending: SessionEnding,
    ) -> Result<(), SessionError> {
        let Shared {
            store,
            blobs,
            chains,
            ..
        } = &*self.shared;
        self.mark_ended(location, ending).await?;
        let is_kept = self.retire_key(location, ending).await?;
        let removed = store.remove(&location.name, head.fence, head.version);
        removed.await?;
        // Nobody can open them any more, so what is left of them is only room.
        if let Err(error) = blobs.remove(&prefix(location)).await {
            let session = location.reference.as_str();
            tracing::warn!(session, %error, "parts of an ended session are left behind");
        }
        chains.forget(&location.name);
        match is_kept {
            // Its hold may have been released while it was there.
            true => self.after_hold(location).await,
            false => Ok(()),
        }
    }

    /// Turns of this process are waited for in any case; who does not wait for others has no place in the
    /// line of all.
    async fn enter_to_end(
        &self,
        location: &Location,
        wait: Duration,
    ) -> Result<Place, SessionError> {
        let Shared { queue, limits, .. } = &*self.shared;
        if wait.is_zero() {
            let place = queue.wait(&location.name, limits.wait).await;
            return place.ok_or(SessionError::Busy);
        }
        self.enter(location, Patience::Waits(limits.wait)).await
    }

    /// The last records of a session in a store of this process's own.
    async fn write_down_last(
        &self,
        location: &Location,
        state: SessionState,
        ending: SessionEnding,
    ) -> Result<(), SessionError> {
        let (mut link, subject) = (state.link, subject(&location.reference));
        for missing in state.gaps.iter().copied() {
            let gap = AuditGap { subject, missing };
            link = self.write_down(location, link, gap.build(link)).await?;
        }
        let end = SessionEnd { subject, ending };
        self.write_down(location, link, end.build(link)).await?;
        Ok(())
    }

    /// The last records of a session in a store that others share: it is asked first, so that two
    /// processes that would end the session do not both say so.
    async fn write_last(&self, turn: &mut Turn, ending: SessionEnding) -> Result<(), SessionError> {
        turn.conclude_outbox().await?;
        self.declare_gaps(turn).await?;
        let end = SessionEnd {
            subject: subject(turn.reference()),
            ending,
        };
        let event = end.build(turn.link()).map_err(|_| SessionError::Log)?;
        let written = turn.admit(event, || ()).await;
        written.map_err(|unadmitted| unadmitted.error)
    }

    async fn write_down(
        &self,
        location: &Location,
        link: Link,
        event: Result<Event, BuildError>,
    ) -> Result<Link, SessionError> {
        let event = event.map_err(|_| SessionError::Log)?;
        let (next, chains) = (link.after(&event), &self.shared.chains);
        match self.shared.journal.append(event).await {
            // If the rest fails, the session goes on behind this record.
            Ok(()) => chains.goes_on(&location.name, next),
            Err(unconfirmed) => {
                if unconfirmed.error.written() != Some(false) {
                    // The log may still get it: its number is not used again.
                    chains.doubt(&location.name, next, link.sseq);
                }
                return Err(SessionError::Log);
            }
        }
        Ok(next)
    }

    /// Destroys the key of a session, unless a legal hold is on it.
    pub(super) async fn destroy_key(&self, location: &Location) -> Result<(), SessionError> {
        // Whatever changes the row meanwhile may put it on hold.
        while let Some(row) = self.wrapped(location).await? {
            if let Some(held) = KeyRow::parse(&row).hold {
                return Err(SessionError::OnHold(Hold::on(location, held)));
            }
            let (registry, put) = (&self.shared.registry, Put::away(row, Durable::Now));
            let put = registry.put_if(Table::SessionKeys, &location.name, put);
            if put.await? {
                break;
            }
        }
        Ok(())
    }

    /// The row is a code for how it ended. Those of earlier versions have something behind it.
    async fn mark_ended(
        &self,
        location: &Location,
        ending: SessionEnding,
    ) -> Result<(), SessionError> {
        let registry = &self.shared.registry;
        let put = Put {
            // Whoever ended it first has said how.
            expected: Expected::Absent,
            value: vec![code(ending)],
            lifetime: Some(self.shared.limits.absolute),
            sync: Durable::Soon,
        };
        registry.put_if(Table::Ended, &location.name, put).await?;
        Ok(())
    }

    /// Why a session that is not in the store is not there.
    pub(super) async fn absence(&self, location: &Location) -> Result<Absence, SessionError> {
        let row = self
            .shared
            .registry
            .get(Table::Ended, &location.name)
            .await?;
        Ok(match row.as_deref().and_then(<[u8]>::first) {
            Some(code) => absence(*code),
            None => Absence::Unknown,
        })
    }

    /// The session with a reference, whoever's it is.
    pub(super) async fn find(&self, reference: &str) -> Result<Location, SessionError> {
        if !is_reference(reference) {
            return Err(SessionError::NotFound(Absence::Malformed));
        }
        let prefix = format!("{reference}/");
        let page = self.shared.store.list(&prefix, None, 1).await?;
        if let Some(name) = page.names.first() {
            return Location::parse(name).ok_or(SessionError::Damaged);
        }
        Err(SessionError::NotFound(self.ended_how(reference).await?))
    }

    /// How the session with a reference ended, as far as that is remembered.
    pub(super) async fn ended_how(&self, reference: &str) -> Result<Absence, SessionError> {
        let ended = self.shared.registry.list(Table::Ended, reference).await?;
        let code = ended.first().and_then(|(_, row)| row.first());
        Ok(code.map_or(Absence::Unknown, |code| absence(*code)))
    }
}
