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

/// RFC 3339 in UTC with six digits of a second and `Z`, for the years 0 to 9999.
pub fn rfc3339(utc_us: i64) -> String {
    let (days, of_day) = (utc_us.div_euclid(DAY_US), utc_us.rem_euclid(DAY_US));
    let (year, month, day) = civil(days);
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{micros:06}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// The UTC year of a point in time.
pub fn year(utc_us: i64) -> i64 {
    civil(utc_us.div_euclid(DAY_US)).0
}

const DAY_US: i64 = 86_400_000_000;

/// The date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last one, in eras of 400 years, which
/// all have the same number of days.
fn civil(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    // 1970-01-01 is day 719,468 counted from 0000-03-01.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(ERA), shifted.rem_euclid(ERA));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn micros(duration: Duration) -> u64 {
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
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(
            rfc3339(1_795_961_100_123_456),
            "2026-11-29T14:05:00.123456Z"
        );
        assert_eq!(rfc3339(951_782_400_000_000), "2000-02-29T00:00:00.000000Z");
        assert_eq!(
            rfc3339(4_107_542_400_000_000),
            "2100-03-01T00:00:00.000000Z"
        );
        assert_eq!(
            rfc3339(4_107_542_399_000_000),
            "2100-02-28T23:59:59.000000Z"
        );
        assert_eq!(year(1_798_761_599_999_999), 2026);
        assert_eq!(year(1_798_761_600_000_000), 2027);
    }

    #[test]
    fn days_follow_each_other() {
        let mut previous = civil(-1000);
        for day in -999..100_000 {
            let date = civil(day);
            let next_day = (previous.0, previous.1, previous.2 + 1);
            let next_month = (previous.0, previous.1 + 1, 1);
            assert!(
                [next_day, next_month, (previous.0 + 1, 1, 1)].contains(&date),
                "{date:?}"
            );
            previous = date;
        }
    }

    #[test]
    fn the_test_clock_moves_when_told() {
        let clock = TestClock::new(5);
        clock.advance(Duration::from_micros(7));
        assert_eq!((clock.utc_us(), clock.mono_us()), (12, 7));
        assert_eq!(later(i64::MAX - 1, Duration::from_secs(1)), i64::MAX);
    }
}
