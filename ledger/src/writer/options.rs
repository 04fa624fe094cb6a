//! What a ledger is told at the start, and what it tells about itself.

use std::{path::PathBuf, time::Duration};

use crate::segment::SEGMENT_BYTES;

/// What a ledger needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that holds `wal/` and `trust.policy`.
    pub data_dir: PathBuf,
    /// The deployment's name: `a-z0-9-`, up to 40 characters.
    pub deployment: String,
    /// What an append waits for.
    pub mode: Mode,
    /// When segments are stored and heartbeats written.
    pub pace: Pace,
    /// Who else writes into the store.
    pub seals: SealLog,
}

/// Who writes seals into a store. All who do must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealLog {
    /// The processes of this data directory alone: the seals have a name of their own, so that the
    /// logs of several directories can be put together.
    Own,
    /// All replicas of the deployment.
    Shared,
}

/// The bytes that may wait for the store if nothing else is said: more than a million requests, whose
/// two records have some 1,800 bytes together.
pub const SPOOL_BYTES: u64 = 2 << 30;

/// What a durable append waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing but a place in the queue. A crash loses events without a trace in the log.
    Async,
    /// The sync of the write-ahead log: survives the process and the machine's power, not its disk.
    Local,
    /// The sync, and the segment with the event put into the store. For a [`crate::store::Dir`]
    /// that is a second file with its own syncs, on whatever volume the directory is.
    Strict,
}

impl Mode {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Local => "local",
            Self::Strict => "strict",
        }
    }
}

/// When segments are stored and heartbeats written.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long the first event of a segment waits.
    pub flush_after: Duration,
    /// How many bytes of write-ahead log make a segment at the latest.
    pub flush_bytes: u64,
    /// How often a heartbeat is written.
    pub heartbeat: Duration,
    /// How long a file of the write-ahead log is kept after its segment was stored: as long as the
    /// session store may lag behind (see `Recovery::links`).
    pub keep: Duration,
    /// How many bytes may wait in the write-ahead log for the store. From half of it on writing is
    /// slowed down; past it durable appends are refused.
    pub spool_bytes: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            flush_after: Duration::from_secs(5),
            flush_bytes: SEGMENT_BYTES,
            heartbeat: Duration::from_secs(10),
            keep: Duration::from_secs(60),
            spool_bytes: SPOOL_BYTES,
        }
    }
}

/// How an event has to be kept when its ticket completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// As [`Mode`] has it.
    Durable,
    /// Written to the log's file, not yet synced: survives the process, not the machine's power.
    Taken,
}

/// How the ledger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Nothing is written any more.
    pub failed: bool,
    /// The last seal could not be made, or what is stored of a stream is not what it should be, so
    /// that seals do not cover all of it. It is tried again.
    pub unsealed: bool,
    /// Durable appends are refused, because the disk is nearly full.
    pub disk_full: bool,
    /// Files of the write-ahead log whose segments are not stored yet. More than a few mean that
    /// the store does not answer.
    pub waiting: u64,
    /// Their bytes.
    pub spooled: u64,
    /// How many there may be.
    pub spool_bytes: u64,
    /// Durable appends are refused, because more than that wait.
    pub spool_full: bool,
    /// The store refused the last thing that was put into it, or did not answer. It is tried again.
    pub stalled: bool,
}
