//! A gateway's data directory, opened: keys, sessions and the log, without a listener.
//!
//! One process at a time can have it open: the lock of the log sees to that, and the database's where
//! it lies here. A desk that only reads does without the log, and leaves alone what a gateway beside
//! it may be writing.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_envelope::sign::{FileSigner, Signer};
use gatehouse_ledger::{
    AppendError, Ledger, Mode, Options, Pace, Recovery, SealLog, clock::Clock as LedgerTime,
};

use super::{
    Desk,
    backends::{Backends, Watch},
    log_store,
    stall::Stall,
    vault::Vault,
};
use crate::{
    anchor::Anchoring,
    audit::{Book, BookError, Event, Later, LedgerClock, Unconfirmed},
    auth::CallerKeys,
    clock::Clock,
    config::{Config, LedgerMode, LogStore, Store},
    limit::Budget,
    registry::{Condition, Keyring},
    session::{Journal, Logged, Sessions, store::SharedStore},
};

/// How often the log is offered what it is owed.
const TEND: Duration = Duration::from_millis(250);
/// In how many of those rounds the store is brought up to the log once.
const MEND_EVERY: u64 = 8;
/// How long the log is offered it at the end.
const LAST_TRIES: Duration = Duration::from_secs(2);

/// Why a data directory could not be opened or closed: which part of it, and what that part says.
#[derive(Debug, thiserror::Error)]
#[error("{part}: {cause}")]
pub struct OfficeError {
    part: &'static str,
    cause: String,
}

impl OfficeError {
    pub(super) fn of<E: Into<Box<dyn Error + Send + Sync>>>(
        part: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |cause| Self {
            part,
            cause: with_causes(&*cause.into()),
        }
    }
}

/// What an error says, and each error under it what the one above it does not say already.
fn with_causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
        let cause = cause.to_string();
        if !said.ends_with(&cause) {
            said.push_str(": ");
            said.push_str(&cause);
        }
    }
    said
}

/// The parts that a gateway, or an operator's command, works with.
pub struct Office {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What has to be closed in the end.
    pub files: Files,
    /// The tenants' keys.
    pub keyring: Arc<Keyring>,
    /// The callers' keys.
    pub callers: Arc<CallerKeys>,
    /// The sessions, brought up to the log.
    pub sessions: Sessions,
    /// What may be spent, and what has been.
    pub budget: Budget,
    /// The log, with a stream of this process's own.
    pub book: Book,
    /// Whether the database still takes writes.
    pub store: Condition,
}

impl Office {
    /// Opens everything: makes what is missing, recovers what a dead process left, and brings the
    /// sessions up to the log before anyone can use them.
    pub async fn open(config: &Config) -> Result<Self, OfficeError> {
        Self::open_over(config, |store, journal| (store, journal)).await
    }

    /// The same, with something put `between` the sessions and their store and log.
    pub(crate) async fn open_over(
        config: &Config,
        between: impl FnOnce(SharedStore, Arc<dyn Journal>) -> (SharedStore, Arc<dyn Journal>),
    ) -> Result<Self, OfficeError> {
        let vault = Vault::open(config).await?;
        let (book, recovery) = open_book(config, Arc::clone(&vault.clock)).await?;
        let anchors = book.ledger().anchors();
        let anchoring = Anchoring::new(&config.ledger, anchors, &vault.clock);
        let anchoring = anchoring.map_err(OfficeError::of("tls"))?;
        let (store, journal) = between(Arc::clone(&vault.backends.store), Arc::new(book.clone()));
        let outbox = config.data_dir.join("outbox");
        let sessions = vault.sessions(config, store, journal, Some(outbox))?;
        replay(&sessions, recovery).await?;
        Ok(Self {
            store: vault.backends.condition(),
            budget: vault.budget(config),
            clock: vault.clock,
            files: Files {
                backends: vault.backends,
                sessions: sessions.clone(),
                book: book.clone(),
                #[cfg(feature = "aws")]
                kms: vault.kms,
                anchoring,
            },
            keyring: vault.keyring,
            callers: vault.callers,
            sessions,
            book,
        })
    }

    /// A desk that only reads: nothing is written to the log, and nothing could be.
    pub(super) async fn reading_desk(config: &Config) -> Result<Desk, OfficeError> {
        Self::must_be_there(config)?;
        let vault = Vault::open(config).await?;
        let store = Arc::clone(&vault.backends.store);
        // The files in the outbox are those of a gateway that may be running.
        let sessions = vault.sessions(config, store, Arc::new(NoLog), None)?;
        Ok(Desk::new(
            vault.callers,
            vault.keyring,
            sessions,
            Arc::new(NoLog),
        ))
    }

    /// Refuses where no gateway has run, instead of making a data directory there.
    pub(super) fn must_be_there(config: &Config) -> Result<(), OfficeError> {
        let file = match config.store {
            Store::Embedded => "sessions.redb",
            // Its signer's public key is there wherever the keys are.
            Store::DynamoDb(_) | Store::Redis(_) => "trust.policy",
        };
        let file = config.data_dir.join(file);
        if !file
            .try_exists()
            .map_err(OfficeError::of("data directory"))?
        {
            let why = format!("no gateway has run in {}", config.data_dir.display());
            return Err(OfficeError::of("data directory")(why));
        }
        Ok(())
    }

    /// A desk over these parts.
    pub fn desk(&self) -> Desk {
        let journal = Arc::new(self.book.clone());
        Desk::new(
            Arc::clone(&self.callers),
            Arc::clone(&self.keyring),
            self.sessions.clone(),
            journal,
        )
    }

    /// Closes it, in order.
    pub async fn close(self) -> Result<(), OfficeError> {
        self.files.close().await
    }
}

/// The store and the log.
#[derive(Clone)]
pub struct Files {
    backends: Backends,
    sessions: Sessions,
    book: Book,
    #[cfg(feature = "aws")]
    kms: super::kms_uses::KmsUses,
    anchoring: Anchoring,
}

impl Files {
    /// Keeps log and store together while the gateway runs, until it is dropped: offers the log what
    /// it is owed, brings the store up to it, and has it keep its files for as long as the store is
    /// behind. Shows the log's seals around.
    pub async fn tend(&self) {
        tokio::join!(self.keep_together(), self.anchoring.run());
    }

    /// Whom the log's seals are shown to.
    pub fn anchoring(&self) -> &Anchoring {
        &self.anchoring
    }

    async fn keep_together(&self) {
        let (mut round, mut stall, mut unsealed) = (0_u64, Stall::default(), Stall::default());
        let mut watch = Watch::default();
        loop {
            tokio::time::sleep(TEND).await;
            #[cfg(feature = "aws")]
            self.tell_uses(false);
            self.tell_clocks();
            self.book.pay();
            let log = self.book.ledger().condition();
            if stall.is_to_be_told(log.stalled, tokio::time::Instant::now()) {
                let (waiting, bytes) = (log.waiting, log.spooled);
                let why = self.book.ledger().trouble().unwrap_or_default();
                tracing::warn!(
                    waiting,
                    bytes,
                    why,
                    "the log's store takes nothing; segments wait"
                );
            }
            if unsealed.is_to_be_told(log.unsealed, tokio::time::Instant::now()) {
                tracing::warn!(
                    "no seal over all that is stored of the log's streams could be made; it is tried again"
                );
            }
            self.backends.look_again().await;
            watch.look(&self.backends.condition());
            if round.is_multiple_of(MEND_EVERY) {
                self.sessions.mend(TEND).await;
            }
            self.hold();
            round += 1;
        }
    }

    /// Ends the log, once everything in the database is on the disk: recovery counts on that. If the
    /// database is behind, the log is left as a crash would leave it, and the next start does the rest.
    pub async fn close(&self) -> Result<(), OfficeError> {
        let deadline = tokio::time::Instant::now() + LAST_TRIES;
        while self.owed() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(TEND).await;
        }
        self.sessions.mend(Duration::ZERO).await;
        let synced = self.backends.sync().await;
        if synced.is_err() {
            self.book.ledger().hold(true);
        } else {
            self.hold();
        }
        let book = self.book.clone();
        let closed = tokio::task::spawn_blocking(move || {
            let closed = book.ledger().close();
            closed.map_err(OfficeError::of("ledger"))
        });
        let closed = closed.await.map_err(OfficeError::of("ledger"))?;
        self.anchoring.last_round().await;
        synced.and(closed)
    }

    /// How many records the log does not have yet.
    fn owed(&self) -> usize {
        #[cfg(feature = "aws")]
        let uses = self.tell_uses(true);
        #[cfg(not(feature = "aws"))]
        let uses = 0;
        uses + self.tell_clocks() + self.book.pay()
    }

    /// Offers the log what is known of other clocks.
    fn tell_clocks(&self) -> usize {
        let ledger = self.book.ledger();
        let offer = |event| crate::audit::offer(ledger, event);
        self.anchoring.tell_clocks(offer)
    }

    /// Offers the log what KMS was asked for.
    #[cfg(feature = "aws")]
    fn tell_uses(&self, at_once: bool) -> usize {
        let ledger = self.book.ledger();
        self.kms
            .tell(|event| crate::audit::offer(ledger, event), at_once)
    }

    fn hold(&self) {
        let behind = self.sessions.behind() > 0 || self.backends.condition().failed();
        self.book.ledger().hold(behind);
    }
}

/// In place of the log where nothing may change: it takes nothing.
struct NoLog;

#[async_trait]
impl Journal for NoLog {
    async fn append(&self, _: Event) -> Result<(), Unconfirmed> {
        Err(BookError::from(AppendError::Stopped).into())
    }

    async fn take(&self, _: Event) -> Result<(), Unconfirmed> {
        Err(BookError::from(AppendError::Stopped).into())
    }

    fn owe(&self, _: Event, _: Option<Later>) {}
}

async fn open_book(
    config: &Config,
    clock: Arc<dyn Clock>,
) -> Result<(Book, Recovery), OfficeError> {
    let bound = config.ledger.append_timeout;
    let degraded = config.ledger.allow_degraded;
    let options = Options {
        seals: match config.ledger.store {
            LogStore::Dir => SealLog::Own,
            LogStore::S3(_) => SealLog::Shared,
        },
        data_dir: config.data_dir.clone(),
        deployment: config.ledger.deployment.clone(),
        mode: match config.ledger.mode {
            LedgerMode::Async => Mode::Async,
            LedgerMode::Local => Mode::Local,
            LedgerMode::Strict => Mode::Strict,
        },
        pace: Pace {
            flush_after: config.ledger.segment_age,
            flush_bytes: config.ledger.segment_size as u64,
            spool_bytes: config.ledger.spool,
            ..Pace::default()
        },
    };
    let signer = signer(config).await?;
    let kept = config.ledger.store.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let clock: Arc<dyn LedgerTime> = Arc::new(LedgerClock(clock));
        let store = log_store::open(&kept, &options.data_dir, Arc::clone(&clock));
        let store = store.map_err(OfficeError::of("ledger.store"))?;
        let opened = Ledger::open(options, store, signer, clock);
        opened.map_err(OfficeError::of("ledger"))
    });
    let (ledger, recovery) = opened.await.map_err(OfficeError::of("ledger"))??;
    for writer in &recovery.damaged {
        tracing::error!(
            writer,
            "a stream does not fit together; its files are set aside"
        );
    }
    let book = Book::new(Arc::new(ledger), bound).allow_degraded(degraded);
    Ok((book, recovery))
}

/// The log's signing key.
async fn signer(config: &Config) -> Result<Arc<dyn Signer>, OfficeError> {
    let deployment = config.ledger.deployment.clone();
    #[cfg(feature = "aws")]
    if let crate::config::RootKey::AwsKms(kms) = &config.keys.root
        && let Some(signer) = super::kms::signer(kms, &deployment).await?
    {
        return Ok(Arc::new(signer));
    }
    let path = config.data_dir.join("keys/signer");
    let opening = move || FileSigner::open_or_create(&path, &deployment);
    let opened = tokio::task::spawn_blocking(opening).await;
    let opened = opened.map_err(OfficeError::of("keys/signer"))?;
    Ok(Arc::new(opened.map_err(OfficeError::of("keys/signer"))?))
}

/// An honest crash must not look like tampering: the store is brought up to the log first.
async fn replay(sessions: &Sessions, recovery: Recovery) -> Result<(), OfficeError> {
    let logged = recovery.links.iter().map(|link| Logged {
        sid: link.session.clone(),
        sseq: link.sseq,
        digest: link.digest,
    });
    let logged: Vec<_> = logged.collect();
    let failed = sessions.replay(&logged).await;
    let failed = failed.map_err(OfficeError::of("sessions"))?;
    if failed > 0 {
        tracing::warn!(failed, "sessions could not be brought up to the log");
    }
    recovery.complete().map_err(OfficeError::of("ledger"))
}
