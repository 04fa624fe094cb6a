//! Changing keys while sessions go on: a tenant's key for a new one, and what is wrapped under an
//! earlier key for the same under the current one.
//!
//! Every row is changed by a compare-and-swap into another that says the same, so that it does not
//! matter how many processes do this at once, nor where one of them dies.

use std::time::Duration;

use gatehouse_envelope::keys::{KeyError, TenantKey};

use super::{
    Durable, Expected, GATEWAY, Keyring, KeyringError, Put, RegistryError, Row, Table, context,
    epoch_of, log_row, row_name,
};
use crate::clock::later;

/// How far apart the clocks of several processes may be.
pub(super) const SKEW: Duration = Duration::from_secs(60);

/// A tenant's newest key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// Which of the tenant's keys it is.
    pub epoch: u32,
    /// Its public id, `tk_…`.
    pub id: String,
    /// When it begins to be used for what is new, in microseconds since 1970 (UTC).
    pub from_us: i64,
    /// Whether it was made now. Otherwise it was waiting for its time already.
    pub made: bool,
}

/// What was wrapped under an earlier key and is now wrapped under the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrapped {
    /// Tenants' keys, by the root key.
    pub tenant_keys: u64,
    /// Keys for names in the log, by their tenants' keys.
    pub log_keys: u64,
}

impl Keyring {
    /// The root key's public id.
    pub fn root(&self) -> &str {
        self.provider.id()
    }

    /// Makes a new key for a tenant. Where other processes share the registry, it is used for what is
    /// new only once all of them know it; if one waits for that already, there is no second.
    ///
    /// # Errors
    /// There are no keys of that tenant, or the provider or the registry failed. Nothing is changed
    /// then, or it is and shows the next time.
    pub async fn rotate(&self, tenant: &str) -> Result<Rotated, KeyringError> {
        let rows = self.registry.list(Table::TenantKeys, tenant).await?;
        let (name, row) = rows.last().ok_or(KeyError::Missing)?;
        let (newest, now_us) = (epoch_of(name, tenant)?, self.clock.utc_us());
        if Row::parse(row)?.from_us > now_us {
            return self.newest(tenant, false).await;
        }
        let epoch = newest.checked_add(1).ok_or(KeyError::Exhausted)?;
        let made = self.provider.generate(&context(tenant, epoch)).await?;
        let from_us = if self.registry.shared() {
            later(now_us, self.policy.max_age + SKEW)
        } else {
            now_us
        };
        let row = Row {
            from_us,
            wrapped: &made.wrapped,
        };
        let put = Put::new(Expected::Absent, row.encode(), Durable::Now);
        let name = row_name(tenant, epoch);
        let put = self.registry.put_if(Table::TenantKeys, &name, put);
        // If another process was first, its key is the one.
        let made = put.await?;
        self.tenants.forget(tenant);
        self.newest(tenant, made).await
    }

    async fn newest(&self, tenant: &str, made: bool) -> Result<Rotated, KeyringError> {
        let rows = self.registry.list(Table::TenantKeys, tenant).await?;
        let (name, row) = rows.last().ok_or(KeyError::Missing)?;
        let (epoch, row) = (epoch_of(name, tenant)?, Row::parse(row)?);
        let context = context(tenant, epoch);
        let key = self.provider.unwrap(&context, row.wrapped).await?;
        let key = TenantKey::new(tenant, epoch, key);
        Ok(Rotated {
            epoch,
            id: key.id().to_owned(),
            from_us: row.from_us,
            made,
        })
    }

    /// Wraps a tenant's keys anew that are under an earlier root key, and its keys for names in the
    /// log that are under an earlier key of the tenant.
    ///
    /// # Errors
    /// The provider or the registry failed; what was done before stays, and the rest is as it was.
    pub async fn rewrap(&self, tenant: &str) -> Result<Rewrapped, KeyringError> {
        let mut done = Rewrapped::default();
        for (name, row) in self.registry.list(Table::TenantKeys, tenant).await? {
            if self.rewrap_tenant_key(tenant, &name, row).await? {
                done.tenant_keys += 1;
            }
        }
        for (name, row) in self.registry.list(Table::LogKeys, tenant).await? {
            if self.rewrap_log_key(tenant, &name, row).await? {
                done.log_keys += 1;
            }
        }
        Ok(done)
    }

    async fn rewrap_tenant_key(
        &self,
        tenant: &str,
        name: &str,
        stored: Vec<u8>,
    ) -> Result<bool, KeyringError> {
        let epoch = epoch_of(name, tenant)?;
        let (row, context) = (Row::parse(&stored)?, context(tenant, epoch));
        let Some(wrapped) = self.provider.rewrap(&context, row.wrapped).await? else {
            return Ok(false);
        };
        // Nothing takes the place of a key that is not seen to open as the same key.
        let old = self.provider.unwrap(&context, row.wrapped).await?;
        let new = self.provider.unwrap(&context, &wrapped).await?;
        if !new.matches(old.expose()) {
            return Err(KeyError::Damaged.into());
        }
        let new = Row {
            wrapped: &wrapped,
            ..row
        };
        let put = Put::new(Expected::Value(stored.clone()), new.encode(), Durable::Now);
        Ok(self.registry.put_if(Table::TenantKeys, name, put).await?)
    }

    pub(super) async fn rewrap_log_key(
        &self,
        tenant: &str,
        name: &str,
        stored: Vec<u8>,
    ) -> Result<bool, KeyringError> {
        let keys = self.tenant(tenant).await?;
        let (_, year) = name.split_once('/').ok_or(RegistryError::Damaged)?;
        let (epoch, wrapped) = stored.split_first_chunk().ok_or(RegistryError::Damaged)?;
        let epoch = u32::from_be_bytes(*epoch);
        if epoch == keys.current().epoch() {
            return Ok(false);
        }
        let old = keys.epoch(epoch).ok_or(KeyError::Damaged)?;
        let wrapped = keys.current().adopt_log_key(old, year, wrapped)?;
        let row = log_row(keys.current().epoch(), &wrapped);
        let put = Put::new(Expected::Value(stored), row, Durable::Now);
        Ok(self.registry.put_if(Table::LogKeys, name, put).await?)
    }
}

/// Whether a tenant's key may be changed: callers' keys are known by digests under the gateway's own.
pub fn rotates(tenant: &str) -> bool {
    tenant != GATEWAY
}
