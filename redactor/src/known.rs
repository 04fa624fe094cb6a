//! The session's own values, found again wherever they stand.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind, packed};

use crate::finding::ScanError;
use crate::vault::Vault;

/// Longer values are taken wherever they stand; this also bounds the work that text which
/// almost holds a value can cause.
const LONGEST_BOUND: usize = 64;
/// Values of this many bytes that hold more than letters and digits need no boundary.
const TELLING: usize = 8;
/// Bare digits of this length are a number of their own only where no digit stands beside them.
const LONG_DIGITS: usize = 12;

/// So many values, none of them long, are looked for without an automaton: to build it takes longer
/// than to look through most texts.
const FEW: usize = 64;

/// The search for all values of a vault, built once a turn.
pub(crate) struct Known {
    /// Nothing if there are no values.
    values: Option<Values>,
    begins: Begins,
}

enum Values {
    Few(packed::Searcher),
    Many(AhoCorasick),
}

impl Known {
    /// Takes the values as they are now.
    pub(crate) fn new(vault: &Vault) -> Result<Self, ScanError> {
        let values = || vault.entries().iter().map(|entry| entry.value.as_bytes());
        let found = (!vault.is_empty()).then(|| few(values()).map_or_else(|| many(values()), Ok));
        Ok(Self {
            values: found.transpose()?,
            begins: Begins::of(values()),
        })
    }

    /// Where values of the vault stand in `text`: disjoint, in order.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let Some(values) = &self.values else {
            return found;
        };
        if !self.begins.may_begin_in(text.as_bytes()) {
            return found;
        }
        let mut at = 0;
        while let Some(hit) = values.next(text, at) {
            let alone = text.is_char_boundary(hit.start)
                && text.is_char_boundary(hit.end)
                && stands_alone(text, hit.clone());
            at = if alone {
                hit.end.max(at + 1)
            } else {
                hit.start + 1
            };
            if alone && !hit.is_empty() {
                found.push(hit);
            }
            if at >= text.len() {
                break;
            }
        }
        found
    }
}

impl Values {
    /// The first value at `at` or behind it; of those that begin there, the longest.
    fn next(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let hit = match self {
            Values::Few(few) => few.find_in(text, (at..text.len()).into()),
            Values::Many(many) => many.find(Input::new(text).range(at..)),
        };
        Some(hit?.range())
    }
}

/// The first two bytes of the values, by a hash of twelve bits: in most short texts no value begins.
struct Begins {
    pairs: [u64; 64],
    /// Whether a value has no two bytes.
    any: bool,
}

impl Begins {
    fn of<'v>(values: impl Iterator<Item = &'v [u8]>) -> Self {
        let mut begins = Self {
            pairs: [0; 64],
            any: false,
        };
        for value in values {
            match value {
                [first, second, ..] => {
                    let (slot, bit) = Self::place(*first, *second);
                    if let Some(slot) = begins.pairs.get_mut(slot) {
                        *slot |= bit;
                    }
                }
                _ => begins.any = true,
            }
        }
        begins
    }

    fn place(first: u8, second: u8) -> (usize, u64) {
        let hash = usize::from(first) * 37 + usize::from(second);
        (hash >> 6 & 63, 1 << (hash & 63))
    }

    /// Whether a value may begin in a text. Long texts are searched anyway.
    fn may_begin_in(&self, text: &[u8]) -> bool {
        const LONG: usize = 256;
        self.any
            || text.len() > LONG
            || text.iter().zip(text.iter().skip(1)).any(|(first, second)| {
                let (slot, bit) = Self::place(*first, *second);
                self.pairs.get(slot).is_some_and(|slot| slot & bit != 0)
            })
    }
}

/// Nothing if there are too many, or one of them is empty or long: texts that almost hold many long
/// values would take too long.
fn few<'v>(values: impl Iterator<Item = &'v [u8]> + Clone) -> Option<Values> {
    let long = values.clone().any(|value| value.len() > LONGEST_BOUND);
    if long || values.clone().count() > FEW {
        return None;
    }
    packed::Config::new()
        .match_kind(packed::MatchKind::LeftmostLongest)
        .builder()
        .extend(values)
        .build()
        .map(Values::Few)
}

/// Never as a DFA: to fill its table takes time and memory that grow with the square of a value that
/// repeats itself, and callers choose the values.
fn many<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Values, ScanError> {
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(values)
        .map(Values::Many)
        .map_err(|_| ScanError::Automaton)
}

/// Whether what stands there is the value and not a part of another word or number.
fn stands_alone(text: &str, range: Range<usize>) -> bool {
    let value = text.get(range.clone()).unwrap_or_default();
    let before = text
        .get(..range.start)
        .and_then(|left| left.chars().next_back());
    let after = text.get(range.end..).unwrap_or_default();
    if value.len() > LONGEST_BOUND {
        return true;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let word = |c: Option<char>| c.is_some_and(cased);
        let (left, right) = (before, after.chars().next());
        return !digit(left)
            && !digit(right)
            && (value.len() >= LONG_DIGITS || !word(left) && !word(right));
    }
    let only_words = value
        .chars()
        .all(|c| c.is_alphanumeric() || c.is_whitespace());
    if !only_words && value.len() >= TELLING {
        return true;
    }
    let joins = |inner: Option<char>, outer: Option<char>| {
        inner.is_some_and(cased) && outer.is_some_and(cased)
    };
    if joins(value.chars().next(), before) {
        return false;
    }
    if !joins(value.chars().next_back(), after.chars().next()) {
        return true;
    }
    // Grammatical endings: a model that is shown `<PERSON_…>s` says the name with an `s`.
    let ending = after.chars().take_while(|c| cased(*c)).take(3).count();
    value.chars().count() >= 4 && ending <= 2 && !after.starts_with(|c: char| c.is_ascii_digit())
}

/// Letters and digits of scripts that put spaces between words. Others stand without boundaries.
fn cased(c: char) -> bool {
    c.is_ascii_digit() || c.is_lowercase() || c.is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::testing::Names;
    use crate::vault::Shape;

    fn found<'t>(values: &[&str], text: &'t str) -> Vec<&'t str> {
        let mut vault = Vault::new();
        for value in values {
            vault.insert(value, Label::PERSON, Shape::Text, false, &Names);
        }
        let known = Known::new(&vault).unwrap();
        known
            .find(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn values_are_found_as_words_and_with_endings() {
        assert_eq!(
            found(&["Mark"], "Mark, Marks, Mark's, Marketing, Denmark"),
            ["Mark"; 3]
        );
        assert_eq!(found(&["Al"], "Al, Also, Als"), ["Al"]);
        assert_eq!(found(&["田中"], "私は田中です"), ["田中"]);
        assert_eq!(found(&["a@b.example"], "xa@b.exampley"), ["a@b.example"]);
        assert_eq!(
            found(&["5550132"], "95550132 5550132 5550132x"),
            ["5550132"]
        );
        assert_eq!(
            found(
                &["4111111111111111"],
                "x4111111111111111y 41111111111111112"
            ),
            ["4111111111111111"]
        );
        assert!(found(&[], "anything").is_empty());
    }

    #[test]
    fn a_value_that_repeats_itself_costs_no_more_than_its_length() {
        let value = "-----BEGIN PRIVATE KEY-----\n".repeat(20_000);
        let text = format!("{value}{value}");
        let started = std::time::Instant::now();
        assert_eq!(found(&[&value], &text), [&value, &value]);
        // A table took a minute for a tenth of this.
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn the_longest_value_wins_and_a_refused_one_hides_nothing() {
        assert_eq!(
            found(&["Ann", "Ann Lee"], "Ann Lee and Ann"),
            ["Ann Lee", "Ann"]
        );
        assert_eq!(found(&["Anna Le", "Lenard"], "Anna Lenard"), ["Lenard"]);
    }

    proptest::proptest! {
        #[test]
        fn few_values_are_found_as_many_are(
            values in proptest::collection::vec("[ab@.1 ]{1,5}", 1..12),
            text in "[ab@.1 ]{0,60}",
        ) {
            let bytes = || values.iter().map(String::as_bytes);
            let known = |values| Known { values: Some(values), begins: Begins::of(bytes()) };
            let everywhere = Begins { any: true, ..Begins::of(bytes()) };
            let many = Known { begins: everywhere, ..known(many(bytes()).unwrap()) };
            // Not every processor can.
            if let Some(few) = few(bytes()) {
                proptest::prop_assert_eq!(known(few).find(&text), many.find(&text));
            }
        }
    }
}
