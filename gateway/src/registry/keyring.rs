//! The tenants' keys, unwrapped once and kept for a while.
//!
//! A key is asked of the provider once, however many requests wait for it. Failures are never
//! kept: the next request asks again. Keys that are kept die at their age or after a number of
//! uses, so that a root key that was switched off stops working soon.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gatehouse_envelope::{
    digest::MacKey,
    keys::{KeyContext, KeyError, KeyProvider, TenantKey},
};
use parking_lot::Mutex;

use super::{Durable, Expected, LogNames, Put, Registry, RegistryError, Table};
use crate::clock::{Clock, year};

/// How long unwrapped keys are kept.
#[derive(Clone, Copy)]
pub struct CachePolicy {
    /// The longest time from the unwrapping to the last use.
    pub max_age: Duration,
    /// The most uses of one unwrapping.
    pub max_uses: u64,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(300),
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

/// All keys of one tenant, one for each epoch.
pub struct TenantKeys {
    /// Never empty: the newest key.
    current: TenantKey,
    older: Vec<TenantKey>,
}

impl TenantKeys {
    /// The key for everything new.
    pub fn current(&self) -> &TenantKey {
        &self.current
    }

    /// All keys, the newest first: what was made under an older one is still found.
    pub fn newest_first(&self) -> impl Iterator<Item = &TenantKey> {
        std::iter::once(&self.current).chain(&self.older)
    }

    /// The key of one epoch.
    pub fn epoch(&self, epoch: u32) -> Option<&TenantKey> {
        self.newest_first().find(|key| key.epoch() == epoch)
    }
}

/// Hands out tenants' keys.
pub struct Keyring {
    provider: Arc<dyn KeyProvider>,
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
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
            provider,
            registry,
            clock,
            tenants: Cache::new(policy),
            log_keys: Cache::new(policy),
        }
    }

    /// The keys of a tenant, made at its first use.
    pub async fn tenant(&self, tenant: &str) -> Result<Arc<TenantKeys>, KeyringError> {
        if let Some(keys) = self.tenants.fresh(tenant, self.clock.mono_us()) {
            return Ok(keys);
        }
        let flight = self.tenants.flight(tenant);
        let _alone = flight.lock().await;
        // Whoever held the flight before may have brought the key.
        if let Some(keys) = self.tenants.fresh(tenant, self.clock.mono_us()) {
            return Ok(keys);
        }
        let keys = self.load(tenant).await?;
        Ok(self.tenants.keep(tenant, self.clock.mono_us(), keys))
    }

    /// The names by which a tenant's callers stand in the log this year.
    pub async fn log_names(&self, tenant: &str) -> Result<LogNames, KeyringError> {
        let year = year(self.clock.utc_us());
        Ok(LogNames::new(self.log_key(tenant, year).await?))
    }

    /// The key of a tenant's digests of principals and addresses in the log, for one year.
    async fn log_key(&self, tenant: &str, year: u64) -> Result<Arc<MacKey>, KeyringError> {
        let name = format!("{tenant}/{year:04}");
        if let Some(key) = self.log_keys.fresh(&name, self.clock.mono_us()) {
            return Ok(key);
        }
        let flight = self.log_keys.flight(&name);
        let _alone = flight.lock().await;
        if let Some(key) = self.log_keys.fresh(&name, self.clock.mono_us()) {
            return Ok(key);
        }
        let key = self
            .load_log_key(tenant, &format!("{year:04}"), &name)
            .await?;
        Ok(self.log_keys.keep(&name, self.clock.mono_us(), key))
    }

    async fn load(&self, tenant: &str) -> Result<TenantKeys, KeyringError> {
        let prefix = format!("{tenant}/");
        let mut rows = self.registry.list(Table::TenantKeys, tenant).await?;
        if rows.is_empty() {
            let made = self
                .provider
                .generate(&context(tenant, FIRST_EPOCH))
                .await?;
            let name = format!("{prefix}{FIRST_EPOCH:010}");
            let put = Put::new(Expected::Absent, made.wrapped, Durable::Now);
            let put = self.registry.put_if(Table::TenantKeys, &name, put);
            // Another process may have been first; either way what is stored counts.
            put.await?;
            rows = self.registry.list(Table::TenantKeys, tenant).await?;
        }
        let mut keys = Vec::with_capacity(rows.len());
        for (name, wrapped) in rows.into_iter().rev() {
            let epoch = name
                .strip_prefix(&prefix)
                .and_then(|epoch| epoch.parse().ok());
            let epoch: u32 = epoch.ok_or(RegistryError::Damaged)?;
            let key = self
                .provider
                .unwrap(&context(tenant, epoch), &wrapped)
                .await?;
            keys.push(TenantKey::new(tenant, epoch, key));
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or(RegistryError::Damaged)?;
        Ok(TenantKeys {
            current,
            older: keys.collect(),
        })
    }

    /// The row is the epoch of the wrapping tenant key (32 bits, big-endian) and the wrapped key.
    async fn load_log_key(
        &self,
        tenant: &str,
        year: &str,
        name: &str,
    ) -> Result<MacKey, KeyringError> {
        let keys = self.tenant(tenant).await?;
        if let Some(row) = self.registry.get(Table::LogKeys, name).await? {
            return unwrap_log_key(&keys, year, &row);
        }
        let (_, wrapped) = keys.current().new_log_key(year)?;
        let mut row = keys.current().epoch().to_be_bytes().to_vec();
        row.extend_from_slice(&wrapped);
        let put = Put::new(Expected::Absent, row, Durable::Now);
        self.registry.put_if(Table::LogKeys, name, put).await?;
        let row = self
            .registry
            .get(Table::LogKeys, name)
            .await?
            .ok_or(RegistryError::Damaged)?;
        unwrap_log_key(&keys, year, &row)
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

fn unwrap_log_key(keys: &TenantKeys, year: &str, row: &[u8]) -> Result<MacKey, KeyringError> {
    let (epoch, wrapped) = row.split_first_chunk().ok_or(RegistryError::Damaged)?;
    let key = keys
        .epoch(u32::from_be_bytes(*epoch))
        .ok_or(KeyError::Damaged)?;
    Ok(key.log_key(year, wrapped)?)
}

/// Values by name that die of age or use.
struct Cache<T> {
    policy: CachePolicy,
    kept: Mutex<HashMap<String, Kept<T>>>,
    flights: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

struct Kept<T> {
    value: Arc<T>,
    since_us: u64,
    uses: u64,
}

impl<T> Cache<T> {
    fn new(policy: CachePolicy) -> Self {
        Self {
            policy,
            kept: Mutex::default(),
            flights: Mutex::default(),
        }
    }

    /// A value that may still be used; this use is counted.
    fn fresh(&self, name: &str, now_us: u64) -> Option<Arc<T>> {
        let mut kept = self.kept.lock();
        let entry = kept.get_mut(name)?;
        let age = Duration::from_micros(now_us.saturating_sub(entry.since_us));
        if age >= self.policy.max_age || entry.uses >= self.policy.max_uses {
            kept.remove(name);
            return None;
        }
        entry.uses += 1;
        Some(Arc::clone(&entry.value))
    }

    fn keep(&self, name: &str, now_us: u64, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let entry = Kept {
            value: Arc::clone(&value),
            since_us: now_us,
            uses: 1,
        };
        self.kept.lock().insert(name.to_owned(), entry);
        value
    }

    /// The lock that lets one request fetch a value while the others wait for it.
    fn flight(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.flights.lock().entry(name.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests;
