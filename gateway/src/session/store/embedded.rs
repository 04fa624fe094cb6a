//! Sessions in the embedded database.
//!
//! The file is open in one process at a time, so a lease needs no row: it lives in memory and dies
//! with its holder. What must outlive a crash is only that a turn was under way when the row was
//! last written, and that is written with the row. The version, which is in the row, is what
//! decides every commit; the fences only refuse a late holder sooner.

mod row;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, ops::Bound, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use redb::{TableError, WriteTransaction};

use self::row::{SESSIONS, VERSIONS, decode, encode, swap};
use super::{
    Acquired, Lease, Page, Row, SessionStore, StoreError, Write,
    line::{How, Line},
};
use crate::{
    clock::{Clock, later},
    registry::{Database, DatabaseError, Durable},
};

/// One row for each session in redb, leases in memory.
pub struct EmbeddedStore {
    database: Arc<Database>,
    clock: Arc<dyn Clock>,
    leases: Mutex<HashMap<String, Held>>,
    /// Who waits for them. Locked under `leases` where both are.
    lines: Mutex<HashMap<String, Line>>,
    /// The greatest fence that was given.
    newest: Mutex<u64>,
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
            lines: Mutex::default(),
            newest: Mutex::default(),
        }
    }

    /// A fence that is greater than this one, and than all that were given.
    fn fence_after(&self, fence: u64) -> u64 {
        let mut newest = self.newest.lock();
        *newest = fence.max(*newest).saturating_add(1);
        *newest
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

    /// Changes the line of a session, and forgets it when nobody stands in it.
    fn line<T>(&self, id: &str, change: impl FnOnce(&mut Line) -> T) -> T {
        let mut lines = self.lines.lock();
        let line = lines.remove(id).unwrap_or_default();
        let mut line = line.at(self.clock.utc_us());
        let changed = change(&mut line);
        if !line.is_empty() {
            lines.insert(id.to_owned(), line);
        }
        changed
    }

    /// Whether a holder comes first, and if not, why it has to wait. Its place is given up if it may go.
    fn comes_first(&self, id: &str, holder: u64, taken: bool, how: How) -> Option<Acquired> {
        let now_us = self.clock.utc_us();
        self.line(id, |line| match how {
            How::Force => None,
            How::Free => (taken || !line.is_empty()).then_some(Acquired::Busy),
            How::InLine(turns) => {
                let stand = line.bring(holder, turns, now_us);
                if !taken && line.is_led_by(holder) {
                    line.advance();
                    return None;
                }
                Some(match stand {
                    0 => Acquired::Full,
                    _ => Acquired::Busy,
                })
            }
        })
    }

    /// Takes the lease, if it may be taken.
    fn lease(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        how: How,
    ) -> Result<Acquired, StoreError> {
        // The lease comes before the read, so that nobody writes in between without our noticing.
        let now_us = self.clock.utc_us();
        let mut held = {
            let mut leases = self.leases.lock();
            let before = leases.get(id).copied();
            let taken = |held: Held| held.holder != holder && held.until_us > now_us;
            let taken = before.is_some_and(taken);
            let fence = self.fence_after(before.map_or(0, |held| held.fence));
            if let Some(waits) = self.comes_first(id, holder, taken, how) {
                // A turn of the holder's that ended without saying so must not hold up those that
                // come first.
                if let Some(held) = leases.get_mut(id)
                    && held.holder == holder
                {
                    (held.fence, held.holder, held.until_us) = (fence, 0, 0);
                }
                return Ok(waits);
            }
            let until_us = later(now_us, ttl);
            let held = Held {
                fence,
                holder,
                until_us,
            };
            leases.insert(id.to_owned(), held);
            held
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
        if row.fence >= held.fence {
            held.fence = self.fence_after(row.fence);
            self.hold(id, held);
        }
        let fence = held.fence;
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
        self.lease(id, holder, ttl, How::Free)
    }

    async fn seize(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.lease(id, holder, ttl, How::Force)
    }

    async fn acquire_in_line(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        turns: usize,
    ) -> Result<Acquired, StoreError> {
        self.lease(id, holder, ttl, How::InLine(turns))
    }

    async fn stand_in_line(&self, id: &str, holder: u64, turns: usize) -> Result<bool, StoreError> {
        if self.load(id)?.is_none() {
            return Ok(true);
        }
        let now_us = self.clock.utc_us();
        Ok(self.line(id, |line| line.bring(holder, turns, now_us)) == turns)
    }

    async fn leave_line(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError> {
        self.line(id, |line| line.leave(holder, nth, turns));
        Ok(())
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
