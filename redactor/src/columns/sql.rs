//! The lists of `INSERT INTO t (…) VALUES (…), (…)`, also without the columns if the text created the
//! table, and of `COPY t (…) FROM stdin`.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::cells::LONGEST;
use super::created;
use super::kind::Column;
use super::{Found, judge};

/// Bytes before `VALUES` in which the statement begins.
const STATEMENT: usize = 2048;
/// Bytes in which a table is named, `INTO` included.
const TABLE: usize = 160;

static VALUES: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["VALUES", "values", "Values"].map(Finder::new));

/// What stands in the lists behind `VALUES`.
pub(super) fn find(text: &str, found: &mut Found) {
    // Before the word stands a list of columns, in its statement or in the one that made the table.
    if memchr::memchr(b')', text.as_bytes()).is_none() {
        return;
    }
    let mut created = None;
    for word in VALUES.iter() {
        let mut from = 0;
        while let Some(at) = text.as_bytes().get(from..).and_then(|rest| word.find(rest)) {
            let start = from + at;
            from = start + word.needle().len();
            if let Some((statement, names)) = columns(text, start) {
                let columns: Vec<_> = names.map(Column::named).collect();
                if columns.iter().any(Option::is_some) {
                    from = lists(text, statement..from, from, &columns, found);
                }
            } else if let Some(name) = table_before(text, start) {
                let created = created.get_or_insert_with(|| created::tables(text));
                if let Some(table) = created
                    .get_mut(&name)
                    .filter(|it| it.statement.end <= start)
                {
                    let first = *table.first.get_or_insert(from);
                    let head = table.statement.start..first;
                    from = lists(text, head, from, &table.columns, found);
                }
            }
        }
    }
}

/// The statement that created the last table, which may stand above whatever comes next.
pub(super) fn last_created(text: &str) -> Option<Range<usize>> {
    let tables = created::tables(text).into_values();
    let last = tables.max_by_key(|table| table.statement.start)?;
    Some(last.statement)
}

/// The table of a statement that lists no columns before its `VALUES` at `at`.
fn table_before(text: &str, at: usize) -> Option<String> {
    let from = text.ceil_char_boundary(at.saturating_sub(TABLE));
    let before = text.get(from..at)?;
    let into = before.to_ascii_lowercase().rfind("into ")?;
    created::plain(before.get(into + "into ".len()..)?)
}

/// Where the statement begins whose `VALUES` stands at `at`, and the names of its columns.
fn columns(text: &str, at: usize) -> Option<(usize, impl Iterator<Item = &str>)> {
    let from = text.ceil_char_boundary(at.saturating_sub(STATEMENT));
    let before = text.get(from..at)?.trim_end();
    let inner = before.strip_suffix(')')?;
    let open = inner.rfind('(')?;
    let near = inner.floor_char_boundary(open.saturating_sub(TABLE));
    let words = inner.get(near..open)?.to_ascii_lowercase();
    // SQL Server's own scripts leave `INTO` out.
    let word = ["into ", "insert "]
        .iter()
        .filter_map(|word| Some((words.rfind(word)?, word)));
    let (into, word) = word.max()?;
    let into = near + into;
    let table = inner.get(into + word.len()..open)?.trim();
    let plain = !table.is_empty() && !table.contains([' ', ';', '\n', '(']);
    plain.then_some((from + into, listed(inner.get(open + 1..)?)))
}

/// The names of columns in a list, without quotes of any dialect.
fn listed(list: &str) -> impl Iterator<Item = &str> {
    let quotes = |c: char| c.is_whitespace() || matches!(c, '"' | '`' | '[' | ']' | '\'');
    list.split(',').map(move |name| name.trim_matches(quotes))
}

/// The columns of a line that says that rows apart by tabs follow.
pub(super) fn copied(line: &str) -> Option<impl Iterator<Item = &str>> {
    let line = line.trim_end();
    if !line.get(..5)?.eq_ignore_ascii_case("COPY ") {
        return None;
    }
    let (head, end) = line.rsplit_once(')')?;
    let stdin = end.trim().trim_end_matches(';');
    let (_, list) = head.split_once('(')?;
    let copies = stdin.trim().eq_ignore_ascii_case("FROM stdin");
    copies.then(|| listed(list))
}

/// Reads the lists from `at` on, which stand under `head`. Returns where they end.
fn lists(
    text: &str,
    head: Range<usize>,
    at: usize,
    columns: &[Option<Column>],
    found: &mut Found,
) -> usize {
    let bytes = text.as_bytes();
    let mut at = at;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let gap = rest
            .iter()
            .take_while(|b| b.is_ascii_whitespace() || **b == b',');
        at += gap.count();
        match bytes.get(at) {
            None => {
                found.head = Some(head);
                return at;
            }
            Some(b'(') => {}
            Some(_) => return at,
        }
        match read(bytes, at + 1, columns.len()) {
            List::Whole(values, end) => {
                if values.len() == columns.len() {
                    judge(text, (&values, true), columns, found);
                }
                at = end;
            }
            List::Open(values) => {
                found.settled = found.settled.min(at);
                found.head = Some(head);
                judge(text, (&values, true), columns, found);
                return bytes.len();
            }
            List::Long => match next_list(bytes, at + 1) {
                Some(next) => at = next,
                None => {
                    found.head = Some(head);
                    return at + 1;
                }
            },
        }
    }
}

enum List {
    /// Where its values stand, without quotes, and where it ends.
    Whole(Vec<Range<usize>>, usize),
    /// The text ends before it does.
    Open(Vec<Range<usize>>),
    Long,
}

/// One list of values. To MySQL a backslash in a string is an escape, by the standard it is none: where
/// the first makes no row, it is read as the second.
fn read(bytes: &[u8], from: usize, columns: usize) -> List {
    let fits = |list: &List| matches!(list, List::Whole(values, _) if values.len() == columns);
    let escaped = list(bytes, from, true);
    if fits(&escaped) || matches!(escaped, List::Open(_)) {
        return escaped;
    }
    let plain = list(bytes, from, false);
    if fits(&plain) { plain } else { escaped }
}

/// Where the next list begins, behind one that is too long to be read.
fn next_list(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr(b')', bytes.get(at..)?)? + 1;
        let rest = bytes.get(at..)?;
        let gap = rest
            .iter()
            .take_while(|b| b.is_ascii_whitespace() || **b == b',');
        let gap = gap.count();
        if rest.get(gap) == Some(&b'(') && rest.get(..gap)?.contains(&b',') {
            return Some(at + gap);
        }
    }
}

/// One list of values, behind its bracket. Strings are in single quotes, doubled inside of them or,
/// with `escapes`, behind a backslash.
fn list(bytes: &[u8], from: usize, escapes: bool) -> List {
    let most = from.saturating_add(LONGEST);
    let mut values = Vec::new();
    let (mut start, mut depth, mut quoted) = (from, 0usize, false);
    let mut at = from;
    while let Some(byte) = bytes.get(at).filter(|_| at < most) {
        match byte {
            b'\\' if quoted && escapes => at += 1,
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'(' => depth += 1,
            b')' if depth == 0 => {
                values.push(value(bytes, start..at));
                return List::Whole(values, at + 1);
            }
            b')' => depth -= 1,
            b',' if depth == 0 => {
                values.push(value(bytes, start..at));
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    match at < most {
        true => List::Open(values),
        false => List::Long,
    }
}

fn value(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    let blank = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    while start < end && blank(start) {
        start += 1;
    }
    while start < end && blank(end - 1) {
        end -= 1;
    }
    // `N'…'` and `E'…'` are strings too.
    let opening = usize::from(matches!(bytes.get(start), Some(b'N' | b'E')));
    let opens = bytes.get(start + opening) == Some(&b'\'');
    if opens && end > start + opening + 1 && bytes.get(end - 1) == Some(&b'\'') {
        return start + opening + 1..end - 1;
    }
    start..end
}
