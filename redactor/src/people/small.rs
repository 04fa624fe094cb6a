//! Names that are written small, as in chat: only where nothing near has a capital, and only a
//! given name with a surname behind it.

use super::Found;
use super::lists::{Kind, kind};
use super::reader::{Reader, Word};

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
        if length < SHORTEST || !bordered(bytes, start) || !spaced(bytes, start + length) {
            continue;
        }
        reader.cut = false;
        let name = given(reader, start, length);
        // A capital that comes within reach would say that names have one here.
        let open = to.is_none() && name.is_some_and(|end| end + BEHIND > text.len());
        if open || reader.cut {
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

/// Whether one space follows; at the end of the text it may.
fn spaced(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(|b| *b == b' ')
}

fn given(reader: &mut Reader<'_>, start: usize, length: usize) -> Option<usize> {
    let word = reader.text.get(start..start + length)?;
    let known = kind(word);
    let doubtful = [
        Kind::WORD,
        Kind::PLACE,
        Kind::STOP,
        Kind::COMMON,
        Kind::LEADS,
    ];
    if !known.is(Kind::GIVEN) || doubtful.into_iter().any(|doubt| known.is(doubt)) {
        return None;
    }
    reader.byte(start + length)?;
    let surname = reader.word(start + length + 1)?;
    if !surnamed(surname) || !reader.ends(surname.end) {
        return None;
    }
    Some(surname.end)
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
    use crate::rules::testing::{found, nothing};

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
    }

    #[test]
    fn where_capitals_are_used_they_are_needed() {
        nothing("We asked hannah lindqvist about it.");
        nothing("let hannah = lindqvist.len(); drop(hannah)");
        nothing("run hannah --verbose and hannah lindqvist.rs");
    }
}
