//! Fixtures: small contents of the views on which a control must say what it is for.

use serde_json::{Map, Value};

use crate::{
    cli::Failure,
    scan::{Outcome, Period},
    views::{Cell, Database, Row, Table},
};

/// The cases that every control must have, and what it must say of them.
pub(super) const CASES: [(&str, Outcome); 4] = [
    ("pass", Outcome::Pass),
    ("fail", Outcome::Fail),
    ("empty", Outcome::NotTested),
    ("gap", Outcome::Inconclusive),
];

/// The cases of a fixtures' file: those that must be there, and more of them, named by what the control
/// must say and why: `fail_…`.
///
/// # Errors
/// It is no object, or a case has another name.
pub(super) fn cases(text: &str) -> Result<Vec<(String, Outcome)>, Failure> {
    let wrong = |fault: &str| Failure::Usage(format!("fixtures: {fault}"));
    let all: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let mut found: Vec<(String, Outcome)> = CASES
        .into_iter()
        .map(|(name, wanted)| (name.to_owned(), wanted))
        .collect();
    for name in all.keys() {
        let (word, _) = name.split_once('_').unwrap_or((name, ""));
        let case = CASES.iter().find(|(case, _)| *case == word);
        let (_, wanted) = case.ok_or_else(|| wrong(&format!("`{name}` is no case")))?;
        if name != word {
            found.push((name.clone(), *wanted));
        }
    }
    Ok(found)
}

/// A case: the views' rows, and how many rows the two queries must give.
pub(super) struct Case {
    pub(super) database: Database,
    /// All of time, if the case names no other.
    pub(super) period: Period,
    pub(super) population: u64,
    pub(super) exceptions: u64,
}

/// Reads one case of a fixtures' file.
///
/// # Errors
/// It is missing, or not of the form that there is.
pub(super) fn case(text: &str, name: &str) -> Result<Case, Failure> {
    let wrong = |fault: &str| Failure::Usage(format!("fixture `{name}`: {fault}"));
    let cases: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let Some(Value::Object(case)) = cases.get(name) else {
        return Err(wrong("is missing"));
    };
    let number = |key: &str| case.get(key).and_then(Value::as_u64);
    let (Some(population), Some(exceptions)) = (number("population"), number("exceptions")) else {
        return Err(wrong("does not say how many rows are expected"));
    };
    let period = match (number("from_us"), number("to_us")) {
        (None, None) => Period::ALWAYS,
        (from, to) => Period::new(from.unwrap_or(0), to.unwrap_or(u64::MAX))?,
    };
    let mut database = Database::create(None)?;
    for table in Table::ALL {
        let rows = case.get(table.name()).and_then(Value::as_array);
        for row in rows.into_iter().flatten() {
            let row = row.as_object().and_then(cells);
            let row = row.ok_or_else(|| wrong("a row is no object of texts and integers"))?;
            database.put(table, &row)?;
        }
    }
    database.index()?;
    database.finish()?;
    Ok(Case {
        database,
        period,
        population,
        exceptions,
    })
}

fn cells(row: &Map<String, Value>) -> Option<Row> {
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let cell = |(name, value): (&String, &Value)| {
        let cell = match value {
            Value::Number(number) => Cell::Integer(number.as_i64()?),
            Value::String(text) => Cell::Text(text.clone()),
            _ => return None,
        };
        plain(name).then(|| (name.clone(), cell))
    };
    row.iter().map(cell).collect()
}
