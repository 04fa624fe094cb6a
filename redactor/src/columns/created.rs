//! The columns of tables that the text itself creates: `CREATE TABLE t (…)` names what
//! `INSERT INTO t VALUES (…)` leaves out, as most dumps do.

use std::collections::HashMap;
use std::ops::Range;

use memchr::memmem::Finder;

use super::kind::Column;

/// Bytes from `CREATE` to the list of the columns.
const NAMED: usize = 320;
/// A longer statement is not read.
const LONGEST: usize = 32 * 1024;
/// Deeper brackets are no types and no defaults; statements in statements would be read again and again.
const DEEPEST: usize = 8;
/// More columns than this no table has that people read.
const MOST: usize = 256;

/// A table that was created.
pub(super) struct Created {
    /// The whole statement, up to its last bracket.
    pub(super) statement: Range<usize>,
    pub(super) columns: Vec<Option<Column>>,
    /// Where the first `VALUES` for it ends, if there was any.
    pub(super) first: Option<usize>,
}

/// The tables that a text creates and whose columns say anything, by name.
pub(super) fn tables(text: &str) -> HashMap<String, Created> {
    let mut found = HashMap::new();
    for word in ["CREATE", "create", "Create"] {
        for at in Finder::new(word).find_iter(text.as_bytes()) {
            if let Some((name, created)) = read(text, at) {
                found.insert(name, created);
            }
        }
    }
    found
}

fn read(text: &str, at: usize) -> Option<(String, Created)> {
    let end = text.floor_char_boundary(text.len().min(at + NAMED));
    let head = text.get(at..end)?;
    let open = head.find('(')?;
    let words = head.get(..open)?.trim_end();
    let rest = words.to_ascii_lowercase();
    let table = rest.find(" table ")? + " table ".len();
    let named = words.get(table..)?.trim_start();
    let skipped = "if not exists ";
    let named = match named.get(..skipped.len()) {
        Some(begins) if begins.eq_ignore_ascii_case(skipped) => named.get(skipped.len()..)?,
        _ => named,
    };
    let name = plain(named)?;
    let (columns, end) = listed(text, at + open + 1)?;
    let wanted = columns.iter().any(Option::is_some);
    wanted.then_some((
        name,
        Created {
            statement: at..end,
            columns,
            first: None,
        },
    ))
}

/// The name of a table without quotes and schema, in small letters.
pub(super) fn plain(name: &str) -> Option<String> {
    let name = name.trim();
    let last = name.rsplit('.').next().unwrap_or(name);
    let last = last.trim_matches(['"', '`', '[', ']']);
    let fits = !last.is_empty() && !last.contains([' ', ';', '\n', '(', ',']);
    fits.then(|| last.to_lowercase())
}

/// The columns of a list that begins at `from`, and where it ends.
fn listed(text: &str, from: usize) -> Option<(Vec<Option<Column>>, usize)> {
    let bytes = text.as_bytes();
    let most = bytes.len().min(from.saturating_add(LONGEST));
    let (mut columns, mut start) = (Vec::new(), from);
    let (mut depth, mut quote) = (0usize, None);
    for at in from..most {
        let byte = *bytes.get(at)?;
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') if depth == DEEPEST => return None,
            (None, b'(') => depth += 1,
            (None, b')') if depth > 0 => depth -= 1,
            (None, b',' | b')') if depth == 0 => {
                if let Some(name) = column(text.get(start..at)?) {
                    columns.push(Column::named(name));
                }
                start = at + 1;
                if byte == b')' {
                    return Some((columns, at + 1));
                }
                if columns.len() > MOST {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}

/// The name of the column that a line of the list defines, if it defines one.
fn column(item: &str) -> Option<&str> {
    const OTHERS: &[&str] = &[
        "check",
        "constraint",
        "exclude",
        "foreign",
        "fulltext",
        "index",
        "key",
        "like",
        "period",
        "primary",
        "spatial",
        "unique",
    ];
    let item = item.trim();
    if let Some(quote) = item.chars().next().filter(|c| "\"`[".contains(*c)) {
        let close = if quote == '[' { ']' } else { quote };
        return item.get(1..)?.split(close).next();
    }
    let word = item.split_whitespace().next()?;
    let other = OTHERS.iter().any(|other| word.eq_ignore_ascii_case(other));
    (!other).then_some(word)
}
