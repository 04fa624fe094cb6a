//! What was found once in a text is found wherever it stands behind that place: the surname alone
//! of somebody who was named in full, a password that a cue gave away the first time.
//!
//! Only for texts that are there as a whole: a stream does not keep what it has passed.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind, PatternID, packed};

use crate::finding::Finding;
use crate::label::Label;
use crate::people;

/// Values of one text that are looked for again.
const MOST: usize = 64;
/// The shortest name, in bytes.
const NAME: usize = 3;
/// The shortest secret or number, in bytes.
const VALUE: usize = 6;
/// Longer values cost time where a text almost holds them, unless an automaton looks for them.
const SHORT: usize = 64;
/// In texts of no more bytes, values are looked for byte by byte: to make a search for them takes
/// longer.
const LITTLE: usize = 4 * 1024;
/// How sure a name must be whose parts are looked for: one that words or lists show.
const SURE: u8 = 64;
/// What a repetition is worth less than what it repeats.
const LESS: u8 = 4;

/// A value to look for, and the finding that it is of.
struct Wanted<'t> {
    text: &'t str,
    of: Finding,
}

/// Adds the repetitions. The findings are sorted and disjoint, and stay so.
pub(crate) fn repeat(text: &str, findings: &mut Vec<Finding>) {
    let wanted = wanted(text, findings);
    if wanted.is_empty() {
        return;
    }
    let mut added = Vec::new();
    let mut known = findings.iter().peekable();
    for hit in hits(text, &wanted) {
        let Some(value) = wanted.get(hit.pattern().as_usize()) else {
            continue;
        };
        while known
            .next_if(|finding| finding.end <= hit.start())
            .is_some()
        {}
        let free = known
            .peek()
            .is_none_or(|finding| finding.start >= hit.end());
        if free && hit.start() >= value.of.end && fits(text, hit.range(), value.of.label) {
            added.push(Finding {
                start: hit.start(),
                end: hit.end(),
                score: value.of.score.saturating_sub(LESS),
                ..value.of
            });
        }
    }
    if !added.is_empty() {
        findings.append(&mut added);
        findings.sort_by_key(|finding| finding.start);
    }
}

/// Where the values stand: the longest of those that begin at one place, none inside of another.
fn hits(text: &str, wanted: &[Wanted<'_>]) -> Vec<Match> {
    let values = || wanted.iter().map(|value| value.text);
    // To make an automaton takes longer than to look through most texts.
    let short = values().all(|value| value.len() <= SHORT);
    if short && text.len() <= LITTLE && wanted.len() <= MOST {
        return plainly(text.as_bytes(), wanted);
    }
    let mut few = packed::Config::new()
        .match_kind(packed::MatchKind::LeftmostLongest)
        .builder();
    if let Some(few) = short.then(|| few.extend(values()).build()).flatten() {
        return few.find_iter(text).collect();
    }
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(values())
        .map(|automaton| automaton.find_iter(text).collect())
        .unwrap_or_default()
}

/// The same, byte by byte, for no more than [`MOST`] values.
fn plainly(text: &[u8], wanted: &[Wanted<'_>]) -> Vec<Match> {
    // By byte: the values that have it first, and second or not at all.
    let (mut firsts, mut seconds) = ([0u64; 256], [0u64; 256]);
    let bits = (0..u64::BITS).map(|number| 1 << number);
    for (value, bit) in wanted.iter().zip(bits) {
        let mut bytes = value.text.bytes().map(usize::from);
        let (first, second) = (bytes.next(), bytes.next());
        let first = first.and_then(|byte| firsts.get_mut(byte));
        first.into_iter().for_each(|values| *values |= bit);
        match second {
            Some(byte) => seconds
                .get_mut(byte)
                .into_iter()
                .for_each(|own| *own |= bit),
            None => seconds.iter_mut().for_each(|own| *own |= bit),
        }
    }
    let of = |values: &[u64; 256], byte: u8| values.get(usize::from(byte)).copied();
    let (mut found, mut end) = (Vec::new(), 0);
    for (at, byte) in text.iter().enumerate() {
        let first = of(&firsts, *byte).unwrap_or(0);
        if first == 0 || at < end {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let second = rest.get(1).and_then(|byte| of(&seconds, *byte));
        let values = first & second.unwrap_or(u64::MAX);
        if let Some((number, length)) = longest(rest, wanted, values) {
            end = at + length;
            found.push(Match::new(number, at..end));
        }
    }
    found
}

/// The longest of some values, a bit each, that a text begins with: its number and length.
fn longest(rest: &[u8], wanted: &[Wanted<'_>], mut values: u64) -> Option<(PatternID, usize)> {
    let mut best = None;
    while values != 0 {
        let number = values.trailing_zeros();
        values &= values - 1;
        let Some(value) = wanted.get(number as usize) else {
            continue;
        };
        let length = value.text.len();
        if best.is_none_or(|(_, longest)| length > longest)
            && rest.starts_with(value.text.as_bytes())
        {
            best = PatternID::new(number as usize).ok().map(|it| (it, length));
        }
    }
    best
}

/// What of the findings may stand again: the parts of names, secrets and numbers that only the
/// words beside them showed.
fn wanted<'t>(text: &'t str, findings: &[Finding]) -> Vec<Wanted<'t>> {
    let mut wanted: Vec<Wanted<'t>> = Vec::new();
    let mut add = |part: &'t str, of: Finding| {
        if wanted.len() < MOST && wanted.iter().all(|known| known.text != part) {
            wanted.push(Wanted { text: part, of });
        }
    };
    for finding in findings.iter().filter(|finding| !finding.certain) {
        let value = text.get(finding.start..finding.end).unwrap_or_default();
        if finding.label == Label::PERSON {
            if finding.score >= SURE {
                names(value).for_each(|name| add(name, *finding));
            }
        } else if is_told_by_cue(finding.label) && is_telling(value) {
            add(value, *finding);
        }
    }
    wanted
}

/// The words of a name that say who it is: the first and the last, unless they are words that
/// stand for other things too. Each is a value of the session from then on.
fn names(name: &str) -> impl Iterator<Item = &str> {
    let inner = |c: char| c.is_whitespace() || c == ',';
    let words = || name.split(inner).filter(|word| !word.is_empty());
    let last = words().next_back().filter(|_| words().count() > 1);
    words().next().into_iter().chain(last).filter(|word| {
        word.len() >= NAME
            && word.starts_with(char::is_uppercase)
            && word.chars().any(char::is_lowercase)
            && people::repeats(word)
    })
}

fn is_told_by_cue(label: Label) -> bool {
    label.is_secret()
        || [
            Label::NATIONAL_ID,
            Label::TAX_ID,
            Label::PASSPORT,
            Label::DRIVER_LICENSE,
            Label::MEDICAL_RECORD,
            Label::BANK_ACCOUNT,
            Label::USERNAME,
        ]
        .contains(&label)
}

/// Long enough, and no word: it holds digits and something else, or many digits.
fn is_telling(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    value.len() >= VALUE
        && digits > 0
        && (digits < value.len() || digits >= 8)
        && !value.contains('\n')
}

/// Whether what stands there is the value and no part of something longer; and, for a name, no
/// part of another name, a street, a firm or code.
fn fits(text: &str, range: Range<usize>, label: Label) -> bool {
    let before = text.get(..range.start).unwrap_or_default();
    let behind = text.get(range.end..).unwrap_or_default();
    let (left, right) = (before.chars().next_back(), behind.chars().next());
    let word = |c: char| c.is_alphanumeric() || c == '_';
    if left.is_some_and(word) || right.is_some_and(word) {
        return false;
    }
    if label != Label::PERSON {
        return true;
    }
    let code = |c: char| "./\\@#$-&<{~%`:=([".contains(c);
    let capital = |rest: &str| rest.starts_with(char::is_uppercase);
    let on = behind.strip_prefix([' ', '-']).is_some_and(capital);
    let called = right.is_some_and(|c| "_/\\(@=[{".contains(c))
        || (right == Some('.')
            && behind
                .get(1..)
                .is_some_and(|rest| rest.starts_with(char::is_alphanumeric)))
        || behind.starts_with("::");
    !left.is_some_and(|c| code(c) && !"(:=[".contains(c)) && !on && !called
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{found, nothing};

    proptest::proptest! {
        #[test]
        fn values_are_found_as_an_automaton_finds_them(
            values in proptest::collection::hash_set("[ab]{1,5}|[a-c.]{70}", 1..12),
            text in "[abc. ]{0,300}",
        ) {
            let of = Finding { start: 0, end: 0, label: Label::PERSON, score: 0, rule: "t", certain: false };
            let wanted: Vec<_> = values.iter().map(|text| Wanted { text, of }).collect();
            let text = format!("{text}{}", values.iter().map(String::as_str).collect::<String>());
            let mut automaton = AhoCorasick::builder();
            automaton.match_kind(MatchKind::LeftmostLongest);
            let expected: Vec<_> = automaton.build(&values).unwrap().find_iter(&text).map(|hit| hit.range()).collect();
            let found: Vec<_> = hits(&text, &wanted).iter().map(Match::range).collect();
            proptest::prop_assert_eq!(found, &expected[..]);
            let found: Vec<_> = plainly(text.as_bytes(), &wanted).iter().map(Match::range).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn somebody_who_was_named_is_found_by_surname() {
        found(
            "Ask Hannah Brockwell first. Then Brockwell decides; Hannah is out.",
            "PERSON",
            &["Hannah Brockwell", "Brockwell", "Hannah"],
        );
        found(
            "It was directed by Stefan Wolfe, starring Wolfe himself.",
            "PERSON",
            &["Stefan Wolfe", "Wolfe"],
        );
        found(
            "Dear Mrs Quillfeather, thank you. Quillfeather wrote back.",
            "PERSON",
            &["Quillfeather", "Quillfeather"],
        );
    }

    #[test]
    fn other_words_and_parts_of_others_stay() {
        found(
            "Hannah Brockwell met us on Brockwell Street, see Brockwell.md and brockwell().",
            "PERSON",
            &["Hannah Brockwell"],
        );
        found(
            "Hannah Page wrote it. Page 12 is blank.",
            "PERSON",
            &["Hannah Page"],
        );
        nothing("Brockwell is unknown here");
    }

    #[test]
    fn a_value_that_a_cue_gave_away_is_found_without_it() {
        found(
            "password: tr4ffic-Cone\nI typed tr4ffic-Cone twice, not tr4ffic-Cones.",
            "PASSWORD",
            &["tr4ffic-Cone", "tr4ffic-Cone"],
        );
    }
}
