//! Tenants' earlier keys, destroyed once nothing is left of what was made with them.

use std::time::Duration;

use super::{SessionError, Sessions, key_row::KeyRow, turn::Location};
use crate::{
    audit::Event,
    registry::{Outlived, rotates},
};

/// Names looked at in one step.
const PAGE: usize = 256;

impl Sessions {
    /// Takes the next step with every earlier key of a tenant that is due: notes how long it is needed, gives
    /// it its last day, or destroys it and says so in the log. Once an hour is often enough; whatever is
    /// broken off, the next call goes on with.
    ///
    /// # Errors
    /// The provider, the registry, the store or the log failed. No key is destroyed without its record;
    /// a record may stand there twice.
    pub async fn end_outlived_keys(&self, tenant: &str) -> Result<(), SessionError> {
        if !rotates(tenant) {
            return Ok(());
        }
        let keyring = &self.shared.keyring;
        for Outlived { epoch, is_over } in keyring.outlived(tenant, self.longest()).await? {
            if self.is_held_by(tenant, epoch).await? {
                tracing::warn!(tenant, epoch, "keys on hold are left under an earlier key");
                continue;
            }
            if self.is_named_by(tenant, epoch).await? {
                // Nobody swept for days, or its end is later than was known.
                tracing::warn!(tenant, epoch, "sessions are left that an earlier key names");
                continue;
            }
            if !is_over {
                keyring.announce_end(tenant, epoch).await?;
                continue;
            }
            let id = keyring.take_over_from(tenant, epoch).await?;
            let mut event = Event::kind("keys.destroyed");
            event
                .text("target", &id)
                .text("tenant", tenant)
                .integer("epoch", u64::from(epoch));
            let event = event.finish().map_err(|_| SessionError::Log)?;
            self.say(event).await?;
            keyring.destroy(tenant, epoch).await?;
            tracing::info!(tenant, epoch, "an earlier key of a tenant is destroyed");
        }
        Ok(())
    }

    /// How long something lives at most that is made with a tenant's key now: a session, and its key
    /// behind its end.
    fn longest(&self) -> Duration {
        let limits = &self.shared.limits;
        let kept = limits.keep_keys.unwrap_or_default();
        limits.absolute.saturating_add(kept)
    }

    /// Whether the key of a session on hold is still under this one, which outlives whatever else there is. It
    /// is wrapped anew first, if it can be.
    async fn is_held_by(&self, tenant: &str, epoch: u32) -> Result<bool, SessionError> {
        for location in self.on_hold().await? {
            if location.tenant != tenant {
                continue;
            }
            if let Err(error) = self.rewrap_one(&location).await {
                let session = location.reference.as_str();
                tracing::warn!(session, %error, "the key of a session on hold is not wrapped anew");
            }
            let row = self.wrapped(&location).await?;
            let under = |row: Vec<u8>| KeyRow::parse(&row).epoch.unwrap_or(location.epoch);
            if row.map(under) == Some(epoch) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is a session that is found by this key.
    async fn is_named_by(&self, tenant: &str, epoch: u32) -> Result<bool, SessionError> {
        let mut from = None;
        loop {
            let page = self.shared.store.list("", from.as_deref(), PAGE).await?;
            let named = |name: &String| {
                Location::parse(name).is_some_and(|it| it.tenant == tenant && it.epoch == epoch)
            };
            if page.names.iter().any(named) {
                return Ok(true);
            }
            from = page.next;
            if from.is_none() {
                return Ok(false);
            }
        }
    }
}
