//! Keys that name the value below them as a cue would.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Scheme, schemes, words};
use crate::fnv;

/// What may follow a cue in a key.
const FOLLOWED: &[&str] = &["number", "num", "no", "nr", "id", "code", "value"];
/// Accounts of programs (Kubernetes' `serviceAccountName`).
const OTHERS: &[&str] = &["serviceaccountname"];
/// Longer keys, and those beyond ASCII, are taken apart the long way.
const SHORT: usize = 64;

/// The schemes of each cue, without its spaces and marks.
static CUES: LazyLock<HashMap<String, Vec<&'static Scheme>, fnv::Build>> = LazyLock::new(|| {
    let mut cues: HashMap<_, Vec<&'static Scheme>, _> = HashMap::default();
    for scheme in schemes() {
        for cue in scheme.cues {
            let plain = cue.chars().filter(|c| c.is_alphanumeric()).collect();
            cues.entry(plain).or_default().push(scheme);
        }
    }
    // The longest counts: these name nothing of a person's, though they end with what does.
    for other in OTHERS {
        cues.entry((*other).to_owned()).or_default();
    }
    cues
});

/// Whether a key ends with a cue.
pub(crate) fn names_value(key: &str) -> bool {
    !named(key).is_empty()
}

/// The schemes whose cues a key or a column's name ends with: those of the longest cue of
/// `customer_dob`, `passportNumber`. Asked for every text that stands under a key.
pub(crate) fn named(key: &str) -> &'static [&'static Scheme] {
    if key.len() <= SHORT && key.is_ascii() {
        return Plain::of(key).named();
    }
    let words = words(key);
    let known = |words: &[String]| {
        (0..words.len()).find_map(|from| CUES.get(&words.get(from..)?.concat()).map(Vec::as_slice))
    };
    let shorter = match words.split_last() {
        Some((last, rest)) if FOLLOWED.contains(&last.as_str()) => rest,
        _ => words.as_slice(),
    };
    known(&words).or_else(|| known(shorter)).unwrap_or_default()
}

/// The letters and digits of a key in lower case, and where its words begin.
struct Plain {
    letters: [u8; SHORT],
    length: usize,
    begins: u64,
}

impl Plain {
    /// As [`words`], for short keys in ASCII.
    fn of(key: &str) -> Self {
        let mut plain = Self {
            letters: [0; SHORT],
            length: 0,
            begins: 0,
        };
        let (mut lower, mut apart) = (false, true);
        for byte in key.bytes() {
            if !byte.is_ascii_alphanumeric() {
                (lower, apart) = (false, true);
                continue;
            }
            if apart || (lower && byte.is_ascii_uppercase()) {
                plain.begins |= 1 << plain.length;
            }
            if let Some(slot) = plain.letters.get_mut(plain.length) {
                *slot = byte.to_ascii_lowercase();
                plain.length += 1;
            }
            (lower, apart) = (byte.is_ascii_lowercase(), false);
        }
        plain
    }

    fn named(&self) -> &'static [&'static Scheme] {
        let last = self.begins.checked_ilog2().map_or(0, |at| at as usize);
        let shorter = FOLLOWED.contains(&self.part(last, self.length));
        let shorter = || shorter.then(|| self.known(last)).flatten();
        self.known(self.length).or_else(shorter).unwrap_or_default()
    }

    /// The schemes of the longest cue that the words up to `end` end with.
    fn known(&self, end: usize) -> Option<&'static [&'static Scheme]> {
        let begins = |at: &usize| self.begins >> at & 1 != 0;
        let mut begins = (0..end).filter(begins);
        begins.find_map(|from| CUES.get(self.part(from, end)).map(Vec::as_slice))
    }

    fn part(&self, from: usize, to: usize) -> &str {
        let part = self.letters.get(from..to).unwrap_or_default();
        std::str::from_utf8(part).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_end_with_a_cue() {
        for key in [
            "dob",
            "customer_dob",
            "customerDob",
            "passportNumber",
            "PASSPORT_NO",
            "routing",
            "date-of-birth",
            "numer_paszportu",
            "r\u{fc}ckgabe_passnummer",
        ] {
            assert!(names_value(key), "{key}");
        }
        for key in [
            "",
            "_",
            "doberman",
            "number",
            "adobe",
            "passport_photo",
            "serviceAccountName",
            "service_account_name",
            "id",
            "x_value",
        ] {
            assert!(!names_value(key), "{key}");
        }
    }

    #[test]
    fn short_keys_have_the_same_words_as_long_ones() {
        for key in [
            "a", "aB", "A_b-C", "__x9Y", "IBANNo", "Dob2X", "9a.b C", "", "--",
        ] {
            let plain = Plain::of(key);
            let begins: Vec<usize> = (0..plain.length)
                .filter(|at| plain.begins >> at & 1 != 0)
                .chain([plain.length])
                .collect();
            let own: Vec<&str> = begins
                .windows(2)
                .map(|pair| plain.part(pair[0], pair[1]))
                .collect();
            assert_eq!(own, words(key), "{key}");
        }
    }
}
