//! What operators need: health and metrics on a loopback port, and a socket for everything that
//! shows or changes callers' keys and sessions.
//!
//! The port tells nothing that matters and changes nothing. The socket is a file that only the
//! gateway's own user may open; whoever can open it could read the key files as well.

mod backends;
mod client;
mod desk;
mod grant;
mod health;
#[cfg(feature = "aws")]
mod kms;
#[cfg(feature = "aws")]
mod kms_uses;
mod log_store;
mod office;
mod protocol;
mod rekey;
mod socket;
mod stall;
mod vault;

pub use client::{AskError, ask};
pub use desk::Desk;
pub(crate) use desk::bare_word;
pub use health::Health;
pub use office::{Files, Office, OfficeError};
pub use protocol::{Answer, GivenKey, KeyView, Request, Rewrap, RotatedKey};
pub use socket::Socket;

pub use crate::registry::Condition as StoreCondition;

/// The socket's name in the data directory.
pub const SOCKET: &str = "admin.sock";

#[cfg(test)]
mod tests;
