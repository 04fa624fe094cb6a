//! Where an address may begin: at a number, at a word for a street, at a capital with a number near.

use super::super::lists::{Kind, kind};
use super::{BEFORE, NEAR};
use crate::seek::seek;

/// Whether an address may begin with the capital at `start`, no number standing before it: a first
/// number follows behind words, or the word is one that says by itself what it is. A quick look
/// for what [`Reader::address`] would refuse.
pub(super) fn may_begin(bytes: &[u8], start: usize) -> bool {
    let rest = bytes.get(start..).unwrap_or_default();
    let outside = |b: u8| {
        let mark = (b == b' ') | (b == b'.') | (b == b'\'') | (b == b'-') | (b == b'/');
        !(((b | 0x20).wrapping_sub(b'a') < 26) | mark | (b >= 0x80))
    };
    let near = rest.get(..NEAR).unwrap_or(rest);
    let number = seek(near, outside).and_then(|length| match rest.get(length..)? {
        // `Rua Augusta, 986`
        [b',', b' ', next, ..] | [next, ..] => Some(next),
        [] => None,
    });
    let told = matches!(
        rest,
        [b'A' | b'P' | b'U' | b'C' | b'B' | b'D' | b'F' | b'S', ..]
    ) && is_told(rest);
    let coded = start.checked_sub(2).and_then(|at| bytes.get(at));
    number.is_some_and(u8::is_ascii_digit) || told || coded.is_some_and(u8::is_ascii_digit)
}

/// Whether the word is a box's, a flat's, a ship's or an army post's, by its first letters.
fn is_told(rest: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"ap", b"su", b"st", b"p.", b"po", b"ps", b"un", b"us", b"ca", b"bo", b"fp", b"dp",
    ];
    let first = rest.get(..2).unwrap_or_default();
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(first))
}

/// Where numbers and small street words before the capital begin.
pub(super) fn begin(text: &str, start: usize) -> usize {
    if start.checked_sub(1).and_then(|at| text.as_bytes().get(at)) != Some(&b' ') {
        return start;
    }
    let from = text.ceil_char_boundary(start.saturating_sub(BEFORE));
    let head = text.get(from..start).unwrap_or_default();
    let mut begin = head.len();
    // `rue des Carmes`: small words count once a street stands before them.
    let mut sure = begin;
    for _ in 0..5 {
        let kept = head.get(..begin).unwrap_or_default();
        let Some(kept) = kept.strip_suffix(' ') else {
            break;
        };
        let word_at = kept
            .bytes()
            .rposition(|b| matches!(b, b' ' | b'\n' | b'\t' | b',' | b':' | b'(' | b'"' | b'>'))
            .map_or(0, |at| at + 1);
        let word = kept.get(word_at..).unwrap_or_default();
        let number = word.starts_with(|c: char| c.is_ascii_digit())
            && word.len() <= 6
            && word.bytes().all(|b| b.is_ascii_alphanumeric());
        let bare = word.trim_end_matches('.');
        let street =
            bare.starts_with(char::is_lowercase) && bare.len() > 1 && kind(bare).is(Kind::STREET);
        let small = matches!(
            bare,
            "de" | "la"
                | "las"
                | "los"
                | "du"
                | "des"
                | "del"
                | "della"
                | "dei"
                | "da"
                | "do"
                | "dos"
                | "das"
                | "les"
        );
        let other = matches!(word, "c/" | "bis" | "ter" | "quater");
        if !(number || street || small || other) {
            break;
        }
        begin = word_at;
        let first = sure == head.len();
        if street || other || (number && (!first || !small_between(head, begin))) {
            sure = begin;
        }
    }
    from + sure
}

/// What reads like a street and its number.
/// Whether a small word stands between a number and the capital: `27 des Carmes`.
fn small_between(head: &str, number: usize) -> bool {
    head.get(number..)
        .is_some_and(|rest| rest.split(' ').filter(|word| !word.is_empty()).count() > 1)
}
