//! Cuts a row of a table into its cells.

use std::ops::Range;

/// A longer row is not read: a stream would have to hold it until its end. In bytes.
pub(super) const LONGEST: usize = 1536;
/// More columns than this no table has that people read.
const MOST: usize = 256;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Cells apart by this byte, in double quotes where they hold it (RFC 4180).
    Apart(u8),
    /// Between bars, as Markdown and database clients print tables.
    Barred,
    /// Apart by tabs, nothing quoted: what `COPY … FROM stdin` reads.
    Copied,
}

/// A row that was read.
pub(super) struct Row {
    /// Where its cells stand, without quotes and white space.
    pub(super) cells: Vec<Range<usize>>,
    /// Where the next row begins.
    pub(super) end: usize,
    /// Whether the text ended before the row surely did.
    pub(super) open: bool,
}

/// Reads the row that begins at `at`; nothing if it is too long to be one.
pub(super) fn row(text: &str, at: usize, form: Form) -> Option<Row> {
    let bytes = text.as_bytes();
    let most = at.saturating_add(LONGEST);
    let (mut cells, mut open) = (Vec::new(), false);
    let mut from = at;
    loop {
        let cell = match form {
            Form::Apart(delimiter) => delimited(bytes, from, delimiter, true),
            Form::Barred => barred(bytes, from),
            Form::Copied => delimited(bytes, from, b'\t', false),
        };
        if cell.end > most || cells.len() > MOST {
            return None;
        }
        open |= cell.open;
        cells.push(trimmed(bytes, cell.range));
        if !cell.last {
            from = cell.end;
            continue;
        }
        if form == Form::Barred {
            without_borders(bytes, at, &mut cells);
        }
        return Some(Row {
            cells,
            end: cell.end,
            open,
        });
    }
}

struct Cell {
    range: Range<usize>,
    /// Behind what ends it.
    end: usize,
    /// Whether it is the last of its row.
    last: bool,
    /// Whether more text could change it.
    open: bool,
}

fn delimited(bytes: &[u8], from: usize, delimiter: u8, quotes: bool) -> Cell {
    let spaces = bytes.iter().skip(from).take_while(|b| **b == b' ').count();
    let quoted = quotes && bytes.get(from + spaces) == Some(&b'"');
    let inner = match quoted {
        true => in_quotes(bytes, from + spaces + 1, delimiter),
        false => Quoted::Not,
    };
    if let Quoted::Whole(cell) = inner {
        return cell;
    }
    let rest = bytes.get(from..).unwrap_or_default();
    let length = memchr::memchr2(delimiter, b'\n', rest);
    let cell = ended(
        bytes,
        from..length.map_or(bytes.len(), |length| from + length),
    );
    Cell {
        open: cell.open || matches!(inner, Quoted::Open),
        ..cell
    }
}

enum Quoted {
    Whole(Cell),
    /// The text ends before the quote is closed.
    Open,
    Not,
}

/// A cell whose closing quote has nothing but the end of the cell behind it.
fn in_quotes(bytes: &[u8], from: usize, delimiter: u8) -> Quoted {
    let most = from.saturating_add(LONGEST);
    let mut at = from;
    loop {
        let rest = bytes.get(at..most.min(bytes.len())).unwrap_or_default();
        let Some(length) = memchr::memchr(b'"', rest) else {
            return if most > bytes.len() {
                Quoted::Open
            } else {
                Quoted::Not
            };
        };
        at += length;
        if bytes.get(at + 1) == Some(&b'"') {
            at += 2;
            continue;
        }
        let behind = bytes.iter().skip(at + 1);
        let blank = behind.take_while(|b| matches!(b, b' ' | b'\r')).count();
        let stop = at + 1 + blank;
        if bytes
            .get(stop)
            .is_some_and(|b| *b != delimiter && *b != b'\n')
        {
            return Quoted::Not;
        }
        return Quoted::Whole(Cell {
            range: from..at,
            ..ended(bytes, from..stop)
        });
    }
}

/// A cell between bars; a bar behind a backslash is text.
fn barred(bytes: &[u8], from: usize) -> Cell {
    let mut at = from;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(length) = memchr::memchr2(b'|', b'\n', rest) else {
            return ended(bytes, from..bytes.len());
        };
        at += length;
        let escaped =
            bytes.get(at) == Some(&b'|') && at > from && bytes.get(at - 1) == Some(&b'\\');
        if !escaped {
            return ended(bytes, from..at);
        }
        at += 1;
    }
}

fn ended(bytes: &[u8], range: Range<usize>) -> Cell {
    let stop = bytes.get(range.end);
    Cell {
        end: range.end + usize::from(stop.is_some()),
        last: stop.is_none_or(|b| *b == b'\n'),
        open: stop.is_none(),
        range,
    }
}

/// Leaves out the empty cells outside of the first and the last bar.
fn without_borders(bytes: &[u8], at: usize, cells: &mut Vec<Range<usize>>) {
    if cells.len() > 1 && cells.last().is_some_and(Range::is_empty) {
        cells.pop();
    }
    let first = bytes.get(at..).unwrap_or_default();
    if cells.len() > 1 && first.trim_ascii_start().first() == Some(&b'|') {
        cells.remove(0);
    }
}

/// Without white space, quotes of a kind that the form does not know, and marks of emphasis.
fn trimmed(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    let blank = |at: usize| {
        let byte = bytes.get(at);
        byte.is_some_and(|b| b.is_ascii_whitespace() || matches!(b, b'`' | b'*'))
    };
    while start < end && blank(start) {
        start += 1;
    }
    while start < end && blank(end - 1) {
        end -= 1;
    }
    let single = |at: usize| bytes.get(at) == Some(&b'\'');
    if end - start > 1 && single(start) && single(end - 1) {
        return start + 1..end - 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str, form: Form) -> (Vec<&str>, usize, bool) {
        let row = row(text, 0, form).unwrap();
        let cells = row.cells.into_iter().map(|cell| &text[cell]).collect();
        (cells, row.end, row.open)
    }

    #[test]
    fn rows_are_cut_as_their_form_says() {
        let comma = Form::Apart(b',');
        let all = [
            ("a,b ,\n", comma, vec!["a", "b", ""]),
            (
                "\"a, b\" ,\"c \"\"d\"\"\"\r\n",
                comma,
                vec!["a, b", "c \"\"d\"\""],
            ),
            ("\"a\nb\",c\n", comma, vec!["a\nb", "c"]),
            ("5\" x,\"y\" z,w\n", comma, vec!["5\" x", "\"y\" z", "w"]),
            ("| a | `b` | 'c' |\n", Form::Barred, vec!["a", "b", "c"]),
            (" a | b\\|c | \n", Form::Barred, vec!["a", "b\\|c"]),
            ("| a | |\n", Form::Barred, vec!["a", ""]),
            ("\"a\tb\n", Form::Copied, vec!["\"a", "b"]),
        ];
        for (text, form, wanted) in all {
            assert_eq!(cells(text, form), (wanted, text.len(), false), "{text:?}");
        }
    }

    #[test]
    fn a_row_without_an_end_is_open_or_too_long() {
        assert_eq!(
            cells("a,\"b", Form::Apart(b',')),
            (vec!["a", "\"b"], 4, true)
        );
        let apart = cells("a,\"b\nc", Form::Apart(b','));
        assert_eq!(apart, (vec!["a", "\"b"], 5, true));
        let long = "x".repeat(LONGEST + 1);
        assert!(row(&long, 0, Form::Apart(b';')).is_none());
        assert!(row(&format!("{long}\n"), 0, Form::Barred).is_none());
        let many = ",".repeat(MOST + 2);
        assert!(row(&many, 0, Form::Apart(b',')).is_none());
    }
}
