//! What may be spent, and what has been: tokens are set aside before a provider is asked, at the worst
//! case, and settled when it has answered.
//!
//! A [`Meter`] counts plain integers under names that tell nothing: it knows no session, caller or
//! model. [`Budget`] says what is counted under which name, and what the caps are.

mod budget;
mod charge;
#[cfg(test)]
pub(crate) mod days;
#[cfg(feature = "aws")]
mod dynamodb;
mod embedded;
mod estimate;
mod memory;
mod redis;
#[cfg(test)]
pub(crate) mod suite;

use async_trait::async_trait;

pub use budget::{Ask, Budget, Denied, Hold, Scope, Warning};
pub use charge::{Charge, Counted, Tokens};
#[cfg(feature = "aws")]
pub use dynamodb::DynamoMeter;
pub use embedded::EmbeddedMeter;
pub use estimate::{Wanted, Worst};
pub use redis::RedisMeter;

use crate::registry::{DatabaseError, RegistryError};

/// The greatest amount under one name: what a JSON number holds exactly, in every language.
pub const MOST: u64 = (1 << 53) - 1;

/// A name under which is counted, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// A keyed digest, or a public reference made of one.
    pub name: String,
    /// When its window ends, in microseconds since 1970 (UTC). It may be forgotten some time later.
    pub until_us: i64,
}

/// What is to be set aside under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Where.
    pub account: Account,
    /// How much.
    pub amount: u64,
    /// What spent, reserved and this may be together; `None`: anything.
    pub cap: Option<u64>,
    /// What is known from elsewhere to have been spent by now. If the meter has less it has lost
    /// something, and goes on from here: the larger counts.
    pub known: u64,
}

/// What stands under a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// What was settled. Never becomes less.
    pub spent: u64,
    /// What is set aside and not settled.
    pub reserved: u64,
}

impl Total {
    /// Both.
    pub fn all(self) -> u64 {
        self.spent.saturating_add(self.reserved)
    }
}

/// What stands under a name once something has been set aside there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// With what was set aside.
    pub total: Total,
    /// How much less than [`Claim::known`] the meter had.
    pub missing: u64,
}

/// The outcome of [`Meter::reserve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// All of it is set aside.
    Held(Vec<Standing>),
    /// One cap does not allow it; nothing is set aside.
    Refused {
        /// Which claim's.
        at: usize,
        /// What stands there without it.
        total: Total,
    },
}

/// Counts integers under names, for many processes at once.
///
/// A request names itself by an id that no other request has. What it sets aside stands until it is
/// settled or released, or the window of the name ends, whatever becomes of the process that asked.
/// Every operation may be repeated: it is done once. On one name the operations are linearizable, and
/// durable, as far as the backend promises that, when they return.
///
/// A meter may count too much for a while (a reservation whose process died, one that was given back
/// while the answer to it was lost), never too little. [`MeterError::Unavailable`] from `reserve`
/// means that something may have been set aside; from `settle`, that the reservation may still stand
/// in place of what was spent.
#[async_trait]
pub trait Meter: Send + Sync {
    /// Sets something aside under each of several names, or nothing if one of the caps does not allow
    /// it. Names are taken in the order of the claims, which is the same for all who ask. A request
    /// that has set something aside, or has settled, sets nothing aside again.
    async fn reserve(&self, request: &str, claims: &[Claim]) -> Result<Reserved, MeterError>;

    /// Puts `spent` in the place of what the request has set aside under each of the names. Where the
    /// meter has lost the reservation it is counted all the same.
    async fn settle(
        &self,
        request: &str,
        spent: u64,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError>;

    /// Takes back what a request has set aside that spent nothing: nobody was asked.
    async fn release(&self, request: &str, accounts: &[Account]) -> Result<(), MeterError>;

    /// What stands under a name.
    async fn total(&self, name: &str) -> Result<Total, MeterError>;

    /// What the clock of the meter's store shows, in microseconds since 1970 (UTC): all processes that
    /// share it see the same day. The process's own where the store has none.
    fn now_us(&self) -> i64;

    /// Forgets names whose windows have ended, where that does not happen by itself.
    async fn sweep(&self) -> Result<(), MeterError>;
}

/// Why the meter did not count.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    /// A row is not in a form that any version wrote.
    #[error("a row of the meter is damaged")]
    Damaged,
    /// A row was written by a later version of this program.
    #[error("a row of the meter is in a newer format")]
    Newer,
    /// The backend failed or did not answer.
    #[error("the meter's store")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<DatabaseError> for MeterError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<RegistryError> for MeterError {
    fn from(error: RegistryError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}
