//! The keys of ended sessions, for as long as payloads that are sealed under them stay; and what of a
//! session's key an auditor may be given.

use std::time::Duration;

use gatehouse_envelope::secret::Secret;

use super::{
    Absence, SessionError, Sessions,
    begin::{is_reference, subject},
    key_row::KeyRow,
    rewrap::adopted,
    store::Durable,
    turn::Location,
};
use crate::{
    audit::{ErasedLater, SessionEnding},
    registry::{Expected, Put, Table},
};

/// What opens the payloads of one session, and nothing else of it.
pub struct PayloadGrant {
    /// The session's reference.
    pub session: String,
    /// Whose it is.
    pub tenant: String,
    /// The public id of its key.
    pub kid: String,
    /// The key, as [`gatehouse_envelope::payload::PayloadKey::grant`] writes it.
    pub key: Secret<String>,
}

impl Sessions {
    /// What opens a session's payloads, also after its end; `None` if its key is destroyed or about to be, or
    /// there is no such session. Whoever calls this has to record it.
    pub async fn payload_grant(
        &self,
        reference: &str,
    ) -> Result<Option<PayloadGrant>, SessionError> {
        let Some((location, row)) = self.key_of(reference).await? else {
            return Ok(None);
        };
        let row = KeyRow::parse(&row);
        if row.doomed {
            return Ok(None);
        }
        let tenant_keys = self.shared.keyring.tenant(&location.tenant).await?;
        let tenant_key = tenant_keys
            .epoch(row.epoch.unwrap_or(location.epoch))
            .ok_or(SessionError::Damaged)?;
        let keys = tenant_key.session(&location.reference, row.wrapped)?;
        Ok(Some(PayloadGrant {
            session: location.reference,
            tenant: location.tenant,
            kid: keys.kid().to_owned(),
            key: keys.payload().grant(),
        }))
    }

    /// Destroys the key of a session in whose chain nothing more can be said: what was sealed under it
    /// stays unreadable.
    pub(super) async fn erase_unread(&self, location: &Location) -> Result<(), SessionError> {
        self.doom(location).await?;
        self.record_erasure(location).await?;
        self.erase_key(location).await
    }

    /// Says outside of its chain that a session is erased.
    pub(super) async fn record_erasure(&self, location: &Location) -> Result<(), SessionError> {
        let event = ErasedLater {
            subject: subject(&location.reference),
            tenant: &location.tenant,
        };
        self.say(event.build().map_err(|_| SessionError::Log)?)
            .await
    }

    /// What becomes of the key of a session that ends now. Says whether it stays because of a legal hold.
    pub(super) async fn retire_key(
        &self,
        location: &Location,
        ending: SessionEnding,
    ) -> Result<bool, SessionError> {
        let destroyed = match (ending, self.shared.limits.keep_keys) {
            (SessionEnding::Erased, _) => self.erase_key(location).await,
            (_, None) => self.destroy_key(location).await,
            (_, Some(lifetime)) => return self.keep_key(location, lifetime).await,
        };
        match destroyed {
            Err(SessionError::OnHold(_)) => Ok(true),
            destroyed => destroyed.map(|()| false),
        }
    }

    /// Keeps it for so long. Says whether it stays because of a hold.
    pub(super) async fn keep_key(
        &self,
        location: &Location,
        lifetime: Duration,
    ) -> Result<bool, SessionError> {
        let registry = &self.shared.registry;
        // It may be wrapped anew, or set aside, meanwhile.
        while let Some(row) = self.wrapped(location).await? {
            // It outlives its session by far, so it is no matter of a key that may be an earlier one by
            // now. Without that key it stays as it is.
            let keys = self.shared.keyring.tenant(&location.tenant).await.ok();
            let newer = keys.and_then(|keys| adopted(&keys, location, &row).ok());
            let on_hold = KeyRow::parse(&row).hold.is_some();
            let put = Put {
                value: newer.flatten().unwrap_or_else(|| row.clone()),
                expected: Expected::Value(row),
                lifetime: (!on_hold).then_some(lifetime),
                sync: Durable::Now,
            };
            if registry
                .put_if(Table::SessionKeys, &location.name, put)
                .await?
            {
                return Ok(on_hold);
            }
        }
        Ok(false)
    }

    /// Where the key of a session is, and its row.
    pub(super) async fn key_of(
        &self,
        reference: &str,
    ) -> Result<Option<(Location, Vec<u8>)>, SessionError> {
        if !is_reference(reference) {
            return Err(SessionError::NotFound(Absence::Malformed));
        }
        let registry = &self.shared.registry;
        let rows = registry.list(Table::SessionKeys, reference).await?;
        let Some((name, row)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let location = Location::parse(&name).ok_or(SessionError::Damaged)?;
        Ok(Some((location, row)))
    }
}
