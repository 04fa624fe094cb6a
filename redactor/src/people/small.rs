//! Names that are written small, as in chat: only where nothing near has a capital. A given name
//! with a surname behind it, whoever a title or a verb leads to, and given names in sentences.

use std::sync::LazyLock;

use super::Found;
use super::lists::{Kind, kind};
use super::reader::{Reader, Word, is_longer};

/// Bytes before a name, and behind it, in which no capital stands.
const BEFORE: usize = 160;
const BEHIND: usize = 48;
/// The shortest given name and surname: shorter ones are words of too many languages.
const SHORTEST: usize = 4;

/// Finds names in a stretch without capitals. It begins behind the capital before it (or the
/// text's beginning) and ends at the next one (or the text's end).
pub(super) fn find(reader: &mut Reader<'_>, from: usize, to: Option<usize>, found: &mut Found) {
    let text = reader.text;
    let first = if from == 0 { 0 } else { from + BEFORE };
    let last = to.map_or(text.len(), |to| to.saturating_sub(BEHIND));
    let bytes = text.as_bytes();
    let mut at = first;
    while at < last {
        let Some(gap) = bytes
            .get(at..last)
            .and_then(|rest| rest.iter().position(u8::is_ascii_lowercase))
        else {
            return;
        };
        let start = at + gap;
        let length = bytes
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_lowercase())
            .count();
        at = start + length + 1;
        if length < SHORTEST || !bordered(bytes, start) || !ended(bytes, start + length) {
            continue;
        }
        reader.cut = false;
        let name = name(reader, start, length);
        // A capital that comes within reach would say that names have one here, and more words that
        // this is a sentence.
        let reach = name.unwrap_or(start + length) + BEHIND;
        let open = to.is_none() && reach > text.len();
        if reader.cut || (open && (name.is_some() || may_be_name(text, start, length))) {
            found.settled = found.settled.min(start);
        }
        if let Some(end) = name {
            found.person(start, end, 66);
            at = end;
        }
    }
}

/// Whether no mark of code, of a path or an address stands right before.
fn bordered(bytes: &[u8], start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|before| bytes.get(before));
    before.is_none_or(|b| matches!(b, b' ' | b'\n' | b'"' | b'(' | b'\t' | b','))
}

/// Whether a word ends here as in a sentence.
fn ended(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(|b| {
        matches!(
            b,
            b' ' | b',' | b'.' | b'?' | b'!' | b'\'' | b'\n' | b'\\' | b'"'
        )
    })
}

/// Whether a word could be a name, whatever follows.
fn may_be_name(text: &str, start: usize, length: usize) -> bool {
    let word = text.get(start..start + length).unwrap_or_default();
    is_given(kind(word)) || led(text, start) != Led::Nothing
}

/// The end of the name that begins with this word.
fn name(reader: &mut Reader<'_>, start: usize, length: usize) -> Option<usize> {
    let end = start + length;
    let word = reader.text.get(start..end)?;
    let known = kind(word);
    if is_given(known)
        && reader.byte(end) == Some(b' ')
        && let Some(surname) = reader.word(end + 1).filter(|word| surnamed(*word))
        && reader.ends(surname.end)
    {
        return Some(surname.end);
    }
    let led = led(reader.text, start);
    if led == Led::Nothing && !(is_given(known) && length > SHORTEST) {
        return None;
    }
    let surname = match reader.byte(end) {
        Some(b' ') => reader.word(end + 1),
        _ => None,
    };
    let surname = surname.filter(|word| word.text.starts_with(char::is_lowercase));
    let listed = surname.filter(|word| word.kind.is(Kind::SURNAME) && reader.ends(word.end));
    let free = known == Kind::default() || is_given(known) || surname_alone(known);
    let sure = listed.filter(|word| surnamed(*word));
    // `my name is janice beneventi.`: nothing but a surname ends a sentence so.
    let last = surname.filter(|word| {
        word.kind == Kind::default()
            && is_longer(word.text, SHORTEST - 1)
            && closes(reader, word.end)
    });
    match led {
        // `mr. chad farmer`: whatever they are called.
        Led::Title if !known.is(Kind::STOP) => Some(listed.map_or(end, |word| word.end)),
        // `ask thandiwe villalobos`
        Led::Verb if (free || known.is(Kind::GIVEN)) && sure.is_some() => sure.map(|word| word.end),
        Led::Verb if is_given(known) && last.is_some() => last.map(|word| word.end),
        _ => (is_given(known)
            && length > SHORTEST
            && reader.ends(end)
            && is_prose(reader.text, start, end))
        .then_some(end),
    }
}

/// Whether a sentence or a part of one ends here.
fn closes(reader: &mut Reader<'_>, end: usize) -> bool {
    match (reader.byte(end), reader.byte(end + 1)) {
        (None | Some(b'\n' | b',' | b'?' | b'!' | b'"'), _) => true,
        (Some(b'.'), next) => next.is_none_or(|b| b == b' ' || b == b'\n'),
        _ => false,
    }
}

/// What stands before a name that is written small.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Led {
    Nothing,
    Title,
    Verb,
}

const TITLES: &[&str] = &[
    "mr", "mrs", "ms", "dr", "miss", "prof", "herr", "frau", "señora", "signora",
];
/// Whom somebody is asked for, written to or told about.
const VERBS: &[&str] = &[
    "ask", "asked", "tell", "told", "email", "mail", "call", "called", "ping", "contact", "invite",
    "remind", "message", "meet", "met", "named", "name", "is", "user", "says", "said", "from",
    "by", "to", "with", "for", "dear", "hi", "hello", "hey", "thanks", "cc", "assign", "owner",
    "manager",
];

/// No word of either is longer, in bytes: each fits into a number.
const LONGEST: usize = 8;
/// Places of the table, four times as many as there are words.
const PLACES: usize = 256;

/// The words that lead, by their numbers, each at the first free place from its own on.
static LEADS: LazyLock<[(u64, Led); PLACES]> = LazyLock::new(|| {
    let mut table = [(0, Led::Nothing); PLACES];
    let titles = TITLES.iter().map(|word| (word, Led::Title));
    let verbs = VERBS.iter().map(|word| (word, Led::Verb));
    for (word, led) in titles.chain(verbs) {
        let number = number(word).unwrap_or_default();
        let free = places(number).find(|at| table.get(*at).is_some_and(|(there, _)| *there == 0));
        if let Some(slot) = free.and_then(|at| table.get_mut(at)) {
            *slot = (number, led);
        }
    }
    table
});

/// A short word's bytes as one number, which is 0 for none. No byte of it is 0, as those behind it are.
fn number(word: &str) -> Option<u64> {
    let mut bytes = [0; LONGEST];
    if word.ends_with('\0') {
        return None;
    }
    bytes
        .get_mut(..word.len())?
        .copy_from_slice(word.as_bytes());
    Some(u64::from_le_bytes(bytes))
}

/// Where a word may stand in the table.
fn places(number: u64) -> impl Iterator<Item = usize> {
    let own = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
    (0..PLACES).map(move |step| (own as usize + step) % PLACES)
}

fn leads(word: &str) -> Led {
    let Some(number) = number(word).filter(|number| *number != 0) else {
        return Led::Nothing;
    };
    let mut slots = places(number).filter_map(|at| LEADS.get(at));
    let ends = slots.find(|(there, _)| *there == number || *there == 0);
    ends.map_or(Led::Nothing, |(_, led)| *led)
}

fn led(text: &str, start: usize) -> Led {
    let Some(head) = text.get(..start).and_then(|head| head.strip_suffix(' ')) else {
        return Led::Nothing;
    };
    let head = head.strip_suffix(['.', ':', ',', '?']).unwrap_or(head);
    let apart = |b: &u8| matches!(b, b' ' | b'\n' | b'"' | b'(');
    let letters = head.bytes().rev().take(LONGEST + 1);
    let length = letters.take_while(|b| !apart(b)).count();
    head.get(head.len() - length..).map_or(Led::Nothing, leads)
}

/// Whether words of a sentence stand around, and no marks of code, paths or fields.
fn is_prose(text: &str, start: usize, end: usize) -> bool {
    let from = text.floor_char_boundary(start.saturating_sub(BEHIND));
    let to = text.floor_char_boundary(text.len().min(end.saturating_add(BEHIND)));
    let (Some(head), Some(rest)) = (text.get(from..start), text.get(end..to)) else {
        return false;
    };
    let marks = |part: &str| part.contains(|c: char| "{}[]<>=:;_/\\|#$%^*+~`@&".contains(c));
    // `--name samantha`
    let flags = |part: &str| part.contains(" -") || part.starts_with('-');
    let words = |part: &str| part.split(' ').filter(|word| word.len() > 1).count();
    let alone = |c: char| !c.is_alphanumeric() && c != '-' && c != ':';
    !marks(head)
        && !marks(rest)
        && !flags(head)
        && !flags(rest)
        && words(head) + words(rest) > 2
        && head.chars().next_back().is_none_or(alone)
        && rest.chars().next().is_none_or(alone)
}

fn is_given(known: Kind) -> bool {
    let doubtful = [
        Kind::WORD,
        Kind::PLACE,
        Kind::STOP,
        Kind::COMMON,
        Kind::LEADS,
    ];
    known.is(Kind::GIVEN) && !doubtful.into_iter().any(|doubt| known.is(doubt))
}

fn surname_alone(known: Kind) -> bool {
    known.is(Kind::SURNAME) && !known.is(Kind::COMMON) && !known.is(Kind::STOP)
}

fn surnamed(word: Word<'_>) -> bool {
    let doubtful = [
        Kind::WORD,
        Kind::COMMON,
        Kind::STOP,
        Kind::PARTICLE,
        Kind::COUNTRY,
        Kind::STREET,
    ];
    word.text.len() >= SHORTEST
        && word.text.starts_with(char::is_lowercase)
        && word.kind.is(Kind::SURNAME)
        && !doubtful.into_iter().any(|doubt| word.kind.is(doubt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{found, nothing};

    #[test]
    fn words_that_lead_are_known_and_no_others() {
        for word in TITLES {
            assert!(leads(word) == Led::Title, "{word}");
        }
        for word in VERBS {
            assert!(leads(word) == Led::Verb, "{word}");
        }
        let others = [
            "",
            "a",
            "the",
            "prophet",
            "contacted",
            "\0",
            "is\0",
            "assigned-to",
        ];
        assert!(others.into_iter().all(|word| leads(word) == Led::Nothing));
    }

    #[test]
    fn names_in_chat() {
        found(
            "did you hear from hannah lindqvist yet",
            "PERSON",
            &["hannah lindqvist"],
        );
        found(
            "pls ask tobias kowalski, he knows",
            "PERSON",
            &["tobias kowalski"],
        );
        found(
            "my name is janice beneventi.",
            "PERSON",
            &["janice beneventi"],
        );
        found(
            "i think samantha is out for the day",
            "PERSON",
            &["samantha"],
        );
        found(
            "pls ask qwandile villalobos for access",
            "PERSON",
            &["qwandile villalobos"],
        );
        found(
            "this is mr. chad farmer, who are you",
            "PERSON",
            &["chad farmer"],
        );
    }

    #[test]
    fn where_capitals_are_used_they_are_needed() {
        nothing("We asked hannah lindqvist about it.");
        nothing("let hannah = lindqvist.len(); drop(hannah)");
        nothing("docker run --name samantha nginx");
        nothing("samantha");
        nothing("error: host samantha unreachable");
        nothing("run hannah --verbose and hannah lindqvist.rs");
    }
}
