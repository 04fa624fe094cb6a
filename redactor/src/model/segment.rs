//! What the network is shown together: lines, and values with their keys.
//!
//! Borders depend on nothing that comes later in the text.

use std::ops::Range;

use super::lists;
use super::shape::{Kind, is_latin, kind, may_name};

/// A value longer than this needs no key to be understood.
const SHORT: usize = 120;
/// The longest title of a column or line.
const TITLE: usize = 30;
/// The fewest columns of a table.
const COLUMNS: usize = 3;
/// Runs without a space that are longer, and hold digits, are ids, hashes, keys and encodings.
const OPAQUE: usize = 24;
/// A run of letters without a border or a change of case that is longer is no word of any language.
const NO_WORD: usize = 128;

/// How the words of a segment are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) kind: Kind,
    /// Whether the key says that a person is meant.
    pub(super) named: bool,
}

pub(super) struct Segment<'t> {
    /// The key; empty if there is none.
    pub(super) context: &'t str,
    pub(super) body: Range<usize>,
    pub(super) setting: Setting,
    /// Runs that the network is not shown.
    opaque: Vec<Range<usize>>,
}

impl Segment<'_> {
    /// Whether this byte lies in a run that is left out.
    pub(super) fn is_opaque(&self, at: usize) -> bool {
        self.opaque.iter().any(|run| run.contains(&at))
    }
}

/// The segments of a text that could hold a name or an address.
pub(super) fn segments<'t>(text: &'t str, key: Option<&'t str>) -> Vec<Segment<'t>> {
    let mut found = Segments {
        text,
        found: Vec::new(),
        table: None,
    };
    let key = key.filter(|key| !lists::is_container(key));
    match key {
        Some(key) if text.len() <= SHORT && !text.trim().contains('\n') => {
            found.value(key, 0..text.len());
        }
        _ => {
            let mut start = 0;
            for line in text.split_inclusive('\n') {
                let end = start + line.len();
                found.line(start..end);
                start = end;
            }
        }
    }
    found.found
}

struct Segments<'t> {
    text: &'t str,
    found: Vec<Segment<'t>>,
    /// The table that the last lines were rows of: what separates cells, and the titles.
    table: Option<(char, Vec<&'t str>)>,
}

impl<'t> Segments<'t> {
    fn line(&mut self, range: Range<usize>) {
        let line = self.text.get(range.clone()).unwrap_or_default();
        if self.row(line, range.clone()) || !line.chars().any(is_latin) {
            return;
        }
        match kind(line) {
            Kind::Prose => {
                let title = line
                    .split(':')
                    .next()
                    .filter(|title| title.len() < line.len());
                let named = title.is_some_and(|it| it.len() < TITLE && lists::is_person_key(it));
                self.add("", range, Kind::Prose, named);
            }
            _ => self.code(range),
        }
    }

    /// A row of a table goes cell by cell, each with its column's title; a line of titles begins
    /// a table. Whether the line was either.
    fn row(&mut self, line: &'t str, range: Range<usize>) -> bool {
        if let Some((mark, titles)) = self.table.take() {
            let cells: Vec<&str> = line.trim_end().split(mark).collect();
            let rule = line.trim().chars().all(|c| "|-: +".contains(c)) && !line.trim().is_empty();
            if cells.len() == titles.len() && !line.contains('"') {
                let mut at = range.start;
                for (cell, title) in cells.iter().zip(&titles) {
                    if !rule && !title.is_empty() {
                        self.value(title, at..at + cell.len());
                    }
                    at += cell.len() + mark.len_utf8();
                }
                self.table = Some((mark, titles));
                return true;
            }
        }
        for mark in [',', '|', '\t', ';'] {
            let titles: Vec<&str> = line.trim_end().split(mark).map(str::trim).collect();
            let known = titles.iter().any(|title| lists::is_title(title));
            if titles.len() >= COLUMNS && known && titles.iter().all(|title| is_title(title)) {
                self.table = Some((mark, titles));
                // A list of names could look like titles.
                if may_name(line) {
                    self.add("", range, Kind::Code, false);
                }
                return true;
            }
        }
        false
    }

    /// Quoted values with their keys; and the line itself if something else in it is written as
    /// names are.
    fn code(&mut self, range: Range<usize>) {
        let line = self.text.get(range.clone()).unwrap_or_default();
        let (quoted, rest) = quoted(line);
        let mut keyed = false;
        for Quoted { key, value } in quoted {
            if key.is_empty() {
                continue;
            }
            keyed = true;
            let key = line.get(key).unwrap_or_default();
            self.value(key, range.start + value.start..range.start + value.end);
        }
        let open = if keyed { rest.as_str() } else { line };
        if may_name(open) {
            self.add("", range, Kind::Code, false);
        }
    }

    /// A value is shown if it is prose, is written as names are, or its key asks for a person or
    /// a place.
    fn value(&mut self, key: &'t str, range: Range<usize>) {
        let value = self.text.get(range.clone()).unwrap_or_default();
        if !value.chars().any(is_latin) || lists::is_machine_key(key) {
            return;
        }
        let named = lists::is_person_key(key);
        let words = value.split_whitespace().count();
        let prose = words >= 3 && kind(value) == Kind::Prose;
        let capital = value.chars().any(char::is_uppercase);
        if named
            || lists::is_place_key(key)
            || (prose && capital)
            || may_name(&format!("a {value}"))
        {
            let kind = if prose && words >= 5 {
                Kind::Prose
            } else {
                Kind::Value
            };
            self.add(key, range, kind, named);
        }
    }

    fn add(&mut self, context: &'t str, body: Range<usize>, kind: Kind, named: bool) {
        let setting = Setting { kind, named };
        let opaque = opaque(self.text, body.clone());
        self.found.push(Segment {
            context,
            body,
            setting,
            opaque,
        });
    }
}

/// One word of a heading, or none at the border of a drawn table.
fn is_title(cell: &str) -> bool {
    let spelled = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    cell.len() <= TITLE
        && cell.chars().all(spelled)
        && cell.split(' ').count() <= 3
        && !cell.starts_with(|c: char| c.is_ascii_digit())
}

struct Quoted {
    /// Empty if there is none.
    key: Range<usize>,
    value: Range<usize>,
}

/// The quoted strings of a line that are values, each with the key before it, and the line
/// without any quoted string.
fn quoted(line: &str) -> (Vec<Quoted>, String) {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut key = 0..0;
    let mut at = 0;
    while let Some(open) = line
        .get(at..)
        .and_then(|rest| rest.find('"'))
        .map(|o| at + o)
    {
        let before = line.get(at..open).unwrap_or_default();
        rest.push_str(before);
        let Some(close) = closing(line, open + 1) else {
            at = open + 1;
            continue;
        };
        let inside = open + 1..close;
        let after = line.get(close + 1..).unwrap_or_default().trim_start();
        if after.starts_with(':') {
            key = inside;
        } else {
            if let Some(word) = assigned(line, open) {
                key = word;
            }
            found.push(Quoted {
                key: key.clone(),
                value: inside,
            });
        }
        rest.push(' ');
        at = close + 1;
    }
    rest.push_str(line.get(at..).unwrap_or_default());
    (found, rest)
}

/// The quote that closes a string; a backslash takes the next character with it.
fn closing(line: &str, from: usize) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in line.get(from..)?.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(from + at),
            _ => {}
        }
    }
    None
}

/// The name in front of `=` or `:` before a quote: `user="…"`, `name: "…"`.
fn assigned(line: &str, quote: usize) -> Option<Range<usize>> {
    let head = line.get(..quote)?.trim_end();
    let head = head.strip_suffix(['=', ':'])?.trim_end();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length: usize = head
        .chars()
        .rev()
        .take_while(|c| is_part(*c))
        .map(char::len_utf8)
        .sum();
    (length > 0).then(|| head.len() - length..head.len())
}

fn opaque(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let part = text.get(range.clone()).unwrap_or_default();
    let mut runs = Vec::new();
    let mut begun = None;
    let mut close = |begun: &mut Option<usize>, at: usize| {
        if let Some(start) = begun.take().filter(|start| at - start >= OPAQUE) {
            let run = part.get(start..at).unwrap_or_default();
            let digits = run.bytes().filter(u8::is_ascii_digit).count();
            if digits * 8 >= run.len() || run.contains("://") || is_no_word(run) {
                runs.push(range.start + start..range.start + at);
            }
        }
    };
    for (at, c) in part.char_indices() {
        if c.is_whitespace() || c == '"' || c == ',' {
            close(&mut begun, at);
        } else {
            begun.get_or_insert(at);
        }
    }
    close(&mut begun, part.len());
    runs
}

/// Whether a run is letters and digits of one case only, and longer than any word: a name glued to
/// others would show by a capital, a mark or a length that the windows can take.
fn is_no_word(run: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    run.len() > NO_WORD && (run.bytes().all(plain) || run.bytes().all(capital))
}
