//! Legal holds: sessions whose keys nobody destroys, for as long as a court or an inquiry may ask for what
//! they sealed.
//!
//! A hold stands in the key's own row, which is only ever changed by compare-and-swap: so no erasure, and no
//! end of its time, can miss it. A second row says that there may be one. All of those are one group, by
//! which the sessions on hold are found.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    SessionError, Sessions,
    begin::subject,
    key_row::{Held, KeyRow},
    listed::{Listed, Step},
    store::Durable,
    turn::Location,
};
use crate::{
    audit::{BuildError, Event, HoldAction, HoldChange, Unconfirmed},
    registry::{Expected, Put, Table},
};

/// How long a key is kept at least behind its hold.
const AFTER: Duration = Duration::from_secs(30 * 86_400);

/// A legal hold as operators see it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// The session's reference.
    pub session: String,
    /// Whose it is.
    pub tenant: String,
    /// When it was put on hold, last if more than once, in microseconds since 1970 (UTC).
    pub since_us: i64,
    /// Why: a word, such as the number of a case.
    pub reason: String,
}

impl Hold {
    pub(super) fn on(location: &Location, held: Held<'_>) -> Self {
        Self {
            session: location.reference.clone(),
            tenant: location.tenant.clone(),
            since_us: held.since_us,
            reason: held.reason.to_owned(),
        }
    }

    fn held(&self) -> Held<'_> {
        Held {
            since_us: self.since_us,
            reason: &self.reason,
        }
    }

    /// Whether a key that has this row may be put on this hold: it may be on it already.
    fn may_be_on(&self, location: &Location, row: &KeyRow<'_>) -> Result<(), SessionError> {
        if row.doomed {
            return Err(SessionError::Erasing);
        }
        match row.hold.filter(|held| held.reason != self.reason) {
            Some(other) => Err(SessionError::OnHold(Hold::on(location, other))),
            None => Ok(()),
        }
    }

    /// The record of something that was done about it. `by` is who did, as the system knows.
    fn event(&self, action: HoldAction, by: &str) -> Result<Event, BuildError> {
        let change = HoldChange {
            action,
            subject: subject(&self.session),
            tenant: &self.tenant,
            by,
            reason: &self.reason,
            since_us: self.since_us,
        };
        change.build()
    }
}

impl Sessions {
    /// Puts a session on hold, also one that has ended if its key is kept. Asked again with the same reason it
    /// is put on hold anew.
    ///
    /// # Errors
    /// There is no such session, or its key is destroyed or about to be; it is on hold for another reason; or the log did not
    /// take the record: then it is on hold all the same, and a sweep writes the record.
    pub async fn hold(&self, reference: &str, reason: &str, by: &str) -> Result<(), SessionError> {
        let Some((location, stored)) = self.key_of(reference).await? else {
            return Err(SessionError::NotFound(self.ended_how(reference).await?));
        };
        let hold = Hold {
            session: location.reference.clone(),
            tenant: location.tenant.clone(),
            since_us: self.shared.clock.utc_us(),
            reason: reason.to_owned(),
        };
        // What no record may hold is not begun with; nor what is refused, whose row would be lost.
        let event = hold.event(HoldAction::Hold, by);
        let event = event.map_err(|_| SessionError::Log)?;
        hold.may_be_on(&location, &KeyRow::parse(&stored))?;
        // It is found before it holds, and that the log may not have it yet. Who ends the hold before this one leaves
        // this one's row alone.
        let owing = self.owing(&hold, Step::Hold, by);
        self.list_hold(&location, &owing).await?;
        while let Some(stored) = self.wrapped(&location).await? {
            let row = KeyRow::parse(&stored);
            hold.may_be_on(&location, &row)?;
            let row = KeyRow {
                hold: Some(hold.held()),
                ..row
            };
            if self.swap_key(&location, &stored, row.encode()).await? {
                self.say(event).await?;
                return self.settle(&location, &owing).await;
            }
        }
        Err(SessionError::NotFound(self.ended_how(reference).await?))
    }

    /// Ends a hold. The key of a session that has ended is kept from now on as long as if it ended now, and
    /// for a month at least: what there was of its time before the hold is not known any more.
    ///
    /// # Errors
    /// The session is not on hold, or was put on hold anew meanwhile, or the log did not take the record
    /// ([`SessionError::Log`]): then it still is. All others: a sweep goes on with it.
    pub async fn release(&self, reference: &str, by: &str) -> Result<(), SessionError> {
        let there = self.key_of(reference).await?;
        let (location, row) = there.ok_or(SessionError::NotOnHold)?;
        let hold = KeyRow::parse(&row).hold.ok_or(SessionError::NotOnHold)?;
        let hold = Hold::on(&location, hold);
        let event = hold.event(HoldAction::Release, by);
        let event = event.map_err(|_| SessionError::Log)?;
        let owing = self.owing(&hold, Step::Release, by);
        let before = self.begin_release(&location, &hold, &owing).await?;
        if let Err(Unconfirmed { error, .. }) = self.shared.journal.append(event).await {
            let Some(before) = before else {
                return Err(SessionError::Log);
            };
            if error.written() != Some(false) {
                return Err(SessionError::Unconfirmed);
            }
            // Who is told that it is on hold is not surprised later; one that was begun before is gone on with.
            let _was_own = self.relist(&location, &owing, Some(&before)).await?;
            return Err(SessionError::Log);
        }
        self.end_hold(&location, &hold, &owing).await
    }

    /// Lists that a hold is about to end; that it ends is not said of one that was never said to be. Gives what is
    /// listed if nothing comes of it; `None`: it is being put on hold anew, and that row is not this one's to change.
    async fn begin_release(
        &self,
        location: &Location,
        hold: &Hold,
        owing: &Listed,
    ) -> Result<Option<Listed>, SessionError> {
        let mut is_said = false;
        loop {
            let there = self.listed(location).await?;
            let Some(there) = there.filter(|listed| listed.since_us == hold.since_us) else {
                return Ok(None);
            };
            let owed = there.owed.as_ref();
            let unsaid = owed.filter(|owed| owed.step == Step::Hold);
            if let Some(owed) = unsaid
                && !is_said
            {
                self.say_hold(hold, HoldAction::Hold, &owed.by).await?;
                is_said = true;
            }
            if self.relist(location, &there, Some(owing)).await? {
                return Ok(Some(match unsaid {
                    Some(_) => there.done(),
                    None => there,
                }));
            }
        }
    }

    /// Ends a hold of which the log says that it ends.
    pub(super) async fn end_hold(
        &self,
        location: &Location,
        hold: &Hold,
        owing: &Listed,
    ) -> Result<(), SessionError> {
        while let Some(stored) = self.wrapped(location).await? {
            let row = KeyRow::parse(&stored);
            match row.hold {
                None => break,
                Some(held) if held != hold.held() => {
                    return Err(SessionError::OnHold(Hold::on(location, held)));
                }
                Some(_) => {}
            }
            let row = KeyRow { hold: None, ..row };
            if self.swap_key(location, &stored, row.encode()).await? {
                break;
            }
        }
        self.end_key_of_ended(location).await?;
        let _was_its_own = self.relist(location, owing, None).await?;
        Ok(())
    }

    /// All sessions on hold, in the order of their references.
    ///
    /// # Errors
    /// The registry failed.
    pub async fn holds(&self) -> Result<Vec<Hold>, SessionError> {
        let mut holds = Vec::new();
        for location in self.on_hold().await? {
            holds.extend(self.hold_on(&location).await?);
        }
        Ok(holds)
    }

    /// The sessions on hold.
    pub(super) async fn on_hold(&self) -> Result<Vec<Location>, SessionError> {
        let rows = self.shared.registry.list(Table::Holds, "").await?;
        let mut locations = Vec::new();
        for (name, _) in rows {
            let Some(location) = Location::parse(&name) else {
                tracing::warn!("the name of a session on hold is damaged");
                continue;
            };
            if self.hold_on(&location).await?.is_some() {
                locations.push(location);
            }
        }
        Ok(locations)
    }

    /// Refuses to destroy the key of a session on hold, and says so in the log. `by` is who asked.
    pub(super) async fn refuse_erasure(&self, hold: Hold, by: &str) -> SessionError {
        match hold.event(HoldAction::RefuseErasure, by) {
            Ok(event) => match self.say(event).await {
                Ok(()) => SessionError::OnHold(hold),
                Err(error) => error,
            },
            Err(_) => SessionError::Log,
        }
    }

    /// Keeps holds off a key whose destruction is about to be recorded; an error if the session is on hold.
    pub(super) async fn doom(&self, location: &Location) -> Result<(), SessionError> {
        while let Some(stored) = self.wrapped(location).await? {
            let row = KeyRow::parse(&stored);
            if let Some(held) = row.hold {
                return Err(SessionError::OnHold(Hold::on(location, held)));
            }
            let doomed = KeyRow {
                doomed: true,
                ..row
            };
            if row.doomed || self.swap_key(location, &stored, doomed.encode()).await? {
                break;
            }
        }
        Ok(())
    }

    /// Gives the key of a session that has ended an end, if no hold is on it any more.
    pub(super) async fn after_hold(&self, location: &Location) -> Result<(), SessionError> {
        let kept = self.shared.limits.keep_keys.unwrap_or_default();
        self.keep_key(location, kept.max(AFTER)).await.map(drop)
    }

    /// The same, unless the session is there: then its end sees to the key, which looks once more when it is done.
    pub(super) async fn end_key_of_ended(&self, location: &Location) -> Result<(), SessionError> {
        match self.is_there(location).await? {
            true => Ok(()),
            false => self.after_hold(location).await,
        }
    }

    pub(super) async fn hold_on(&self, location: &Location) -> Result<Option<Hold>, SessionError> {
        let row = self.wrapped(location).await?;
        let held = row.as_deref().and_then(|row| KeyRow::parse(row).hold);
        Ok(held.map(|held| Hold::on(location, held)))
    }

    /// Changes the row of a key, which has no end then, if it still is what was there.
    pub(super) async fn swap_key(
        &self,
        location: &Location,
        was: &[u8],
        row: Vec<u8>,
    ) -> Result<bool, SessionError> {
        let put = Put::new(Expected::Value(was.to_vec()), row, Durable::Now);
        let registry = &self.shared.registry;
        let put = registry.put_if(Table::SessionKeys, &location.name, put);
        Ok(put.await?)
    }

    async fn is_there(&self, location: &Location) -> Result<bool, SessionError> {
        let prefix = format!("{}/", location.reference);
        let page = self.shared.store.list(&prefix, None, 1).await?;
        Ok(!page.names.is_empty())
    }

    /// Writes the record of something that was done about a hold.
    pub(super) async fn say_hold(
        &self,
        hold: &Hold,
        action: HoldAction,
        by: &str,
    ) -> Result<(), SessionError> {
        let event = hold.event(action, by).map_err(|_| SessionError::Log)?;
        self.say(event).await
    }

    /// Writes a record that belongs to no turn.
    pub(super) async fn say(&self, event: Event) -> Result<(), SessionError> {
        let written = self.shared.journal.append(event).await;
        written.map_err(|_| SessionError::Log)
    }
}
