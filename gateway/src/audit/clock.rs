//! How the clock is that the log's times are of.

use gatehouse_envelope::digest::hex;
use gatehouse_ledger::event::Event;

use super::parts::{BuildError, Draft};

/// Whose clock it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remote {
    /// The time stamp authority's.
    Timestamp,
    /// A witness's, by its key id.
    Witness([u8; 4]),
}

impl Remote {
    /// As records say it.
    pub fn source(&self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Witness(_) => "witness",
        }
    }

    /// Which one, as records say it: a witness's key id in hex.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Timestamp => None,
            Self::Witness(id) => Some(hex(id)),
        }
    }
}

/// Why it is told now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was told long ago.
    Again,
    /// Nothing was known of that clock before.
    First,
    /// One of the two clocks was set.
    Moved,
}

/// `clock.status`: by how much the writer's clock can be ahead of another one, or behind it.
pub struct ClockStatus {
    /// Why now.
    pub why: Why,
    /// The other clock.
    pub of: Remote,
    /// By how much it is ahead at most, in microseconds; 0 if it cannot be.
    pub ahead_us: u64,
    /// By how much it is behind at most; 0 if it cannot be.
    pub behind_us: u64,
    /// By how much it is off at least; 0 if it may be right.
    pub off_us: u64,
    /// How many answers gave that.
    pub readings: u64,
}

impl ClockStatus {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("clock.status");
        draft.word(
            "reason",
            match self.why {
                Why::Again => "again",
                Why::First => "first",
                Why::Moved => "moved",
            },
        );
        let id = self.of.id();
        let words = [("source", Some(self.of.source())), ("id", id.as_deref())];
        draft.object("clock", words, |clock| {
            clock
                .integer("ahead_us", self.ahead_us)
                .integer("behind_us", self.behind_us)
                .integer("off_us", self.off_us)
                .integer("n", self.readings);
        });
        draft.finish()
    }
}
