//! Finding a session and opening what is kept of it, without its lease.

use gatehouse_envelope::{keys::SessionKeys, secret::equal};

use super::{
    Absence, SessionError, SessionState, Sessions, Spend, begin::is_reference, chain::Seen,
    hold::Hold, key_row::KeyRow, state::Unreadable, store::Row, turn::Location,
};
use crate::{auth::Caller, registry::Table};

/// What a session shows of itself. No values, no keys.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct SessionView {
    /// The public reference.
    pub reference: String,
    /// Whose it is.
    pub tenant: String,
    /// The principal that opened it.
    pub principal: String,
    /// When it was opened, in microseconds since 1970 (UTC).
    pub created_us: i64,
    /// When it ends if no turn comes before.
    pub expires_us: i64,
    /// When it ends at the latest.
    pub absolute_us: i64,
    /// Turns that reached a provider.
    pub steps: u64,
    /// Records in its chain.
    pub records: u64,
    /// What was spent in it; `None` where a later release counted it.
    pub spend: Option<Spend>,
    /// The public id of its key.
    pub kid: String,
    /// The legal hold on it, as operators see it; its caller is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

/// A session as it was read, opened.
pub(super) struct Loaded {
    pub(super) keys: SessionKeys,
    pub(super) state: SessionState,
    pub(super) version: u64,
    pub(super) expires_us: i64,
    /// Whether that was over when it was read, by the store's clock.
    pub(super) expired: bool,
    /// Whether a turn was under way when it was last written, whose lease has not run out.
    pub(super) held: bool,
    /// The store has lost a part of it: it is not gone on with.
    pub(super) set_aside: bool,
}

impl Sessions {
    /// Reads and opens a session without taking its lease. `None`: there is none, or no more.
    pub(super) async fn peek(&self, location: &Location) -> Result<Option<Loaded>, SessionError> {
        let floor = self.shared.chains.floor(&location.name);
        let (row, wrapped) = tokio::join!(
            self.shared.store.read(&location.name),
            self.wrapped(location)
        );
        match (row?, wrapped?) {
            (Some(row), Some(wrapped)) => self.opened(location, &row, &wrapped, floor).await,
            _ => Ok(None),
        }
    }

    /// The wrapped key of a session, marked or not.
    pub(super) async fn wrapped(
        &self,
        location: &Location,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let registry = &self.shared.registry;
        Ok(registry.get(Table::SessionKeys, &location.name).await?)
    }

    /// A row and a wrapped key, opened. `floor` was remembered before the row was read.
    pub(super) async fn opened(
        &self,
        location: &Location,
        row: &Row,
        wrapped: &[u8],
        floor: Seen,
    ) -> Result<Option<Loaded>, SessionError> {
        let is_older = floor.is_after(row.version);
        if is_older && !self.shared.is_shared() {
            return Err(SessionError::Damaged);
        }
        let tenant_keys = self.shared.keyring.tenant(&location.tenant).await?;
        let row_of_key = KeyRow::parse(wrapped);
        let tenant_key = tenant_keys
            .epoch(row_of_key.epoch.unwrap_or(location.epoch))
            .ok_or(SessionError::Damaged)?;
        let keys = tenant_key.session(&location.reference, row_of_key.wrapped)?;
        let marked = row_of_key.aside;
        let state = unseal(location, &keys, row)?;
        let chains = &self.shared.chains;
        let is_behind = is_older || chains.is_missed(&location.name, floor, &state);
        if is_behind && !marked {
            self.set_aside(location, state.link.sseq, None).await?;
        }
        Ok(Some(Loaded {
            set_aside: marked || is_behind,
            keys,
            state,
            version: row.version,
            expires_us: row.expires_us,
            expired: row.expired(),
            held: row.holder != 0 && row.leased,
        }))
    }

    pub(super) async fn check_owner(
        &self,
        caller: &Caller,
        location: &Location,
        loaded: &Loaded,
    ) -> Result<(), SessionError> {
        if !equal(
            loaded.state.principal.as_bytes(),
            caller.principal().as_bytes(),
        ) {
            let owner = self
                .log_names(&location.tenant)
                .await?
                .principal(&loaded.state.principal);
            let reference = location.reference.clone();
            return Err(SessionError::NotFound(Absence::Foreign {
                reference,
                owner,
            }));
        }
        if loaded.expired {
            return Err(SessionError::NotFound(Absence::Expired));
        }
        if loaded.set_aside {
            return Err(SessionError::RolledBack(location.reference.clone()));
        }
        Ok(())
    }

    pub(super) async fn find_own(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<(Location, Loaded), SessionError> {
        if !is_reference(reference) {
            return Err(SessionError::NotFound(Absence::Malformed));
        }
        let keys = self.shared.keyring.tenant(&caller.tenant).await?;
        let epochs = keys.all().map(|key| key.epoch());
        let places: Vec<_> = epochs
            .map(|epoch| Location::new(reference, &caller.tenant, epoch))
            .collect();
        let looked = self.look(&places).await;
        if matches!(looked, Err(SessionError::Newer)) {
            let (owners, principal) = (&self.shared.owners, caller.principal());
            let owns = |place: &Location| owners.owns(&place.name, &principal);
            if !places.iter().any(owns) {
                // Whose it is stands where only a later release can read it.
                tracing::warn!(
                    session = reference,
                    "a session of a later release is not shown"
                );
                return Err(SessionError::NotFound(Absence::Unknown));
            }
        }
        let (location, loaded) = looked?;
        self.check_owner(caller, location, &loaded).await?;
        Ok((location.clone(), loaded))
    }

    /// The session at one of several places, under the newest key of the tenant first. The store is
    /// asked the same questions whatever it has, and how a session ended beside them: how long the
    /// answer takes says nothing of whether there is one, and whose.
    pub(super) async fn look<'l>(
        &self,
        places: &'l [Location],
    ) -> Result<(&'l Location, Loaded), SessionError> {
        let looking = async {
            let mut found = None;
            for place in places {
                if let Some(looked) = self.peek(place).await.transpose() {
                    found.get_or_insert((place, looked));
                }
            }
            found
        };
        let ended = async {
            let mut how = Absence::Unknown;
            for place in places {
                let absence = self.absence(place).await?;
                if how == Absence::Unknown {
                    how = absence;
                }
            }
            Ok::<_, SessionError>(how)
        };
        match tokio::join!(looking, ended) {
            (Some((place, looked)), _) => Ok((place, looked?)),
            (None, ended) => Err(SessionError::NotFound(ended?)),
        }
    }
}

/// What the store has sealed, opened and read.
pub(super) fn unseal(
    location: &Location,
    keys: &SessionKeys,
    row: &Row,
) -> Result<SessionState, SessionError> {
    let plain = keys
        .seal()
        .open(&location.context(row.version), row.sealed.as_bytes())?;
    SessionState::decode(&plain).map_err(|unreadable| match unreadable {
        Unreadable::Malformed => SessionError::Damaged,
        Unreadable::Newer => SessionError::Newer,
    })
}

pub(super) fn view(location: &Location, loaded: &Loaded) -> SessionView {
    SessionView {
        reference: location.reference.clone(),
        tenant: location.tenant.clone(),
        principal: loaded.state.principal.clone(),
        created_us: loaded.state.created_us,
        expires_us: loaded.expires_us,
        absolute_us: loaded.state.absolute_us,
        steps: loaded.state.steps,
        records: loaded.state.link.sseq,
        spend: loaded.state.spend().ok(),
        kid: loaded.keys.kid().to_owned(),
        hold: None,
    }
}
