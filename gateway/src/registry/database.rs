//! The embedded database: one redb file, and one thread that writes to it.
//!
//! A write is a small closure over a transaction. The thread takes whatever has arrived, runs it
//! all in one transaction and commits once, so that many requests share one sync of the disk; a
//! write is answered only after that commit. Reads see the last commit and wait for nobody.

mod writer;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
};

use parking_lot::{Mutex, RwLock};
use redb::{ReadTransaction, ReadableDatabase, WriteTransaction, backends::FileBackend};
use tokio::sync::oneshot;

use self::writer::{Change, Job, Writer};
use super::Durable;

/// Writes that may wait at once. Past this the disk is not keeping up, and waiting longer would
/// only hide it.
const QUEUE: usize = 4096;
/// What redb may keep in memory; sessions are small and mostly read right after they were written.
const CACHE_BYTES: usize = 4 << 20;

/// Why a read or a write of the database did not happen, or may not have happened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The writer has stopped, after an error or at the end.
    #[error("the database is closed")]
    Closed,
    /// The file could not be opened as it must be.
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
    current: Arc<Current>,
    /// Gone once the database is closing.
    jobs: Option<SyncSender<Box<dyn Job>>>,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
    condition: Condition,
}

/// The file as it is open now; `None` while it is about to be opened anew.
type Current = RwLock<Option<Arc<redb::Database>>>;

/// Opens the file once more.
type Opener = Box<dyn Fn() -> Result<redb::Database, DatabaseError> + Send>;

/// Whether the database, or a server in its place, takes writes now. It outlives the database.
#[derive(Clone, Default)]
pub struct Condition(Arc<AtomicBool>);

impl Condition {
    /// Whether the disk has failed, and the file is still to be opened anew.
    pub fn failed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Says which it is now.
    pub(super) fn note(&self, failed: bool) {
        self.0.store(failed, Ordering::Relaxed);
    }
}

impl Database {
    /// Opens the file at `path`, and makes it first, with mode 0600, if there is none. After a
    /// failure of the disk it is opened again by itself, as long as it is the same file.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let file = private(path, Presence::Either).map_err(DatabaseError::File)?;
        let identity = identity(&file).map_err(DatabaseError::File)?;
        let redb = build(file)?;
        let path = path.to_owned();
        let again = move || {
            let file = private(&path, Presence::There).map_err(DatabaseError::File)?;
            if identity == self::identity(&file).map_err(DatabaseError::File)? {
                build(file)
            } else {
                let why = "it has been replaced by another";
                Err(DatabaseError::File(io::Error::other(why)))
            }
        };
        Self::start(redb, Box::new(again))
    }

    fn start(redb: redb::Database, again: Opener) -> Result<Self, DatabaseError> {
        let current = Arc::new(RwLock::new(Some(Arc::new(redb))));
        let (jobs, arriving) = mpsc::sync_channel(QUEUE);
        let condition = Condition::default();
        let writer = Writer::new(Arc::clone(&current), again, condition.clone());
        let writer = thread::Builder::new()
            .name("store".into())
            .spawn(move || writer.run(&arriving))
            .map_err(DatabaseError::File)?;
        Ok(Self {
            current,
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
        let database = self.current.read().clone();
        let database = database.ok_or(redb::Error::PreviousIo)?;
        Ok(database.begin_read()?)
    }

    /// Runs `change` in a transaction, together with other writes that wait, in the order of the
    /// calls. With [`Durable::Now`] it is on the disk when this returns; with [`Durable::Soon`] it is
    /// visible, and on the disk with the next write that is synced.
    ///
    /// `change` reports a refusal in its value, having written nothing; an error undoes the whole
    /// transaction, for the others in it too. It may be run again when the file was opened anew, and
    /// then must do the same to the same rows, and nothing to rows that it has changed already.
    pub async fn write<T: Send + 'static>(
        &self,
        sync: Durable,
        change: impl Fn(&WriteTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Change::new(sync, change, reply));
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

fn build(file: std::fs::File) -> Result<redb::Database, DatabaseError> {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    Ok(builder.create_with_backend(FileBackend::new(file)?)?)
}

/// Which file it is, whatever it is called.
fn identity(file: &std::fs::File) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;

    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Whether a file has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Either,
    There,
}

/// Opens or makes a file that only its owner may read.
fn private(path: &Path, presence: Presence) -> io::Result<std::fs::File> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty() && presence == Presence::Either)
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
        .create(presence == Presence::Either)
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

#[cfg(test)]
mod tests;
