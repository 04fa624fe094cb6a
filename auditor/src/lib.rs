//! The reader of Gatehouse: checks a ledger offline.
//!
//! It needs a folder with the log and a trust file with the deployment's public key; no network and
//! no gateway. The exit codes are part of what it says: 0 holds, 1 broken, 2 could not tell, 64 for
//! wrong use.

mod apart;
pub mod cli;
mod controls;
mod diff;
mod evidence;
mod export;
#[cfg(test)]
mod hiding;
mod payloads;
mod place;
mod progress;
mod prove;
mod proved;
mod scan;
mod timeline;
mod verify;
mod views;
#[cfg(feature = "witness")]
mod witness;
