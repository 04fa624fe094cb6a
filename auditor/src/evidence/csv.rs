//! Tables as CSV (RFC 4180): every field quoted, none that a spreadsheet would run.

use std::io::Write;

use super::markup::visible;
use crate::{
    cli::Failure,
    controls::Control,
    scan::{Part, Period, rows},
    views::{Cell, Database},
};

/// What makes a spreadsheet take a field for a formula, in the width of any script.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Writes one of a control's tables; an empty one has its header all the same.
pub(super) fn write(
    out: &mut dyn Write,
    database: &Database,
    control: &Control,
    part: Part,
    period: Period,
) -> Result<(), Failure> {
    let mut headed = false;
    let names = rows(database, control, part, period, |names, cells| {
        if !headed {
            headed = true;
            header(out, names)?;
        }
        let fields = cells.iter().map(|cell| match cell {
            None => String::new(),
            Some(Cell::Integer(number)) => number.to_string(),
            Some(Cell::Text(text)) => field(text),
        });
        line(out, fields)
    })?;
    if !headed {
        header(out, &names)?;
    }
    Ok(())
}

/// A line of words and numbers of ours, or of texts of the log.
pub(super) fn plain(
    out: &mut dyn Write,
    fields: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<(), Failure> {
    line(out, fields.into_iter().map(|text| field(text.as_ref())))
}

fn header(out: &mut dyn Write, names: &[String]) -> Result<(), Failure> {
    line(out, names.iter().map(|name| field(name)))
}

fn line(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> Result<(), Failure> {
    for (index, field) in fields.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\"{}\"", field.replace('"', "\"\""))?;
    }
    Ok(out.write_all(b"\r\n")?)
}

/// A text without anything that ends a line or begins a formula. An apostrophe in front makes a
/// spreadsheet show the rest as it is.
fn field(text: &str) -> String {
    let text = visible(text);
    if text.trim_start().starts_with(FORMULA) {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> String {
        let mut out = Vec::new();
        line(&mut out, [field(text)].into_iter()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_runs_and_nothing_breaks_a_row() {
        for (text, wanted) in [
            ("plain", "\"plain\"\r\n"),
            ("a,\"b\"", "\"a,\"\"b\"\"\"\r\n"),
            ("=1+1", "\"'=1+1\"\r\n"),
            ("+1", "\"'+1\"\r\n"),
            ("-1", "\"'-1\"\r\n"),
            ("@x", "\"'@x\"\r\n"),
            ("＝1", "\"'＝1\"\r\n"),
            ("  =1", "\"'  =1\"\r\n"),
            ("\t=1", "\"\\t=1\"\r\n"),
            ("a\r\n=1", "\"a\\r\\n=1\"\r\n"),
        ] {
            assert_eq!(one(text), wanted, "{text}");
        }
    }
}
