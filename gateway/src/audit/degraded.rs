//! Going on without the log, where the operator allows it: for a while, said in the log itself as
//! soon as it takes something, and with a count. What was not taken is kept and offered again.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use gatehouse_ledger::event::{Event, EventError};
use gatehouse_ledger::{AppendError, Durability, Ledger, Ticket};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::book::BookError;

/// Whether, and for how long, requests may go on without the log.
#[derive(Default)]
pub(super) struct Degraded {
    limit: Option<Duration>,
    state: Mutex<Option<Incident>>,
}

/// A time in which the log does not take what it should.
struct Incident {
    since: Instant,
    /// Events whose requests went on all the same.
    unlogged: u64,
    /// The record of its end, and how many of the events it counts.
    ending: Option<(Ticket, u64)>,
}

impl Incident {
    fn begins() -> Self {
        Self {
            since: Instant::now(),
            unlogged: 0,
            ending: None,
        }
    }
}

/// What becomes of an event that the log did not confirm.
pub(super) enum Fate {
    /// Its request must fail.
    Fails,
    /// Its request goes on. With the record of the beginning, if it is the first.
    GoesOn(Option<Event>),
}

impl Degraded {
    pub(super) fn allowing(limit: Option<Duration>) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Decides about an event that met `error`.
    pub(super) fn judge(&self, error: BookError) -> Fate {
        let (Some(limit), Some(reason)) = (self.limit, reason(error)) else {
            return Fate::Fails;
        };
        let mut state = self.state.lock();
        let first = state.is_none();
        let incident = state.get_or_insert_with(Incident::begins);
        if incident.since.elapsed() >= limit {
            return Fate::Fails;
        }
        incident.unlogged += 1;
        Fate::GoesOn(first.then(|| enter(reason, limit).ok()).flatten())
    }

    /// Ends the incident once the log has everything that it was owed, and takes a record as it
    /// should. Gives the record of the next one, if more went unlogged meanwhile.
    pub(super) fn end(&self, owed: usize, ledger: &Ledger) -> Option<Event> {
        let limit = self.limit?;
        let mut state = self.state.lock();
        let incident = state.as_mut().filter(|_| owed == 0)?;
        if incident.ending.is_none() {
            let event = leave(incident).ok()?;
            let ticket = ledger.append(event, Durability::Durable);
            incident.ending = Some((ticket, incident.unlogged));
        }
        let (ticket, counted) = incident.ending.as_mut()?;
        let counted = *counted;
        match Pin::new(ticket).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => None,
            Poll::Ready(Err(_)) => {
                incident.ending = None;
                None
            }
            Poll::Ready(Ok(_)) if incident.unlogged == counted => {
                *state = None;
                None
            }
            Poll::Ready(Ok(_)) => {
                let unlogged = incident.unlogged - counted;
                *state = Some(Incident {
                    unlogged,
                    ..Incident::begins()
                });
                enter("late", limit).ok()
            }
        }
    }

    /// Whether requests go on without the log now.
    pub(super) fn is_on(&self) -> bool {
        self.state.lock().is_some()
    }
}

/// What the log's records call it; none for what no waiting mends.
fn reason(error: BookError) -> Option<&'static str> {
    match error {
        BookError::Late => Some("late"),
        BookError::Append(error) => match error {
            AppendError::Busy => Some("busy"),
            AppendError::DiskFull => Some("disk_full"),
            AppendError::Refused => Some("refused"),
            AppendError::SpoolFull => Some("spool_full"),
            AppendError::Unstored => Some("unstored"),
            AppendError::Failed | AppendError::Stopped => None,
        },
        BookError::Build(_) => None,
    }
}

fn enter(reason: &'static str, limit: Duration) -> Result<Event, EventError> {
    let mut event = Event::kind("audit.degraded.enter");
    event.text("reason", reason);
    event.integer("limit_us", micros(limit));
    event.finish()
}

fn leave(incident: &Incident) -> Result<Event, EventError> {
    let mut event = Event::kind("audit.degraded.leave");
    event.integer("unlogged", incident.unlogged);
    event.integer("duration_us", micros(incident.since.elapsed()));
    event.finish()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
