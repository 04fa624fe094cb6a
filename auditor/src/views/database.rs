//! The database: made from the tables' own file, filled in one transaction, then only read.

use std::{
    collections::HashSet,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ToSql, params_from_iter, types::ToSqlOutput};

use crate::cli::Failure;

/// The tables, as every engine makes them.
const TABLES: &str = include_str!("../../../policies/controls/views/tables.sql");
/// Made after the rows, which is faster.
const INDEXES: &str = "
    CREATE INDEX records_place ON records (w, seq);
    CREATE INDEX records_request ON records (rid, kind);
    CREATE INDEX records_session ON records (sid, sseq);
    CREATE INDEX records_kind ON records (kind, ts_us);
";
/// The database may be thrown away and made again, so nothing waits for the disk. The cache is
/// bounded, in KiB.
const PACE: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -65536;
";
/// Columns that unknown fields may add; a log that needs more is not one of ours.
const MAX_COLUMNS: usize = 500;

/// A value of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Integer(i64),
    Text(String),
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Integer(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

/// Columns and their values; what is not named is null.
pub(crate) type Row = Vec<(String, Cell)>;

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Checks,
    Labels,
    Records,
}

impl Table {
    pub(crate) const ALL: [Self; 3] = [Self::Checks, Self::Labels, Self::Records];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Labels => "labels",
            Self::Records => "records",
        }
    }
}

/// The views.
pub(crate) struct Database {
    connection: Connection,
    /// The columns of each table, in the order of [`Table::ALL`].
    columns: [HashSet<String>; 3],
    sql: String,
    unfinished: Unfinished,
}

/// The file that was made for it, until it is to be kept.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            // Whoever comes next would take it for a database.
            let _removed = std::fs::remove_file(file);
        }
    }
}

impl Database {
    /// Makes an empty one in a new file, or in one that nobody else sees and that goes away by
    /// itself, and begins to fill it.
    pub(crate) fn create(file: Option<&Path>) -> Result<Self, Failure> {
        let mut unfinished = Unfinished(None);
        if let Some(path) = file {
            let new = std::fs::File::create_new(path);
            new.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
            unfinished.0 = Some(path.to_owned());
        }
        let mut database = Self {
            connection: Connection::open(file.unwrap_or(Path::new("")))?,
            columns: Default::default(),
            sql: String::new(),
            unfinished,
        };
        let Self {
            connection,
            columns,
            ..
        } = &mut database;
        connection.execute_batch(PACE)?;
        connection.execute_batch("BEGIN")?;
        connection.execute_batch(TABLES)?;
        for (table, columns) in Table::ALL.into_iter().zip(columns) {
            let statement = connection.prepare(&format!("SELECT * FROM {}", table.name()))?;
            columns.extend(statement.column_names().map(str::to_owned));
        }
        Ok(database)
    }

    /// Adds a row. Column names are ours or made plain by [`super::flatten`].
    pub(crate) fn put(&mut self, table: Table, row: &Row) -> Result<(), Failure> {
        for (name, _) in row {
            self.column(table, name)?;
        }
        self.sql.clear();
        let _ = write!(self.sql, "INSERT INTO {} (", table.name());
        for (index, (name, _)) in row.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(self.sql, "{comma}\"{name}\"");
        }
        self.sql.push_str(") VALUES (");
        for index in 0..row.len() {
            self.sql.push_str(if index == 0 { "?" } else { ",?" });
        }
        self.sql.push(')');
        let mut statement = self.connection.prepare_cached(&self.sql)?;
        statement.execute(params_from_iter(row.iter().map(|(_, value)| value)))?;
        Ok(())
    }

    /// Makes the column if there is none yet.
    fn column(&mut self, table: Table, name: &str) -> Result<(), Failure> {
        let Some(columns) = self.columns.get_mut(table as usize) else {
            return Ok(());
        };
        if columns.contains(name) {
            return Ok(());
        }
        if columns.len() >= MAX_COLUMNS {
            return Err(Failure::Read("the records have too many fields".into()));
        }
        let sql = format!("ALTER TABLE {} ADD COLUMN \"{name}\"", table.name());
        self.connection.execute_batch(&sql)?;
        columns.insert(name.to_owned());
        Ok(())
    }

    /// To be called when all records are in.
    pub(crate) fn index(&mut self) -> Result<(), Failure> {
        Ok(self.connection.execute_batch(INDEXES)?)
    }

    /// Ends the filling; from here on the database only answers.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.connection.execute_batch("COMMIT")?;
        Ok(self.connection.execute_batch("PRAGMA query_only = ON")?)
    }

    /// Leaves the file where it is, once all that it was made for has been done.
    pub(crate) fn keep(&mut self) {
        self.unfinished.0 = None;
    }

    /// For questions.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}
