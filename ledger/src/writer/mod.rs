//! The writer: one stream per process, a write-ahead log, segments.

mod commit;
mod directory;
mod disk;
mod options;
mod own;
mod queue;
mod recover;
mod seal;
mod ship;
mod spare;
mod spool;
mod stream;
mod ticket;

use std::{
    fs::{self, File},
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread::JoinHandle,
};

use gatehouse_envelope::{
    random::RandomError,
    sign::{SignError, Signer},
};

pub use options::{Condition, Durability, Mode, Options, Pace, SPOOL_BYTES, SealLog};
pub use recover::{Recovery, SessionLink};
pub use ticket::{AppendError, Outcome, Position, Ticket};

use crate::{
    anchor::Anchors,
    clock::Clock,
    event::{Event, EventError},
    names,
    note::{Key, NoteError},
    seal::SealError,
    store::{LedgerStore, StoreError},
    trust::TrustError,
    wal::WalError,
};
use commit::Committer;
use directory::{ensure_trust, lock};
use disk::Disk;
use queue::{Entry, Message};
use seal::{Seals, Wish, log_name};
use ship::Shipper;
use spool::Spool;

/// How many events may wait for the writer.
const QUEUE: usize = 8192;

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The deployment's name has another form.
    #[error(
        "a deployment is named by 1 to {} of a-z, 0-9 and -",
        names::MAX_DEPLOYMENT
    )]
    Deployment,
    /// The first record could not be built.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The data directory could not be used.
    #[error("the data directory: {0}")]
    Io(#[from] io::Error),
    /// Another process has this data directory open.
    #[error("the data directory is in use by another process")]
    Locked,
    /// The signer's name cannot be the name of a key.
    #[error("the deployment's signer: {0}")]
    Note(#[from] NoteError),
    /// No randomness for a stream's name.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The deployment's signer, or the stream's own.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The store refused what is stored at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trust file is damaged.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The trust file does not name the signer's key, so nothing written now would verify.
    #[error("the trust file does not name the deployment's key")]
    Untrusted,
    /// A log left behind by an earlier process.
    #[error(transparent)]
    Wal(#[from] WalError),
}

/// The ledger did not end as it should; recovery at the next start will do the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseError {
    /// Not everything could be written.
    #[error("the log could not be written to its end")]
    Failed,
    /// The write-ahead log is held ([`Ledger::hold`]), so the stream was left for recovery to end.
    #[error("the session store is behind the log; the next start brings it up to it")]
    Held,
    /// Not everything could be stored in time.
    #[error("the last segments of the log could not be stored in time")]
    NotStored,
}

/// What the threads and the handle share.
pub(crate) struct Shared {
    /// The name of the log of seals.
    seals: String,
    failed: AtomicBool,
    closing: AtomicBool,
    held: AtomicBool,
    disk_full: AtomicBool,
    unsealed: AtomicBool,
    refused: AtomicU64,
    spool: Spool,
}

impl Shared {
    fn new(seals: String, spool_bytes: u64) -> Self {
        Self {
            seals,
            unsealed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            held: AtomicBool::new(false),
            disk_full: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            spool: Spool::new(spool_bytes),
        }
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst)
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }
}

/// A running ledger: the one writer of a data directory.
pub struct Ledger {
    queue: SyncSender<Message>,
    mode: Mode,
    anchors: Anchors,
    shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    committer: JoinHandle<()>,
    shipper: JoinHandle<bool>,
    sealer: JoinHandle<()>,
    /// Without it the sealer makes a last seal and ends.
    wishes: SyncSender<Wish>,
    /// Held until both have ended.
    _lock: File,
}

impl Ledger {
    /// Opens the ledger of a data directory: recovers what dead processes left there, opens a new
    /// stream and stores its certificate. Blocks on the disk, the store and the signer.
    ///
    /// # Errors
    /// See [`OpenError`]. Nothing that was recovered is lost by an error.
    pub fn open(
        options: Options,
        store: Arc<dyn LedgerStore>,
        signer: Arc<dyn Signer>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Recovery), OpenError> {
        if !names::is_deployment(&options.deployment) {
            return Err(OpenError::Deployment);
        }
        let wal = options.data_dir.join("wal");
        fs::create_dir_all(&wal)?;
        let lock = lock(&wal.join("lock"))?;
        let trust = ensure_trust(
            &options.data_dir.join("trust.policy"),
            &Key::of(signer.as_ref())?,
        )?;
        let recovery = recover::recover(&wal, store.as_ref(), signer.as_ref(), clock.as_ref())?;
        let log = log_name(&wal, options.seals, &options.deployment)?;
        let shared = Arc::new(Shared::new(log, options.pace.spool_bytes));
        let (to_shipper, from_committer) = mpsc::channel();
        let shipper = Shipper::new(store.clone(), options.pace.keep, shared.clone());
        let (disk, mode) = (Disk::new(&options.data_dir), options.mode);
        let anchors = Anchors::new(store.clone(), &trust.logs, &shared.seals);
        let seals = Seals {
            store: store.clone(),
            signer: signer.clone(),
            clock: clock.clone(),
            keys: trust.logs,
            shared: shared.clone(),
            anchors: anchors.clone(),
        };
        let shared_too = shared.clone();
        let committer = Committer::new(options, wal, disk, signer, clock, to_shipper, shared_too)?;
        // Before the first record, so that it shows now whether the store can be written.
        let (name, certificate) = committer.certificate();
        store.put_once(&name, certificate.as_bytes())?;
        let (queue, waiting) = mpsc::sync_channel(QUEUE);
        let shipper = thread("ledger-ship", move || shipper.run(&from_committer))?;
        let committer = thread("ledger-commit", move || committer.run(&waiting))?;
        let (wishes, wished) = mpsc::sync_channel(1);
        let sealer = thread("ledger-seal", move || seals.run(&wished))?;
        let threads = Mutex::new(Some(Threads {
            committer,
            shipper,
            sealer,
            wishes,
            _lock: lock,
        }));
        Ok((
            Self {
                queue,
                mode,
                anchors,
                shared,
                threads,
            },
            recovery,
        ))
    }

    /// Hands an event to the writer. Never blocks.
    pub fn append(&self, event: Event, durability: Durability) -> Ticket {
        let outcome = self.refusal(durability).map_or(Ok(()), Err).and_then(|()| {
            let (ticket, completer) = Ticket::pair();
            let entry = Entry {
                event,
                durability,
                completer,
            };
            match self.queue.try_send(Message::Append(entry)) {
                Ok(()) => Ok(ticket),
                Err(TrySendError::Full(_)) => Err(AppendError::Busy),
                Err(TrySendError::Disconnected(_)) => Err(AppendError::Stopped),
            }
        });
        match outcome {
            Ok(_) if self.mode == Mode::Async => Ticket::known(Ok(Position { seq: None })),
            Ok(ticket) => ticket,
            Err(error) => {
                self.shared.refused.fetch_add(1, Ordering::Relaxed);
                Ticket::known(Err(error))
            }
        }
    }

    /// Stores what was appended so far without waiting for its time. The ticket completes when the
    /// store has it.
    pub fn flush(&self) -> Ticket {
        let (ticket, completer) = Ticket::pair();
        match self.queue.try_send(Message::Flush(completer)) {
            Ok(()) => ticket,
            Err(TrySendError::Full(_)) => Ticket::known(Err(AppendError::Busy)),
            Err(TrySendError::Disconnected(_)) => Ticket::known(Err(AppendError::Stopped)),
        }
    }

    /// The name of the log of seals in the store.
    pub fn seals(&self) -> &str {
        &self.shared.seals
    }

    /// What witnesses and time stamp authorities are shown of the seals, and where their answers go.
    pub fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// Makes a seal now, over what the store holds, and gives its number. Blocks on the store.
    ///
    /// # Errors
    /// See [`SealError`]; none if the ledger is closed.
    pub fn seal(&self) -> Option<Result<u64, SealError>> {
        let wishes = {
            let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.as_ref()?.wishes.clone()
        };
        let (answer, answered) = mpsc::sync_channel(1);
        wishes.send(answer).ok()?;
        drop(wishes);
        answered.recv().ok()
    }

    /// Says whether the files of the write-ahead log are to be kept, beyond [`Pace::keep`] and the
    /// end of this process: while the session store is behind, recovery has to find in them what the
    /// store does not know. A ledger that is closed while held leaves its stream to recovery.
    pub fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::SeqCst);
    }

    /// How the ledger is.
    pub fn condition(&self) -> Condition {
        Condition {
            failed: self.shared.has_failed(),
            disk_full: self.shared.disk_full.load(Ordering::Relaxed),
            unsealed: self.shared.unsealed.load(Ordering::Relaxed),
            waiting: self.shared.spool.segments(),
            spooled: self.shared.spool.bytes(),
            spool_bytes: self.shared.spool.limit(),
            spool_full: self.shared.spool.is_full(),
            stalled: self.shared.spool.is_stalled(),
        }
    }

    /// Why the store takes nothing, while it does not.
    pub fn trouble(&self) -> Option<String> {
        self.shared.spool.trouble()
    }

    /// Ends the stream with its `writer.close`, stores what is left and stops. Blocks until then;
    /// call it after everything that appends has ended, and after the session store has made its
    /// last changes durable. A second call does nothing.
    ///
    /// # Errors
    /// See [`CloseError`].
    pub fn close(&self) -> Result<(), CloseError> {
        let threads = self
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(threads) = threads else {
            return Ok(());
        };
        self.shared.closing.store(true, Ordering::SeqCst);
        // A full queue is waited for; a committer that is gone has nothing to close.
        let _ = self.queue.send(Message::Close);
        let committed = threads.committer.join().is_ok() && !self.shared.has_failed();
        let shipped = threads.shipper.join().unwrap_or(false);
        // The last seal covers the end of the stream. Without it the next start's first one does.
        drop(threads.wishes);
        let _ = threads.sealer.join();
        match (committed, shipped) {
            (true, true) if self.shared.is_held() => Err(CloseError::Held),
            (true, true) => Ok(()),
            (true, false) => Err(CloseError::NotStored),
            (false, _) => Err(CloseError::Failed),
        }
    }

    /// Why an append would fail before it is tried. What was admitted before the disk filled up may
    /// still be settled, so the watermark only stops durable appends.
    fn refusal(&self, durability: Durability) -> Option<AppendError> {
        if self.shared.has_failed() {
            return Some(AppendError::Failed);
        }
        let durable = durability == Durability::Durable;
        let full = self.shared.disk_full.load(Ordering::Relaxed);
        if durable && full {
            return Some(AppendError::DiskFull);
        }
        (durable && self.shared.spool.is_full()).then_some(AppendError::SpoolFull)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Whoever cares about the outcome has called `close`.
        let _ = self.close();
    }
}

fn thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}
