//! Where the large parts of sessions are kept, so that their heads stay small: artifacts, archived
//! tool results, checkpoints. Sealed bytes, written once and never changed.

mod embedded;
mod redis;
#[cfg(feature = "aws")]
mod s3;
#[cfg(test)]
pub(crate) mod suite;

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;

pub use embedded::EmbeddedBlobs;
pub use redis::RedisBlobs;
#[cfg(feature = "aws")]
pub use s3::S3Blobs;
#[cfg(all(test, feature = "aws"))]
pub(crate) use s3::tests as s3_tests;

use super::store::StoreError;

/// The most bytes of one part, sealed. Every backend must take them.
pub const LONGEST: usize = 2 << 20;

/// Keeps sealed parts under names.
///
/// A name is given once: to put the same bytes again is a success (the first attempt may have been
/// one whose answer was lost), to put others is [`StoreError::Exists`] and changes nothing. What was
/// put is durable when `put` returns, and found by every later `get` until it is removed. The head of
/// a session names its parts and is written after them, so a part that no head names may be left
/// behind by a crash; it goes when its session does.
///
/// [`StoreError::Unavailable`] means that a part may or may not have been put or removed.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Puts a part where none is. `until_us` is when its session ends at the latest, in microseconds
    /// since 1970 (UTC): some days after that a backend may let go of it by itself.
    async fn put(&self, name: &str, part: Sealed, until_us: i64) -> Result<(), StoreError>;

    /// The part under a name.
    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError>;

    /// Removes every part whose name begins with `prefix`. Removing none is a success.
    async fn remove(&self, prefix: &str) -> Result<(), StoreError>;
}
