//! Whether payloads can be kept at present, as the last ones tell.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Unstored;

/// So long after a failure `/readyz` says no. Then somebody has to try, or nobody would ever know that it
/// goes again.
const AWAY: Duration = Duration::from_secs(10);

/// What went wrong last, if nothing has gone well since.
#[derive(Default)]
pub(super) struct Trouble(Mutex<Option<(Instant, String)>>);

impl Trouble {
    pub(super) fn note(&self, put: Result<(), &Unstored>) {
        let now = put.err().map(|error| (Instant::now(), error.to_string()));
        *self.0.lock() = now;
    }

    /// What it was.
    pub(super) fn text(&self) -> Option<String> {
        self.0.lock().as_ref().map(|(_, text)| text.clone())
    }

    /// Whether it was just now.
    pub(super) fn is_fresh(&self) -> bool {
        let trouble = self.0.lock();
        trouble.as_ref().is_some_and(|(at, _)| at.elapsed() < AWAY)
    }
}
