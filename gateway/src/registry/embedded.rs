//! The registry in the embedded database.

use std::{ops::Bound, sync::Arc};

use async_trait::async_trait;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};

use super::{Database, Durable, Expected, Put, Registry, RegistryError, Table};
use crate::clock::{Clock, later};

/// The first byte of a row that stays. After it comes the value.
const STAYS: u8 = 1;
/// The first byte of a row with a lifetime. After it come its end, in microseconds since 1970 (64
/// bits, big-endian), and the value.
const ENDS: u8 = 2;

/// Rows in one redb table for each kind.
pub struct EmbeddedRegistry {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
}

impl EmbeddedRegistry {
    /// A registry in `database`, with lifetimes by `clock`.
    pub fn new(database: Arc<Database>, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock }
    }
}

fn definition(table: Table) -> TableDefinition<'static, &'static str, &'static [u8]> {
    TableDefinition::new(match table {
        Table::CallerKeys => "caller_keys",
        Table::Ended => "ended",
        Table::Erasures => "erasures",
        Table::Holds => "holds",
        Table::KeyLives => "key_lives",
        Table::LogKeys => "log_keys",
        Table::SessionKeys => "session_keys",
        Table::TenantKeys => "tenant_keys",
    })
}

/// The value of a row, if its lifetime is not over.
fn decode(row: &[u8], now_us: i64) -> Result<Option<&[u8]>, RegistryError> {
    match row.split_first() {
        Some((&STAYS, value)) => Ok(Some(value)),
        Some((&ENDS, rest)) => {
            let (end, value) = rest.split_first_chunk().ok_or(RegistryError::Damaged)?;
            Ok((i64::from_be_bytes(*end) > now_us).then_some(value))
        }
        None | Some((0, _)) => Err(RegistryError::Damaged),
        Some(_) => Err(RegistryError::Newer),
    }
}

fn encode(value: &[u8], end_us: Option<i64>) -> Vec<u8> {
    let mut row = Vec::with_capacity(9 + value.len());
    match end_us {
        None => row.push(STAYS),
        Some(end_us) => {
            row.push(ENDS);
            row.extend_from_slice(&end_us.to_be_bytes());
        }
    }
    row.extend_from_slice(value);
    row
}

/// Tables in which rows have lifetimes: how sessions ended, and the keys of those whose payloads stay.
const PASSING: [Table; 2] = [Table::Ended, Table::SessionKeys];

/// Whether a row may be forgotten. Before lifetimes were written in front, those of [`Table::Ended`] stood
/// behind the one byte of the value.
fn over(table: Table, row: &[u8], now_us: i64) -> bool {
    match row {
        [STAYS, _, end @ ..] if matches!(table, Table::Ended) => {
            <[u8; 8]>::try_from(end).is_ok_and(|end| i64::from_be_bytes(end) <= now_us)
        }
        row => matches!(decode(row, now_us), Ok(None)),
    }
}

fn failed(error: impl Into<redb::Error>) -> RegistryError {
    super::DatabaseError::from(error).into()
}

#[async_trait]
impl Registry for EmbeddedRegistry {
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let rows = match self.database.read()?.open_table(definition(table)) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let Some(row) = rows.get(name).map_err(failed)? else {
            return Ok(None);
        };
        Ok(decode(row.value(), self.clock.utc_us())?.map(<[u8]>::to_vec))
    }

    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError> {
        let now_us = self.clock.utc_us();
        let end_us = put.lifetime.map(|lifetime| later(now_us, lifetime));
        let (name, row) = (name.to_owned(), encode(&put.value, end_us));
        let is_away = put.is_away();
        let change = move |transaction: &WriteTransaction| {
            let mut rows = transaction.open_table(definition(table))?;
            let there = rows.get(name.as_str())?.map(|row| row.value().to_vec());
            // What cannot be read is there, and is nothing that anybody expects.
            let there = match there.as_deref().map(|row| decode(row, now_us)) {
                None | Some(Ok(None)) => None,
                Some(Ok(Some(value))) => Some(Some(value)),
                Some(Err(_)) => Some(None),
            };
            let as_expected = match (&put.expected, there) {
                (Expected::Absent, None) => true,
                (Expected::Value(expected), Some(value)) => value == Some(expected.as_slice()),
                _ => false,
            };
            if as_expected && is_away {
                rows.remove(name.as_str())?;
            } else if as_expected {
                rows.insert(name.as_str(), row.as_slice())?;
            }
            Ok(as_expected)
        };
        Ok(self.database.write(put.sync, change).await?)
    }

    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        let rows = match self.database.read()?.open_table(definition(table)) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let now_us = self.clock.utc_us();
        let mut found = Vec::new();
        let start: (Bound<&str>, Bound<&str>) = (Bound::Included(group), Bound::Unbounded);
        for row in rows.range::<&str>(start).map_err(failed)? {
            let (name, row) = row.map_err(failed)?;
            if !name.value().starts_with(group) {
                break;
            }
            if super::group(table, name.value()) != group {
                continue;
            }
            if let Some(value) = decode(row.value(), now_us)? {
                found.push((name.value().to_owned(), value.to_vec()));
            }
        }
        Ok(found)
    }

    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError> {
        let name = name.to_owned();
        let now_us = self.clock.utc_us();
        let change = move |transaction: &WriteTransaction| {
            let mut rows = transaction.open_table(definition(table))?;
            let there = rows.remove(name.as_str())?;
            Ok(there.is_some_and(|row| !matches!(decode(row.value(), now_us), Ok(None))))
        };
        Ok(self.database.write(sync, change).await?)
    }

    async fn sweep(&self) -> Result<(), RegistryError> {
        let now_us = self.clock.utc_us();
        for table in PASSING {
            let change = move |transaction: &WriteTransaction| {
                let mut rows = transaction.open_table(definition(table))?;
                rows.retain(|_, row| !over(table, row, now_us))
                    .map_err(redb::Error::from)
            };
            if self.anything_over(table, now_us)? {
                self.database.write(Durable::Soon, change).await?;
            }
        }
        Ok(())
    }

    fn shared(&self) -> bool {
        false
    }
}

impl EmbeddedRegistry {
    /// Looked up beside the writer: requests wait for it.
    fn anything_over(&self, table: Table, now_us: i64) -> Result<bool, RegistryError> {
        let rows = match self.database.read()?.open_table(definition(table)) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        for row in rows.iter().map_err(failed)? {
            if over(table, row.map_err(failed)?.1.value(), now_us) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::TestClock, registry::suite};

    #[tokio::test]
    async fn does_what_every_registry_must() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("sessions.redb")).unwrap();
        let clock = Arc::new(TestClock::new(1_000_000));
        let registry = EmbeddedRegistry::new(Arc::new(database), clock.clone());
        suite::run(&registry, &|by| clock.advance(by)).await;
    }

    #[tokio::test]
    async fn rows_of_earlier_versions_are_read_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("sessions.redb")).unwrap();
        let database = Arc::new(database);
        let clock = Arc::new(TestClock::new(5));
        let registry = EmbeddedRegistry::new(database.clone(), clock.clone());
        let mut old = vec![STAYS, b'c'];
        old.extend_from_slice(&7_i64.to_be_bytes());
        let put = move |transaction: &WriteTransaction| {
            let mut rows = transaction.open_table(definition(Table::Ended))?;
            rows.insert("s_a/t/1", old.as_slice())?;
            Ok(())
        };
        database.write(Durable::Now, put).await.unwrap();
        registry.sweep().await.unwrap();
        let row = registry.get(Table::Ended, "s_a/t/1").await.unwrap();
        assert_eq!(row.unwrap().first(), Some(&b'c'));
        clock.advance(std::time::Duration::from_micros(2));
        registry.sweep().await.unwrap();
        let row = registry.get(Table::Ended, "s_a/t/1").await.unwrap();
        assert!(row.is_none());
    }
}
