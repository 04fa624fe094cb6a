//! The database: made from the tables' own file, filled in one transaction, then only read.

use std::{collections::HashSet, fmt::Write as _, path::Path};

use rusqlite::{Connection, ToSql, params_from_iter, types::ToSqlOutput};

use crate::{cli::Failure, export::StagedFile};

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
    /// The file that it is made in, until it is to be kept: whoever finds one under its own name takes it for
    /// whole.
    unfinished: Option<StagedFile>,
}

impl Database {
    /// Makes an empty one in a new file, or in one that nobody else sees and that goes away by
    /// itself, and begins to fill it.
    pub(crate) fn create(file: Option<&Path>) -> Result<Self, Failure> {
        let unfinished = file.map(StagedFile::new).transpose()?;
        let unfinished = unfinished.map(|(staged, _)| staged);
        let place = unfinished.as_ref().map_or(Path::new(""), StagedFile::path);
        let mut database = Self {
            connection: Connection::open(place)?,
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

    /// Gives the file its name, once all that it was made for has been done.
    pub(crate) fn keep(&mut self) -> Result<(), Failure> {
        self.unfinished.take().map_or(Ok(()), StagedFile::keep)
    }

    /// For questions.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever is interrupted leaves nothing under the name that was asked for.
    #[test]
    fn a_database_has_its_name_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("views.sqlite");
        let left = || std::fs::read_dir(dir.path()).unwrap().count();
        let made = |keep: bool| {
            let mut database = Database::create(Some(&file)).unwrap();
            let row = vec![("w".to_owned(), Cell::Text("a".into()))];
            database.put(Table::Records, &row).unwrap();
            database.index().unwrap();
            database.finish().unwrap();
            assert!(!file.exists() && left() == 1);
            if keep {
                database.keep().unwrap();
            }
        };
        made(false);
        assert_eq!(left(), 0);
        made(true);
        assert_eq!(left(), 1);
        let kept = Connection::open(&file).unwrap();
        let count = kept.query_row("SELECT count(*) FROM records", [], |row| row.get(0));
        assert_eq!(count, Ok(1));
        assert!(matches!(
            Database::create(Some(&file)),
            Err(Failure::Usage(_))
        ));
    }
}
