//! Callers' keys: made, listed and revoked by operators, looked up by every request.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use gatehouse_envelope::{
    digest::{hex, unhex},
    random::{self, RandomError},
    secret::Secret,
};
use serde::{Deserialize, Serialize};

use super::{Caller, token};
use crate::{
    clock::{Clock, micros},
    config::valid_tenant,
    registry::{
        Durable, Expected, GATEWAY, Keyring, KeyringError, Put, Registry, RegistryError, Table,
        TenantKeys,
    },
};

const PURPOSE: &str = "caller-token";
/// How often keys that other processes may change are read again. What one replica makes or revokes
/// is so on all of them after this, and the time that reading takes.
const REREAD: Duration = Duration::from_secs(5);
/// Keys that could not be read again for this long let nobody in.
const STALE: Duration = Duration::from_secs(60);

/// A caller's key as the registry has it. The token is not in it.
#[derive(Clone)]
pub struct CallerRecord {
    /// Who calls with it.
    pub caller: Arc<Caller>,
    /// When it was made, in microseconds since 1970 (UTC).
    pub created_us: i64,
    /// When it was revoked.
    pub revoked_us: Option<i64>,
}

/// What a new key is to be.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NewCaller {
    /// What the operator calls it: 1 to 64 printable characters.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// The agent profile it selects, a plain word.
    #[serde(default)]
    pub agent: Option<String>,
}

/// Why a key was not made or revoked.
#[derive(Debug, thiserror::Error)]
pub enum CallerKeysError {
    /// More than one key that is not revoked goes by this name.
    #[error("several keys go by that name; give the key's id")]
    Ambiguous,
    /// A name, tenant or agent that may not be used.
    #[error("{0}")]
    Invalid(&'static str),
    /// The gateway's own key is not to be had.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// No randomness for a token.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The registry failed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Nothing goes by that id or name.
    #[error("no such key")]
    Unknown,
}

type ByDigest = HashMap<[u8; 32], CallerRecord>;

/// All callers' keys, in memory, and the registry they come from.
pub struct CallerKeys {
    registry: Arc<dyn Registry>,
    clock: Arc<dyn Clock>,
    /// Kept for the life of the process: without it nobody could call at all.
    gateway: Arc<TenantKeys>,
    current: ArcSwap<ByDigest>,
    /// When they were last read, by the clock's monotonic time.
    read_us: AtomicU64,
    /// One change at a time, so that none is lost between reading and swapping the map.
    changing: tokio::sync::Mutex<()>,
}

impl CallerKeys {
    /// Loads all keys.
    pub async fn load(
        registry: Arc<dyn Registry>,
        keyring: &Keyring,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CallerKeysError> {
        let gateway = keyring.tenant(GATEWAY).await?;
        let read_us = AtomicU64::new(clock.mono_us());
        let current = ArcSwap::from_pointee(read_all(&*registry).await?);
        Ok(Self {
            registry,
            clock,
            gateway,
            current,
            read_us,
            changing: tokio::sync::Mutex::default(),
        })
    }

    /// The key that a token is, revoked or not.
    pub(super) fn find(&self, token: &[u8]) -> Option<CallerRecord> {
        let current = self.current.load();
        self.gateway
            .all()
            .find_map(|key| current.get(&key.lookup().mac(PURPOSE, &[token])).cloned())
    }

    /// Whether there is a key of which this is the token's digest, and it is not revoked.
    pub(super) fn are_good(&self, token_digest: &[u8; 32]) -> bool {
        let current = self.current.load();
        let record = current.get(token_digest);
        record.is_some_and(|record| record.revoked_us.is_none())
    }

    /// Whether others may have changed keys so long ago that nobody can be let in by these.
    pub(super) fn are_stale(&self) -> bool {
        let since = self.read_us.load(Ordering::Relaxed);
        let age = self.clock.mono_us().saturating_sub(since);
        self.registry.shared() && age > micros(STALE)
    }

    /// Reads all keys again, as other processes may have changed them. One that was revoked here stays
    /// revoked, whatever the registry says.
    pub async fn refresh(&self) -> Result<(), CallerKeysError> {
        loop {
            let (now_us, before) = (self.clock.mono_us(), self.current.load_full());
            let mut read = read_all(&*self.registry).await?;
            // Not while reading: a key that must go need not wait for a slow registry.
            let _alone = self.changing.lock().await;
            if !Arc::ptr_eq(&before, &self.current.load()) {
                continue;
            }
            for (digest, record) in before.iter().filter(|(_, r)| r.revoked_us.is_some()) {
                match read.get_mut(digest) {
                    Some(again) => again.revoked_us = again.revoked_us.or(record.revoked_us),
                    None => _ = read.insert(*digest, record.clone()),
                }
            }
            self.current.store(Arc::new(read));
            self.read_us.store(now_us, Ordering::Relaxed);
            return Ok(());
        }
    }

    /// Does that every few seconds, until it is dropped; not at all where nobody else changes keys.
    pub(super) async fn keep_fresh(&self) {
        while self.registry.shared() {
            tokio::time::sleep(REREAD).await;
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, "the callers' keys were not read again");
            }
        }
    }

    /// Makes a key. The token is given out here and never again.
    pub async fn create(
        &self,
        new: NewCaller,
    ) -> Result<(Secret<String>, CallerRecord), CallerKeysError> {
        new.check()?;
        let _alone = self.changing.lock().await;
        let token = random::credential(token::PREFIX)?;
        let digest = self
            .gateway
            .current()
            .lookup()
            .mac(PURPOSE, &[token.expose().as_bytes()]);
        let caller = Caller {
            key_id: random::name("k_")?,
            name: new.name,
            tenant: new.tenant,
            agent: new.agent,
            token_digest: digest,
        };
        let record = CallerRecord {
            caller: Arc::new(caller),
            created_us: self.clock.utc_us(),
            revoked_us: None,
        };
        let (name, value) = (hex(&digest), encode(&record)?);
        let put = Put::new(Expected::Absent, value, Durable::Now);
        let stored = self.registry.put_if(Table::CallerKeys, &name, put);
        if !stored.await? {
            // 256 random bits do not repeat; whatever this is, the old key stays as it was.
            return Err(RegistryError::Damaged.into());
        }
        self.replace(digest, record.clone());
        Ok((token, record))
    }

    /// Makes a key if there is none at all, not even a revoked one: the first start of a gateway.
    pub async fn create_first(
        &self,
        new: NewCaller,
    ) -> Result<Option<(Secret<String>, CallerRecord)>, CallerKeysError> {
        if !self.current.load().is_empty() {
            return Ok(None);
        }
        self.create(new).await.map(Some)
    }

    /// All keys, the oldest first.
    pub fn list(&self) -> Vec<CallerRecord> {
        let mut records: Vec<_> = self.current.load().values().cloned().collect();
        records.sort_by(|a, b| {
            (a.created_us, &a.caller.key_id).cmp(&(b.created_us, &b.caller.key_id))
        });
        records
    }

    /// Revokes the key with this id, or the only living one with this name. In this process the key
    /// opens nothing from the moment of the call, even if the registry then fails; that is an error
    /// all the same, and worth another try. A key that is revoked already keeps its first date.
    pub async fn revoke(&self, id_or_name: &str) -> Result<CallerRecord, CallerKeysError> {
        let _alone = self.changing.lock().await;
        let found = self.pick(id_or_name)?;
        let (digest, name) = (found.caller.token_digest, hex(&found.caller.token_digest));
        let revoked_us = found.revoked_us.unwrap_or_else(|| self.clock.utc_us());
        let revoked = CallerRecord {
            revoked_us: Some(revoked_us),
            ..found
        };
        self.replace(digest, revoked.clone());

        let stored = self.registry.get(Table::CallerKeys, &name).await?;
        let before = stored.ok_or(CallerKeysError::Unknown)?;
        if decode(&name, &before)?.1.revoked_us.is_some() {
            return Ok(revoked);
        }
        let (expected, value) = (Expected::Value(before), encode(&revoked)?);
        let put = Put::new(expected, value, Durable::Now);
        let put = self.registry.put_if(Table::CallerKeys, &name, put);
        if put.await? {
            Ok(revoked)
        } else {
            Err(RegistryError::Damaged.into())
        }
    }

    fn pick(&self, id_or_name: &str) -> Result<CallerRecord, CallerKeysError> {
        let current = self.current.load();
        if let Some(record) = current
            .values()
            .find(|record| record.caller.key_id == id_or_name)
        {
            return Ok(record.clone());
        }
        let mut named = current
            .values()
            .filter(|record| record.caller.name == id_or_name && record.revoked_us.is_none());
        match (named.next(), named.next()) {
            (None, _) => Err(CallerKeysError::Unknown),
            (Some(record), None) => Ok(record.clone()),
            (Some(_), Some(_)) => Err(CallerKeysError::Ambiguous),
        }
    }

    fn replace(&self, digest: [u8; 32], record: CallerRecord) {
        let mut next = ByDigest::clone(&self.current.load());
        next.insert(digest, record);
        self.current.store(Arc::new(next));
    }
}

impl NewCaller {
    /// Whether a key can be made so.
    ///
    /// # Errors
    /// [`CallerKeysError::Invalid`], which says what is wrong.
    pub fn check(&self) -> Result<(), CallerKeysError> {
        let printable = |text: &str| {
            (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control)
        };
        if !printable(&self.name) {
            return Err(CallerKeysError::Invalid(
                "a name has 1 to 64 printable characters",
            ));
        }
        if !valid_tenant(&self.tenant) {
            return Err(CallerKeysError::Invalid(
                "a tenant has 1 to 64 of a-z 0-9 _ - and begins with a letter or a digit",
            ));
        }
        // The agent's name stands in records, which hold plain words only.
        let word = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let plain = |agent: &str| (1..=64).contains(&agent.len()) && agent.bytes().all(word);
        if !self.agent.as_deref().is_none_or(plain) {
            return Err(CallerKeysError::Invalid(
                "an agent has 1 to 64 of A-Z a-z 0-9 . _ -",
            ));
        }
        Ok(())
    }
}

/// A record as it is stored; the digest of the token is the row's name.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    key_id: String,
    name: String,
    tenant: String,
    agent: Option<String>,
    created_us: i64,
    revoked_us: Option<i64>,
}

fn encode(record: &CallerRecord) -> Result<Vec<u8>, RegistryError> {
    let caller = &record.caller;
    let stored = Stored {
        key_id: caller.key_id.clone(),
        name: caller.name.clone(),
        tenant: caller.tenant.clone(),
        agent: caller.agent.clone(),
        created_us: record.created_us,
        revoked_us: record.revoked_us,
    };
    serde_json::to_vec(&stored).map_err(|_| RegistryError::Damaged)
}

async fn read_all(registry: &dyn Registry) -> Result<ByDigest, RegistryError> {
    let rows = registry.list(Table::CallerKeys, "").await?;
    rows.iter()
        .map(|(name, value)| decode(name, value))
        .collect()
}

fn decode(name: &str, value: &[u8]) -> Result<([u8; 32], CallerRecord), RegistryError> {
    let digest = unhex(name).ok_or(RegistryError::Damaged)?;
    let stored: Stored = serde_json::from_slice(value).map_err(|_| RegistryError::Damaged)?;
    let caller = Caller {
        key_id: stored.key_id,
        name: stored.name,
        tenant: stored.tenant,
        agent: stored.agent,
        token_digest: digest,
    };
    let record = CallerRecord {
        caller: Arc::new(caller),
        created_us: stored.created_us,
        revoked_us: stored.revoked_us,
    };
    Ok((digest, record))
}
