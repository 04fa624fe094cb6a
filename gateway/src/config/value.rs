//! The small languages of configuration values: durations, sizes, model globs.

use std::time::Duration;

/// Reads `500ms`, `10s`, `5m`, `24h` or `7d`: a whole number and one unit.
///
/// # Errors
/// A message for the operator.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = number_and_unit(text).ok_or_else(|| {
        "is not a duration such as \"500ms\", \"10s\", \"5m\" or \"24h\"".to_owned()
    })?;
    let scale: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("has no unit of time; use ms, s, m, h or d".to_owned()),
    };
    let millis = number
        .checked_mul(scale)
        .ok_or_else(|| "is too long".to_owned())?;
    // A century: nothing here means "for ever", and deadlines must not overflow a clock.
    if millis > 100 * 365 * 86_400_000 {
        return Err("is too long".to_owned());
    }
    if millis == 0 {
        return Err("must be longer than zero".to_owned());
    }
    Ok(Duration::from_millis(millis))
}

/// Reads `100B`, `64KiB`, `32MiB`, `1GiB`, or decimal `kB`, `MB`, `GB`, in bytes.
///
/// # Errors
/// A message for the operator.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = number_and_unit(text)
        .ok_or_else(|| "is not a size such as \"64KiB\" or \"32MiB\"".to_owned())?;
    let scale: u64 = match unit {
        "B" => 1,
        "kB" => 1_000,
        "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "GiB" => 1 << 30,
        _ => return Err("has no unit of size; use B, KiB, MiB, GiB, kB, MB or GB".to_owned()),
    };
    let bytes = number
        .checked_mul(scale)
        .ok_or_else(|| "is too large".to_owned())?;
    if bytes == 0 {
        return Err("must be more than zero".to_owned());
    }
    // What a 32-bit length can hold, on every platform alike.
    if bytes > u64::from(u32::MAX) {
        return Err("is too large".to_owned());
    }
    usize::try_from(bytes).map_err(|_| "is too large".to_owned())
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit))
}

/// A pattern for model names: `*` is any run of characters, `?` any one; everything else stands
/// for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Takes the pattern as written.
    #[must_use]
    pub fn new(pattern: &str) -> Glob {
        Glob(pattern.to_owned())
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether whatever `other` matches is certainly matched by this one: nothing in it but `*` can
    /// stand for the `*` and `?` of the other.
    #[must_use]
    pub(super) fn covers(&self, other: &Glob) -> bool {
        self == other || (!self.0.contains('?') && self.matches(&other.0))
    }

    /// Whether the whole of `name` fits. Takes time proportional to pattern × name at worst:
    /// only the last `*` is ever tried again.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut pattern = self.0.chars();
        let mut text = name.chars();
        let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
        loop {
            let mut ahead = pattern.clone();
            let mut rest = text.clone();
            match (ahead.next(), rest.next()) {
                (Some('*'), _) => {
                    pattern = ahead;
                    retry = Some((pattern.clone(), text.clone()));
                    continue;
                }
                (Some(p), Some(t)) if p == '?' || p == t => {
                    pattern = ahead;
                    text = rest;
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((after_star, mut from)) = retry.take() else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            pattern = after_star.clone();
            text = from.clone();
            retry = Some((after_star, from));
        }
    }
}

/// Whether a tenant's name may be used: 1 to 64 of `a-z 0-9 _ -`, the first a letter or a digit.
/// Names that begin with `_` are the gateway's own.
pub fn valid_tenant(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    name.len() <= 64
        && name.bytes().all(inner)
        && name
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for bad in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 s",
            "0s",
            "99999999999999999999s",
            "9999999d",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("32MiB"), Ok(33_554_432));
        assert_eq!(size("1kB"), Ok(1000));
        for bad in [
            "",
            "64",
            "KiB",
            "0B",
            "64 KiB",
            "64kib",
            "99999999999GiB",
            "5GiB",
        ] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn globs() {
        let cases = [
            ("gpt-*", "gpt-5", true),
            ("gpt-*", "gpt-", true),
            ("gpt-*", "o3", false),
            ("*", "", true),
            ("*mini", "o3-mini-mini", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyyd", false),
            ("o?", "o3", true),
            ("o?", "o", false),
            ("m", "m", true),
            ("m", "mm", false),
            ("", "", true),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(
                Glob::new(pattern).matches(name),
                fits,
                "{pattern} on {name}"
            );
        }
    }

    #[test]
    fn a_glob_covers_what_it_matches_whatever_stands_for_the_stars() {
        let cases = [
            ("*", "gpt-*", true),
            ("gpt-*", "gpt-4*", true),
            ("gpt-*", "gpt-?", true),
            ("a?", "a?", true),
            ("a?", "a*", false),
            ("?*", "*", false),
            ("gpt-4*", "gpt-*", false),
            ("gpt-4", "gpt-*", false),
        ];
        for (one, other, covers) in cases {
            assert_eq!(
                Glob::new(one).covers(&Glob::new(other)),
                covers,
                "{one} over {other}"
            );
        }
    }

    #[test]
    fn a_hostile_glob_ends_soon() {
        let pattern = Glob::new(&"a*".repeat(50));
        assert!(!pattern.matches(&format!("{}b", "c".repeat(10_000))));
        assert!(pattern.matches(&"a".repeat(10_000)));
    }
}
