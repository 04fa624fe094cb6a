//! Time, handed down from the edge: nothing else in the gateway asks the system for it.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The one clock of a process.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01T00:00:00Z. May jump when the system's clock is set.
    fn utc_us(&self) -> i64;

    /// Microseconds since the clock was made. Never goes back.
    fn mono_us(&self) -> u64;
}

/// The system's clock.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the edge at which time enters"
    )]
    fn utc_us(&self) -> i64 {
        // A system clock before 1970 reads as 1970: everything is then expired or not yet begun.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    fn mono_us(&self) -> u64 {
        micros(self.start.elapsed())
    }
}

/// A clock that stands still until it is told to move.
pub struct TestClock {
    utc_us: AtomicI64,
    mono_us: AtomicU64,
}

impl TestClock {
    /// A clock that shows `utc_us`.
    pub fn new(utc_us: i64) -> Self {
        Self {
            utc_us: AtomicI64::new(utc_us),
            mono_us: AtomicU64::new(0),
        }
    }

    /// Sets the clock by so many microseconds, as an administrator would.
    pub fn set_by(&self, us: i64) {
        self.utc_us.fetch_add(us, Ordering::SeqCst);
    }

    /// Moves both times forward.
    pub fn advance(&self, by: Duration) {
        self.utc_us.fetch_add(signed(by), Ordering::SeqCst);
        self.mono_us.fetch_add(micros(by), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn utc_us(&self) -> i64 {
        self.utc_us.load(Ordering::SeqCst)
    }

    fn mono_us(&self) -> u64 {
        self.mono_us.load(Ordering::SeqCst)
    }
}

/// The point in time `after` a point in time; never wraps.
pub fn later(utc_us: i64, after: Duration) -> i64 {
    utc_us.saturating_add(signed(after))
}

/// RFC 3339 in UTC with six digits of a second and `Z`; what lies before 1970 reads as 1970.
pub fn rfc3339(utc_us: i64) -> String {
    gatehouse_ledger::clock::rfc3339(since_1970(utc_us))
}

/// The UTC year of a point in time; what lies before 1970 reads as 1970.
pub fn year(utc_us: i64) -> u64 {
    gatehouse_ledger::clock::year(since_1970(utc_us))
}

fn since_1970(utc_us: i64) -> u64 {
    u64::try_from(utc_us).unwrap_or(0)
}

/// Whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn signed(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        assert_eq!(rfc3339(-1), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            rfc3339(1_795_961_100_123_456),
            "2026-11-29T14:05:00.123456Z"
        );
        assert_eq!(year(1_798_761_599_999_999), 2026);
        assert_eq!(year(1_798_761_600_000_000), 2027);
    }

    #[test]
    fn the_test_clock_moves_when_told() {
        let clock = TestClock::new(5);
        clock.advance(Duration::from_micros(7));
        assert_eq!((clock.utc_us(), clock.mono_us()), (12, 7));
        assert_eq!(later(i64::MAX - 1, Duration::from_secs(1)), i64::MAX);
    }
}
