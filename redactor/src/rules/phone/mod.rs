//! Telephone numbers, international (ITU-T E.164) and as they are written at home.

mod groups;
mod plans;

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};
use crate::seek::Set;

use self::groups::Groups;
use self::plans::PLANS;
pub(super) use self::plans::{CLEAR_WORDS, WORDS};
use super::dates::{holds_date, is_date};
use super::{beside, checked};

/// More bytes than a number with such a word behind it takes.
const LONGEST: usize = 96;
/// Bytes behind a number in which the word that names it stands.
const BEHIND: usize = 12;

pub(super) fn rules() -> Vec<Rule> {
    let left = (Left::Number, Tail::None);
    let abroad = r"(?:\+|00)[1-9](?:[ ./()-]{0,3}[0-9]){6,16}";
    let america = r"(?i)(?:\+?1[ .-]{0,2}|001-)?(?:\([2-9][0-9]{2}\)[ .-]{0,2}|[2-9][0-9]{2}[ .-])[0-9]{3}[ .-][0-9]{4}(?:,? ?(?:x|ext\.?|extension|#)[ :]{0,2}[0-9]{1,6})?";
    let trunk = r"\(?0[1-9][0-9]{0,4}\)?(?:[ ./-]{1,3}[0-9]{2,8}){1,5}";
    let named = r"\(?[0-9]{1,6}\)?(?:[ ./()\n-]{0,2}[0-9]){5,13}";
    vec![
        checked(
            "phone-international",
            Label::PHONE,
            abroad,
            (Left::Word, Tail::None),
            international,
        ),
        checked(
            "phone-north-america",
            Label::PHONE,
            america,
            left,
            north_america,
        ),
        checked("phone-national", Label::PHONE, trunk, left, national),
        beside(checked(
            "phone-named",
            Label::PHONE,
            named,
            left,
            named_number,
        )),
        beside(checked(
            "phone-named-behind",
            Label::PHONE,
            named,
            (Left::Number, Tail::Near(BEHIND)),
            named_behind,
        )),
    ]
}

/// As many digits as the country's plan has; more that follow are other numbers.
fn international(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched();
    let double_zero = matched.starts_with("00");
    let glued = candidate.previous().is_some_and(|b| b"._".contains(&b));
    if double_zero && (glued || continues(candidate)) {
        return None;
    }
    if double_zero && !matched.contains([' ', '-', '.', '/']) && !candidate.context.names(&WORDS) {
        return None;
    }
    let prefix = if double_zero { 2 } else { 1 };
    let digits = || matched.bytes().skip(prefix).filter(u8::is_ascii_digit);
    let begins = |code: &str| digits().take(code.len()).eq(code.bytes());
    let plan = PLANS.iter().find(|(code, ..)| begins(code));
    let (fewest, most) = match plan {
        Some((code, fewest, most)) => (code.len() + fewest, code.len() + most),
        None => (9, 15),
    };
    let labelled = candidate.context.names(&WORDS);
    // An optional trunk zero in brackets, `+44 (0)20 …`, counts as one digit more.
    let most = most + usize::from(matched.contains("(0)"));
    let length = cut(matched, most + if double_zero { 2 } else { 0 });
    let count = matched
        .get(prefix..length)?
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    if count < fewest && !(labelled && count >= 7) {
        return None;
    }
    ending(candidate, length, if labelled { 92 } else { 88 })
}

fn north_america(candidate: &Candidate<'_>) -> Option<Hit> {
    let digits = || candidate.matched().bytes().filter(u8::is_ascii_digit);
    let area = if digits().next() == Some(b'1') { 1 } else { 0 };
    let exchange = digits().nth(area + 3).is_some_and(|d| d >= b'2');
    let labelled = candidate.context.names(&WORDS);
    let dotted = candidate.matched().contains('.');
    // `252.227-7013` is a paragraph of some rule book.
    if dotted && candidate.matched().contains('-') && !labelled {
        return None;
    }
    if !exchange && !labelled {
        return None;
    }
    let before = candidate.previous().is_some_and(|b| b == b'-' || b == b'/');
    if (before || candidate.context.denies()) && !labelled {
        return None;
    }
    ending(
        candidate,
        candidate.matched().len(),
        if dotted && !labelled { 80 } else { 86 },
    )
}

fn national(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched();
    let length = cut(matched, 11);
    let matched = matched.get(..length)?;
    let digits = matched.bytes().filter(u8::is_ascii_digit).count();
    let groups = Groups::of(matched);
    let groups = groups.all();
    let short = groups.iter().skip(1).any(|group| group.len() < 2);
    if !(9..=12).contains(&digits) || short || is_date(groups) || holds_date(matched) {
        return None;
    }
    let labelled = candidate.context.names(&WORDS);
    // Pairs that go on behind the longest number are a dump of bytes: `04 05 41 41 41 41 05`.
    let pairs = groups.iter().all(|group| group.len() == 2);
    if pairs && length < candidate.matched().len() && !labelled {
        return None;
    }
    if !labelled && (continues(candidate) || candidate.context.denies()) {
        return None;
    }
    // A US postal code with its extension.
    let postal = groups.iter().map(|group| group.len()).eq([5, 4]);
    if postal && !labelled {
        return None;
    }
    let mixed = ['.', '/', '-', ' ']
        .iter()
        .filter(|mark| matched.contains(**mark))
        .count();
    if mixed > 2 && !labelled {
        return None;
    }
    ending(candidate, length, if labelled { 88 } else { 76 })
}

fn named_number(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.matched();
    let digits = matched.bytes().filter(u8::is_ascii_digit).count();
    if !(FEWEST..=15).contains(&digits) || !candidate.context.names(&WORDS) {
        return None;
    }
    let groups = Groups::of(matched);
    let groups = groups.all();
    if is_date(groups) || holds_date(matched) || candidate.context.denies() {
        return None;
    }
    // `VRING_CALL: u32 = 1074310945`: digits alone need a word that means nothing else.
    if groups.len() == 1 && !candidate.context.names(&CLEAR_WORDS) {
        return None;
    }
    let hit = ending(candidate, matched.len(), 72)?;
    hit.by_context()
}

/// Digits of the shortest number that counts behind its name.
const FEWEST: usize = 7;

/// Whether the number that begins at `start` is long enough to count behind its name.
pub(crate) fn may_be_named(text: &[u8], start: usize) -> bool {
    let rest = text.get(start..).unwrap_or_default();
    let inside = |b: &&u8| {
        b.is_ascii_digit() || matches!(b, b' ' | b'.' | b'/' | b'(' | b')' | b'\n' | b'-')
    };
    let number = rest.iter().take(LONGEST).take_while(inside);
    number
        .filter(|b| b.is_ascii_digit())
        .nth(FEWEST - 1)
        .is_some()
}

/// What kinds of numbers are called behind them.
const KINDS: &[&str] = &[
    "office", "fax", "mobile", "cell", "home", "work", "phone", "tel",
];
/// Their first letters.
static FIRST: Set = Set::of(b"ofmchwptOFMCHWPT");
/// What may stand in a number and between it and its kind.
static INSIDE: Set = Set::of(b"0123456789 ./()\n-,\\");

/// Whether such a word may stand behind the number that begins at `start`: a quick look for what
/// [`named_behind`] would refuse.
pub(crate) fn may_be_named_behind(text: &[u8], start: usize, growing: bool) -> bool {
    let rest = text.get(start..).unwrap_or_default();
    let near = rest.get(..LONGEST).unwrap_or(rest);
    let Some(length) = near.iter().position(|b| !INSIDE.holds(*b)) else {
        return growing && near.len() < LONGEST;
    };
    let word = rest.get(length..).unwrap_or_default();
    let begins = |kind: &&str| {
        let first = kind.as_bytes().get(..3).unwrap_or_default();
        word.get(..3)
            .is_some_and(|own| own.eq_ignore_ascii_case(first))
    };
    let may = word.first().is_some_and(|first| FIRST.holds(*first));
    (growing && rest.len() < LONGEST) || (may && KINDS.iter().any(begins))
}

/// `655 437 108 office`, `(22) 154-300-Fax`: the word stands behind.
fn named_behind(candidate: &Candidate<'_>) -> Option<Hit> {
    let matched = candidate.text.get(candidate.start..candidate.head)?;
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let word = rest.trim_start_matches([' ', '-', ',', '(', '\\', '/']);
    let gap = rest.len() - word.len();
    let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let name = word.get(..length)?;
    let named = KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(name));
    if !named || !(1..=3).contains(&gap) {
        return None;
    }
    let digits = matched.bytes().filter(u8::is_ascii_digit).count();
    let groups = Groups::of(matched);
    let groups = groups.all();
    let dated = is_date(groups) || holds_date(matched);
    // What comes before a line break is another number: a postal code, a house.
    let line = matched.rfind('\n').map_or(0, |at| at + 1);
    let own = matched.get(line..)?;
    let count = own.bytes().filter(u8::is_ascii_digit).count();
    if dated || !(6..=15).contains(&digits) || count < 6 {
        return None;
    }
    Some(Hit {
        start: candidate.start + line,
        end: candidate.head,
        label: Label::PHONE,
        score: 74,
        certain: false,
    })
}

/// Whether the number goes on to the left, or hangs on a name: `PL46 0000 …`, `NIP-060-…`.
fn continues(candidate: &Candidate<'_>) -> bool {
    let before = candidate.context.before;
    let last = before.iter().rev().find(|b| **b != b' ');
    let dash = candidate.previous().is_some_and(|b| b == b'-' || b == b'/');
    dash || last.is_some_and(u8::is_ascii_digit)
}

/// A hit of that length, if no digit or letter goes on behind it.
fn ending(candidate: &Candidate<'_>, length: usize, score: u8) -> Option<Hit> {
    let end = candidate.start + length;
    let next = candidate.text.as_bytes().get(end);
    let named = next == Some(&b'_') && !candidate.matched().starts_with('+');
    if named || next.is_some_and(|b| b.is_ascii_alphanumeric() && !matches!(b, b'x' | b'e')) {
        return None;
    }
    let whole = candidate.whole(Label::PHONE, score)?;
    Some(Hit { end, ..whole })
}

/// The length of the text up to the group border before more than `most` digits.
fn cut(text: &str, most: usize) -> usize {
    let mut count = 0;
    let mut border = text.len();
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_digit() {
            count += 1;
            if count > most {
                return border;
            }
        } else if at > 0 && text.as_bytes().get(at - 1).is_some_and(u8::is_ascii_digit) {
            border = at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn numbers_as_people_write_them() {
        for number in [
            "+1-477-555-8464",
            "(415) 555-0132",
            "717.555.2830",
            "+49 30 6763086",
            "+44 (0)20 7946 0958",
            "+48 510 070 890",
            "06 59 85 49 04",
            "020 7946 0958",
            "06-10446904",
            "905-674-3793",
            "+15551234567",
            "0171/1234567",
        ] {
            found(&format!("x {number}, y"), "PHONE", &[number]);
        }
        found("phone: 5105550132", "PHONE", &["5105550132"]);
        found("numer telefonu: 510-070-889.", "PHONE", &["510-070-889"]);
        found(
            "Ref 943 476 591, then call (415) 555-0132, please",
            "PHONE",
            &["(415) 555-0132"],
        );
    }

    #[test]
    fn other_numbers() {
        for text in [
            "2024-01-02 10:20:30",
            "01.02.2024 10:30",
            "01-02-2024",
            "id 5105550132",
            "0.123 0.456 0.789",
            "v1.02.0345",
            "1748500000123",
            "10 000 000 000",
            "lines 120-340",
            "0x1234567890",
            "call rayon 1.6.1 (2022-12-09)",
            "the phone's release 123\n2024-01-15 14:30:00",
            "bytes 04 05 41 41 41 41 05 06",
        ] {
            nothing(text);
        }
    }
}
