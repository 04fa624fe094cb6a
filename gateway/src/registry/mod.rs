//! The registry: caller keys, wrapped keys of tenants, sessions and the log, ended sessions.
//!
//! Small rows that are looked up by name. What they hold is digests, wrapped keys and public
//! facts; nothing in them opens anything without the root key.

#[cfg(feature = "aws")]
mod aws;
mod bucket;
mod database;
#[cfg(feature = "aws")]
mod dynamodb;
mod embedded;
mod keyring;
mod names;
mod redis;
#[cfg(test)]
pub(crate) mod suite;

use std::time::Duration;

use async_trait::async_trait;

#[cfg(feature = "aws")]
pub use aws::AwsError;
#[cfg(feature = "aws")]
pub(crate) use aws::{Fault, Sender};
pub(crate) use bucket::{bucket, buckets, tag};
pub use database::{Condition, Database, DatabaseError};
#[cfg(all(test, feature = "aws"))]
pub(crate) use dynamodb::tests as dynamodb_tests;
#[cfg(feature = "aws")]
pub(crate) use dynamodb::{
    BY_END, Change, ENDS, FORMAT, Form, Item, Key, LET_GO, OVER, Range, SORT, Verb, WRITE, Written,
    access, binary, binary_of, form, let_go, number, number_of, partition, text_of, write_id,
};
#[cfg(feature = "aws")]
pub use dynamodb::{DynamoLink, DynamoRegistry};
pub use embedded::EmbeddedRegistry;
pub use keyring::{
    CachePolicy, GATEWAY, Keyring, KeyringError, Outlived, Rewrapped, Rotated, TenantKeys, rotates,
};
pub use names::LogNames;
#[cfg(test)]
pub(crate) use redis::tests as redis_tests;
pub(crate) use redis::{Call, Field, Script, fields};
pub use redis::{Link, LinkError, RedisRegistry};

/// The kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Caller keys: by the keyed digest of the token.
    CallerKeys,
    /// Sessions that ended and why: by tenant and reference, so that the log can tell an ended
    /// session from one that never was.
    Ended,
    /// Sessions that were erased, while backups of the store may still hold their keys: as the keys
    /// are called, all together.
    Erasures,
    /// Legal holds: as the keys of the sessions are called that they are on, all together.
    Holds,
    /// How long tenants' keys are needed: by tenant and epoch.
    KeyLives,
    /// Wrapped keys for digests in the log: by tenant and year.
    LogKeys,
    /// Wrapped session keys: by tenant, epoch and reference.
    SessionKeys,
    /// Wrapped tenant keys: by tenant and epoch.
    TenantKeys,
}

/// When a write has to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// Before the call returns.
    Now,
    /// With the next write that is synced, and in any case soon. Losing it in a crash must be
    /// harmless.
    Soon,
}

/// What must be there for a row to be written.
#[derive(Clone, Debug)]
pub enum Expected {
    /// No row.
    Absent,
    /// Exactly this value.
    Value(Vec<u8>),
}

/// A new content of a row.
#[derive(Clone, Debug)]
pub struct Put {
    /// What must be there for it to be written.
    pub expected: Expected,
    /// The content.
    pub value: Vec<u8>,
    /// After this the row is as if it had been deleted; none at all: it is deleted. `None`: it stays until it is.
    pub lifetime: Option<Duration>,
    /// When it has to be durable.
    pub sync: Durable,
}

impl Put {
    /// A row that stays.
    pub fn new(expected: Expected, value: Vec<u8>, sync: Durable) -> Self {
        Self {
            expected,
            value,
            lifetime: None,
            sync,
        }
    }

    /// What deletes a row, if it is still what was there.
    pub fn away(was: Vec<u8>, sync: Durable) -> Self {
        Self {
            expected: Expected::Value(was),
            value: Vec::new(),
            lifetime: Some(Duration::ZERO),
            sync,
        }
    }

    fn is_away(&self) -> bool {
        self.lifetime.is_some_and(|lifetime| lifetime.is_zero())
    }
}

/// A table of rows by name.
///
/// Every operation on one name is linearizable. What `put_if` and `delete` did with [`Durable::Now`]
/// is durable when they return. An error from either means that the write may or may not have
/// happened; a later `get` tells.
#[async_trait]
pub trait Registry: Send + Sync {
    /// The value of a row, if there is one.
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError>;

    /// Writes a row if what is there is as expected; otherwise writes nothing and says `false`.
    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError>;

    /// All rows of a [`group`], in the order of their names.
    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError>;

    /// Deletes a row. Says whether there was one.
    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError>;

    /// Deletes the rows whose lifetime is over, where that does not happen by itself.
    async fn sweep(&self) -> Result<(), RegistryError>;

    /// Whether other processes may change the same rows.
    fn shared(&self) -> bool {
        true
    }
}

/// What a row is listed under: all caller keys are one group, and so are all erasures and all legal holds; all else goes by its
/// tenant or its session's reference, which is what its name begins with, up to the first `/`.
pub fn group(table: Table, name: &str) -> &str {
    match table {
        Table::CallerKeys | Table::Erasures | Table::Holds => "",
        _ => name.split_once('/').map_or(name, |(group, _)| group),
    }
}

/// Why the registry gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A row is not in a form that any version wrote.
    #[error("a row of the registry is damaged")]
    Damaged,
    /// A row was written by a later version of this program.
    #[error("a row of the registry is in a newer format")]
    Newer,
    /// The backend failed or did not answer.
    #[error("the registry's store")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl RegistryError {
    /// The same error, for another who waited for the same row.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Damaged => Self::Damaged,
            Self::Newer => Self::Newer,
            Self::Unavailable(source) => Self::Unavailable(source.to_string().into()),
        }
    }
}

impl From<DatabaseError> for RegistryError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}
