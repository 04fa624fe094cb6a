//! Integration tests, one binary: keys and signatures of AWS KMS, on emulators.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "clippy's leave for tests does not reach the helpers of an integration test"
)]

mod aws;
mod emulators;
mod keys;
mod signing;
mod watched;
