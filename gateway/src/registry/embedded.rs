//! The registry in the embedded database.

use std::sync::Arc;

use async_trait::async_trait;
use redb::{ReadableTable, TableDefinition, TableError};

use super::{Database, Durable, Expected, Registry, RegistryError, Table};

/// The first byte of every row of this version.
const FORMAT: u8 = 1;

/// Rows in one redb table for each kind.
pub struct EmbeddedRegistry {
    database: Arc<Database>,
}

impl EmbeddedRegistry {
    /// A registry in `database`.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

fn definition(table: Table) -> TableDefinition<'static, &'static str, &'static [u8]> {
    TableDefinition::new(match table {
        Table::CallerKeys => "caller_keys",
        Table::Ended => "ended",
        Table::LogKeys => "log_keys",
        Table::SessionKeys => "session_keys",
        Table::TenantKeys => "tenant_keys",
    })
}

fn decode(row: &[u8]) -> Result<Vec<u8>, RegistryError> {
    match row.split_first() {
        Some((&FORMAT, value)) => Ok(value.to_vec()),
        None | Some((0, _)) => Err(RegistryError::Damaged),
        Some(_) => Err(RegistryError::Newer),
    }
}

fn encode(value: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(1 + value.len());
    row.push(FORMAT);
    row.extend_from_slice(value);
    row
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
        rows.get(name)
            .map_err(failed)?
            .map(|row| decode(row.value()))
            .transpose()
    }

    async fn put_if(
        &self,
        table: Table,
        name: &str,
        expected: Expected,
        value: Vec<u8>,
        sync: Durable,
    ) -> Result<bool, RegistryError> {
        let (name, row) = (name.to_owned(), encode(&value));
        let change = move |transaction: &redb::WriteTransaction| {
            let mut rows = transaction.open_table(definition(table))?;
            let as_expected = match (&expected, rows.get(name.as_str())?) {
                (Expected::Absent, None) => true,
                (Expected::Value(expected), Some(row)) => row.value() == encode(expected),
                _ => false,
            };
            if as_expected {
                rows.insert(name.as_str(), row.as_slice())?;
            }
            Ok(as_expected)
        };
        Ok(self.database.write(sync, change).await?)
    }

    async fn list(
        &self,
        table: Table,
        prefix: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        let rows = match self.database.read()?.open_table(definition(table)) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        for row in rows.range(prefix..).map_err(failed)? {
            let (name, value) = row.map_err(failed)?;
            if !name.value().starts_with(prefix) {
                break;
            }
            found.push((name.value().to_owned(), decode(value.value())?));
        }
        Ok(found)
    }

    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError> {
        let name = name.to_owned();
        let change = move |transaction: &redb::WriteTransaction| {
            let mut rows = transaction.open_table(definition(table))?;
            Ok(rows.remove(name.as_str())?.is_some())
        };
        Ok(self.database.write(sync, change).await?)
    }

    fn shared(&self) -> bool {
        false
    }
}
