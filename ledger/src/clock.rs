//! Time as records carry it. It enters here and is handed down.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Microseconds in a day; UTC days have no leap seconds here, as in POSIX.
pub(crate) const DAY_US: u64 = 86_400_000_000;

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub unix_us: u64,
    /// Microseconds since some point in this process's life; never goes back.
    pub mono_us: u64,
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Stamp;
}

/// The clock of the operating system.
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock whose monotonic part starts at 0 now.
    pub fn new() -> Self {
        Self(Instant::now())
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
        reason = "this is the edge at which the ledger's time enters"
    )]
    fn now(&self) -> Stamp {
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Stamp {
            unix_us: micros(unix.as_micros()),
            mono_us: micros(self.0.elapsed().as_micros()),
        }
    }
}

/// The number of the UTC day in which `unix_us` lies, counted from 1970-01-01.
pub(crate) fn day_number(unix_us: u64) -> u64 {
    unix_us / DAY_US
}

/// The UTC day of `unix_us` as `yyyy-mm-dd`.
pub fn day(unix_us: u64) -> String {
    let (year, month, day) = civil(day_number(unix_us));
    format!("{year:04}-{month:02}-{day:02}")
}

/// The UTC year of `unix_us`.
pub fn year(unix_us: u64) -> u64 {
    civil(day_number(unix_us)).0
}

/// Appends `unix_us` as RFC 3339 in UTC with six digits: `2026-11-29T14:05:00.123456Z`.
pub(crate) fn write_rfc3339(out: &mut Vec<u8>, unix_us: u64) {
    let (year, month, day) = civil(day_number(unix_us));
    let us = unix_us % DAY_US;
    let seconds = us / 1_000_000;
    for (number, width, after) in [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (seconds / 3600, 2, b':'),
        (seconds / 60 % 60, 2, b':'),
        (seconds % 60, 2, b'.'),
        (us % 1_000_000, 6, b'Z'),
    ] {
        let mut unit = 10u64.pow(width - 1);
        while unit > 0 {
            // A digit is below 10, so the cast cannot lose anything.
            out.push(b'0' + (number / unit % 10) as u8);
            unit /= 10;
        }
        out.push(after);
    }
}

/// `unix_us` as a string; see `write_rfc3339`.
pub fn rfc3339(unix_us: u64) -> String {
    let mut out = Vec::with_capacity(27);
    write_rfc3339(&mut out, unix_us);
    String::from_utf8(out).unwrap_or_default()
}

/// Year, month and day of a day number in the proleptic Gregorian calendar. Years are counted from
/// 1 March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

fn micros(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        for (us, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_795_961_100_123_456, "2026-11-29T14:05:00.123456Z"),
            (4_107_542_400_000_001, "2100-03-01T00:00:00.000001Z"),
        ] {
            assert_eq!(rfc3339(us), text);
            assert_eq!(Some(day(us).as_str()), text.get(..10));
        }
    }

    #[test]
    fn days_follow_one_another_for_four_centuries() {
        let mut last = civil(0);
        for number in 1..150_000 {
            let (year, month, day) = civil(number);
            let next_day = (year, month, day) == (last.0, last.1, last.2 + 1);
            let next_month = day == 1 && (year, month) == (last.0, last.1 + 1);
            let next_year = (year, month, day) == (last.0 + 1, 1, 1) && last.1 == 12;
            assert!(
                next_day || next_month || next_year,
                "{last:?} then {:?}",
                civil(number)
            );
            last = (year, month, day);
        }
    }
}
