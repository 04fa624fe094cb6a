//! Tickets: what an append gives back at once, and how its outcome arrives.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// What becomes of one append.
pub type Outcome = Result<Position, AppendError>;

/// Where an event was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of its leaf in the stream; none in mode `async`, which does not wait for it.
    pub seq: Option<u64>,
}

/// Why an event was not written, or is not known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// More events wait than the writer takes.
    #[error("the ledger is too busy")]
    Busy,
    /// The disk is nearly full.
    #[error("the disk is nearly full")]
    DiskFull,
    /// The log can no longer be written; only a restart, with its recovery, helps.
    #[error("the ledger has failed")]
    Failed,
    /// The file system did not take it. Later appends may succeed.
    #[error("the write-ahead log refused a write")]
    Refused,
    /// As much as may wait for the store waits for it.
    #[error("too much of the log waits for its store")]
    SpoolFull,
    /// The ledger is closed.
    #[error("the ledger is closed")]
    Stopped,
    /// In mode `strict`: it is in the write-ahead log, but could not be handed to the store in time.
    #[error("the event is in the write-ahead log, but not in the store")]
    Unstored,
}

impl AppendError {
    /// Whether the event is in the log all the same, or will be; `None` if nobody knows before the
    /// recovery at the next start.
    pub fn written(self) -> Option<bool> {
        match self {
            Self::Busy | Self::DiskFull | Self::Refused | Self::SpoolFull => Some(false),
            Self::Unstored => Some(true),
            Self::Failed | Self::Stopped => None,
        }
    }
}

/// A pending append: wait for it with [`Ticket::wait`] or as a future.
#[must_use = "an append counts only once its ticket says so"]
pub struct Ticket(Arc<Cell>);

/// The other end of a ticket. Dropped without an outcome, it reports that the ledger stopped.
pub(crate) struct Completer(Option<Arc<Cell>>);

#[derive(Default)]
struct Cell {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl Ticket {
    /// A ticket and its other end.
    pub(crate) fn pair() -> (Self, Completer) {
        let cell = Arc::new(Cell::default());
        (Self(cell.clone()), Completer(Some(cell)))
    }

    /// A ticket whose outcome is already known.
    pub(crate) fn known(outcome: Outcome) -> Self {
        let state = Mutex::new(State {
            outcome: Some(outcome),
            waker: None,
        });
        Self(Arc::new(Cell {
            state,
            done: Condvar::new(),
        }))
    }

    /// Blocks until the outcome is known.
    ///
    /// # Errors
    /// The event is not known to be written.
    pub fn wait(self) -> Outcome {
        let mut state = self.0.lock();
        loop {
            match state.outcome {
                Some(outcome) => return outcome,
                None => {
                    state = self
                        .0
                        .done
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            }
        }
    }
}

impl Future for Ticket {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.0.lock();
        match state.outcome {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Completer {
    pub(crate) fn complete(mut self, outcome: Outcome) {
        self.set(outcome);
    }

    fn set(&mut self, outcome: Outcome) {
        if let Some(cell) = self.0.take() {
            let waker = {
                let mut state = cell.lock();
                state.outcome = Some(outcome);
                state.waker.take()
            };
            cell.done.notify_all();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.set(Err(AppendError::Stopped));
    }
}

impl Cell {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is two plain fields, whole whatever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_outcome() {
        let (ticket, completer) = Ticket::pair();
        let waiting = std::thread::spawn(|| ticket.wait());
        completer.complete(Ok(Position { seq: Some(7) }));
        assert_eq!(waiting.join().unwrap(), Ok(Position { seq: Some(7) }));
    }

    #[test]
    fn a_lost_completer_is_an_error() {
        let (ticket, completer) = Ticket::pair();
        drop(completer);
        assert_eq!(ticket.wait(), Err(AppendError::Stopped));
    }

    #[test]
    fn is_a_future() {
        let (mut ticket, completer) = Ticket::pair();
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut ticket).poll(&mut context).is_pending());
        completer.complete(Err(AppendError::Failed));
        let outcome = Pin::new(&mut ticket).poll(&mut context);
        assert_eq!(outcome, Poll::Ready(Err(AppendError::Failed)));
    }
}
