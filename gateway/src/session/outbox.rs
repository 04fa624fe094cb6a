//! Events between a shared store and the log.
//!
//! Where other processes work on the same store, only it can say whose an event's number is, so it is
//! asked first and the log is told afterwards. In between the event stands here, and in a file beside
//! the log: if the store did not answer, or this process died, what the store says of the session
//! later tells whether the event is to be logged, and it is logged in its place, by the very process
//! that made it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::SessionState;
use super::outbox_file::{OutboxFile, Written};
use crate::audit::Event;

/// Entries up to which exchanges are admitted. Past this the store has been away for long; what has to
/// be said of those that were admitted has room all the same.
const ROOM: usize = 16 * 1024;

/// An event that is offered to the store and the log, and what is to be said in its place.
#[derive(Clone)]
pub struct Offer {
    /// The event.
    pub event: Event,
    /// What the log is to have if the store turns out not to have the event. It stands outside of
    /// the session's chain.
    pub otherwise: Option<Event>,
    /// What the log is to have behind the event if nobody went on after it was logged.
    pub closing: Option<Event>,
}

impl From<Event> for Offer {
    fn from(event: Event) -> Self {
        Self {
            event,
            otherwise: None,
            closing: None,
        }
    }
}

/// An event whose way is not at its end.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) id: u64,
    /// Its number in its session.
    pub(super) sseq: u64,
    pub(super) offer: Offer,
    pub(super) phase: Phase,
    pub(super) since: Instant,
}

/// How far an event has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The store was asked.
    Begun,
    /// The store has it, and the log was asked: it may have it.
    Handed,
    /// Both have it, and what closes it is still to come.
    Logged,
}

impl Entry {
    /// Whether the store has the event, as a state tells that was read under the session's lease, or
    /// that is past the event. `None`: the session has gone on for too long to tell.
    pub(super) fn is_stored(&self, state: &SessionState) -> Option<bool> {
        match state.digest_of(self.sseq) {
            Some(digest) => Some(self.offer.event.digest().starts_with(&digest)),
            None if state.link.sseq <= self.sseq => Some(false),
            None => None,
        }
    }
}

#[derive(Default)]
pub(super) struct Outbox {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: u64,
    entries: HashMap<String, Vec<Entry>>,
    count: usize,
    file: Option<OutboxFile>,
}

impl Outbox {
    /// An outbox that is also written into `directory`, and what dead processes left there.
    ///
    /// # Errors
    /// The file system refused.
    pub(super) fn open(directory: &Path, holder: u64) -> std::io::Result<(Self, Vec<Written>)> {
        let (file, left) = OutboxFile::open(directory, holder)?;
        let inner = Inner {
            file: Some(file),
            ..Inner::default()
        };
        let inner = Mutex::new(inner);
        Ok((Self { inner }, left))
    }

    /// Notes an event that the store is about to be told of.
    ///
    /// # Errors
    /// It could not be written down, or admits an exchange for which there is no room; the store must
    /// not be told.
    pub(super) fn begin(&self, name: &str, sseq: u64, offer: Offer) -> std::io::Result<u64> {
        let mut inner = self.inner.lock();
        if inner.count >= ROOM && offer.closing.is_some() {
            tracing::error!("not admitted: the session store has been away for too long");
            return Err(ErrorKind::QuotaExceeded.into());
        }
        inner.last += 1;
        let id = inner.last;
        if let Some(file) = &mut inner.file {
            file.begin(id, name, sseq, &offer)?;
        }
        inner.count += 1;
        let entry = Entry {
            id,
            sseq,
            offer,
            phase: Phase::Begun,
            since: Instant::now(),
        };
        let entries = inner.entries.entry(name.to_owned()).or_default();
        entries.push(entry);
        inner.tidy();
        Ok(id)
    }

    /// Notes that the store has it and the log is asked.
    pub(super) fn handed(&self, name: &str, id: u64) {
        self.inner.lock().reach(name, id, Phase::Handed);
    }

    /// Notes that the log has it too. Says whether something is still to come that closes it; if not,
    /// its way is at its end.
    pub(super) fn logged(&self, name: &str, id: u64) -> bool {
        let mut inner = self.inner.lock();
        let closed = inner.reach(name, id, Phase::Logged);
        if !closed && let Some(file) = &mut inner.file {
            file.logged(id);
            return true;
        }
        drop(inner);
        if closed {
            self.end(name, id);
        }
        !closed
    }

    /// Notes that the log has it, or never will: its way is at its end.
    pub(super) fn end(&self, name: &str, id: u64) {
        let mut inner = self.inner.lock();
        inner.forget(name, id);
        if let Some(file) = &mut inner.file {
            file.end(id);
        }
    }

    /// The first event of a session whose way is not at its end.
    pub(super) fn first(&self, name: &str) -> Option<Entry> {
        self.inner.lock().entries.get(name)?.first().cloned()
    }

    /// The sessions that have events of which nobody has known for `age` what becomes of them.
    pub(super) fn doubtful(&self, age: Duration) -> Vec<String> {
        let doubtful = |entry: &Entry| entry.phase != Phase::Logged && entry.since.elapsed() >= age;
        let inner = self.inner.lock();
        let sessions = inner.entries.iter();
        let sessions = sessions.filter(|(_, entries)| entries.iter().any(doubtful));
        sessions.map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
impl Outbox {
    /// Has the file take nothing, as on a full disk, until what is returned is put back.
    pub(super) fn fill(&self) -> Option<std::fs::File> {
        self.inner.lock().file.as_mut().map(OutboxFile::fill)
    }
}

impl Inner {
    /// Says whether nothing closes the entry.
    fn reach(&mut self, name: &str, id: u64, phase: Phase) -> bool {
        let mut entries = self.entries.get_mut(name).into_iter().flatten();
        let Some(entry) = entries.find(|entry| entry.id == id) else {
            return true;
        };
        entry.phase = phase;
        entry.offer.closing.is_none()
    }

    fn forget(&mut self, name: &str, id: u64) {
        let Some(entries) = self.entries.get_mut(name) else {
            return;
        };
        let before = entries.len();
        entries.retain(|entry| entry.id != id);
        self.count = self.count.saturating_sub(before - entries.len());
        if entries.is_empty() {
            self.entries.remove(name);
        }
    }

    /// Begins the file anew once most of it is of no use any more, or some of it not true.
    fn tidy(&mut self) {
        let Some(file) = &mut self.file else { return };
        if !file.is_done() {
            return;
        }
        let open = self.entries.iter();
        let open = open.flat_map(|(name, entries)| entries.iter().map(move |entry| (name, entry)));
        let open = open.map(|(name, entry)| (name.as_str(), entry));
        if let Err(error) = file.rewrite(open) {
            tracing::warn!(%error, "the outbox was not shortened");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: u64) -> Event {
        Event::from_bytes(format!(r#"{{"kind":"x","n":{n}}}"#).into_bytes()).unwrap()
    }

    /// A store that is away for long: no more is admitted, and nothing that stands here is given up.
    #[test]
    fn what_stands_here_is_never_given_up_for_another() {
        let outbox = Outbox::default();
        let admission = |n| Offer {
            closing: Some(event(n)),
            ..event(n).into()
        };
        let names = ["s_a", "s_b", "s_c"];
        for (n, name) in (0..ROOM as u64).zip(names.iter().cycle()) {
            outbox.begin(name, n, admission(n)).unwrap();
        }
        assert!(outbox.begin("s_d", 1, admission(1)).is_err());
        let settlement = outbox.begin("s_d", 1, event(1).into()).unwrap();
        let firsts = names.map(|name| outbox.first(name).unwrap().sseq);
        assert_eq!(firsts, [0, 1, 2]);
        outbox.end("s_d", settlement);
        assert!(outbox.begin("s_d", 1, admission(1)).is_err());
        outbox.end("s_a", outbox.first("s_a").unwrap().id);
        assert!(outbox.begin("s_d", 1, admission(1)).is_ok());
    }
}
