//! The three flat views that controls read (`records`, `labels`, `checks`), in an SQLite database.

mod database;
mod flatten;
mod gaps;
mod lint;
mod load;
mod twice;

pub(crate) use database::{Cell, Database, Row, Table};
pub(crate) use load::{Loaded, load};
pub(crate) use twice::First;

use crate::cli::Failure;

/// The end of time, for what has no end.
pub(crate) const FOREVER: u64 = gatehouse_ledger::event::MAX_INTEGER;

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Read(format!("the database of the views: {error}"))
    }
}
