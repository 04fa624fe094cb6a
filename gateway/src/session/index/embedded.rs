//! The index in the embedded database.

use std::sync::Arc;

use async_trait::async_trait;
use redb::{ReadableTable, Table, TableDefinition, TableError};

use super::{Entries, Index, MOST, Named};
use crate::{
    clock::Clock,
    registry::{Database, DatabaseError, Durable, RegistryError},
};

/// The first byte of every row of this version. After it: until when the row counts as too full
/// (64 bits, 0 if it does not), then each entry: when it ends (64 bits), the length of its reference (8 bits), the
/// reference.
const FORMAT: u8 = 1;

/// Rows changed in one step of a sweep.
const PAGE: usize = 256;

const NAMES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("conversations");

/// One row for each name in redb.
pub struct EmbeddedIndex {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
}

impl EmbeddedIndex {
    /// An index in `database`, with expiry by `clock`.
    pub fn new(database: Arc<Database>, clock: Arc<dyn Clock>) -> Self {
        Self { database, clock }
    }
}

/// A row, read.
#[derive(Default)]
struct Row {
    crowded_until_us: i64,
    entries: Vec<(i64, String)>,
}

impl Row {
    fn decode(row: &[u8]) -> Result<Self, RegistryError> {
        fn split<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
            let (head, tail) = rest.split_first_chunk()?;
            *rest = tail;
            Some(head)
        }
        let mut rest = match row.split_first() {
            Some((&FORMAT, rest)) => rest,
            None | Some((0, _)) => return Err(RegistryError::Damaged),
            Some(_) => return Err(RegistryError::Newer),
        };
        let mut read = || {
            let crowded_until_us = i64::from_be_bytes(*split(&mut rest)?);
            let mut entries = Vec::new();
            while !rest.is_empty() {
                let until_us = i64::from_be_bytes(*split(&mut rest)?);
                let [length] = *split(&mut rest)?;
                let (reference, tail) = rest.split_at_checked(length.into())?;
                rest = tail;
                entries.push((until_us, String::from_utf8(reference.to_vec()).ok()?));
            }
            Some(Self {
                crowded_until_us,
                entries,
            })
        };
        read().ok_or(RegistryError::Damaged)
    }

    /// What a row says that may be damaged or of a newer version: that it may be anybody's, for good.
    fn or_crowded(read: Result<Self, RegistryError>) -> Self {
        read.unwrap_or_else(|_| Self {
            crowded_until_us: i64::MAX,
            entries: Vec::new(),
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut row = vec![FORMAT];
        row.extend_from_slice(&self.crowded_until_us.to_be_bytes());
        for (until_us, reference) in &self.entries {
            row.extend_from_slice(&until_us.to_be_bytes());
            row.push(u8::try_from(reference.len()).unwrap_or(u8::MAX));
            row.extend_from_slice(reference.as_bytes());
        }
        row
    }

    fn forget(&mut self, now_us: i64) {
        self.entries.retain(|(until_us, _)| *until_us > now_us);
        if self.crowded_until_us <= now_us {
            self.crowded_until_us = 0;
        }
    }

    fn add(&mut self, reference: &str, until_us: i64) {
        self.entries.retain(|(_, other)| other != reference);
        if self.entries.len() < MOST {
            self.entries.push((until_us, reference.to_owned()));
        } else {
            self.crowded_until_us = self.crowded_until_us.max(until_us);
        }
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.crowded_until_us == 0
    }
}

/// Changes one row. One that cannot be read stands for more sessions than it could say.
fn change(
    rows: &mut Table<'_, &'static str, &'static [u8]>,
    name: &str,
    now_us: i64,
    change: impl FnOnce(&mut Row),
) -> Result<(), redb::Error> {
    let before = rows.get(name)?.map(|row| Row::decode(row.value()));
    let was_there = before.is_some();
    let mut row = before.map_or_else(Row::default, Row::or_crowded);
    row.forget(now_us);
    change(&mut row);
    if !row.is_empty() {
        rows.insert(name, row.encode().as_slice())?;
    } else if was_there {
        rows.remove(name)?;
    }
    Ok(())
}

fn failed(error: impl Into<redb::Error>) -> RegistryError {
    DatabaseError::from(error).into()
}

#[async_trait]
impl Index for EmbeddedIndex {
    async fn find(&self, name: &str) -> Result<Entries, RegistryError> {
        let rows = match self.database.read()?.open_table(NAMES) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Entries::default()),
            Err(error) => return Err(failed(error)),
        };
        let Some(row) = rows.get(name).map_err(failed)? else {
            return Ok(Entries::default());
        };
        let mut row = Row::or_crowded(Row::decode(row.value()));
        row.forget(self.clock.utc_us());
        Ok(Entries {
            references: row.entries.into_iter().map(|(_, name)| name).collect(),
            crowded: row.crowded_until_us > 0,
        })
    }

    async fn add(&self, named: Named) -> Result<(), RegistryError> {
        let now_us = self.clock.utc_us();
        let write = move |transaction: &redb::WriteTransaction| {
            let mut rows = transaction.open_table(NAMES)?;
            change(&mut rows, &named.name, now_us, |row| {
                row.add(&named.reference, named.expires_us);
            })
        };
        Ok(self.database.write(Durable::Soon, write).await?)
    }

    async fn sweep(&self) -> Result<(), RegistryError> {
        let now_us = self.clock.utc_us();
        // Found beside the writer, and taken out in steps: requests wait for it.
        for names in self.stale(now_us)?.chunks(PAGE) {
            let names = names.to_vec();
            let write = move |transaction: &redb::WriteTransaction| {
                let mut rows = transaction.open_table(NAMES)?;
                for name in &names {
                    change(&mut rows, name, now_us, |_| {})?;
                }
                Ok(())
            };
            self.database.write(Durable::Soon, write).await?;
        }
        Ok(())
    }
}

impl EmbeddedIndex {
    /// The names under which something has expired.
    fn stale(&self, now_us: i64) -> Result<Vec<String>, RegistryError> {
        let rows = match self.database.read()?.open_table(NAMES) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut stale = Vec::new();
        for row in rows.iter().map_err(failed)? {
            let (name, row) = row.map_err(failed)?;
            let mut row = Row::or_crowded(Row::decode(row.value()));
            let before = row.entries.len();
            row.forget(now_us);
            if row.entries.len() != before || row.is_empty() {
                stale.push(name.value().to_owned());
            }
        }
        Ok(stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;
    use crate::session::index::suite;

    impl suite::Time for TestClock {
        fn now_us(&self) -> i64 {
            self.utc_us()
        }

        fn advance(&self, by: std::time::Duration) {
            TestClock::advance(self, by);
        }
    }

    #[tokio::test]
    async fn the_embedded_index_keeps_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("sessions.redb")).unwrap();
        let clock = Arc::new(TestClock::new(1_000_000));
        let index = EmbeddedIndex::new(Arc::new(database), clock.clone());
        suite::run(&index, &*clock).await;
    }

    #[test]
    fn rows_that_no_version_wrote_are_refused() {
        let mut row = Row::default();
        row.add("s_a", 5);
        let bytes = row.encode();
        assert_eq!(Row::decode(&bytes).ok().unwrap().entries, row.entries);
        for cut in 0..bytes.len() {
            let whole = cut == 9;
            assert_eq!(Row::decode(&bytes[..cut]).is_ok(), whole, "{cut}");
        }
        assert!(matches!(Row::decode(&[2]), Err(RegistryError::Newer)));
    }
}
