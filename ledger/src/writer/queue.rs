//! The queue between the handle and the committing thread, and the batches taken from it.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use super::{
    Durability,
    ticket::{Completer, Position},
};
use crate::event::Event;

/// The most events of one batch.
pub(super) const BATCH: usize = 1024;
/// The most bytes of one batch. A segment is ended this much before its limit, so that it never
/// exceeds it.
pub(super) const BATCH_BYTES: u64 = 1 << 20;

/// What the handle sends.
pub(super) enum Message {
    Append(Entry),
    Close,
    Flush(Completer),
}

/// What ends a batch besides its size.
pub(super) enum Then {
    Close,
    Flush(Completer),
    GoOn,
}

/// One event that waits.
pub(super) struct Entry {
    pub(super) event: Event,
    pub(super) durability: Durability,
    pub(super) completer: Completer,
}

/// Waits for an event and takes what else is there.
pub(super) fn fill(batch: &mut Vec<Entry>, queue: &Receiver<Message>, patience: Duration) -> Then {
    let mut message = match queue.recv_timeout(patience) {
        Ok(message) => message,
        Err(RecvTimeoutError::Timeout) => return Then::GoOn,
        Err(RecvTimeoutError::Disconnected) => return Then::Close,
    };
    let mut bytes = 0;
    loop {
        match message {
            Message::Append(entry) => {
                bytes += entry.event.bytes().len() as u64 + 512;
                batch.push(entry);
            }
            Message::Close => return Then::Close,
            Message::Flush(completer) => return Then::Flush(completer),
        }
        if batch.len() >= BATCH || bytes >= BATCH_BYTES / 2 {
            return Then::GoOn;
        }
        match queue.try_recv() {
            Ok(next) => message = next,
            Err(_) => return Then::GoOn,
        }
    }
}

/// Answers those who only wanted their event written; gives back the others with their numbers.
pub(super) fn answer_taken(batch: &mut Vec<Entry>, first: u64) -> Vec<(u64, Completer)> {
    let mut waiting = Vec::with_capacity(batch.len());
    for (seq, entry) in (first..).zip(batch.drain(..)) {
        match entry.durability {
            Durability::Durable => waiting.push((seq, entry.completer)),
            Durability::Taken => entry.completer.complete(Ok(Position { seq: Some(seq) })),
        }
    }
    waiting
}
