//! Where the state of sessions is kept: sealed bytes beside a few numbers in the clear.

#[cfg(feature = "aws")]
mod dynamodb;
mod embedded;
#[cfg(test)]
pub(crate) mod faulty;
mod line;
mod redis;
#[cfg(test)]
pub(crate) mod suite;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;

pub use crate::registry::Durable;
#[cfg(feature = "aws")]
pub use dynamodb::DynamoStore;
pub use embedded::EmbeddedStore;
pub use line::{PLACES, STANDS};
pub use redis::RedisStore;
pub(super) use redis::let_go_ms;

/// A session's row.
#[derive(Clone)]
pub struct Row {
    /// Counts the commits; 1 when the row is created. The sealed bytes are bound to it.
    pub version: u64,
    /// The fence of the lease under which the row was last written.
    pub fence: u64,
    /// Who held the lease when the row was last written; 0 if that write freed it. A holder that
    /// is set and gone means that a turn was cut short.
    pub holder: u64,
    /// Whether somebody's lease had not run out when the row was read: its reader's, if it has one.
    pub leased: bool,
    /// When the session ends, by the store's clock, in microseconds since 1970 (UTC).
    pub expires_us: i64,
    /// What that clock showed when the row was read.
    pub now_us: i64,
    /// The state, sealed.
    pub sealed: Sealed,
}

impl Row {
    /// Whether the session was past its end when the row was read.
    pub fn expired(&self) -> bool {
        self.expires_us <= self.now_us
    }
}

/// Some names of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The names. There may be none, and more on the next page all the same.
    pub names: Vec<String>,
    /// Where the next page begins, in words of the store's own; `None` behind the last.
    pub next: Option<String>,
}

/// What a commit does to the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Frees it.
    Free,
    /// Keeps it, until this long after now.
    Keep(Duration),
}

/// A new content of a row.
pub struct Write {
    /// The state, sealed for the version that this write makes.
    pub sealed: Sealed,
    /// When the session ends.
    pub expires_us: i64,
    /// What becomes of the lease.
    pub lease: Lease,
    /// When it has to be durable.
    pub sync: Durable,
}

/// What an attempt to take the lease gave.
pub enum Acquired {
    /// Another holder has it, or others wait for it that came before.
    Busy,
    /// The session is past its end. The lease is taken all the same, for whoever sweeps up; anyone
    /// else frees it.
    Expired {
        /// The fence to remove the row with.
        fence: u64,
        /// The row as it is.
        row: Row,
    },
    /// The same as [`Acquired::Busy`], and the line is full: there is no place left to wait in.
    Full,
    /// The lease is taken.
    Held {
        /// The fence to commit with: greater than that of every lease before.
        fence: u64,
        /// The row as it is.
        row: Row,
    },
    /// There is no such session.
    Missing,
}

/// Keeps one row for each session and lets one holder at a time write it.
///
/// The operations on one id are linearizable. A write with [`Durable::Now`] is durable when it
/// returns. Every write is a compare-and-swap: it succeeds only under the fence of the newest
/// lease and on the version its holder read, so a holder that was overtaken can write no more and
/// the row stays as the newer holder left it. Expiry and leases go by the store's own clock where
/// it has one, and are checked when a row is read, not by a sweeper's leave.
///
/// [`StoreError::Unavailable`] means that a write may or may not have happened. A holder who sees it
/// gives up its turn; whoever acquires next finds the row before or after that write, whole.
///
/// A holder is a process. A process makes sure itself that its turns of one session do not overlap,
/// and may take a lease over from itself: that of a turn which ended without saying so.
///
/// Turns of many processes wait for a session in one line, which the store keeps beside the lease: a
/// place for each turn, in the order in which the store was told of them, [`PLACES`] at most. A place
/// says which process it belongs to; which of its turns goes first is the process's own affair. So a
/// process says how many of its turns wait, each time, and what was lost or said twice is put right
/// by that. Who leaves says which place it has, so that those behind it keep theirs. A place of which nothing was heard for [`STANDS`] is nobody's. The line decides who goes
/// next and nothing else: that one turn at a time writes is a matter of leases and fences.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a row, at version 1 and under a new lease or none. Returns the fence.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is a row: it is left as it is, whatever its age.
    async fn create(&self, id: &str, holder: u64, write: Write) -> Result<u64, StoreError>;

    /// Takes the lease for `ttl` and reads, if it is free and nobody stands in line for it.
    async fn acquire(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError>;

    /// The same for a holder of which `turns` turns wait, the one that asks among them: if the first place
    /// is one of its own, or there is none. Otherwise all of them stand in line as far as there is
    /// room, and those that stood there already keep their places. When the lease is taken the first place
    /// is given up with it.
    async fn acquire_in_line(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        turns: usize,
    ) -> Result<Acquired, StoreError>;

    /// Has `turns` turns of a holder stand in line, and no more: those that stand there already keep their
    /// places, as far as they are wanted. Says whether all of them have one; none is needed where there
    /// is no such session.
    async fn stand_in_line(&self, id: &str, holder: u64, turns: usize) -> Result<bool, StoreError>;

    /// Has a turn of a holder leave the line: it has the `nth` of the holder's places, counted from 0, and
    /// `turns` others still wait. Where no more than so many stand there, it has left already.
    async fn leave_line(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError>;

    /// The same as [`SessionStore::acquire`], but from whoever holds it and ahead of all that wait: never
    /// [`Acquired::Busy`]. The holder before finds out at its next write or renewal, which is refused.
    async fn seize(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError>;

    /// Makes a lease that is still the newest last until `ttl` after now.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is a newer lease or the row is gone.
    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError>;

    /// Replaces the row at `version` by one at `version + 1`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is a newer lease, another version, or no row.
    async fn commit(
        &self,
        id: &str,
        fence: u64,
        version: u64,
        write: Write,
    ) -> Result<(), StoreError>;

    /// Gives a lease back without writing, if it is the newest; otherwise does nothing.
    async fn free(&self, id: &str, fence: u64) -> Result<(), StoreError>;

    /// Reads without a lease; the row may be expired.
    async fn read(&self, id: &str) -> Result<Option<Row>, StoreError>;

    /// Removes a row under its newest lease, durably.
    ///
    /// # Errors
    /// As for [`SessionStore::commit`].
    async fn remove(&self, id: &str, fence: u64, version: u64) -> Result<(), StoreError>;

    /// The ids that begin with `prefix`, at most `limit` on a page. Each that is there all the while
    /// is on one of the pages; in what order, every store says for itself.
    async fn list(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError>;

    /// The ids of sessions that are past their end by the store's clock, at most `limit` on a page, and
    /// of rows that the store has let go by itself. Each stays on the list until it is removed or
    /// forgotten.
    async fn ended(&self, from: Option<&str>, limit: usize) -> Result<Page, StoreError>;

    /// Takes the id of a row that the store has let go by itself off all lists: for whoever has taken
    /// away what else there was of the session.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if there is a row.
    async fn forget(&self, id: &str) -> Result<(), StoreError>;

    /// Whether other processes may work on the same rows. If so, nothing that this process remembers
    /// of a session is newer than what the store says of it, unless the store has lost something.
    fn shared(&self) -> bool {
        true
    }
}

/// A store, chosen at start.
pub type SharedStore = Arc<dyn SessionStore>;

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another holder has taken over, or the row has changed or gone.
    #[error("another turn has taken the session over")]
    Conflict,
    /// The row is not in a form that any version wrote.
    #[error("a session's row is damaged")]
    Damaged,
    /// There is a row already.
    #[error("the session exists already")]
    Exists,
    /// The row was written by a later version of this program.
    #[error("a session's row is in a newer format")]
    Newer,
    /// The store failed or did not answer; a write may have happened.
    #[error("the session store")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
