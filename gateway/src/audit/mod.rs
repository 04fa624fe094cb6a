//! What the gateway writes down: typed events, and the book that takes them.
//!
//! No event can hold payload text. Its fields are numbers, digests, entity labels, closed enums and
//! *words*: ids made by the gateway and names from the configuration, checked against a narrow
//! grammar when the event is built. A word outside that grammar makes the event, and so what it
//! would have recorded, fail. The one text is the operator's own: what the policy says, without what may
//! name somebody.

mod book;
mod bucket;
mod clock;
mod degraded;
mod exchange;
mod operation;
mod owed;
mod parts;
mod pledge;
mod prompt;
mod redaction;
mod refused;
mod session;
mod state;
#[cfg(test)]
mod tests;

pub use book::{Book, BookError, LedgerClock, Unconfirmed};
pub(crate) use bucket::open_bucket;
pub use clock::{ClockStatus, Remote, Why};
pub use exchange::{
    Admitted, Charged, Destination, Ending, Reply, Restored, Settled, Upstream, Usage,
};
pub use gatehouse_ledger::event::Event;
#[cfg(feature = "aws")]
pub use operation::KmsUse;
pub use operation::{
    AdminAction, AdminChange, AuthDeny, ConfigSnapshot, PolicyLoad, PolicyText, root_name,
};
pub use owed::Later;
pub(crate) use owed::{Owing, offer};
pub use parts::{BuildError, Link, Source, StateKey, Subject, Who};
pub use pledge::Pledge;
pub use prompt::Prompt;
pub use redaction::Redaction;
pub use refused::{Absent, Refused};
pub use session::{
    AuditGap, ErasedForGood, ErasedLater, HoldAction, HoldChange, RolledBack, SessionEnd,
    SessionEnding, SessionOpen,
};
pub use state::{Proposed, StateChange, StateKind};
