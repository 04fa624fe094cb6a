//! Records that the log would not take and must have all the same: that an exchange ended, above
//! all. They are offered again, byte for byte, until the log has them, so that they fill the very
//! place in their session's chain that they were made for.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use gatehouse_ledger::{Durability, Ledger, event::Event};
use parking_lot::Mutex;

use super::book::BookError;

/// How many are kept. Past this the log has been away for long, and the oldest are given up.
const ROOM: usize = 16 * 1024;
/// The same for records of requests that no provider saw: they must not crowd the others out, and a
/// log that fails makes one of every request.
const ROOM_FOR_REFUSALS: usize = 4 * 1024;

/// What becomes of an event that the log did not confirm in time.
pub type Later = Pin<Box<dyn Future<Output = Result<(), BookError>> + Send>>;

/// Records on their way.
#[derive(Default)]
pub(super) struct Owed {
    records: Mutex<VecDeque<Owing>>,
    refusals: Mutex<VecDeque<Owing>>,
}

/// A record that is offered to the log until nothing more can be done about it.
pub(crate) struct Owing {
    event: Event,
    /// The attempt that is under way.
    attempt: Option<Later>,
}

impl Owed {
    pub(super) fn add(&self, event: Event, attempt: Option<Later>) {
        push(&self.records, ROOM, Owing { event, attempt });
    }

    pub(super) fn add_refusal(&self, event: Event, attempt: Option<Later>) {
        push(&self.refusals, ROOM_FOR_REFUSALS, Owing { event, attempt });
    }

    /// Whether some more can be kept without giving one up.
    pub(super) fn has_room(&self) -> bool {
        self.records.lock().len() < ROOM / 2
    }

    /// Offers all of them again, waiting for nothing. Says how many the log does not have yet.
    pub(super) fn pay(&self, ledger: &Ledger) -> usize {
        let left = [&self.records, &self.refusals].map(|records| {
            let mut records = records.lock();
            records.retain_mut(|record| !record.is_settled(|event| offer(ledger, event)));
            records.len()
        });
        left.iter().sum()
    }
}

fn push(records: &Mutex<VecDeque<Owing>>, room: usize, record: Owing) {
    let mut records = records.lock();
    if records.len() >= room {
        records.pop_front();
        tracing::error!("a record was given up: the log has taken none for too long");
    }
    records.push_back(record);
}

/// Offers a record to the log.
pub(crate) fn offer(ledger: &Ledger, event: Event) -> Later {
    let ticket = ledger.append(event, Durability::Taken);
    Box::pin(async { Ok(ticket.await.map(drop)?) })
}

impl Owing {
    pub(crate) fn new(event: Event) -> Self {
        Self {
            event,
            attempt: None,
        }
    }

    /// Goes on with the attempt that is under way, or makes one, and waits for nothing. Whether nothing more can
    /// be done about it: the log has it, or can take nothing any more.
    pub(crate) fn is_settled(&mut self, offer: impl FnOnce(Event) -> Later) -> bool {
        let attempt = self
            .attempt
            .get_or_insert_with(|| offer(self.event.clone()));
        let outcome = attempt
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        match outcome {
            Poll::Pending => false,
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(error)) => {
                self.attempt = None;
                let unknown = error.written() != Some(false);
                if unknown {
                    tracing::error!(%error, "nobody knows whether the log has a record");
                }
                unknown
            }
        }
    }
}
