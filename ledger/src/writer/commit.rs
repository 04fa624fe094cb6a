//! The committing thread: numbers events, writes them to the write-ahead log, syncs, answers.
//!
//! Whatever arrives while one batch is being synced forms the next, so the number of syncs follows
//! the disk and not the number of events.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use gatehouse_envelope::sign::Signer;

use super::{
    Disk, Mode, OpenError, Options, Shared,
    own::{close_event, heartbeat_event},
    queue::{BATCH, BATCH_BYTES, Entry, Message, Then, answer_taken, fill},
    ship::Shipment,
    spare::Spare,
    stream::{Certified, Stream},
    ticket::{AppendError, Completer, Position},
};
use crate::{
    clock::{Clock, Stamp},
    event::{Event, EventError},
    names,
    wal::AppendFault,
};

/// How long something written may wait for its sync when nobody asks for it.
const LAZY_SYNC_US: u64 = 100_000;
/// How often the disk is looked at.
const DISK_US: u64 = 1_000_000;

pub(super) struct Committer {
    options: Options,
    wal: PathBuf,
    disk: Disk,
    spare: Spare,
    clock: Arc<dyn Clock>,
    shipper: Sender<Shipment>,
    shared: Arc<Shared>,
    stream: Stream,
    /// Frames of the batch at hand.
    frames: Vec<u8>,
    due: Due,
}

/// When things happen next, on the monotonic clock.
struct Due {
    heartbeat_us: u64,
    disk_us: u64,
    /// None while there is nothing to store.
    flush_us: Option<u64>,
    /// None while everything is synced.
    sync_us: Option<u64>,
}

impl Committer {
    /// Opens the first stream; its `writer.open` is on the disk when this returns.
    pub(super) fn new(
        options: Options,
        wal: PathBuf,
        disk: Disk,
        signer: Arc<dyn Signer>,
        clock: Arc<dyn Clock>,
        shipper: Sender<Shipment>,
        shared: Arc<Shared>,
    ) -> Result<Self, OpenError> {
        let now = clock.now();
        let mut spare = Spare::new(&options.deployment, signer);
        let first = spare.take(now)?;
        let stream = open_stream(&options, &shared.seals, &wal, first, now, None)?;
        // The shipper is not running yet, but it will be: a send to it cannot fail.
        let _ = shipper.send(Shipment::Opened(stream.identity.clone(), true));
        let due = Due {
            heartbeat_us: now.mono_us.saturating_add(micros(options.pace.heartbeat)),
            disk_us: now.mono_us,
            flush_us: Some(now.mono_us.saturating_add(micros(options.pace.flush_after))),
            sync_us: None,
        };
        let frames = Vec::new();
        Ok(Self {
            options,
            wal,
            disk,
            spare,
            clock,
            shipper,
            shared,
            stream,
            frames,
            due,
        })
    }

    /// The name and the bytes of the first stream's certificate.
    pub(super) fn certificate(&self) -> (String, &str) {
        let identity = &self.stream.identity;
        (names::certificate(&identity.writer), &identity.certificate)
    }

    /// Runs until the handle closes or goes away.
    pub(super) fn run(mut self, queue: &Receiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let then = fill(&mut batch, queue, self.patience());
            if !batch.is_empty() {
                // A store that does not keep up slows down those who fill the spool.
                std::thread::sleep(self.shared.spool.brake());
                self.commit(&mut batch);
            }
            match then {
                Then::Close => return self.close(),
                Then::Flush(completer) => self.flush(completer),
                Then::GoOn => {}
            }
            self.tick();
        }
    }

    /// Writes a batch and answers for each of its events.
    fn commit(&mut self, batch: &mut Vec<Entry>) {
        if let Err(error) = self.write(batch) {
            for entry in batch.drain(..) {
                entry.completer.complete(Err(error));
            }
        }
    }

    fn write(&mut self, batch: &mut Vec<Entry>) -> Result<(), AppendError> {
        if self.shared.has_failed() {
            return Err(AppendError::Failed);
        }
        let now = self.clock.now();
        if !self.stream.covers(now) {
            self.rotate(now)?;
        }
        if self.stream.file.length() >= self.full_at() {
            self.seal(Vec::new())?;
        }
        let events = batch.iter().map(|entry| entry.event.bytes());
        let first = self.append(now, events)?;
        let waiting = answer_taken(batch, first);
        if waiting.is_empty() {
            return Ok(());
        }
        if self.sync().is_err() {
            for (_, completer) in waiting {
                completer.complete(Err(AppendError::Failed));
            }
        } else if self.options.mode == Mode::Strict {
            // An error here keeps the events in the log, and those who wait are told so.
            let _ = self.seal(waiting);
        } else {
            for (seq, completer) in waiting {
                completer.complete(Ok(Position { seq: Some(seq) }));
            }
        }
        Ok(())
    }

    /// Writes events to the log's file, all or none, and gives the number of the first.
    fn append<'e>(
        &mut self,
        now: Stamp,
        events: impl Iterator<Item = &'e [u8]>,
    ) -> Result<u64, AppendError> {
        let mark = self.stream.mark();
        let first = self.stream.next_seq();
        self.frames.clear();
        for event in events {
            self.stream.push(&mut self.frames, now, event);
        }
        self.stream
            .write(&self.frames, mark)
            .map_err(|fault| match fault {
                AppendFault::Broken => self.fail(),
                AppendFault::Refused => AppendError::Refused,
            })?;
        let flush = now
            .mono_us
            .saturating_add(micros(self.options.pace.flush_after));
        self.due.flush_us.get_or_insert(flush);
        self.due
            .sync_us
            .get_or_insert(now.mono_us.saturating_add(LAZY_SYNC_US));
        Ok(first)
    }

    /// Writes one of the writer's own events. That it is not written is no reason to fail: the next
    /// append will meet the same trouble and report it.
    fn note(&mut self, now: Stamp, event: Result<Event, EventError>) -> Result<(), AppendError> {
        let event = event.map_err(|_| AppendError::Refused)?;
        self.append(now, std::iter::once(event.bytes())).map(|_| ())
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        self.due.sync_us = None;
        self.stream.file.sync().map_err(|_| self.fail())
    }

    /// Ends the open file and hands it to the shipper, with those who wait for the store.
    fn seal(&mut self, waiting: Vec<(u64, Completer)>) -> Result<(), AppendError> {
        self.due.flush_us = None;
        if self.stream.is_empty() {
            return Ok(());
        }
        self.sync()?;
        match self.stream.seal() {
            Ok(sealed) => {
                self.ship(Shipment::Sealed(sealed, waiting));
                Ok(())
            }
            Err(_) => {
                for (_, completer) in waiting {
                    completer.complete(Err(AppendError::Unstored));
                }
                Err(AppendError::Refused)
            }
        }
    }

    /// Stores what there is and tells who asked for it.
    fn flush(&mut self, completer: Completer) {
        match self.seal(Vec::new()) {
            Ok(()) => self.ship(Shipment::Reached(
                self.stream.next_seq().checked_sub(1),
                completer,
            )),
            Err(error) => completer.complete(Err(error)),
        }
    }

    fn ship(&self, shipment: Shipment) {
        if let Shipment::Sealed(sealed, _) = &shipment {
            self.shared.spool.sealed(sealed.length);
        }
        if self.shipper.send(shipment).is_err() {
            self.fail();
        }
    }

    /// Begins the next day's stream and ends the last one. If the new one cannot be opened, the old
    /// one stays, and so does the need for a new one.
    fn rotate(&mut self, now: Stamp) -> Result<(), AppendError> {
        let after = self.stream.identity.writer.clone();
        let (options, seals, wal) = (&self.options, &self.shared.seals, &self.wal);
        let next = self.spare.take(now);
        let next = next
            .and_then(|next| open_stream(options, seals, wal, next, now, Some(&after)))
            .map_err(|_| AppendError::Refused)?;
        // The old stream's times may not reach into the new day.
        let close = close_event("rotated").map_err(|_| AppendError::Refused)?;
        let last = self.stream.last();
        self.append(last, std::iter::once(close.bytes()))?;
        self.sync()?;
        let opened = Shipment::Opened(next.identity.clone(), false);
        let old = std::mem::replace(&mut self.stream, next);
        let sealed = old.end().map_err(|_| self.fail())?;
        self.ship(Shipment::Sealed(sealed, Vec::new()));
        self.ship(opened);
        self.due.flush_us = Some(
            now.mono_us
                .saturating_add(micros(self.options.pace.flush_after)),
        );
        Ok(())
    }

    /// Does what is due.
    fn tick(&mut self) {
        if self.shared.has_failed() {
            return;
        }
        let now = self.clock.now();
        if now.mono_us >= self.due.disk_us {
            self.due.disk_us = now.mono_us.saturating_add(DISK_US);
            self.shared
                .disk_full
                .store(self.disk.is_full(), Ordering::Relaxed);
        }
        if now.mono_us >= self.due.heartbeat_us {
            self.due.heartbeat_us = now
                .mono_us
                .saturating_add(micros(self.options.pace.heartbeat));
            self.spare.tend(now);
            let _ = if self.stream.covers(now) {
                self.note(now, heartbeat_event(&self.shared))
            } else {
                self.rotate(now)
            };
        }
        if self.due.sync_us.is_some_and(|due| now.mono_us >= due) {
            let _ = self.sync();
        }
        if self.due.flush_us.is_some_and(|due| now.mono_us >= due) {
            let _ = self.seal(Vec::new());
        }
    }

    /// Ends the stream.
    fn close(mut self) {
        if self.shared.has_failed() {
            return;
        }
        if self.shared.is_held() {
            // What fails here is done by recovery, as the end itself.
            let _ = self.seal(Vec::new());
            return;
        }
        let now = self.clock.now();
        let now = if self.stream.covers(now) {
            now
        } else {
            self.stream.last()
        };
        let closed = close_event("closed")
            .map_err(|_| AppendError::Refused)
            .and_then(|event| self.append(now, std::iter::once(event.bytes())))
            .and_then(|_| self.sync());
        let shared = self.shared.clone();
        let shipper = self.shipper.clone();
        match (closed, self.stream.end()) {
            (Ok(()), Ok(sealed)) => {
                shared.spool.sealed(sealed.length);
                if shipper.send(Shipment::Sealed(sealed, Vec::new())).is_err() {
                    shared.fail();
                }
            }
            _ => shared.fail(),
        }
    }

    /// How long to wait for the next event.
    fn patience(&self) -> Duration {
        let now = self.clock.now().mono_us;
        let due = [
            Some(self.due.heartbeat_us),
            Some(self.due.disk_us),
            self.due.flush_us,
        ];
        let next = due
            .into_iter()
            .chain([self.due.sync_us])
            .flatten()
            .min()
            .unwrap_or(now);
        Duration::from_micros(next.saturating_sub(now))
    }

    /// The length at which the open file has to be ended before another batch.
    fn full_at(&self) -> u64 {
        self.options
            .pace
            .flush_bytes
            .saturating_sub(BATCH_BYTES)
            .max(1)
    }

    fn fail(&self) -> AppendError {
        self.shared.fail();
        AppendError::Failed
    }
}

/// Opens a stream whose first record is on the disk when this returns.
fn open_stream(
    options: &Options,
    seals: &str,
    wal: &std::path::Path,
    certified: Certified,
    now: Stamp,
    after: Option<&str>,
) -> Result<Stream, OpenError> {
    let mut event = Event::kind("writer.open");
    event
        .text("deployment", &options.deployment)
        .text("mode", options.mode.word())
        .text("seals", seals);
    event.some_text("after", after);
    let event = event.finish()?;
    let mut stream = Stream::open(wal, certified, now)?;
    let (mark, mut frames) = (stream.mark(), Vec::new());
    stream.push(&mut frames, now, event.bytes());
    stream
        .write(&frames, mark)
        .map_err(|_| std::io::Error::other("not written"))?;
    stream.file.sync()?;
    Ok(stream)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
