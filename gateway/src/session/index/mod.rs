//! Which sessions a conversation may be: names made of keyed digests, and the references of sessions
//! beside them.

#[cfg(feature = "aws")]
mod dynamodb;
mod embedded;
mod redis;
#[cfg(test)]
pub(crate) mod suite;

use async_trait::async_trait;

#[cfg(feature = "aws")]
pub use dynamodb::DynamoIndex;
pub use embedded::EmbeddedIndex;
pub use redis::RedisIndex;

use crate::registry::RegistryError;

/// References under one name. Past this the name says nothing any more.
pub const MOST: usize = 16;

/// What stands under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// References of sessions, ended ones too until their time is over.
    pub references: Vec<String>,
    /// There were more than [`MOST`], so some may be missing.
    pub crowded: bool,
}

/// A name of a session.
pub struct Named {
    /// The name, a keyed digest.
    pub name: String,
    /// The session's reference.
    pub reference: String,
    /// When it is forgotten, in microseconds since 1970 (UTC).
    pub expires_us: i64,
}

/// References of sessions by names that are keyed digests.
///
/// A name may have several references: it is for whoever asks to see which of the sessions is meant.
/// Entries are hints that the session itself must confirm. What `add` wrote is found by every later
/// `find`, but for what a crash takes with it; expired entries never are.
#[async_trait]
pub trait Index: Send + Sync {
    /// What stands under a name.
    async fn find(&self, name: &str) -> Result<Entries, RegistryError>;

    /// Puts a session under one more name.
    async fn add(&self, named: Named) -> Result<(), RegistryError>;

    /// Forgets what has expired.
    async fn sweep(&self) -> Result<(), RegistryError>;
}
