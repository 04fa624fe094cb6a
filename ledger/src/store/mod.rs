//! Where the log is kept.

use std::io;

mod dir;
mod joined;
mod memory;
#[cfg(feature = "aws")]
mod s3;

pub use dir::Dir;
pub use joined::Joined;
pub use memory::Memory;
#[cfg(feature = "aws")]
pub use s3::{Bucket, Keeping, Operation, S3, S3Error};

/// The reading half of a store: all that verification needs.
pub trait Fetcher: Send + Sync {
    /// Every object whose name begins with `prefix`, in no particular order. All versions of one
    /// name are one entry.
    ///
    /// # Errors
    /// The store did not answer; nothing is known about what it holds.
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError>;

    /// The same, as far as it can be seen, and what could not be: for readers who say what they did not see. A store
    /// that can be listed as a whole or not at all gives what [`Fetcher::list`] does.
    ///
    /// # Errors
    /// Nothing could be listed.
    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        Ok(self.list(prefix)?.into())
    }

    /// Those of them that come after `name`, for a store that need not list the others first.
    ///
    /// # Errors
    /// As [`Fetcher::list`].
    fn list_after(&self, prefix: &str, name: &str) -> Result<Vec<Object>, StoreError> {
        let mut listed = self.list(prefix)?;
        listed.retain(|object| object.name.as_str() > name);
        Ok(listed)
    }

    /// An object's oldest version, with what the store says of it; none if there is no such object.
    ///
    /// # Errors
    /// The store did not answer, or the object is larger than `limit` bytes.
    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError>;

    /// Its bytes alone.
    ///
    /// # Errors
    /// As [`Fetcher::fetch`].
    fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.fetch(name, limit)?.map(|stored| stored.bytes))
    }
}

/// What of a store could be listed.
#[derive(Debug, Default)]
pub struct Survey {
    /// The objects that were seen.
    pub objects: Vec<Object>,
    /// Folders that could not be read, by the name that objects in them begin with, and why.
    pub unread: Vec<(String, io::Error)>,
}

impl From<Vec<Object>> for Survey {
    fn from(objects: Vec<Object>) -> Self {
        Self {
            objects,
            unread: Vec::new(),
        }
    }
}

/// An object as a store gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// How it is kept; none where the store has no locks, as a folder.
    pub kept: Option<Kept>,
}

impl From<Vec<u8>> for Stored {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, kept: None }
    }
}

/// What a store with locks says of an object, by its own clock. Microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// When the store got it.
    pub written_us: u64,
    /// Until when nobody can remove it; none if somebody could now.
    pub locked_until_us: Option<u64>,
}

/// A store in which a name is written once.
///
/// A put is durable when it returns, whole or not at all. Putting the same bytes under the same
/// name again succeeds, so that whoever does not know whether a put arrived repeats it. Putting
/// other bytes is [`StoreError::Conflict`] and changes nothing.
pub trait LedgerStore: Fetcher {
    /// Stores `bytes` as `name`.
    ///
    /// # Errors
    /// Not known to be stored.
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;
}

/// An object of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, `/` between the parts.
    pub name: String,
    /// How many versions there are. More than one means that somebody wrote it again.
    pub versions: u64,
    /// How often it was deleted in a way that left its versions there (delete markers).
    pub deletions: u64,
}

impl Object {
    /// One that was written once, as it should be.
    pub fn once(name: String) -> Self {
        Self {
            name,
            versions: 1,
            deletions: 0,
        }
    }
}

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is taken by other bytes.
    #[error("an object of that name holds other bytes")]
    Conflict,
    /// One of several places holds nothing at all.
    #[error("one of the places holds no log")]
    Empty,
    /// The file system refused.
    #[error("the store: {0}")]
    Io(#[from] io::Error),
    /// Not a name that this store can hold.
    #[error("not a name of an object")]
    Name,
    /// Opened to be read from.
    #[error("the store was opened to be read from")]
    ReadOnly,
    /// S3 refused or did not answer.
    #[cfg(feature = "aws")]
    #[error(transparent)]
    S3(#[from] S3Error),
    /// Larger than the caller reads.
    #[error("an object is too large")]
    TooLarge,
}

impl<F: Fetcher + ?Sized> Fetcher for std::sync::Arc<F> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        (**self).list(prefix)
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        (**self).survey(prefix)
    }

    fn list_after(&self, prefix: &str, name: &str) -> Result<Vec<Object>, StoreError> {
        (**self).list_after(prefix, name)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        (**self).fetch(name, limit)
    }
}

/// Whether `name` is parts of `A-Za-z0-9=._-` between slashes, none of which begins with a dot.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"=._-".contains(&b);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    name.len() <= 512 && name.split('/').all(part)
}
