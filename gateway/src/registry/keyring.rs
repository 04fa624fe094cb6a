//! The tenants' keys, unwrapped once and kept for a while.
//!
//! A key is asked of the provider once, however many requests wait for it. Failures are never
//! kept: the next request asks again. Keys that are kept die at their age or after a number of
//! uses, so that a root key that was switched off stops working soon.

mod cache;
mod life;
mod rotate;
mod row;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gatehouse_envelope::{
    digest::MacKey,
    keys::{KeyContext, KeyError, KeyProvider, TenantKey},
};

use self::{cache::Cache, life::Life, row::Row};
use super::{Durable, Expected, LogNames, Put, Registry, RegistryError, Table};
use crate::clock::{Clock, year};

pub use life::Outlived;
pub use rotate::{Rewrapped, Rotated, rotates};

/// How long unwrapped keys are kept.
#[derive(Clone, Copy, Debug)]
pub struct CachePolicy {
    /// The longest time from the unwrapping to the last use.
    pub max_age: Duration,
    /// The longest time from the unwrapping to a use for a new session.
    pub max_age_new: Duration,
    /// The most uses of one unwrapping.
    pub max_uses: u64,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(300),
            max_age_new: Duration::from_secs(60),
            max_uses: 1 << 20,
        }
    }
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The provider gave none.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The wrapped key could not be read or stored.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl KeyringError {
    /// The same, for another who waited.
    fn again(&self) -> Self {
        match self {
            Self::Key(error) => Self::Key(error.again()),
            Self::Registry(error) => Self::Registry(error.again()),
        }
    }
}

/// All keys of one tenant, one for each epoch.
pub struct TenantKeys {
    current: TenantKey,
    others: Vec<TenantKey>,
    lives: BTreeMap<u32, Life>,
    /// When they began to be unwrapped, by the clock's monotonic time.
    since_us: u64,
}

impl TenantKeys {
    /// The key for everything new: the newest whose time has come.
    pub fn current(&self) -> &TenantKey {
        &self.current
    }

    /// All keys, the current one first: what was made under another is found too.
    pub fn all(&self) -> impl Iterator<Item = &TenantKey> {
        std::iter::once(&self.current).chain(&self.others)
    }

    /// The key of one epoch.
    pub fn epoch(&self, epoch: u32) -> Option<&TenantKey> {
        self.all().find(|key| key.epoch() == epoch)
    }
}

/// Hands out tenants' keys.
pub struct Keyring {
    provider: Arc<dyn KeyProvider>,
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    policy: CachePolicy,
    tenants: Cache<TenantKeys>,
    log_keys: Cache<MacKey>,
}

impl Keyring {
    /// A keyring over the wrapped keys in `registry`.
    pub fn new(
        provider: Arc<dyn KeyProvider>,
        registry: Arc<dyn Registry>,
        clock: Arc<dyn Clock>,
        policy: CachePolicy,
    ) -> Self {
        Self {
            tenants: Cache::new(policy, Arc::clone(&clock)),
            log_keys: Cache::new(policy, Arc::clone(&clock)),
            provider,
            registry,
            clock,
            policy,
        }
    }

    /// The keys of a tenant, made at its first use: for what is there already.
    pub async fn tenant(&self, tenant: &str) -> Result<Arc<TenantKeys>, KeyringError> {
        self.within(tenant, self.policy.max_age).await
    }

    /// The same, unwrapped so recently that the root key can be taken to be usable still: for a new
    /// session.
    pub async fn tenant_for_new(&self, tenant: &str) -> Result<Arc<TenantKeys>, KeyringError> {
        self.within(tenant, self.policy.max_age_new).await
    }

    async fn within(
        &self,
        tenant: &str,
        within: Duration,
    ) -> Result<Arc<TenantKeys>, KeyringError> {
        let load = async {
            let keys = self.load(tenant).await?;
            let since_us = keys.since_us;
            Ok((keys, since_us))
        };
        self.tenants.get(tenant, within, load).await
    }

    /// The names by which a tenant's callers stand in the log this year.
    pub async fn log_names(&self, tenant: &str) -> Result<LogNames, KeyringError> {
        let year = year(self.clock.utc_us());
        let name = format!("{tenant}/{year:04}");
        let load = async {
            let keys = self.tenant(tenant).await?;
            let key = self
                .load_log_key(&keys, &format!("{year:04}"), &name)
                .await?;
            // It dies with the tenant's key that it was unwrapped by.
            Ok((key, keys.since_us))
        };
        let key = self.log_keys.get(&name, self.policy.max_age, load).await?;
        Ok(LogNames::new(key))
    }

    async fn load(&self, tenant: &str) -> Result<TenantKeys, KeyringError> {
        let since_us = self.clock.mono_us();
        // First: of a key that goes meanwhile its end is known, or it is not there.
        let lives = self.lives(tenant).await?;
        let mut rows = self.registry.list(Table::TenantKeys, tenant).await?;
        if rows.is_empty() {
            let context = context(tenant, FIRST_EPOCH);
            let made = self.provider.generate(&context).await?;
            let put = Put::new(Expected::Absent, made.wrapped, Durable::Now);
            let name = row_name(tenant, FIRST_EPOCH);
            let put = self.registry.put_if(Table::TenantKeys, &name, put);
            // Another process may have been first; either way what is stored counts.
            put.await?;
            rows = self.registry.list(Table::TenantKeys, tenant).await?;
        }
        let now_us = self.clock.utc_us();
        let (mut current, mut others) = (None, Vec::new());
        for (name, row) in rows.iter().rev() {
            let epoch = epoch_of(name, tenant)?;
            let row = Row::parse(row)?;
            let context = context(tenant, epoch);
            let key = self.provider.unwrap(&context, row.wrapped).await?;
            let key = TenantKey::new(tenant, epoch, key);
            if current.is_none() && row.from_us <= now_us {
                current = Some(key);
            } else {
                others.push(key);
            }
        }
        // The first key has no time to wait for.
        let current = current.ok_or(RegistryError::Damaged)?;
        Ok(TenantKeys {
            current,
            others,
            lives,
            since_us,
        })
    }

    async fn load_log_key(
        &self,
        keys: &TenantKeys,
        year: &str,
        name: &str,
    ) -> Result<MacKey, KeyringError> {
        if let Some(row) = self.registry.get(Table::LogKeys, name).await? {
            return unwrap_log_key(keys, year, &row);
        }
        let (_, wrapped) = keys.current().new_log_key(year)?;
        let row = log_row(keys.current().epoch(), &wrapped);
        let put = Put::new(Expected::Absent, row, Durable::Now);
        self.registry.put_if(Table::LogKeys, name, put).await?;
        let row = self
            .registry
            .get(Table::LogKeys, name)
            .await?
            .ok_or(RegistryError::Damaged)?;
        unwrap_log_key(keys, year, &row)
    }
}

/// The tenant whose keys name what belongs to the gateway itself. No caller's tenant can have a name
/// that begins so.
pub const GATEWAY: &str = "_gateway";

const FIRST_EPOCH: u32 = 1;

fn context(tenant: &str, epoch: u32) -> KeyContext<'_> {
    KeyContext {
        purpose: "tenant",
        tenant,
        epoch,
    }
}

fn row_name(tenant: &str, epoch: u32) -> String {
    format!("{tenant}/{epoch:010}")
}

fn epoch_of(name: &str, tenant: &str) -> Result<u32, RegistryError> {
    let epoch = name.strip_prefix(tenant);
    let epoch = epoch.and_then(|rest| rest.strip_prefix('/')?.parse().ok());
    epoch.ok_or(RegistryError::Damaged)
}

/// The epoch of the wrapping tenant key (32 bits, big-endian) and the wrapped key.
fn log_row(epoch: u32, wrapped: &[u8]) -> Vec<u8> {
    let mut row = epoch.to_be_bytes().to_vec();
    row.extend_from_slice(wrapped);
    row
}

fn unwrap_log_key(keys: &TenantKeys, year: &str, row: &[u8]) -> Result<MacKey, KeyringError> {
    let (epoch, wrapped) = row.split_first_chunk().ok_or(RegistryError::Damaged)?;
    let key = keys
        .epoch(u32::from_be_bytes(*epoch))
        .ok_or(KeyError::Damaged)?;
    Ok(key.log_key(year, wrapped)?)
}

#[cfg(test)]
mod tests;
