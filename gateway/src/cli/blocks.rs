//! Text of any length in blocks that can be searched one by one.
//!
//! A block ends behind a line, where nothing that is found after it depends on it. While no such
//! place is there, more is read, each time as much again, so that the work stays linear; JSON is
//! kept whole, and lines that are JSON are blocks of their own, so that their keys are known.

use std::io::Read;

use gatehouse_redactor::json::{Document, Limits};
use gatehouse_redactor::{Direction, Engine, Field, Finding};

use super::Failure;

/// A block is cut once this many bytes are at hand.
const BLOCK: usize = 256 << 10;
/// A text that cannot be cut anywhere in this many bytes is refused; a longer JSON document is
/// searched as text.
const LONGEST: usize = 16 << 20;
/// How far behind a cut the search could still see what stands before it.
const REACH: usize = 2 * Engine::LONGEST_UNDECIDED;
/// How many line ends are tried for a cut, before more input is awaited.
const TRIES: usize = 64;

/// How a text that stands alone is searched.
pub(super) const FIELD: Field<'static> = Field {
    key: None,
    direction: Direction::Prompt,
};

/// A part of a text.
#[derive(Clone, Copy)]
pub(super) struct Block<'t> {
    pub(super) text: &'t str,
    /// Where it begins in the whole, in bytes.
    pub(super) start: u64,
    /// The line that it begins in, counted from 1.
    pub(super) line: u64,
}

/// Calls `take` with one block after another; in a row, they are the input.
pub(super) fn each(
    mut input: impl Read,
    engine: &Engine,
    mut take: impl FnMut(Block<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut bytes = Vec::with_capacity(2 * BLOCK);
    let (mut start, mut line) = (0, 1);
    // How much has to be at hand before a cut is tried.
    let mut enough = BLOCK;
    loop {
        let wanted = u64::try_from(enough - bytes.len()).unwrap_or(u64::MAX);
        let ended = (&mut input).take(wanted).read_to_end(&mut bytes)? == 0;
        if !ended && bytes.len() < enough {
            continue;
        }
        let text = whole_characters(&bytes, ended)?;
        let cut = match ended {
            true => text.len(),
            false if text.len() < LONGEST && is_begun_json(text, start) => 0,
            false => cut(engine, text)?,
        };
        for unit in units(text.get(..cut).unwrap_or_default()) {
            take(Block {
                text: unit,
                start,
                line,
            })?;
            start += unit.len() as u64;
            line += memchr::memchr_iter(b'\n', unit.as_bytes()).count() as u64;
        }
        bytes.drain(..cut);
        if ended {
            return Ok(());
        }
        if bytes.len() > LONGEST {
            let message = format!("a text of more than {LONGEST} bytes cannot be cut anywhere");
            return Err(Failure::Failed(message));
        }
        enough = if cut == 0 {
            enough * 2
        } else {
            bytes.len() + BLOCK
        };
    }
}

/// Whether the whole input may be one JSON document of which this is the first part: it begins
/// as one, and its first line is not one of its own.
fn is_begun_json(text: &str, start: u64) -> bool {
    let first = text.lines().next().unwrap_or_default();
    start == 0 && text.trim_start().starts_with(['{', '[']) && !is_json(first)
}

fn is_json(text: &str) -> bool {
    let text = text.trim();
    let closed = (text.starts_with('{') && text.ends_with('}'))
        || (text.starts_with('[') && text.ends_with(']'));
    closed && Document::parse(text.as_bytes(), &Limits::default()).is_ok()
}

/// The lines that are JSON, each alone, and what stands between them. A block that is JSON as a
/// whole stays whole.
fn units(block: &str) -> Vec<&str> {
    if is_json(block) {
        return vec![block];
    }
    let mut units = Vec::new();
    let (mut from, mut at) = (0, 0);
    for line in block.split_inclusive('\n') {
        let end = at + line.len();
        if is_json(line) {
            units.extend(
                [block.get(from..at), block.get(at..end)]
                    .into_iter()
                    .flatten(),
            );
            from = end;
        }
        at = end;
    }
    units.extend(block.get(from..));
    units.retain(|unit| !unit.is_empty());
    units
}

/// The text of the bytes, without a last character of which only a part has come.
fn whole_characters(bytes: &[u8], ended: bool) -> Result<&str, Failure> {
    if memchr::memchr(0, bytes).is_some() {
        return Err(Failure::Failed(
            "holds a zero byte: binary files are refused".to_owned(),
        ));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if !ended && error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).map_err(|error| Failure::of("input", error))
        }
        Err(_) => Err(Failure::Failed(
            "not UTF-8: binary files are refused".to_owned(),
        )),
    }
}

/// Where a block may end: behind a line that nothing found after it depends on, or where the
/// search says that nothing is open. 0 if more input is needed to tell.
fn cut(engine: &Engine, text: &str) -> Result<usize, Failure> {
    let look = engine
        .look(text, FIELD)
        .map_err(|error| Failure::of("search", error))?;
    let all = look.findings;
    let decided = text.get(..look.settled).unwrap_or_default();
    let lines = decided.rmatch_indices('\n').map(|(at, _)| at + 1);
    for cut in lines.take(TRIES).chain([decided.len()]) {
        let inside = all
            .iter()
            .any(|finding| finding.start < cut && cut < finding.end);
        if cut > 0 && !inside && stands_alone(engine, text, cut, &all)? {
            return Ok(cut);
        }
    }
    Ok(0)
}

/// Whether what follows the cut is found alike without what stands before it.
fn stands_alone(engine: &Engine, text: &str, cut: usize, all: &[Finding]) -> Result<bool, Failure> {
    let end = text.ceil_char_boundary(cut.saturating_add(2 * REACH));
    let tail = text.get(cut..end).unwrap_or_default();
    let alone = engine
        .find(tail, FIELD)
        .map_err(|error| Failure::of("search", error))?;
    let near = |start: usize| start < REACH;
    let alone = alone
        .iter()
        .map(|f| (f.start, f.label))
        .filter(|f| near(f.0));
    let together = all
        .iter()
        .filter(|finding| finding.start >= cut)
        .map(|finding| (finding.start - cut, finding.label))
        .filter(|finding| near(finding.0));
    Ok(alone.eq(together))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::redaction;

    /// The lengths of the blocks, which together are the text.
    fn blocks(text: &str) -> Vec<usize> {
        let engine = redaction(None).expect("rules").engine;
        let mut whole = String::new();
        let mut lengths = Vec::new();
        each(text.as_bytes(), &engine, |block| {
            assert_eq!(block.start as usize, whole.len());
            assert_eq!(block.line as usize, whole.matches('\n').count() + 1);
            whole.push_str(block.text);
            lengths.push(block.text.len());
            Ok(())
        })
        .expect("blocks");
        assert_eq!(whole, text);
        lengths
    }

    #[test]
    fn long_texts_are_cut_with_and_without_lines() {
        for unit in [
            "nothing to see in this line\n",
            "x",
            "words and no line end ",
            "1 ",
        ] {
            let text = unit.repeat(3 * BLOCK / unit.len());
            let lengths = blocks(&text);
            assert!(lengths.len() > 1, "{unit:?}");
            assert!(
                lengths.iter().all(|length| *length <= 3 * BLOCK),
                "{unit:?}"
            );
        }
    }

    #[test]
    fn json_stays_whole_and_its_lines_stand_alone() {
        assert_eq!(blocks("{\"a\":\n1}\n"), [9]);
        assert_eq!(blocks("x\ny\n{\"a\":1}\n[2]\nz"), [4, 8, 4, 1]);
        let long = format!("[\n{}1]", "1,\n".repeat(BLOCK / 2));
        assert_eq!(blocks(&long), [long.len()]);
    }
}
