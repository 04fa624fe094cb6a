//! The embedded database: one redb file, and one thread that writes to it.
//!
//! A write is a small closure over a transaction. The thread takes whatever has arrived, runs it
//! all in one transaction and commits once, so that many requests share one sync of the disk; a
//! write is answered only after that commit. Reads see the last commit and take no lock.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use redb::{
    Durability, ReadTransaction, ReadableDatabase, WriteTransaction, backends::FileBackend,
};
use tokio::sync::oneshot;

use super::Durable;

/// Writes that may wait at once. Past this the disk is not keeping up, and waiting longer would
/// only hide it.
const QUEUE: usize = 4096;
/// Writes in one transaction.
const BATCH: usize = 512;
/// How long an unsynced commit may stay so when nothing else comes.
const SETTLE: Duration = Duration::from_millis(200);
/// What redb may keep in memory; sessions are small and mostly read right after they were written.
const CACHE_BYTES: usize = 4 << 20;

/// Why a read or a write of the database did not happen, or may not have happened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The writer has stopped, after an error or at the end.
    #[error("the database is closed")]
    Closed,
    /// The file could not be opened with the permissions it must have.
    #[error("the database file: {0}")]
    File(io::Error),
    /// Another process has the file open.
    #[error("the database is in use by another process")]
    InUse,
    /// The database refused or failed. A write may or may not be in the file.
    #[error("the database")]
    Redb(#[source] Box<redb::Error>),
    /// Too many writes are waiting. This one is not among them.
    #[error("too many writes are waiting for the disk")]
    Saturated,
}

impl<E: Into<redb::Error>> From<E> for DatabaseError {
    fn from(error: E) -> Self {
        match error.into() {
            redb::Error::DatabaseAlreadyOpen => Self::InUse,
            error => Self::Redb(Box::new(error)),
        }
    }
}

/// An open database. Closes, synced, when dropped.
pub struct Database {
    redb: Arc<redb::Database>,
    /// Gone once the database is closing.
    jobs: Option<SyncSender<Box<dyn Job>>>,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
    condition: Condition,
}

/// Whether the database still takes writes. It outlives the database.
#[derive(Clone, Default)]
pub struct Condition(Arc<AtomicBool>);

impl Condition {
    /// Whether the last commit failed. After a failure of the disk all later ones do, also when the
    /// disk is well again, until the file is opened anew: by the next start.
    pub fn failed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Opens the file at `path`, and makes it first, with mode 0600, if there is none.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let file = private(path).map_err(DatabaseError::File)?;
        let redb = redb::Builder::new()
            .set_cache_size(CACHE_BYTES)
            .create_with_backend(FileBackend::new(file)?)?;
        Self::start(redb)
    }

    fn start(redb: redb::Database) -> Result<Self, DatabaseError> {
        let redb = Arc::new(redb);
        let (jobs, arriving) = mpsc::sync_channel(QUEUE);
        let database = Arc::clone(&redb);
        let condition = Condition::default();
        let seen = condition.clone();
        let writer = thread::Builder::new()
            .name("store".into())
            .spawn(move || write_all(&database, &arriving, &seen))
            .map_err(DatabaseError::File)?;
        Ok(Self {
            redb,
            jobs: Some(jobs),
            writer: Mutex::new(Some(writer)),
            condition,
        })
    }

    /// Says, at any time, whether the database still takes writes.
    pub fn condition(&self) -> Condition {
        self.condition.clone()
    }

    /// A view of everything committed.
    pub fn read(&self) -> Result<ReadTransaction, DatabaseError> {
        Ok(self.redb.begin_read()?)
    }

    /// Runs `change` in a transaction, together with other writes that wait, in the order of the
    /// calls. With [`Durable::Now`] it is on the disk when this returns; with [`Durable::Soon`] it is
    /// visible, and on the disk with the next write that is synced.
    ///
    /// `change` reports a refusal in its value, having written nothing; an error undoes the whole
    /// transaction, for the others in it too.
    pub async fn write<T: Send + 'static>(
        &self,
        sync: Durable,
        change: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Change {
            change: Some(change),
            value: None,
            reply,
            sync,
        });
        match self
            .jobs
            .as_ref()
            .ok_or(DatabaseError::Closed)?
            .try_send(job)
        {
            Ok(()) => answer.await.map_err(|_| DatabaseError::Closed)?,
            Err(TrySendError::Full(_)) => Err(DatabaseError::Saturated),
            Err(TrySendError::Disconnected(_)) => Err(DatabaseError::Closed),
        }
    }

    /// Brings everything written so far onto the disk.
    pub async fn sync(&self) -> Result<(), DatabaseError> {
        self.write(Durable::Now, |_| Ok(())).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(writer) = self.writer.lock().take() {
            // The thread ends when the channel is closed; if it panicked, there is nothing to add.
            let _ended = writer.join();
        }
    }
}

/// Opens or makes a file that only its owner may read.
fn private(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may read or write it; its mode must be 0600",
        ));
    }
    Ok(file)
}

/// A write that waits.
trait Job: Send {
    fn sync(&self) -> Durable;
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error>;
    fn answer(self: Box<Self>, outcome: Result<(), DatabaseError>);
}

struct Change<T, F> {
    change: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, DatabaseError>>,
    sync: Durable,
}

impl<T, F> Job for Change<T, F>
where
    T: Send,
    F: FnOnce(&WriteTransaction) -> Result<T, redb::Error> + Send,
{
    fn sync(&self) -> Durable {
        self.sync
    }

    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if let Some(change) = self.change.take() {
            self.value = Some(change(transaction)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), DatabaseError>) {
        let Self { value, reply, .. } = *self;
        // Whoever asked may have hung up; the write stands all the same.
        let _gone = reply.send(outcome.and_then(|()| value.ok_or(DatabaseError::Closed)));
    }
}

/// The writer thread: until the channel is closed.
fn write_all(database: &redb::Database, arriving: &Receiver<Box<dyn Job>>, condition: &Condition) {
    let mut unsynced = false;
    loop {
        let first = if unsynced {
            match arriving.recv_timeout(SETTLE) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        } else {
            match arriving.recv() {
                Ok(job) => Some(job),
                Err(mpsc::RecvError) => break,
            }
        };
        let mut batch: Vec<Box<dyn Job>> = first.into_iter().collect();
        let synced_now = batch.is_empty();
        batch.extend(arriving.try_iter().take(BATCH));
        let sync = synced_now || batch.iter().any(|job| job.sync() == Durable::Now);
        let committed = commit(database, &mut batch, sync);
        condition.0.store(committed.is_err(), Ordering::Relaxed);
        match committed {
            Ok(()) => {
                unsynced = !sync;
                batch.into_iter().for_each(|job| job.answer(Ok(())));
            }
            Err(error) => refuse(batch, &error),
        }
    }
    if unsynced {
        // The last chance to sync; a failure loses only what was allowed to be lost.
        let _lost = commit(database, &mut Vec::new(), true);
    }
}

fn commit(
    database: &redb::Database,
    batch: &mut [Box<dyn Job>],
    sync: bool,
) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    let durability = if sync {
        Durability::Immediate
    } else {
        Durability::None
    };
    transaction.set_durability(durability)?;
    for job in batch {
        job.run(&transaction)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Tells everyone in a batch that it failed. The error itself can't be copied, so each gets its
/// text; it never holds content.
fn refuse(batch: Vec<Box<dyn Job>>, error: &redb::Error) {
    tracing::error!(%error, writes = batch.len(), "the embedded store failed to commit");
    for job in batch {
        let copy = redb::Error::Io(io::Error::other(error.to_string()));
        job.answer(Err(DatabaseError::Redb(Box::new(copy))));
    }
}

#[cfg(test)]
mod tests;
