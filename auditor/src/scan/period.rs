//! The period that is looked at: from a time up to, and without, another, in UTC.

use gatehouse_ledger::clock::rfc3339;

use crate::{cli::Failure, views::FOREVER};

const DAY_US: u64 = 86_400_000_000;

/// A period in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
}

impl Period {
    /// All of time.
    pub(crate) const ALWAYS: Self = Self {
        from_us: 0,
        to_us: FOREVER,
    };

    pub(crate) fn new(from_us: u64, to_us: u64) -> Result<Self, Failure> {
        if from_us >= to_us {
            return Err(Failure::Usage(format!(
                "the period is empty: from {} to {}",
                rfc3339(from_us),
                rfc3339(to_us)
            )));
        }
        Ok(Self { from_us, to_us })
    }
}

/// Reads `2026-11-29` or `2026-11-29T14:05:00Z`, with up to six digits behind the second.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    read(text).ok_or_else(|| "a day or a time in UTC: 2026-11-29 or 2026-11-29T14:05:00Z".into())
}

fn read(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time.strip_suffix('Z')?)),
        None => (text, None),
    };
    let start = day(date)?.checked_mul(DAY_US)?;
    let Some(time) = time else {
        return Some(start);
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 2, 23)?;
    let minute = number(parts.next()?, 2, 59)?;
    let second = number(parts.next()?, 2, 59)?;
    if parts.next().is_some() || fraction.is_empty() || fraction.len() > 6 {
        return None;
    }
    let micros = number(&format!("{fraction:0<6}"), 6, 999_999)?;
    Some(start + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// The number of a day, counted from 1970-01-01.
fn day(date: &str) -> Option<u64> {
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4, 9999)?;
    let month = number(parts.next()?, 2, 12)?;
    let day = number(parts.next()?, 2, 31)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month.checked_sub(1)?).ok()?;
    let length = *lengths.get(before)?;
    if parts.next().is_some() || year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    let past = year - 1;
    let leaps = past / 4 - past / 100 + past / 400;
    // 477 leap days lie before 1970.
    let years = (year - 1970) * 365 + leaps - 477;
    Some(years + lengths.iter().take(before).sum::<u64>() + day - 1)
}

/// Exactly `digits` digits.
fn number(text: &str, digits: usize, most: u64) -> Option<u64> {
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    let value: u64 = plain.then(|| text.parse().ok()).flatten()?;
    (value <= most).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_log() {
        for us in [
            0,
            86_399_999_999,
            951_782_400_000_000,
            1_795_961_100_123_456,
            4_107_542_400_000_000,
        ] {
            assert_eq!(read(&rfc3339(us)), Some(us), "{}", rfc3339(us));
        }
        assert_eq!(read("1970-01-02"), Some(DAY_US));
        assert_eq!(read("2026-11-29T14:05:00Z"), Some(1_795_961_100_000_000));
        assert_eq!(read("2026-11-29T14:05:00.1Z"), Some(1_795_961_100_100_000));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-00-10",
            "2026-1-1",
            "2026-11-29T14:05:00",
            "2026-11-29T24:00:00Z",
            "2026-11-29T14:05:00.Z",
            "2026-11-29T14:05Z",
            "2026-11-29T14:05:00+01:00",
            "1969-12-31",
            "+026-11-29",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert!(Period::new(5, 5).is_err());
    }
}
