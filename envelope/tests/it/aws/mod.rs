//! The AWS that tests talk to: emulators as real processes, and a wire to them that can fail.
//!
//! One source for the tests of several crates, which name it by its path:
//!
//! ```text
//! #[path = "../../../envelope/tests/it/aws/mod.rs"]
//! mod aws;
//! ```
//!
//! Where an emulator is laxer than AWS a green test proves nothing: [`Front`] tells what was sent.
#![allow(
    dead_code,
    unused_imports,
    reason = "each crate's tests use the part that they need"
)]

mod emulator;
mod front;
mod iam;

pub(crate) use emulator::{ACCESS_KEY, Emulator, Kind, REGION, SECRET_KEY};
pub(crate) use front::{Fate, Front, Sent};
pub(crate) use iam::Credentials;
