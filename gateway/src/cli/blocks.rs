//! Text of any length in blocks that can be searched one by one.
//!
//! A block ends behind a line, where nothing that is found after it depends on it. While no such
//! place is there, more is read, so much each time that the work stays linear; JSON is kept whole,
//! and lines that are JSON are blocks of their own, so that their keys are known.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};

use gatehouse_redactor::json::{Document, Limits};
use gatehouse_redactor::{Direction, Engine, Field, Finding};

use super::Failure;
use super::headed::behind;

/// A block is cut once this many bytes are at hand.
const BLOCK: usize = 256 << 10;
/// A text that cannot be cut anywhere in this many bytes is refused; a longer JSON document is
/// searched as text.
const LONGEST: usize = 16 << 20;
/// A value that has no end in this many bytes is cut like any text: no key is as long, and what
/// only begins like one must not be kept in memory to its end.
const LONGEST_VALUE: usize = 128 << 10;
/// How far behind a cut the search could still see what stands before it.
const REACH: usize = 2 * Engine::LONGEST_UNDECIDED;
/// How much of the text before what a pipe brings is searched with it: as far as a search looks
/// back, and a statement's columns whose `VALUES` are still to come.
const CONTEXT: usize = 5 * Engine::LEFT_CONTEXT;
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
    /// What is to be searched before it, and belongs to it no more: the names of the columns that
    /// its first rows stand under, and of a pipe the text right before it.
    pub(super) head: &'t str,
    /// Where it begins in the whole, in bytes.
    pub(super) start: u64,
    /// The line that it begins in, counted from 1.
    pub(super) line: u64,
}

/// How an input comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// All of it is there.
    File,
    /// Bit by bit, from somebody who may wait for what comes of it.
    Pipe,
}

impl Flow {
    /// Reads until `enough` is at hand, of a pipe what it has. 0 at the end.
    fn read(self, input: &mut impl Read, bytes: &mut Vec<u8>, enough: usize) -> io::Result<usize> {
        if self == Flow::File {
            let wanted = enough.saturating_sub(bytes.len());
            let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
            return input.take(wanted).read_to_end(bytes);
        }
        let before = bytes.len();
        bytes.resize(before + BLOCK, 0);
        let space = bytes.get_mut(before..).unwrap_or_default();
        let read = loop {
            match input.read(space) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        bytes.truncate(before + read.as_ref().unwrap_or(&0));
        read
    }

    /// How much has to be at hand before a cut is tried, with `left` bytes over from the last cut.
    fn enough(self, left: usize) -> usize {
        match self {
            Flow::File => left + BLOCK,
            Flow::Pipe => left + 1,
        }
    }

    /// The same after a cut that was tried in vain.
    fn more(self, enough: usize) -> usize {
        match self {
            Flow::File => enough * 2,
            Flow::Pipe => enough + enough / 8 + 1,
        }
    }
}

/// Calls `take` with one block after another; in a row, they are the input.
pub(super) fn each(
    mut input: impl Read,
    flow: Flow,
    engine: &Engine,
    mut take: impl FnMut(Block<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut bytes = Vec::with_capacity(2 * BLOCK);
    let (mut start, mut line) = (0, 1);
    let mut head = String::new();
    let mut enough = flow.enough(0);
    loop {
        let ended = flow.read(&mut input, &mut bytes, enough)? == 0;
        if !ended && bytes.len() < enough {
            continue;
        }
        let text = whole_characters(&bytes, ended)?;
        let cut = match ended {
            true => text.len(),
            false if text.len() < LONGEST && is_begun_json(text, start) => 0,
            false if flow == Flow::Pipe => decided(engine, &head, text)?,
            false => cut(engine, &head, text)?,
        };
        let done = text.get(..cut).unwrap_or_default();
        let mut above = head.as_str();
        for unit in units(done) {
            let head = std::mem::take(&mut above);
            take(Block {
                text: unit,
                head: if is_json(unit) { "" } else { head },
                start,
                line,
            })?;
            start += unit.len() as u64;
            line += memchr::memchr_iter(b'\n', unit.as_bytes()).count() as u64;
        }
        if cut > 0 {
            head = match flow {
                Flow::File => head_behind(engine, &head, done),
                Flow::Pipe => context_behind(engine, &head, done),
            };
        }
        bytes.drain(..cut);
        if ended {
            return Ok(());
        }
        if bytes.len() > LONGEST {
            let message = format!("a text of more than {LONGEST} bytes cannot be cut anywhere");
            return Err(Failure::Failed(message));
        }
        enough = match cut {
            0 => flow.more(enough.max(bytes.len())),
            _ => flow.enough(bytes.len()),
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

/// The names of the columns under which a row behind `text` stands, which itself stands under
/// `head`.
fn head_behind(engine: &Engine, head: &str, text: &str) -> String {
    let whole = format!("{head}{text}");
    let names = engine.table_head(&whole).and_then(|at| whole.get(at));
    names.unwrap_or_default().to_owned()
}

/// The same, and the text right before, from the start of a line on if there is one: what a search
/// may look back at.
fn context_behind(engine: &Engine, head: &str, text: &str) -> String {
    let whole = format!("{head}{text}");
    let from = context_start(&whole);
    let mut near = whole.get(from..).unwrap_or_default();
    // Of names that reach into what is near, the part before it.
    let names = engine.table_head(&whole);
    let names = names.and_then(|at| whole.get(at.start..at.end.min(from)));
    let Some(names) = names else {
        return near.to_owned();
    };
    loop {
        let context = format!("{names}{near}");
        // The rest of a row, or a line that is none, may not stand right below the names.
        if near.is_empty() || engine.table_head(&context).is_some() {
            return context;
        }
        near = near.split_once('\n').map_or("", |(_, behind)| behind);
    }
}

/// Where what is near the end of a text begins: with the text itself if that is short, so that its
/// first line, which may name columns, is not lost.
fn context_start(whole: &str) -> usize {
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(CONTEXT));
    if from == 0 {
        return 0;
    }
    let near = whole.get(from..).unwrap_or_default();
    from + near.find('\n').map_or(0, |at| at + 1)
}

/// Where a block of a pipe may end: behind the last line that is decided whatever comes. What it
/// depends on is searched again with the text behind it. 0 if more input is needed to tell.
fn decided(engine: &Engine, head: &str, text: &str) -> Result<usize, Failure> {
    let own_lines = json_lines(text);
    if own_lines > 0 {
        return Ok(own_lines);
    }
    let (all, settled) = look(engine, head, text)?;
    let decided = text.get(..settled).unwrap_or_default();
    let lines = decided.rmatch_indices('\n').map(|(at, _)| at + 1);
    let within_a_line = (text.len() >= BLOCK).then_some(decided.len());
    let free = |cut: &usize| {
        !all.iter()
            .any(|found| found.start < *cut && *cut < found.end)
    };
    let cut = lines.chain(within_a_line).find(free);
    Ok(cut.unwrap_or_else(|| endless(text, &all, settled)))
}

/// What is found in a text behind its head, and how much of it is settled.
fn look(engine: &Engine, head: &str, text: &str) -> Result<(Vec<Finding>, usize), Failure> {
    let headed = match head.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{head}{text}")),
    };
    let mut look = engine
        .look(&headed, FIELD)
        .map_err(|error| Failure::of("search", error))?;
    behind(head, &mut look.findings);
    Ok((look.findings, look.settled.saturating_sub(head.len())))
}

/// Where a value is cut that has no end in sight; 0 if there is none.
fn endless(text: &str, all: &[Finding], settled: usize) -> usize {
    let endless =
        |found: &&Finding| found.start >= settled && found.end - found.start >= LONGEST_VALUE;
    let value = all.iter().find(endless);
    value.map_or(0, |value| {
        text.floor_char_boundary(value.start + LONGEST_VALUE)
    })
}

/// Where a block may end: behind a line that nothing found after it depends on, or where the
/// search says that nothing is open. 0 if more input is needed to tell.
fn cut(engine: &Engine, head: &str, text: &str) -> Result<usize, Failure> {
    let own_lines = json_lines(text);
    if own_lines > 0 {
        return Ok(own_lines);
    }
    let (all, settled) = look(engine, head, text)?;
    // What follows has to be there to tell whether it depends on what stands before.
    let seen = text.floor_char_boundary(text.len().saturating_sub(2 * REACH));
    let decided = text.get(..settled.min(seen)).unwrap_or_default();
    let lines = decided.rmatch_indices('\n').map(|(at, _)| at + 1);
    let within_a_line = (text.len() >= BLOCK).then_some(decided.len());
    for cut in lines.take(TRIES).chain(within_a_line) {
        let inside = all
            .iter()
            .any(|finding| finding.start < cut && cut < finding.end);
        if cut > 0 && !inside && stands_alone(engine, (head, text), cut, &all)? {
            return Ok(cut);
        }
    }
    Ok(endless(text, &all, settled))
}

/// The end of the whole lines at the start that are JSON, which nothing around them bears on.
fn json_lines(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    let own = lines.take_while(|line| line.ends_with('\n') && is_json(line));
    own.map(str::len).sum()
}

/// Whether what follows the cut is found alike without what stands before it, but for the names of
/// its columns.
fn stands_alone(
    engine: &Engine,
    (head, text): (&str, &str),
    cut: usize,
    all: &[Finding],
) -> Result<bool, Failure> {
    let end = text.ceil_char_boundary(cut.saturating_add(2 * REACH));
    let tail = text.get(cut..end).unwrap_or_default();
    let head = head_behind(engine, head, text.get(..cut).unwrap_or_default());
    let mut alone = engine
        .look(&format!("{head}{tail}"), FIELD)
        .map_err(|error| Failure::of("search", error))?
        .findings;
    behind(&head, &mut alone);
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
mod tests;
