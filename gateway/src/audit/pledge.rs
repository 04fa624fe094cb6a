//! The promise that an exchange which the log holds as admitted will be settled, whatever becomes
//! of the task that runs it.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::{Book, BuildError, Ending, Event, Reply, Settled, Subject, Usage};

/// What is told of an exchange whose task ended without a word: nobody got a reply.
const STATUS: u16 = 500;

/// Held from the admission until the exchange's own `exchange.settled` is with the log. If it is
/// dropped in between (a panic in a stage, a task that was cut off), it leaves one itself: outside
/// the session's chain, whose turn is gone with the task.
pub struct Pledge {
    book: Book,
    request: String,
    session: String,
    trace: Option<[u8; 16]>,
    at: Instant,
    /// The log has the admission, and nothing that follows it yet.
    open: bool,
    /// What is to be done once the promise has left the record itself.
    then: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Pledge {
    /// A promise for a request (`r_…`) of a session (`s_…`), which is about to be admitted.
    pub fn new(book: Book, request: &str, session: &str, trace: Option<[u8; 16]>) -> Self {
        Self {
            book,
            request: request.to_owned(),
            session: session.to_owned(),
            trace,
            at: Instant::now(),
            open: false,
            then: None,
        }
    }

    /// Whoever else noted that the exchange is to be closed is told by `then` when the promise has left
    /// a record of its end itself: it must be said once.
    pub fn also_ends(&mut self, then: Option<Box<dyn FnOnce() + Send + Sync>>) {
        self.then = then;
    }

    /// The exchange's own record is with the log, or the exchange was never admitted.
    pub fn keep(mut self) {
        self.open = false;
    }

    /// The log has the admission: the promise holds, and durations count from here.
    pub fn begins(&mut self) {
        self.at = Instant::now();
        self.open = true;
    }

    /// Since the admission.
    pub fn elapsed(&self) -> Duration {
        self.at.elapsed()
    }

    /// The request's id.
    pub fn request(&self) -> &str {
        &self.request
    }

    /// The request's session, as its records name it.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            session: &self.session,
            run: None,
            trace: self.trace,
        }
    }
}

impl Pledge {
    /// What is said of the exchange if nothing else says how it ended: nobody got a reply.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn closing(&self) -> Result<Event, BuildError> {
        let settled = Settled {
            request: &self.request,
            subject: self.subject(),
            status: STATUS,
            upstream_status: None,
            ending: Ending::Error,
            // Whether the provider was reached is not known.
            attempts: 1,
            usage: Usage::default(),
            budget: None,
            reply: Reply {
                visited: 0,
                masked: &BTreeMap::new(),
                restored: &[],
                unresolved: 0,
            },
            phase: None,
            upstream_digest: None,
            payload: None,
            unstored: None,
            duration_us: u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        settled.build(None)
    }
}

impl Drop for Pledge {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let request = self.request.as_str();
        match self.closing() {
            Ok(event) => {
                tracing::error!(request, "an exchange broke off; its end is recorded");
                self.book.owe(event, None);
                if let Some(then) = self.then.take() {
                    then();
                }
            }
            Err(error) => tracing::error!(request, %error, "not settled"),
        }
    }
}
