//! The tree of keys: root → one a tenant → one a session → what is derived from that.
//!
//! The root key stays in its [`KeyProvider`]. A tenant's key is stored wrapped by the root, a
//! session's wrapped by its tenant's; destroying a wrapped key destroys everything under it.

mod file;
#[cfg(feature = "aws")]
mod kms;
#[cfg(feature = "aws")]
mod moved;
mod session;
mod tenant;

use std::io;

use async_trait::async_trait;

pub use file::FileKeys;
#[cfg(feature = "aws")]
pub use kms::{KmsCall, KmsKeys, KmsWatch};
#[cfg(feature = "aws")]
pub use moved::MovedKeys;
pub use session::SessionKeys;
pub use tenant::TenantKey;

use crate::{random::RandomError, seal::SealError, secret::Secret};

/// What a wrapped key is for. It unwraps under the same words only.
#[derive(Clone, Copy)]
pub struct KeyContext<'a> {
    /// The key's role, such as `tenant`.
    pub purpose: &'a str,
    /// Whose key it is.
    pub tenant: &'a str,
    /// Which of the tenant's keys, counted from 1.
    pub epoch: u32,
}

/// A new key, and the form in which it may be stored.
pub struct GeneratedKey {
    /// The key.
    pub key: Secret<[u8; 32]>,
    /// The key, wrapped. Never kept beside what the key protects in storage that can't be erased.
    pub wrapped: Vec<u8>,
}

/// Generates keys and unwraps them; the root key never leaves.
///
/// `unwrap` gives back exactly the key that `generate` made if, and only if, the context is the
/// same and the provider's root key, or one that it was told of as an earlier one, is the one it was
/// made under; anything else is an error, never another key. Nothing is cached here, failures least of
/// all, and every call ends within a bounded time.
#[async_trait]
pub trait KeyProvider: Send + Sync {
    /// The root key's public id.
    fn id(&self) -> &str;

    /// Makes a new random key.
    async fn generate(&self, context: &KeyContext<'_>) -> Result<GeneratedKey, KeyError>;

    /// Unwraps a key.
    async fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError>;

    /// Wraps under the root key what is wrapped under an earlier one. `None`: it is already.
    async fn rewrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError>;
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The wrapped key was changed, or belongs to another root key or context.
    #[error("the wrapped key is damaged or belongs elsewhere")]
    Damaged,
    /// The provider refuses us this key, or does not know us. What it says, for the operator.
    #[error("the key provider denies access: {0}")]
    Denied(String),
    /// The root key is switched off, or about to be deleted.
    #[error("the root key is disabled")]
    Disabled,
    /// The key has sealed as many messages as is safe.
    #[error("the key has reached its use limit")]
    Exhausted,
    /// The key file could not be read or made, or others may read it.
    #[error("the root key file")]
    File(#[source] io::Error),
    /// The provider has no such key.
    #[error("there is no such key")]
    Missing,
    /// The key file or the wrapped key was written by a later version of this program.
    #[error("the key is in a newer or unknown format")]
    Newer,
    /// No randomness for a key or a nonce.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The provider has more to do than it takes on. Worth another try, later.
    #[error("the key provider is asked too often")]
    Throttled,
    /// The key is of another kind than this, which is needed.
    #[error("the key is not {0}")]
    Unfit(&'static str),
    /// Nobody waited for the provider's answer: it may have done what it was asked.
    #[error("nobody waited for the key provider's answer")]
    Unheard,
    /// The provider did not answer, or failed. What is known of it, for the operator. Worth another try.
    #[error("the key provider cannot be reached: {0}")]
    Unreachable(String),
}

impl KeyError {
    /// Whether the provider has the key and does not give it: it may do so later.
    #[must_use]
    pub fn is_the_providers(&self) -> bool {
        match self {
            Self::Denied(_)
            | Self::Disabled
            | Self::Missing
            | Self::Throttled
            | Self::Unfit(_)
            | Self::Unheard
            | Self::Unreachable(_) => true,
            Self::Damaged | Self::Exhausted | Self::File(_) | Self::Newer | Self::Random(_) => {
                false
            }
        }
    }

    /// The same error, for another who waited for the same key.
    #[must_use]
    pub fn again(&self) -> Self {
        match self {
            Self::Damaged => Self::Damaged,
            Self::Denied(said) => Self::Denied(said.clone()),
            Self::Disabled => Self::Disabled,
            Self::Exhausted => Self::Exhausted,
            Self::File(error) => Self::File(io::Error::new(error.kind(), error.to_string())),
            Self::Missing => Self::Missing,
            Self::Newer => Self::Newer,
            Self::Random(error) => Self::Random(*error),
            Self::Throttled => Self::Throttled,
            Self::Unfit(kind) => Self::Unfit(kind),
            Self::Unheard => Self::Unheard,
            Self::Unreachable(said) => Self::Unreachable(said.clone()),
        }
    }
}

impl From<SealError> for KeyError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Damaged => Self::Damaged,
            SealError::Exhausted => Self::Exhausted,
            SealError::Newer => Self::Newer,
            SealError::Random(error) => Self::Random(error),
        }
    }
}
