//! What lies under the log: where sessions and keys are kept, and the keys that open them.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_envelope::keys::{FileKeys, KeyError, KeyProvider};

use super::{backends::Backends, office::OfficeError};
use crate::{
    auth::{CallerKeys, CallerKeysError},
    clock::{Clock, SystemClock},
    config::{Config, RootKey},
    registry::{CachePolicy, GATEWAY, Keyring, KeyringError, Registry, Table},
    session::{self, Journal, Sessions, store::SharedStore},
};

/// The store and the keys.
pub(super) struct Vault {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) backends: Backends,
    pub(super) keyring: Arc<Keyring>,
    pub(super) callers: Arc<CallerKeys>,
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
        let (root, named) = root_key(config, &*registry).await?;
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
        })
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
        ..session::Limits::default()
    }
}

const OTHER_ROOT: &str = "not the root key under which the store's keys are wrapped; the replicas of \
                          one store have one root key, and one that was replaced is named as a \
                          previous one";
const NO_ROOT: &str = "missing, while the store holds keys that are wrapped under it; copy the folder \
                       keys/ of another replica, or of a backup";

/// The root key, and what it is called where it does not fit.
async fn root_key(
    config: &Config,
    registry: &dyn Registry,
) -> Result<(Arc<dyn KeyProvider>, &'static str), OfficeError> {
    match &config.keys.root {
        #[cfg(feature = "aws")]
        RootKey::AwsKms(kms) => Ok((Arc::new(super::kms::root(kms).await?), "keys.key_id")),
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
