//! Sessions in the embedded database.
//!
//! The file is open in one process at a time, so a lease needs no row: it lives in memory and dies
//! with its holder. What must outlive a crash is only that a turn was under way when the row was
//! last written, and that is written with the row. The version, which is in the row, is what
//! decides every commit; the fences only refuse a late holder sooner.

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;
use parking_lot::Mutex;
use redb::{ReadableTable, TableDefinition, TableError, WriteTransaction};

use super::{Acquired, Lease, Page, Row, SessionStore, StoreError, Write};
use crate::{
    clock::{Clock, later},
    registry::{Database, DatabaseError, Durable},
};

/// The first byte of every row of this version. After it: version, fence, holder (64 bits each,
/// big-endian), expiry (64 bits, two's complement) and the sealed state.
const FORMAT: u8 = 1;

const SESSIONS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("sessions");
/// The version of each row once more. A row that was put back from an older copy of the file
/// differs from it. (Who puts both back, or the whole file, is found by the log's chain instead.)
const VERSIONS: TableDefinition<'_, &str, u64> = TableDefinition::new("session_versions");

/// One row for each session in redb, leases in memory.
pub struct EmbeddedStore {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
    leases: Mutex<HashMap<String, Held>>,
}

#[derive(Clone, Copy)]
struct Held {
    fence: u64,
    holder: u64,
    until_us: i64,
}

impl EmbeddedStore {
    /// A store in `database`, with expiry and leases by `clock`.
    pub fn new(database: Arc<Database>, clock: Arc<dyn Clock>) -> Self {
        Self {
            database,
            clock,
            leases: Mutex::default(),
        }
    }

    /// Notes the lease of a holder that has written or is about to.
    fn hold(&self, id: &str, held: Held) {
        self.leases.lock().insert(id.to_owned(), held);
    }

    /// The lease with this fence, if it is the newest.
    fn newest(&self, id: &str, fence: u64) -> Result<Held, StoreError> {
        match self.leases.lock().get(id) {
            Some(held) if held.fence == fence => Ok(*held),
            _ => Err(StoreError::Conflict),
        }
    }

    /// What a write leaves of the lease.
    fn settle(&self, id: &str, held: Held, lease: Lease) {
        let mut leases = self.leases.lock();
        // Only if nobody took over while the write was under way.
        if leases.get(id).is_some_and(|now| now.fence == held.fence) {
            match lease {
                Lease::Free => drop(leases.remove(id)),
                Lease::Keep(ttl) => {
                    let until_us = later(self.clock.utc_us(), ttl);
                    leases.insert(id.to_owned(), Held { until_us, ..held });
                }
            }
        }
    }

    /// Takes the lease: by force even while another holds it.
    fn lease(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        force: bool,
    ) -> Result<Acquired, StoreError> {
        // The lease comes before the read, so that nobody writes in between without our noticing.
        let now_us = self.clock.utc_us();
        let before = {
            let mut leases = self.leases.lock();
            let before = leases.get(id).copied();
            let taken = |held: Held| held.holder != holder && held.until_us > now_us;
            if !force && before.is_some_and(taken) {
                return Ok(Acquired::Busy);
            }
            let fence = before.map_or(0, |held| held.fence) + 1;
            leases.insert(
                id.to_owned(),
                Held {
                    fence,
                    holder,
                    until_us: later(now_us, ttl),
                },
            );
            before.map_or(0, |held| held.fence)
        };
        let row = match self.load(id) {
            Ok(Some(row)) => Row {
                leased: true,
                ..row
            },
            none => {
                self.leases.lock().remove(id);
                return none.map(|_| Acquired::Missing);
            }
        };
        let fence = before.max(row.fence) + 1;
        self.hold(
            id,
            Held {
                fence,
                holder,
                until_us: later(now_us, ttl),
            },
        );
        if row.expires_us <= now_us {
            return Ok(Acquired::Expired { fence, row });
        }
        Ok(Acquired::Held { fence, row })
    }

    fn load(&self, id: &str) -> Result<Option<Row>, StoreError> {
        let transaction = self.database.read().map_err(failed)?;
        let rows = match transaction.open_table(SESSIONS) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let Some(row) = rows.get(id).map_err(failed)? else {
            return Ok(None);
        };
        let row = decode(row.value(), self.clock.utc_us())?;
        let versions = transaction.open_table(VERSIONS).map_err(failed)?;
        match versions.get(id).map_err(failed)? {
            Some(version) if version.value() == row.version => Ok(Some(row)),
            _ => Err(StoreError::Damaged),
        }
    }
}

impl EmbeddedStore {
    /// The ids in order, of rows that are `wanted`; `from` is the last one of the page before.
    fn page(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Page, StoreError> {
        let transaction = self.database.read().map_err(failed)?;
        let rows = match transaction.open_table(SESSIONS) {
            Ok(rows) => rows,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Page::default()),
            Err(error) => return Err(failed(error)),
        };
        let start = from.map_or(Bound::Included(prefix), Bound::Excluded);
        let mut page = Page::default();
        for row in rows
            .range::<&str>((start, Bound::Unbounded))
            .map_err(failed)?
        {
            let (id, row) = row.map_err(failed)?;
            if !id.value().starts_with(prefix) {
                break;
            }
            if page.names.len() >= limit {
                page.next = page.names.last().cloned();
                break;
            }
            if wanted(row.value()) {
                page.names.push(id.value().to_owned());
            }
        }
        Ok(page)
    }
}

fn failed(error: impl Into<DatabaseError>) -> StoreError {
    StoreError::Unavailable(Box::new(error.into()))
}

fn encode(version: u64, held: Held, write: &Write) -> Vec<u8> {
    let holder = if write.lease == Lease::Free {
        0
    } else {
        held.holder
    };
    let mut row = vec![FORMAT];
    for number in [version, held.fence, holder] {
        row.extend_from_slice(&number.to_be_bytes());
    }
    row.extend_from_slice(&write.expires_us.to_be_bytes());
    row.extend_from_slice(write.sealed.as_bytes());
    row
}

fn decode(row: &[u8], now_us: i64) -> Result<Row, StoreError> {
    fn number<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8; 8], StoreError> {
        let (number, rest) = bytes.split_first_chunk().ok_or(StoreError::Damaged)?;
        *bytes = rest;
        Ok(number)
    }
    let mut rest = match row.split_first() {
        Some((&FORMAT, rest)) => rest,
        None | Some((0, _)) => return Err(StoreError::Damaged),
        Some(_) => return Err(StoreError::Newer),
    };
    Ok(Row {
        version: u64::from_be_bytes(*number(&mut rest)?),
        fence: u64::from_be_bytes(*number(&mut rest)?),
        holder: u64::from_be_bytes(*number(&mut rest)?),
        leased: false,
        expires_us: i64::from_be_bytes(*number(&mut rest)?),
        now_us,
        sealed: Sealed::from_store(rest.to_vec()),
    })
}

/// Writes a row and its version if the version there is `expected` (`None`: no row).
fn swap(
    transaction: &WriteTransaction,
    id: &str,
    expected: Option<u64>,
    row: Option<(u64, &[u8])>,
) -> Result<bool, redb::Error> {
    let mut versions = transaction.open_table(VERSIONS)?;
    let mut rows = transaction.open_table(SESSIONS)?;
    let there = versions.get(id)?.map(|version| version.value());
    // A row without a version, or the reverse, is damage, and is not written over.
    if there != expected || rows.get(id)?.is_some() != expected.is_some() {
        return Ok(false);
    }
    if let Some((version, row)) = row {
        versions.insert(id, version)?;
        rows.insert(id, row)?;
    } else {
        versions.remove(id)?;
        rows.remove(id)?;
    }
    Ok(true)
}

#[async_trait]
impl SessionStore for EmbeddedStore {
    async fn create(&self, id: &str, holder: u64, write: Write) -> Result<u64, StoreError> {
        let held = Held {
            fence: 1,
            holder,
            until_us: 0,
        };
        let row = encode(1, held, &write);
        let name = id.to_owned();
        let change =
            move |transaction: &WriteTransaction| swap(transaction, &name, None, Some((1, &row)));
        if !self
            .database
            .write(write.sync, change)
            .await
            .map_err(failed)?
        {
            return Err(StoreError::Exists);
        }
        if let Lease::Keep(ttl) = write.lease {
            self.hold(
                id,
                Held {
                    until_us: later(self.clock.utc_us(), ttl),
                    ..held
                },
            );
        }
        Ok(held.fence)
    }

    async fn acquire(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.lease(id, holder, ttl, false)
    }

    async fn seize(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.lease(id, holder, ttl, true)
    }

    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError> {
        let held = self.newest(id, fence)?;
        self.settle(id, held, Lease::Keep(ttl));
        Ok(())
    }

    async fn commit(
        &self,
        id: &str,
        fence: u64,
        version: u64,
        write: Write,
    ) -> Result<(), StoreError> {
        let held = self.newest(id, fence)?;
        let next = version.checked_add(1).ok_or(StoreError::Conflict)?;
        let row = encode(next, held, &write);
        let name = id.to_owned();
        let change = move |transaction: &WriteTransaction| {
            swap(transaction, &name, Some(version), Some((next, &row)))
        };
        if !self
            .database
            .write(write.sync, change)
            .await
            .map_err(failed)?
        {
            return Err(StoreError::Conflict);
        }
        self.settle(id, held, write.lease);
        Ok(())
    }

    async fn free(&self, id: &str, fence: u64) -> Result<(), StoreError> {
        if let Ok(held) = self.newest(id, fence) {
            self.settle(id, held, Lease::Free);
        }
        Ok(())
    }

    async fn read(&self, id: &str) -> Result<Option<Row>, StoreError> {
        let now_us = self.clock.utc_us();
        let lease = self.leases.lock().get(id).copied();
        let leased = lease.is_some_and(|held| held.until_us > now_us);
        let row = self.load(id)?;
        Ok(row.map(|row| Row { leased, ..row }))
    }

    async fn remove(&self, id: &str, fence: u64, version: u64) -> Result<(), StoreError> {
        let held = self.newest(id, fence)?;
        let name = id.to_owned();
        let change =
            move |transaction: &WriteTransaction| swap(transaction, &name, Some(version), None);
        if !self
            .database
            .write(Durable::Now, change)
            .await
            .map_err(failed)?
        {
            return Err(StoreError::Conflict);
        }
        self.settle(id, held, Lease::Free);
        Ok(())
    }

    /// In the order of the ids.
    async fn list(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.page(prefix, from, limit, |_| true)
    }

    async fn ended(&self, from: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        let now_us = self.clock.utc_us();
        // A row that cannot be read has no end that anybody could know.
        let ended = |row: &[u8]| decode(row, now_us).is_ok_and(|row| row.expired());
        self.page("", from, limit, ended)
    }

    /// An id is on a list here because of its row, and goes with it.
    async fn forget(&self, id: &str) -> Result<(), StoreError> {
        match self.load(id)? {
            Some(_) => Err(StoreError::Conflict),
            None => Ok(()),
        }
    }

    fn shared(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
