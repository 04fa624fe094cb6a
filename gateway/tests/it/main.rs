//! Integration tests, one binary.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "clippy's leave for tests does not reach the helpers of an integration test"
)]

mod across;
mod arrows;
#[cfg(feature = "aws")]
#[path = "../../../envelope/tests/it/aws/mod.rs"]
mod aws;
mod bad;
mod budget;
mod busy;
mod canaries;
mod cli;
mod continuity;
#[cfg(feature = "model")]
mod conversation;
mod endings;
mod errors;
mod extremes;
mod faults;
mod framing;
mod gate;
mod half_closed;
#[cfg(feature = "aws")]
mod kms;
#[cfg(feature = "aws")]
mod log_in_s3;
#[cfg(feature = "model")]
mod model;
#[cfg(feature = "model")]
mod model_cache;
mod payloads;
mod pieces;
mod prompts;
mod replicas;
mod reported;
mod sent;
mod size;
mod source;
mod state;
mod state_traffic;
mod stream_ends;
mod streams;
mod tenants;
mod tls;
mod wire;
