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
#[cfg(feature = "aws")]
use crate::{
    config::DynamoDb,
    limit::DynamoMeter,
    registry::{DynamoLink, DynamoRegistry},
    session::{blobs::S3Blobs, index::DynamoIndex, store::DynamoStore},
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
    #[cfg(feature = "aws")]
    Table(Arc<DynamoLink>),
    Server(Arc<Link>),
}

impl Backends {
    pub(super) async fn open(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, OfficeError> {
        match &config.store {
            #[cfg(feature = "aws")]
            Store::DynamoDb(settings) => Self::dynamodb(settings, clock).await,
            #[cfg(not(feature = "aws"))]
            Store::DynamoDb(_) => {
                let why = "this program was built without the feature aws";
                Err(OfficeError::of("sessions.store")(why))
            }
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

    #[cfg(feature = "aws")]
    async fn dynamodb(settings: &DynamoDb, clock: &Arc<dyn Clock>) -> Result<Self, OfficeError> {
        let link = Arc::new(DynamoLink::open(settings, Arc::clone(clock)).await);
        let fit = link.check().await;
        fit.map_err(OfficeError::of("sessions.table"))?;
        let blobs = Arc::new(S3Blobs::open(settings).await);
        let fit = blobs.check().await;
        fit.map_err(OfficeError::of("sessions.parts_bucket"))?;
        let store = DynamoStore::new(Arc::clone(&link), blobs.clone());
        Ok(Self {
            registry: Arc::new(DynamoRegistry::new(Arc::clone(&link))),
            store: Arc::new(store),
            index: Arc::new(DynamoIndex::new(Arc::clone(&link))),
            blobs,
            meter: Arc::new(DynamoMeter::new(Arc::clone(&link))),
            medium: Medium::Table(link),
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
            #[cfg(feature = "aws")]
            Medium::Table(link) => link.condition(),
            Medium::Server(link) => link.condition(),
        }
    }

    /// Looks whether it has come back. A file does that by itself.
    pub(super) async fn look_again(&self) {
        if !self.condition().failed() {
            return;
        }
        let away = match &self.medium {
            Medium::File(_) => None,
            #[cfg(feature = "aws")]
            Medium::Table(link) => link.ping().await.err().map(|error| error.to_string()),
            Medium::Server(link) => link.ping().await.err().map(|error| error.to_string()),
        };
        if let Some(error) = away {
            tracing::debug!(error, "the session store is away");
        }
    }

    /// Brings onto the disk what has only been promised for soon, where that is ours to do.
    pub(super) async fn sync(&self) -> Result<(), OfficeError> {
        match &self.medium {
            Medium::File(database) => {
                let synced = database.sync().await;
                synced.map_err(OfficeError::of("sessions.redb"))
            }
            #[cfg(feature = "aws")]
            Medium::Table(_) => Ok(()),
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
