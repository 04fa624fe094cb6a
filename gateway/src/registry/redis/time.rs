//! The server's clock, as far as its answers show it.
//!
//! Scripts that give leases and read sessions say what time it is. In between time is counted, which a
//! clock that is set does not change. Where a cluster's servers disagree, the last answer counts.

use parking_lot::Mutex;
use redis::Value;
use tokio::time::Instant;

use super::link::{LinkError, fields};
use crate::clock::later;

/// What the server's clock showed, and when that was.
pub(super) struct ServerTime(Mutex<(i64, Instant)>);

impl ServerTime {
    /// From an answer that has just come, in microseconds since 1970 (UTC).
    pub(super) fn new(now_us: i64) -> Self {
        Self(Mutex::new((now_us, Instant::now())))
    }

    /// Notes what an answer says that has just come.
    pub(super) fn note(&self, now_us: i64) {
        *self.0.lock() = (now_us, Instant::now());
    }

    /// What it shows now, but for the way of the answer.
    pub(super) fn now_us(&self) -> i64 {
        let (shown_us, since) = *self.0.lock();
        later(shown_us, since.elapsed())
    }
}

/// Reads the answer to `TIME`: seconds since 1970, and microseconds.
pub(super) fn time_of(answer: Value) -> Result<i64, LinkError> {
    let fields = fields(answer)?.into_iter();
    let numbers: Option<Vec<i64>> = fields
        .map(|field| std::str::from_utf8(&field?).ok()?.parse().ok())
        .collect();
    match numbers.as_deref() {
        Some([seconds, micros]) => seconds
            .checked_mul(1_000_000)
            .and_then(|s| s.checked_add(*micros)),
        _ => None,
    }
    .ok_or(LinkError::Unexpected)
}
