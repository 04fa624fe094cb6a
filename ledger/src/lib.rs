//! The book of Gatehouse: records, segments, Merkle trees, checkpoints; writer, stores, verifier.
//!
//! A process writes one stream at a time. An [`event::Event`] given to [`Ledger::append`] becomes a
//! leaf with the stream's name, a number and a time; the leaf goes to the write-ahead log, and with
//! others into a segment of the [`store`], whose footer carries a signed checkpoint of the stream's
//! Merkle tree. [`verify`] reads such a store and says what holds. Nothing here is asynchronous:
//! the writer is two threads, and a [`Ticket`] can be waited for or polled.

pub mod anchor;
pub mod cert;
pub mod clock;
pub mod cosign;
pub mod disclose;
pub mod event;
pub mod export;
mod json;
pub mod leaf;
pub mod names;
pub mod note;
pub mod payload;
pub mod read;
pub mod seal;
pub mod segment;
pub mod store;
pub mod tree;
pub mod trust;
pub mod verify;
mod wal;
pub mod witness;
mod writer;

/// For how many days an object of the log is locked if nothing else is said: more than a year, so
/// that a whole audit period stands at its end.
pub const DEFAULT_RETENTION_DAYS: u32 = 400;

pub use writer::{
    AppendError, CloseError, Condition, Durability, Ledger, Mode, OpenError, Options, Outcome,
    Pace, Position, Recovery, SPOOL_BYTES, SealLog, SessionLink, Ticket,
};
