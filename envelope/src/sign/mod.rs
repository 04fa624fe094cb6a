//! Signatures: Ed25519 (RFC 8032).

mod file;
#[cfg(feature = "aws")]
mod kms;
mod memory;

use std::io;

use ring::signature::{ED25519, UnparsedPublicKey};

pub use file::FileSigner;
#[cfg(feature = "aws")]
pub use kms::KmsSigner;
pub use memory::MemorySigner;

use crate::{keys::KeyError, random::RandomError};

/// Signs with a key that never leaves it.
///
/// Blocking: a backend may go over the network, so nothing on a request's path may call it. Two
/// calls may run at once. A signature that is returned verifies under [`Signer::public`].
pub trait Signer: Send + Sync {
    /// The name the key goes by, such as the origin line of a checkpoint. Not secret.
    fn name(&self) -> &str;

    /// The public key, 32 bytes.
    fn public(&self) -> [u8; 32];

    /// The signature over `message`, 64 bytes.
    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError>;
}

/// Why there is no signature, or no signer.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key file does not hold a key in a format this version knows.
    #[error("the signing key file is damaged or of a newer version")]
    Damaged,
    /// The key file could not be read or made, or others may read it.
    #[error("the signing key file")]
    File(#[source] io::Error),
    /// Whoever holds the key gave no signature, and says why.
    #[error("the signing key's provider")]
    Provider(#[from] KeyError),
    /// No randomness for a new key.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The message is longer than the backend signs.
    #[error("the message is too long to be signed")]
    TooLong,
    /// The backend did not answer.
    #[error("the signing key's backend gave no signature")]
    Unavailable,
}

/// Whether `signature` over `message` is by the holder of `public`. Any malformed input is `false`.
pub fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public)
        .verify(message, signature)
        .is_ok()
}
