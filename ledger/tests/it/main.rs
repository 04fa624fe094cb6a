//! Integration tests, one binary.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "clippy's leave for tests does not reach the helpers of an integration test"
)]

#[cfg(feature = "aws")]
#[path = "../../../envelope/tests/it/aws/mod.rs"]
mod aws;
mod changed;
mod cosigned;
mod crafted;
mod crash;
mod disclose;
mod fixtures;
mod forge;
mod hidden;
mod log;
mod mutate;
mod oracle;
mod recover;
#[cfg(feature = "aws")]
mod s3;
mod seal;
mod stamped;
mod stores;
mod writer;
