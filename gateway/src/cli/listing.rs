//! How commands that read show what they read.

use serde::Serialize;

use super::{Failure, Output};

/// The value as JSON, for scripts.
pub(super) fn json(value: &impl Serialize, output: &mut Output) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::of("JSON", error))?;
    Ok(output.line(&text)?)
}

/// Rows under their heads, in columns.
pub(super) fn table(
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    output: &mut Output,
) -> Result<(), Failure> {
    let head = head.iter().map(|&name| name.to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        output.line(line.trim_end())?;
    }
    Ok(())
}
