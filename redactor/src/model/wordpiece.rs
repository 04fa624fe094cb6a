//! Word pieces, as BERT's uncased tokenizer cuts them, with their places in the text.
//!
//! Written here rather than taken from a crate: the pinned file uses one of its many models, and
//! offsets are needed by word. A test compares it with what the reference implementation gave.

use std::collections::HashMap;
use std::ops::Range;

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

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
            if !is_combining_mark(part) && !is_dropped(part) {
                out.extend(part.to_lowercase());
            }
        });
    }
    out
}

fn is_dropped(c: char) -> bool {
    c.is_control() || c == '\u{FFFD}' || crate::normalise::is_format(c)
}

/// Words between spaces, each mark of punctuation and each ideograph alone; what is too long for
/// a word is cut.
fn split(text: &str, stretch: Range<usize>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let part = text.get(stretch.clone()).unwrap_or_default();
    let mut begun: Option<usize> = None;
    for (at, c) in part.char_indices() {
        let at = stretch.start + at;
        let alone = is_punctuation(c) || is_ideograph(c);
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

/// Punctuation as the tokenizer sees it: that of ASCII, `$`, `+` and the like included, and the
/// marks of Unicode's categories P*.
pub(super) fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{A1}' | '\u{A7}' | '\u{AB}' | '\u{B6}' | '\u{B7}' | '\u{BB}' | '\u{BF}'
            | '\u{37E}' | '\u{387}' | '\u{589}' | '\u{58A}' | '\u{5BE}' | '\u{60C}' | '\u{61B}'
            | '\u{61F}' | '\u{964}' | '\u{965}' | '\u{2010}'..='\u{2027}'
            | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205E}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}'
            | '\u{30FB}' | '\u{FF01}'..='\u{FF03}' | '\u{FF05}'..='\u{FF0A}'
            | '\u{FF0C}'..='\u{FF0F}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}' | '\u{FF20}'
            | '\u{FF3B}'..='\u{FF3D}' | '\u{FF3F}' | '\u{FF5B}' | '\u{FF5D}'
            | '\u{FF5F}'..='\u{FF65}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2CEAF}' | '\u{2F800}'..='\u{2FA1F}')
}
