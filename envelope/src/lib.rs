//! The safe of Gatehouse: sealing, data keys, signatures, keyed digests, secrets.
//!
//! No other crate of ours names a cryptographic library; what they need of one is here, in terms
//! that leave little to get wrong: every keyed digest has a purpose, every sealed byte string is
//! bound to its place, every key knows how often it may be used. This crate knows nothing of
//! sessions and logs, nor of a network but for AWS, which may hold keys, and takes no clock: ages are
//! given by the caller.

#[cfg(feature = "aws")]
pub mod aws;
pub mod digest;
pub mod keys;
pub mod payload;
pub mod random;
pub mod seal;
pub mod secret;
pub mod sign;
pub mod small_file;
pub mod stamp;

mod derive;
mod private_file;
