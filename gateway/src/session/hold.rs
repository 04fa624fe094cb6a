//! Legal holds: sessions whose keys nobody destroys, for as long as a court or an inquiry may ask for what
//! they sealed.
//!
//! The key's own row says that a hold is on it, and is only ever changed by compare-and-swap: so no erasure,
//! and no end of its time, can miss the hold. Since when and why it is stands in a row of its own. Those
//! rows are one group, by which the sessions on hold are found.

use serde::{Deserialize, Serialize};

use super::{
    SessionError, Sessions, begin::subject, key_row::KeyRow, store::Durable, turn::Location,
};
use crate::{
    audit::{BuildError, Event, HoldAction, HoldChange, SessionEnding},
    registry::{Expected, Put, RegistryError, Table},
};

/// The version of a hold's row: after it come the time, in microseconds since 1970 (64 bits, big-endian),
/// and the reason.
const FORMAT: u8 = 1;

/// A legal hold as operators see it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// The session's reference.
    pub session: String,
    /// Whose it is.
    pub tenant: String,
    /// Since when it is on hold, in microseconds since 1970 (UTC).
    pub since_us: i64,
    /// Why: a word, such as the number of a case.
    pub reason: String,
}

impl Hold {
    fn parse(location: &Location, row: &[u8]) -> Result<Self, RegistryError> {
        let (format, rest) = row.split_first().ok_or(RegistryError::Damaged)?;
        if *format > FORMAT {
            return Err(RegistryError::Newer);
        }
        let (since, reason) = rest.split_first_chunk().ok_or(RegistryError::Damaged)?;
        let reason = std::str::from_utf8(reason).map_err(|_| RegistryError::Damaged)?;
        Ok(Self {
            session: location.reference.clone(),
            tenant: location.tenant.clone(),
            since_us: i64::from_be_bytes(*since),
            reason: reason.to_owned(),
        })
    }

    fn row(&self) -> Vec<u8> {
        let mut row = vec![FORMAT];
        row.extend_from_slice(&self.since_us.to_be_bytes());
        row.extend_from_slice(self.reason.as_bytes());
        row
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
    /// Puts a session on hold, also one that has ended if its key is kept. To ask again with the same reason
    /// says it in the log once more.
    ///
    /// # Errors
    /// There is no such session, or its key is destroyed; it is on hold for another reason; or the log did not
    /// take the record: then it is on hold all the same.
    pub async fn hold(&self, reference: &str, reason: &str, by: &str) -> Result<(), SessionError> {
        let Some((location, _)) = self.key_of(reference).await? else {
            return Err(SessionError::NotFound(self.ended_how(reference).await?));
        };
        let mut hold = Hold {
            session: location.reference.clone(),
            tenant: location.tenant.clone(),
            since_us: self.shared.clock.utc_us(),
            reason: reason.to_owned(),
        };
        let build = |hold: &Hold| {
            hold.event(HoldAction::Hold, by)
                .map_err(|_| SessionError::Log)
        };
        // What no record may hold is not begun with.
        build(&hold)?;
        match self.hold_on(&location).await? {
            Some(there) if there.reason == reason => hold = there,
            Some(there) if self.is_on_hold(&location).await? => {
                return Err(SessionError::OnHold(there));
            }
            // One that was begun with and never came to be is none.
            there => self.write_down_hold(&location, there, &hold).await?,
        }
        if !self.mark(&location, true).await? {
            self.forget_hold(&location).await?;
            return Err(SessionError::NotFound(self.ended_how(reference).await?));
        }
        self.say(build(&hold)?).await
    }

    /// Ends a hold. The key of a session that has ended is kept from now on as long as if it ended now.
    ///
    /// # Errors
    /// The session is not on hold, or the log did not take the record: then it still is.
    pub async fn release(&self, reference: &str, by: &str) -> Result<(), SessionError> {
        let holds = self.holds_by_place().await?;
        let found = holds.into_iter().find(|(_, it)| it.session == reference);
        let (location, hold) = found.ok_or(SessionError::NotOnHold)?;
        let event = hold.event(HoldAction::Release, by);
        self.say(event.map_err(|_| SessionError::Log)?).await?;
        self.mark(&location, false).await?;
        // While it is there, its end sees to the key: it looks once more when it is done.
        if !self.is_there(&location).await? {
            self.retire_key(&location, SessionEnding::Expired).await?;
        }
        self.forget_hold(&location).await
    }

    /// All sessions on hold, in the order of their references.
    ///
    /// # Errors
    /// The registry failed, or a row of it is damaged.
    pub async fn holds(&self) -> Result<Vec<Hold>, SessionError> {
        let holds = self.holds_by_place().await?;
        Ok(holds.into_iter().map(|(_, hold)| hold).collect())
    }

    pub(super) async fn holds_by_place(&self) -> Result<Vec<(Location, Hold)>, SessionError> {
        let rows = self.shared.registry.list(Table::Holds, "").await?;
        let holds = rows.into_iter().map(|(name, row)| {
            let location = Location::parse(&name).ok_or(SessionError::Damaged)?;
            let hold = Hold::parse(&location, &row)?;
            Ok((location, hold))
        });
        holds.collect()
    }

    /// Refuses to destroy the key of a session on hold, and says so in the log. `by` is who asked.
    pub(super) async fn refuse_erasure(&self, location: &Location, by: &str) -> SessionError {
        let refused = async {
            let hold = self.hold_on(location).await?.ok_or(SessionError::Damaged)?;
            let event = hold.event(HoldAction::RefuseErasure, by);
            self.say(event.map_err(|_| SessionError::Log)?).await?;
            Ok(hold)
        };
        refused
            .await
            .map_or_else(|error| error, SessionError::OnHold)
    }

    /// An error if a hold is on the key of a session.
    pub(super) async fn must_not_be_on_hold(
        &self,
        location: &Location,
    ) -> Result<(), SessionError> {
        if !self.is_on_hold(location).await? {
            return Ok(());
        }
        let hold = self.hold_on(location).await?.ok_or(SessionError::Damaged)?;
        Err(SessionError::OnHold(hold))
    }

    /// Whether a hold is on the key of a session.
    pub(super) async fn is_on_hold(&self, location: &Location) -> Result<bool, SessionError> {
        let row = self.wrapped(location).await?;
        Ok(row.is_some_and(|row| KeyRow::parse(&row).on_hold))
    }

    async fn hold_on(&self, location: &Location) -> Result<Option<Hold>, SessionError> {
        let row = self
            .shared
            .registry
            .get(Table::Holds, &location.name)
            .await?;
        let hold = row.map(|row| Hold::parse(location, &row)).transpose();
        Ok(hold?)
    }

    async fn write_down_hold(
        &self,
        location: &Location,
        was: Option<Hold>,
        hold: &Hold,
    ) -> Result<(), SessionError> {
        let registry = &self.shared.registry;
        let expected = was.map_or(Expected::Absent, |was| Expected::Value(was.row()));
        let put = Put::new(expected, hold.row(), Durable::Now);
        match registry.put_if(Table::Holds, &location.name, put).await? {
            true => Ok(()),
            false => Err(SessionError::Conflict),
        }
    }

    async fn forget_hold(&self, location: &Location) -> Result<(), SessionError> {
        let registry = &self.shared.registry;
        let deleted = registry.delete(Table::Holds, &location.name, Durable::Now);
        deleted.await?;
        Ok(())
    }

    /// Marks the key, or takes the mark away; says whether there is a key. From then on it has no end.
    async fn mark(&self, location: &Location, on_hold: bool) -> Result<bool, SessionError> {
        let registry = &self.shared.registry;
        // It may be wrapped anew, or set aside, meanwhile.
        while let Some(stored) = registry.get(Table::SessionKeys, &location.name).await? {
            let row = KeyRow {
                on_hold,
                ..KeyRow::parse(&stored)
            };
            let row = row.encode();
            let put = Put::new(Expected::Value(stored), row, Durable::Now);
            let put = registry.put_if(Table::SessionKeys, &location.name, put);
            if put.await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_there(&self, location: &Location) -> Result<bool, SessionError> {
        let prefix = format!("{}/", location.reference);
        let page = self.shared.store.list(&prefix, None, 1).await?;
        Ok(!page.names.is_empty())
    }

    async fn say(&self, event: Event) -> Result<(), SessionError> {
        let written = self.shared.journal.append(event).await;
        written.map_err(|_| SessionError::Log)
    }
}
