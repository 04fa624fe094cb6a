//! Parts in the embedded database.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;
use redb::{ReadableTable, TableDefinition, TableError};

use super::{Blobs, StoreError};
use crate::registry::{Database, DatabaseError, Durable};

/// The first byte of every row of this version. After it: the sealed part.
const FORMAT: u8 = 1;

const PARTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("session_parts");

/// One row for each part in redb.
pub struct EmbeddedBlobs {
    database: Arc<Database>,
}

impl EmbeddedBlobs {
    /// Parts in `database`.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database }
    }
}

fn failed(error: impl Into<DatabaseError>) -> StoreError {
    StoreError::Unavailable(Box::new(error.into()))
}

fn decode(row: &[u8]) -> Result<Sealed, StoreError> {
    match row.split_first() {
        Some((&FORMAT, part)) => Ok(Sealed::from_store(part.to_vec())),
        None | Some((0, _)) => Err(StoreError::Damaged),
        Some(_) => Err(StoreError::Newer),
    }
}

#[async_trait]
impl Blobs for EmbeddedBlobs {
    async fn put(&self, name: &str, part: Sealed, _: i64) -> Result<(), StoreError> {
        let name = name.to_owned();
        let mut row = vec![FORMAT];
        row.extend_from_slice(part.as_bytes());
        let write = move |transaction: &redb::WriteTransaction| {
            let mut rows = transaction.open_table(PARTS)?;
            let before = rows.get(name.as_str())?.map(|there| there.value() == row);
            if before.is_none() {
                rows.insert(name.as_str(), row.as_slice())?;
            }
            Ok(before)
        };
        match self.database.write(Durable::Now, write).await {
            Ok(None | Some(true)) => Ok(()),
            Ok(Some(false)) => Err(StoreError::Exists),
            Err(error) => Err(failed(error)),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        let rows = match self.database.read().map_err(failed)?.open_table(PARTS) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let row = rows.get(name).map_err(failed)?;
        row.map(|row| decode(row.value())).transpose()
    }

    async fn remove(&self, prefix: &str) -> Result<(), StoreError> {
        // Most sessions have none: looked for beside the writer.
        let names = self.names(prefix)?;
        if names.is_empty() {
            return Ok(());
        }
        let write = move |transaction: &redb::WriteTransaction| {
            let mut rows = transaction.open_table(PARTS)?;
            for name in &names {
                rows.remove(name.as_str())?;
            }
            Ok(())
        };
        let removed = self.database.write(Durable::Soon, write).await;
        removed.map_err(failed)
    }
}

impl EmbeddedBlobs {
    fn names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let rows = match self.database.read().map_err(failed)?.open_table(PARTS) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for row in rows.range(prefix..).map_err(failed)? {
            let (name, _) = row.map_err(failed)?;
            if !name.value().starts_with(prefix) {
                break;
            }
            names.push(name.value().to_owned());
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::blobs::suite;

    #[tokio::test]
    async fn the_embedded_parts_keep_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.redb");
        let blobs = EmbeddedBlobs::new(Arc::new(Database::open(&path).unwrap()));
        suite::run(&blobs).await;
        drop(blobs);
        let again = EmbeddedBlobs::new(Arc::new(Database::open(&path).unwrap()));
        suite::is_still_there(&again).await;
    }

    #[test]
    fn rows_that_no_version_wrote_are_refused() {
        assert_eq!(decode(b"\x01part").unwrap().as_bytes(), b"part");
        for damaged in [&b""[..], b"\0part"] {
            assert!(matches!(decode(damaged), Err(StoreError::Damaged)));
        }
        assert!(matches!(decode(b"\x02part"), Err(StoreError::Newer)));
    }
}
