//! The thread that writes, and what it does when the disk fails: it opens the file anew.
//!
//! After an error of the file redb takes nothing more, whatever becomes of the disk. The thread then
//! refuses what arrives, and tries to open the file again, less and less often. What the database has
//! lost by that are the commits that were not synced yet, which callers have been told of; they are
//! kept here until they are synced, and run once more, so that no row goes back behind what anybody
//! has seen.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use redb::{Durability, WriteTransaction};
use tokio::sync::oneshot;

use super::{Condition, Current, DatabaseError, Durable, Opener};

/// Writes in one transaction.
const BATCH: usize = 512;
/// How long an unsynced commit may stay so.
pub(super) const SETTLE: Duration = Duration::from_millis(200);
/// Unsynced writes that are kept to be run again.
const UNSYNCED: usize = 4096;
/// The first and the longest wait before the file is opened again.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A write that waits, or that is not synced yet. It can be run again: on the rows that it was run on
/// first it gives the same rows, and on its own it gives none.
pub(super) trait Job: Send {
    fn sync(&self) -> Durable;
    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error>;
    /// Tells who asked, once.
    fn answer(&mut self, outcome: Result<(), DatabaseError>);
}

pub(super) struct Change<T, F> {
    change: F,
    value: Option<T>,
    reply: Option<oneshot::Sender<Result<T, DatabaseError>>>,
    sync: Durable,
}

impl<T, F> Change<T, F> {
    pub(super) fn new(
        sync: Durable,
        change: F,
        reply: oneshot::Sender<Result<T, DatabaseError>>,
    ) -> Self {
        Self {
            change,
            value: None,
            reply: Some(reply),
            sync,
        }
    }
}

impl<T, F> Job for Change<T, F>
where
    T: Send,
    F: Fn(&WriteTransaction) -> Result<T, redb::Error> + Send,
{
    fn sync(&self) -> Durable {
        self.sync
    }

    fn run(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        self.value = Some((self.change)(transaction)?);
        Ok(())
    }

    fn answer(&mut self, outcome: Result<(), DatabaseError>) {
        let value = self.value.take();
        if let Some(reply) = self.reply.take() {
            // Whoever asked may have hung up; the write stands all the same.
            let _gone = reply.send(outcome.and_then(|()| value.ok_or(DatabaseError::Closed)));
        }
    }
}

type Batch = Vec<Box<dyn Job>>;

/// The writer thread's own.
pub(super) struct Writer {
    pub(super) current: Arc<Current>,
    pub(super) open: Opener,
    pub(super) condition: Condition,
    /// Committed and answered, but not synced, in order; and since when there are any.
    unsynced: Batch,
    since: Option<Instant>,
}

impl Writer {
    pub(super) fn new(current: Arc<Current>, open: Opener, condition: Condition) -> Self {
        Self {
            current,
            open,
            condition,
            unsynced: Vec::new(),
            since: None,
        }
    }

    /// Until the channel is closed.
    pub(super) fn run(mut self, arriving: &Receiver<Box<dyn Job>>) {
        while let Some(batch) = self.next(arriving) {
            if let Err(error) = self.write(batch)
                && breaks(&error)
            {
                self.condition.note(true);
                if !self.recover(arriving) {
                    return;
                }
            }
        }
        if self.since.is_some() {
            // The last chance to sync; a failure loses only what was allowed to be lost.
            let _lost = self.write(Vec::new());
        }
    }

    /// The next writes; none of them when it is time to sync. `None` once the channel is closed.
    fn next(&self, arriving: &Receiver<Box<dyn Job>>) -> Option<Batch> {
        let first = match self.since {
            Some(since) => match arriving.recv_timeout(SETTLE.saturating_sub(since.elapsed())) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return None,
            },
            None => Some(arriving.recv().ok()?),
        };
        let mut batch: Batch = first.into_iter().collect();
        if !batch.is_empty() {
            batch.extend(arriving.try_iter().take(BATCH));
        }
        Some(batch)
    }

    /// Commits a batch and answers for it. An empty one syncs.
    fn write(&mut self, mut batch: Batch) -> Result<(), redb::Error> {
        let due = self.since.is_some_and(|since| since.elapsed() >= SETTLE);
        let sync = batch.is_empty()
            || due
            || self.unsynced.len() >= UNSYNCED
            || batch.iter().any(|job| job.sync() == Durable::Now);
        match self.commit(&mut batch, sync) {
            Ok(()) => {
                batch.iter_mut().for_each(|job| job.answer(Ok(())));
                if sync {
                    self.unsynced.clear();
                    self.since = None;
                } else {
                    self.unsynced.append(&mut batch);
                    self.since.get_or_insert_with(Instant::now);
                }
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, writes = batch.len(), "the embedded store failed to commit");
                refuse(batch, &error);
                Err(error)
            }
        }
    }

    fn commit(&self, batch: &mut [Box<dyn Job>], sync: bool) -> Result<(), redb::Error> {
        let database = self.current.read().clone();
        let database = database.ok_or(redb::Error::PreviousIo)?;
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

    /// Opens the file again until that succeeds; refuses meanwhile what arrives. False if the
    /// channel was closed before.
    fn recover(&mut self, arriving: &Receiver<Box<dyn Job>>) -> bool {
        // Closes the file as soon as the last who reads is done.
        drop(self.current.write().take());
        let mut wait = REOPEN.0;
        loop {
            let until = Instant::now() + wait;
            loop {
                match arriving.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(job) => refuse(vec![job], &redb::Error::PreviousIo),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        // Once more, for the sake of what was not synced.
                        let _lost = self.reopen();
                        return false;
                    }
                }
            }
            match self.reopen() {
                Ok(()) => {
                    tracing::warn!("the embedded store works again: its file was opened anew");
                    self.condition.note(false);
                    return true;
                }
                Err(error) => tracing::warn!(%error, "the embedded store is not back"),
            }
            wait = (wait * 2).min(REOPEN.1);
        }
    }

    /// Opens the file, and brings it up to what had been committed, synced.
    fn reopen(&mut self) -> Result<(), DatabaseError> {
        let database = (self.open)()?;
        *self.current.write() = Some(Arc::new(database));
        let mut again = std::mem::take(&mut self.unsynced);
        let done = self.commit(&mut again, true);
        if let Err(error) = done {
            self.unsynced = again;
            drop(self.current.write().take());
            return Err(error.into());
        }
        self.since = None;
        Ok(())
    }
}

/// Whether nothing can be written any more after this error; others are the write's own fault.
fn breaks(error: &redb::Error) -> bool {
    matches!(
        error,
        redb::Error::Io(_)
            | redb::Error::PreviousIo
            | redb::Error::Corrupted(_)
            | redb::Error::DatabaseClosed
            | redb::Error::LockPoisoned(_)
    )
}

/// Tells everyone in a batch that it failed. The error itself can't be copied, so each gets its
/// text; it never holds content.
fn refuse(batch: Batch, error: &redb::Error) {
    for mut job in batch {
        let copy = redb::Error::Io(std::io::Error::other(error.to_string()));
        job.answer(Err(DatabaseError::Redb(Box::new(copy))));
    }
}
