//! What the reference tokenizer takes a character for.
//!
//! Its classes are those of an older Unicode than the standard library's, so they are kept as
//! data: made by asking it about every code point, alone between two letters.

use std::sync::LazyLock;

use unicode_normalization::char::decompose_canonical;

/// Marks of punctuation and ideographs above ASCII: each is a word of its own.
const ALONE: &str = include_str!("alone.txt");
/// Accents, controls, format and private characters above ASCII: dropped without a trace.
const DROPPED: &str = include_str!("dropped.txt");

/// First and last code points of disjoint ranges, ascending.
type Ranges = Vec<(u32, u32)>;

static ALONE_RANGES: LazyLock<Ranges> = LazyLock::new(|| ranges(ALONE));
static DROPPED_RANGES: LazyLock<Ranges> = LazyLock::new(|| ranges(DROPPED));

/// Reads `A1 B6-B7 …`.
fn ranges(file: &str) -> Ranges {
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some((number(first)?, number(last)?))
    };
    file.split_whitespace().filter_map(range).collect()
}

fn holds(ranges: &Ranges, c: char) -> bool {
    let c = u32::from(c);
    let after = ranges.partition_point(|(first, _)| *first <= c);
    let range = after.checked_sub(1).and_then(|at| ranges.get(at));
    range.is_some_and(|(_, last)| c <= *last)
}

/// Whether a character is a word of its own: a mark of punctuation, `$`, `+` and the like
/// included, or an ideograph. Its decomposed form decides.
pub(in super::super) fn is_alone(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    let mut first = None;
    decompose_canonical(c, |part| {
        first.get_or_insert(part);
    });
    let first = first.unwrap_or(c);
    first.is_ascii_punctuation() || holds(&ALONE_RANGES, first)
}

/// Whether a character, decomposed already, is left out.
pub(super) fn is_dropped(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    holds(&DROPPED_RANGES, c)
}
