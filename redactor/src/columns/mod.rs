//! Tables: the name of a column says what the cells below it are.
//!
//! Rows of values apart by commas, semicolons, tabs or bars; tables of Markdown and of database
//! clients; the lists of `INSERT` and `COPY`. A table begins with names and goes on with rows of
//! as many cells. Each row is judged by itself once its end is there, so that streams settle.

mod cells;
mod created;
mod kind;
mod sql;

use std::collections::BTreeSet;
use std::ops::Range;

use self::cells::{Form, LONGEST, Row, row};
pub(crate) use self::kind::Column;
use self::kind::may_name;
use crate::label::Label;
use crate::rule::Hit;
use crate::seek::{seek, stands_within};

/// Rows of another number of cells that a table may have in a row before it is over.
const MOST_ODD: u8 = 3;
/// A longer head is not carried along.
const LONGEST_HEAD: usize = 8 * 1024;
/// The rule that names these findings in records.
pub(crate) const RULE: &str = "column";

/// What a search came to.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// From here on more text could bring or change a hit.
    pub(crate) settled: usize,
    /// The names under which a row at the end of the text stands.
    pub(crate) head: Option<Range<usize>>,
}

/// Every cell that its column says is a value.
pub(crate) fn find(text: &str) -> Found {
    let mut found = Found {
        hits: Vec::new(),
        settled: text.len(),
        head: None,
    };
    // Tables have lines, and lists of SQL stand behind brackets.
    if seek(text.as_bytes(), |b| (b == b'\n') | (b == b')')).is_none() {
        return found;
    }
    if memchr::memchr(b'\n', text.as_bytes()).is_some() {
        tables(text, &mut found);
    }
    sql::find(text, &mut found);
    found
}

/// What a text says of rows that come behind it: the names above its last row, or the table that it
/// created last.
pub(crate) fn head(text: &str) -> Option<Range<usize>> {
    let head = find(text).head.or_else(|| sql::last_created(text));
    head.filter(|head| head.len() <= LONGEST_HEAD)
}

/// A table whose rows are being read.
struct Table {
    form: Form,
    /// Where its names stand, with all that belongs to them.
    head: Range<usize>,
    /// How many cells a row has.
    width: usize,
    /// What they hold, by place; worked out at the first row.
    columns: Option<Vec<Option<Column>>>,
    odd: u8,
}

fn tables(text: &str, found: &mut Found) {
    let mut table: Option<Table> = None;
    let mut at = 0;
    while at < text.len() {
        if let Some(open) = &mut table
            && let Some(end) = open.read(text, at, found)
        {
            at = end;
            continue;
        }
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(text.len(), |length| at + length + 1);
        table = begun(text, at..end);
        at = end;
    }
    found.head = table
        .filter(|table| table.is_wanted(text))
        .map(|it| it.head);
}

/// The table that a line begins, if it is made of names.
fn begun(text: &str, head: Range<usize>) -> Option<Table> {
    let line = text.get(head.clone())?;
    let copy = matches!(line.as_bytes(), [b'C' | b'c', ..]);
    if let Some(names) = copy.then(|| sql::copied(line)).flatten() {
        let columns: Vec<Option<Column>> = names.map(Column::named).collect();
        return Some(Table {
            form: Form::Copied,
            width: columns.len(),
            columns: Some(columns),
            head,
            odd: 0,
        });
    }
    let form = form_of(text, head.clone())?;
    let names = row(line, 0, form)?.cells;
    let each = || names.iter().filter_map(|name| line.get(name.clone()));
    if names.len() < 2 || !each().all(may_name) {
        return None;
    }
    let named = || each().filter(|name| !name.is_empty());
    let apart: BTreeSet<String> = named().map(str::to_lowercase).collect();
    // One name and a comma: a line of a list in code.
    (apart.len() >= 2 && apart.len() == named().count()).then_some(Table {
        form,
        head,
        width: names.len(),
        columns: None,
        odd: 0,
    })
}

/// What sets the cells of a line apart, if it can be one of names. Reads a line of prose no
/// further than its first long run.
fn form_of(text: &str, line: Range<usize>) -> Option<Form> {
    const LONGEST_NAME: usize = 50;
    let (all, line, range) = (text.as_bytes(), text.get(line.clone())?, line);
    let bytes = line.as_bytes();
    if line.len() > LONGEST || bytes.first().is_some_and(|first| is_no_part(*first)) {
        return None;
    }
    let first = range.start..range.end.min(range.start + LONGEST_NAME + 1);
    if !stands_within(all, first, sets_apart) || stands_within(all, range, is_no_part) {
        return None;
    }
    let (mut bars, mut commas, mut semicolons, mut tabs) = (0, 0, 0, 0);
    let mut run = 0;
    for byte in line.bytes() {
        run += 1;
        let count = match byte {
            b'|' => &mut bars,
            b',' => &mut commas,
            b';' => &mut semicolons,
            b'\t' => &mut tabs,
            _ if run > LONGEST_NAME => return None,
            _ => continue,
        };
        (*count, run) = (*count + 1, 0);
    }
    let all = [(b',', commas), (b';', semicolons), (b'\t', tabs)];
    match all.into_iter().max_by_key(|(_, count)| *count)? {
        _ if bars > 0 => Some(Form::Barred),
        (_, 0) => None,
        (delimiter, _) => Some(Form::Apart(delimiter)),
    }
}

/// Whether a byte sets cells apart.
fn sets_apart(byte: u8) -> bool {
    (byte == b'|') | (byte == b',') | (byte == b';') | (byte == b'\t')
}

/// Whether a byte stands in no name of a column and sets none apart: `!$+:<=>@[\]^{}~`, controls.
fn is_no_part(byte: u8) -> bool {
    let control = (byte < b' ') & (byte != b'\t') & (byte != b'\r') & (byte != b'\n');
    let low = (byte == b'!') | (byte == b'$') | (byte == b'+') | (byte == b':');
    let compares = byte.wrapping_sub(b'<') < 3;
    let brackets = byte.wrapping_sub(b'[') < 4;
    let high = (byte == b'@') | (byte == b'{') | (byte.wrapping_sub(b'}') < 3);
    control | low | compares | brackets | high
}

impl Table {
    /// Reads the row at `at` and says where the next one begins; nothing if the table is over.
    fn read(&mut self, text: &str, at: usize, found: &mut Found) -> Option<usize> {
        let rest = text.get(at..)?;
        let length = memchr::memchr(b'\n', rest.as_bytes()).map(|length| length + 1);
        let line = rest.get(..length.unwrap_or(rest.len()))?;
        if length.is_none() && line.len() <= LONGEST {
            found.settled = found.settled.min(at);
        }
        let plain = line.trim();
        let ended = plain.is_empty() || plain.starts_with("```") || plain == "\\.";
        // While it grows, an empty line may become a row.
        if ended && length.is_some() {
            return None;
        }
        if is_rule(plain) {
            return Some(at + line.len());
        }
        let Some(Row { cells, end, open }) = row(text, at, self.form) else {
            return self.passed(text, at..at + line.len());
        };
        if open {
            found.settled = found.settled.min(at);
        }
        if cells.len() != self.width {
            return self.passed(text, at..at + line.len());
        }
        self.odd = 0;
        if self.columns.is_none() {
            self.columns = Some(self.named(text));
        }
        let columns = self.columns.as_deref().unwrap_or_default();
        let figures = cells.iter().any(|cell| {
            let cell = text.get(cell.clone()).unwrap_or_default();
            cell.bytes().any(|b| b.is_ascii_digit() || b == b'@')
        });
        judge(text, (&cells, figures), columns, found);
        Some(end)
    }

    /// Where a line ends that is no row and leaves the table open.
    fn passed(&mut self, text: &str, line: Range<usize>) -> Option<usize> {
        self.odd += 1;
        if self.columns.is_none() || self.odd > MOST_ODD {
            return None;
        }
        let other = begun(text, line.clone());
        let goes_on = other.is_none_or(|other| !other.is_wanted(text));
        goes_on.then_some(line.end)
    }

    fn named(&self, text: &str) -> Vec<Option<Column>> {
        let line = text.get(self.head.clone()).unwrap_or_default();
        let names = row(line, 0, self.form).map(|row| row.cells);
        let names = names.into_iter().flatten();
        names
            .map(|name| line.get(name).and_then(Column::named))
            .collect()
    }

    /// Whether any column says anything.
    fn is_wanted(&self, text: &str) -> bool {
        let holds = |columns: &[Option<Column>]| columns.iter().any(Option::is_some);
        match &self.columns {
            Some(columns) => holds(columns),
            None => holds(&self.named(text)),
        }
    }
}

/// What the cells of a row are by the names of their columns. In a row without `figures`, which may
/// be one of code below one of code, only capitals begin a person's name.
fn judge(
    text: &str,
    (cells, figures): (&[Range<usize>], bool),
    columns: &[Option<Column>],
    found: &mut Found,
) {
    let named = || {
        let both = cells.iter().zip(columns);
        both.filter_map(|(cell, column)| {
            let column = column.as_ref()?;
            Some((column, cell.start, text.get(cell.clone())?))
        })
    };
    let mail = |cell: &Range<usize>| text.get(cell.clone()).is_some_and(|it| it.contains('@'));
    let person = named().any(|(column, ..)| column.tells_person()) || cells.iter().any(mail);
    for (column, start, cell) in named() {
        if column.needs_person() && !person {
            continue;
        }
        let word = cell.starts_with(char::is_lowercase) && !figures;
        if let Some(value) = column.judge(cell)
            && !(word && value.label == Label::PERSON)
        {
            found.push(start, start + value.length, value.label, value.score);
        }
    }
}

/// A line between the names and the rows: `|---|:--:|`, `---+---`.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|b| b"-+|:= ".contains(&b))
}

impl Found {
    fn push(&mut self, start: usize, end: usize, label: Label, score: u8) {
        self.hits.push(Hit {
            start,
            end,
            label,
            score,
            certain: false,
        });
    }
}

#[cfg(test)]
mod tests;
