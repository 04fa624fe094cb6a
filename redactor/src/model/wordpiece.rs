//! Word pieces, as BERT's uncased tokenizer cuts them, with their places in the text.
//!
//! Written here rather than taken from a crate: the pinned file uses one of its many models, and
//! offsets are needed by word. The tests compare ids and places with what the reference
//! implementation gave for the texts of `wordpiece/reference.json`. It differs in this alone:
//!
//! - Long runs of letters are cut, see [`unglued`]; the reference makes one unknown piece of more
//!   than 100 characters.
//! - A vertical tab, a form feed and U+0085 part words as other spaces do; the reference drops
//!   them and joins what stands on either side.
//! - `[SEP]` and the like, written in a text, are text.
//! - A word's place includes the characters in it that are dropped, at its ends too, because what
//!   is found there is replaced whole.

mod class;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::char::decompose_canonical;

pub(super) use self::class::is_alone;
use self::class::is_dropped;
use crate::json::{Document, Limits};

/// What the network is asked: the number of a piece.
pub(super) type Id = i32;

/// A word of more characters would become one unknown piece, and a name in it invisible.
const LONGEST_WORD: usize = 100;
/// Longer stretches of letters are several words written as one, or nothing that is read.
const GLUED: usize = 24;
/// The longest piece of the pinned vocabulary is shorter.
const LONGEST_PIECE: usize = 32;

pub(super) struct Vocabulary {
    first: HashMap<Box<str>, Id>,
    further: HashMap<Box<str>, Id>,
    pub(super) begin: Id,
    pub(super) end: Id,
    unknown: Id,
}

/// A word and its pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it stands in the text.
    pub(super) range: Range<usize>,
    pub(super) ids: Vec<Id>,
}

impl Vocabulary {
    /// Reads `tokenizer.json`.
    pub(super) fn read(file: &[u8]) -> Option<Self> {
        let document = Document::parse(file, &Limits::default()).ok()?;
        let model = document.root().get("model")?;
        let pieces = model.get("vocab")?.children().map(|member| {
            let id: Id = member.number()?.parse().ok()?;
            Some((member.key()?.into_owned(), id))
        });
        Self::of(pieces.collect::<Option<Vec<_>>>()?)
    }

    pub(super) fn of(pieces: impl IntoIterator<Item = (String, Id)>) -> Option<Self> {
        let (mut first, mut further) = (HashMap::new(), HashMap::new());
        for (piece, id) in pieces {
            match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => further.insert(rest.into(), id),
                _ => first.insert(piece.into_boxed_str(), id),
            };
        }
        let special = |name: &str| first.get(name).copied();
        let (begin, end, unknown) = (special("[CLS]")?, special("[SEP]")?, special("[UNK]")?);
        Some(Self {
            first,
            further,
            begin,
            end,
            unknown,
        })
    }

    /// The words of a stretch of the text.
    pub(super) fn words(&self, text: &str, stretch: Range<usize>) -> Vec<Word> {
        let mut words = Vec::new();
        for range in split(text, stretch) {
            let word = text.get(range.clone()).unwrap_or_default();
            let plain = plain(word);
            // Marks and controls alone leave nothing.
            if !plain.is_empty() {
                let ids = self.pieces(&plain);
                words.push(Word { range, ids });
            }
        }
        words
    }

    /// The longest piece that fits, again and again; one unknown piece if some part is unknown.
    fn pieces(&self, word: &str) -> Vec<Id> {
        let mut ids = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if ids.is_empty() {
                &self.first
            } else {
                &self.further
            };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let ends: Vec<usize> = ends.take(LONGEST_PIECE).collect();
            let longest = ends.into_iter().rev().find_map(|end| {
                let (piece, after) = rest.split_at_checked(end)?;
                Some((*known.get(piece)?, after))
            });
            let Some((id, after)) = longest else {
                return vec![self.unknown];
            };
            ids.push(id);
            rest = after;
        }
        ids
    }
}

/// Lower case without accents; what the tokenizer drops is dropped.
fn plain(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if c.is_ascii() {
            if !c.is_ascii_control() {
                out.push(c.to_ascii_lowercase());
            }
            continue;
        }
        decompose_canonical(c, |part| {
            if !is_dropped(part) {
                out.extend(part.to_lowercase());
            }
        });
    }
    out
}

/// Words between spaces, each mark of punctuation and each ideograph alone; what is too long for
/// a word is cut.
fn split(text: &str, stretch: Range<usize>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let part = text.get(stretch.clone()).unwrap_or_default();
    let mut begun: Option<usize> = None;
    for (at, c) in part.char_indices() {
        let at = stretch.start + at;
        let alone = is_alone(c);
        if !alone && !c.is_whitespace() {
            begun.get_or_insert(at);
            continue;
        }
        if let Some(start) = begun.take() {
            unglued(text, start..at, &mut ranges);
        }
        if alone {
            ranges.push(at..at + c.len_utf8());
        }
    }
    if let Some(start) = begun {
        unglued(text, start..stretch.end, &mut ranges);
    }
    ranges
}

/// A long word cut where small letters meet capitals or digits, and anywhere at last.
fn unglued(text: &str, range: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let word = text.get(range.clone()).unwrap_or_default();
    if word.len() <= GLUED {
        ranges.push(range);
        return;
    }
    let (mut start, mut length, mut before) = (0, 0, ' ');
    for (at, c) in word.char_indices() {
        let seam = before.is_lowercase() && c.is_uppercase()
            || before.is_alphabetic() != c.is_alphabetic();
        if at > start && (seam || length >= LONGEST_WORD) {
            ranges.push(range.start + start..range.start + at);
            (start, length) = (at, 0);
        }
        length += 1;
        before = c;
    }
    ranges.push(range.start + start..range.end);
}
