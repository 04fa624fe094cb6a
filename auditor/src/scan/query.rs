//! Running a control's queries: bounded to the period, and read only.

use rusqlite::{Connection, Statement, types::ValueRef};

use super::Period;
use crate::{
    cli::Failure,
    controls::Control,
    views::{Cell, Database},
};

/// Of so many exceptions the fields are kept in memory; all are counted, and written by `evidence`.
const KEPT: usize = 1000;
/// So many gaps are told.
const GAPS: usize = 20;

/// One of a control's queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Exceptions,
    Population,
}

/// The exceptions of a control.
#[derive(Default)]
pub(crate) struct Exceptions {
    pub(crate) count: u64,
    /// The first of them: columns and values, without those that are null.
    pub(crate) first: Vec<Vec<(String, Cell)>>,
}

/// How many rows a query gives in the period.
pub(super) fn count(
    database: &Database,
    control: &Control,
    part: Part,
    period: Period,
) -> Result<u64, Failure> {
    let sql = bounded(database.connection(), control, part)?;
    let sql = format!("SELECT count(*) FROM ({sql})");
    let mut statement = prepare(database.connection(), control, &sql)?;
    let count: i64 = statement.query_row(bounds(period), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

pub(super) fn exceptions(
    database: &Database,
    control: &Control,
    period: Period,
) -> Result<Exceptions, Failure> {
    let mut found = Exceptions::default();
    rows(database, control, Part::Exceptions, period, |names, row| {
        found.count += 1;
        if found.first.len() < KEPT {
            let named = names.iter().zip(row);
            let cells = named.filter_map(|(name, cell)| Some((name.clone(), cell.clone()?)));
            found.first.push(cells.collect());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Calls `visit` with the columns and each row of a query, in a fixed order; gives the columns.
pub(crate) fn rows(
    database: &Database,
    control: &Control,
    part: Part,
    period: Period,
    mut visit: impl FnMut(&[String], &[Option<Cell>]) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    let connection = database.connection();
    let sql = bounded(connection, control, part)?;
    let names = names(&prepare(connection, control, &sql)?);
    let order = if names.len() > 1 { "1, 2" } else { "1" };
    let mut statement = prepare(connection, control, &format!("{sql} ORDER BY {order}"))?;
    let mut rows = statement.query(bounds(period))?;
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(names.len());
        for index in 0..names.len() {
            cells.push(match row.get_ref(index)? {
                ValueRef::Integer(number) => Some(Cell::Integer(number)),
                ValueRef::Null => None,
                ValueRef::Text(text) => Some(Cell::Text(String::from_utf8_lossy(text).into())),
                ValueRef::Real(_) | ValueRef::Blob(_) => {
                    return Err(Failure::Usage(format!(
                        "{}: a column is neither text nor integer",
                        control.id
                    )));
                }
            });
        }
        visit(&names, &cells)?;
    }
    Ok(names)
}

/// Why the period cannot be told in full.
pub(super) fn gaps(database: &Database, period: Period) -> Result<Vec<String>, Failure> {
    let sql = format!(
        "SELECT place, detail FROM checks WHERE name = 'gap' AND last_us >= ?1 AND first_us < ?2
         ORDER BY first_us, place LIMIT {GAPS}"
    );
    let mut statement = database.connection().prepare_cached(&sql)?;
    let gaps = statement.query_map(bounds(period), |row| {
        let place: Option<String> = row.get(0)?;
        let detail: Option<String> = row.get(1)?;
        let detail = detail.unwrap_or_default();
        Ok(match place.filter(|place| !place.is_empty()) {
            Some(place) => format!("{place}: {detail}"),
            None => detail,
        })
    })?;
    Ok(gaps.collect::<Result<_, _>>()?)
}

/// A query with the period around it. A row belongs to the period by its `ts_us`, or, if it is
/// about a time that lasts, by `first_us` and `last_us`.
fn bounded(connection: &Connection, control: &Control, part: Part) -> Result<String, Failure> {
    let sql = match part {
        Part::Exceptions => &control.exceptions,
        Part::Population => &control.population,
    };
    let names = names(&prepare(connection, control, sql)?);
    let has = |name: &str| names.iter().any(|other| other == name);
    let bounds = if has("first_us") && has("last_us") {
        "last_us >= ?1 AND first_us < ?2"
    } else if has("ts_us") {
        "ts_us >= ?1 AND ts_us < ?2"
    } else {
        return Err(Failure::Usage(format!(
            "{}: a query gives neither ts_us nor first_us and last_us",
            control.id
        )));
    };
    Ok(format!("SELECT * FROM ({sql}) AS q WHERE {bounds}"))
}

fn prepare<'d>(
    connection: &'d Connection,
    control: &Control,
    sql: &str,
) -> Result<Statement<'d>, Failure> {
    let wrong = |fault: String| Failure::Usage(format!("{}: {fault}", control.id));
    let statement = connection
        .prepare(sql)
        .map_err(|error| wrong(error.to_string()))?;
    if statement.readonly() {
        Ok(statement)
    } else {
        Err(wrong("a query that writes".into()))
    }
}

fn names(statement: &Statement<'_>) -> Vec<String> {
    statement.column_names().map(str::to_owned).collect()
}

fn bounds(period: Period) -> (i64, i64) {
    let bound = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    (bound(period.from_us), bound(period.to_us))
}
