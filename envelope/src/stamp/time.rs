//! The time of a token: `yyyymmddhhmmss[.f…]Z` (RFC 3161 §2.4.2).

/// Microseconds since 1970; none if it is not in that form, or before.
pub(super) fn unix_us(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = match text.split_once('.') {
        None => (text, ""),
        // In DER a fraction has no zeros at its end.
        Some((_, fraction)) if fraction.is_empty() || fraction.ends_with('0') => return None,
        Some(parts) => parts,
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.len() != 14 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let part = |from: usize, to: usize| whole.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    if !(1..=days_in(year, month)?).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second;
    let micros = fraction.bytes().chain(*b"000000").take(6);
    let micros = micros.fold(0, |sum, b| sum * 10 + u64::from(b - b'0'));
    Some(seconds * 1_000_000 + micros)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> Option<u64> {
    match month {
        2 => Some(28 + u64::from(is_leap(year))),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Days since 1970-01-01.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let before = year.checked_sub(1970)?;
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = before * 365 + leaps(year - 1) - leaps(1969);
    let months: Option<Vec<u64>> = (1..month).map(|month| days_in(year, month)).collect();
    Some(years + months?.iter().sum::<u64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let us = |text: &str| unix_us(text.as_bytes());
        assert_eq!(us("19700101000000Z"), Some(0));
        assert_eq!(us("20000229235959Z"), Some(951_868_799_000_000));
        assert_eq!(us("20261129140500.123456789Z"), Some(1_795_961_100_123_456));
        assert_eq!(us("20261129140500.5Z"), Some(1_795_961_100_500_000));
        for bad in [
            "",
            "20261129140500",
            "20261129140500+0100",
            "202611291405Z",
            "20261129140560Z",
            "20261129240000Z",
            "20261131140500Z",
            "20261329140500Z",
            "21000229000000Z",
            "19691231235959Z",
            "2026112914050 Z",
            "+0261129140500Z",
            "20261129140500.Z",
            "20261129140500.10Z",
            "20261129140500,1Z",
        ] {
            assert_eq!(us(bad), None, "{bad}");
        }
    }
}
