//! What lies under the log: where sessions and keys are kept, and the keys that open them.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gatehouse_envelope::keys::{FileKeys, KeyError, KeyProvider};

use super::{backends::Backends, office::OfficeError};
use crate::{
    auth::{CallerKeys, CallerKeysError},
    clock::{Clock, SystemClock},
    config::{Config, RootKey},
    limit::Budget,
    registry::{CachePolicy, GATEWAY, Keyring, KeyringError, Registry, Table},
    session::{self, Journal, Sessions, store::SharedStore},
};

/// The store and the keys.
pub(super) struct Vault {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) backends: Backends,
    pub(super) keyring: Arc<Keyring>,
    pub(super) callers: Arc<CallerKeys>,
    /// What KMS was asked for so far, and the log does not say yet.
    #[cfg(feature = "aws")]
    pub(super) kms: super::kms_uses::KmsUses,
}

impl Vault {
    pub(super) async fn open(config: &Config) -> Result<Self, OfficeError> {
        let data = config.data_dir.as_path();
        let mut private = std::fs::DirBuilder::new();
        let made = private.recursive(true).mode(0o700).create(data);
        made.map_err(OfficeError::of("data directory"))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let backends = Backends::open(config, &clock).await?;
        let registry = Arc::clone(&backends.registry);
        if is_emptied(data, &*registry).await? {
            tracing::warn!("{EMPTIED}");
        }
        #[cfg(feature = "aws")]
        let kms = super::kms_uses::KmsUses::default();
        let root = root_key(
            config,
            &*registry,
            #[cfg(feature = "aws")]
            &kms,
        );
        let (root, named) = root.await?;
        let policy = CachePolicy {
            max_age: config.keys.cache_age,
            max_age_new: config.keys.cache_age_new,
            max_uses: config.keys.cache_uses,
        };
        let keyring = Keyring::new(root, Arc::clone(&registry), Arc::clone(&clock), policy);
        let callers = CallerKeys::load(Arc::clone(&registry), &keyring, Arc::clone(&clock)).await;
        let callers = Arc::new(callers.map_err(|error| match error {
            CallerKeysError::Keyring(KeyringError::Key(KeyError::Damaged)) => {
                OfficeError::of(named)(OTHER_ROOT)
            }
            CallerKeysError::Keyring(KeyringError::Key(error)) => OfficeError::of(named)(error),
            error => OfficeError::of("caller keys")(error),
        })?);
        let keyring = Arc::new(keyring);
        Ok(Self {
            clock,
            backends,
            keyring,
            callers,
            #[cfg(feature = "aws")]
            kms,
        })
    }

    /// What may be spent.
    pub(super) fn budget(&self, config: &Config) -> Budget {
        let (meter, keyring) = (&self.backends.meter, &self.keyring);
        Budget::new(Arc::clone(meter), Arc::clone(keyring), config.caps)
    }

    /// The sessions; with an `outbox` only for who has the data directory to itself.
    pub(super) fn sessions(
        &self,
        config: &Config,
        store: SharedStore,
        journal: Arc<dyn Journal>,
        outbox: Option<PathBuf>,
    ) -> Result<Sessions, OfficeError> {
        let sessions = Sessions::new(session::Parts {
            store,
            registry: Arc::clone(&self.backends.registry),
            blobs: Arc::clone(&self.backends.blobs),
            index: Arc::clone(&self.backends.index),
            keyring: Arc::clone(&self.keyring),
            journal,
            clock: Arc::clone(&self.clock),
            limits: limits(config),
            outbox,
        });
        sessions.map_err(OfficeError::of("sessions"))
    }
}

fn limits(config: &Config) -> session::Limits {
    session::Limits {
        idle: config.sessions.idle,
        absolute: config.sessions.absolute,
        lease: config.sessions.lease,
        on_busy: config.sessions.on_busy,
        wait: config.sessions.wait,
        keep_keys: keep_keys(config),
        recovery: Duration::from_secs(u64::from(config.sessions.recovery_days) * 86_400),
        ..session::Limits::default()
    }
}

/// Until the last payload of a session is gone, and a day more: days are not counted by one clock.
fn keep_keys(config: &Config) -> Option<Duration> {
    let payloads = config.ledger.payloads.as_ref()?;
    let days = u64::from(payloads.retention_days).saturating_add(1);
    Some(Duration::from_secs(days.saturating_mul(86_400)))
}

const OTHER_ROOT: &str = "not the root key under which the store's keys are wrapped; the replicas of \
                          one store have one root key, and one that was replaced is named as a \
                          previous one";
const NO_ROOT: &str = "missing, while the store holds keys that are wrapped under it; copy the folder \
                       keys/ of another replica, or of a backup";

const EMPTIED: &str = "there is a root key, or a log of before, but the store holds no key: it was emptied, or is \
                       another server or another sessions.prefix; the sessions and callers' keys of \
                       before are not in it";

/// Whether a store that others share holds nothing, though gateways have used it, or another, before: a
/// root key is made, and a log begun, at the very first start.
async fn is_emptied(data: &Path, registry: &dyn Registry) -> Result<bool, OfficeError> {
    let mut is_used = false;
    for name in ["keys/root", "trust.policy"] {
        let there = data.join(name).try_exists();
        is_used |= there.map_err(OfficeError::of("data directory"))?;
    }
    if !is_used || !registry.shared() {
        return Ok(false);
    }
    let wrapped = registry.list(Table::TenantKeys, GATEWAY).await;
    Ok(wrapped.map_err(OfficeError::of("store"))?.is_empty())
}

/// The root key, and what it is called where it does not fit.
async fn root_key(
    config: &Config,
    registry: &dyn Registry,
    #[cfg(feature = "aws")] uses: &super::kms_uses::KmsUses,
) -> Result<(Arc<dyn KeyProvider>, &'static str), OfficeError> {
    match &config.keys.root {
        #[cfg(feature = "aws")]
        RootKey::AwsKms(kms) => {
            let root = super::kms::root(kms, Arc::new(uses.clone())).await?;
            Ok((root, "keys.key_id"))
        }
        RootKey::File { previous } => {
            let mut root = root_file(&config.data_dir.join("keys/root"), registry).await?;
            for path in previous {
                let earlier = FileKeys::open(path);
                root = root.after(earlier.map_err(OfficeError::of("keys.previous_files"))?);
            }
            Ok((Arc::new(root), "keys/root"))
        }
    }
}

/// The root key in a file. It is made at the very first start only: where the store holds keys that are
/// wrapped under one, a new one would open none of them.
async fn root_file(path: &Path, registry: &dyn Registry) -> Result<FileKeys, OfficeError> {
    let is_there = path.try_exists().map_err(OfficeError::of("keys/root"))?;
    let wrapped = registry.list(Table::TenantKeys, GATEWAY).await;
    if !is_there && !wrapped.map_err(OfficeError::of("store"))?.is_empty() {
        return Err(OfficeError::of("keys/root")(NO_ROOT));
    }
    FileKeys::open_or_create(path).map_err(OfficeError::of("keys/root"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;
    use crate::registry::{
        Link, RedisRegistry,
        redis_tests::{Kind, Server},
    };

    #[tokio::test]
    async fn a_store_that_has_nothing_for_the_root_key_is_noticed() {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(Kind::Plain));
        let link = Arc::new(Link::open(&server.settings()).await.unwrap());
        let registry: Arc<dyn Registry> = Arc::new(RedisRegistry::new(link));
        let looks = async || is_emptied(dir.path(), &*registry).await.unwrap();
        assert!(!looks().await, "the very first start");
        let root = root_file(&dir.path().join("keys/root"), &*registry).await;
        let (root, clock) = (Arc::new(root.unwrap()), Arc::new(TestClock::new(0)));
        let policy = CachePolicy::default();
        let keyring = Keyring::new(root, Arc::clone(&registry), clock, policy);
        keyring.tenant(GATEWAY).await.unwrap();
        assert!(!looks().await);
        let empty = ::redis::cmd("FLUSHALL");
        empty.exec(&mut server.admin()).unwrap();
        assert!(looks().await);
    }
}
