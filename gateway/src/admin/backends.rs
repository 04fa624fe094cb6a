//! Where sessions, their parts, keys and conversations are kept, as the configuration says.

use std::{sync::Arc, time::Duration};

use super::office::OfficeError;
use crate::{
    clock::Clock,
    config::{Config, Redis, Store},
    limit::{EmbeddedMeter, Meter, RedisMeter},
    registry::{Condition, Database, EmbeddedRegistry, Link, RedisRegistry, Registry},
    session::{
        blobs::{Blobs, EmbeddedBlobs, RedisBlobs},
        index::{EmbeddedIndex, Index, RedisIndex},
        store::{EmbeddedStore, RedisStore, SharedStore},
    },
};

/// One backend behind all its traits.
#[derive(Clone)]
pub(super) struct Backends {
    pub(super) registry: Arc<dyn Registry>,
    pub(super) store: SharedStore,
    pub(super) index: Arc<dyn Index>,
    pub(super) blobs: Arc<dyn Blobs>,
    pub(super) meter: Arc<dyn Meter>,
    medium: Medium,
}

#[derive(Clone)]
enum Medium {
    File(Arc<Database>),
    Server(Arc<Link>),
}

impl Backends {
    pub(super) async fn open(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, OfficeError> {
        match &config.store {
            Store::Embedded => Self::embedded(config, clock),
            Store::Redis(settings) => Self::redis(settings).await,
        }
    }

    fn embedded(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, OfficeError> {
        let database = Database::open(&config.data_dir.join("sessions.redb"));
        let database = Arc::new(database.map_err(OfficeError::of("sessions.redb"))?);
        let (file, clock) = (|| Arc::clone(&database), || Arc::clone(clock));
        Ok(Self {
            registry: Arc::new(EmbeddedRegistry::new(file(), clock())),
            store: Arc::new(EmbeddedStore::new(file(), clock())),
            index: Arc::new(EmbeddedIndex::new(file(), clock())),
            blobs: Arc::new(EmbeddedBlobs::new(file())),
            meter: Arc::new(EmbeddedMeter::new(file(), clock())),
            medium: Medium::File(database),
        })
    }

    async fn redis(settings: &Redis) -> Result<Self, OfficeError> {
        let link = Link::open(settings).await;
        let link = Arc::new(link.map_err(OfficeError::of("sessions.url"))?);
        let fit = link.check(settings).await;
        fit.map_err(OfficeError::of("sessions.url"))?;
        Ok(Self {
            registry: Arc::new(RedisRegistry::new(Arc::clone(&link))),
            store: Arc::new(RedisStore::new(Arc::clone(&link))),
            index: Arc::new(RedisIndex::new(Arc::clone(&link))),
            blobs: Arc::new(RedisBlobs::new(Arc::clone(&link))),
            meter: Arc::new(RedisMeter::new(Arc::clone(&link))),
            medium: Medium::Server(link),
        })
    }

    /// Whether it takes writes.
    pub(super) fn condition(&self) -> Condition {
        match &self.medium {
            Medium::File(database) => database.condition(),
            Medium::Server(link) => link.condition(),
        }
    }

    /// Looks whether it has come back. A file does that by itself.
    pub(super) async fn look_again(&self) {
        if let Medium::Server(link) = &self.medium
            && link.condition().failed()
            && let Err(error) = link.ping().await
        {
            tracing::debug!(%error, "the session store is away");
        }
    }

    /// Brings onto the disk what has only been promised for soon, where that is ours to do.
    pub(super) async fn sync(&self) -> Result<(), OfficeError> {
        match &self.medium {
            Medium::File(database) => {
                let synced = database.sync().await;
                synced.map_err(OfficeError::of("sessions.redb"))
            }
            Medium::Server(_) => Ok(()),
        }
    }
}

/// Says when the store goes and comes back, once each.
#[derive(Default)]
pub(super) struct Watch {
    away: Option<tokio::time::Instant>,
}

impl Watch {
    pub(super) fn look(&mut self, condition: &Condition) {
        match (self.away, condition.failed()) {
            (None, true) => {
                self.away = Some(tokio::time::Instant::now());
                tracing::error!("the session store fails; requests get 503");
            }
            (Some(since), false) => {
                self.away = None;
                let for_s = Duration::as_secs(&since.elapsed());
                tracing::info!(for_s, "the session store works again");
            }
            _ => {}
        }
    }
}
