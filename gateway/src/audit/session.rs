//! The life of a session, and what is known to be missing from it.

use std::time::Duration;

use gatehouse_ledger::event::Event;

use super::parts::{BuildError, Draft, Link, StateKey, Subject, Who};

/// `session.open`: number 0 of every session's chain.
pub struct SessionOpen<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// Whose it is.
    pub who: Who<'a>,
    /// When it ends at the latest, in microseconds since 1970.
    pub expires_us: u64,
    /// The key that seals its state.
    pub state: Option<StateKey<'a>>,
}

impl SessionOpen<'_> {
    /// The event; its link is always [`Link::START`].
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("session.open");
        draft.subject(self.subject, Link::START);
        draft.who(self.who);
        draft.put().integer("exp_us", self.expires_us);
        draft.state_key(self.state);
        draft.finish()
    }
}

/// Something that ends a session.
pub struct SessionEnd<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// What.
    pub ending: SessionEnding,
}

/// What ends a session, and the kind of record it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnding {
    /// `session.close`: its owner closed it.
    Closed,
    /// `session.erase.request`: its key was destroyed.
    Erased,
    /// `session.expire`: it was idle for too long, or reached its latest end.
    Expired,
    /// `session.revoke`: an operator revoked it, or its owner's key.
    Revoked,
}

impl SessionEnd<'_> {
    /// The event at `link` of its session.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self, link: Link) -> Result<Event, BuildError> {
        let mut draft = Draft::new(match self.ending {
            SessionEnding::Closed => "session.close",
            SessionEnding::Erased => "session.erase.request",
            SessionEnding::Expired => "session.expire",
            SessionEnding::Revoked => "session.revoke",
        });
        draft.subject(self.subject, link);
        draft.finish()
    }
}

/// `session.erase.request` of a session in whose chain nothing more can be said: it had ended, and its key
/// was kept for its payloads; or its state cannot be read. It stands outside of the session's chain.
pub struct ErasedLater<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// Whose it was.
    pub tenant: &'a str,
}

impl ErasedLater<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("session.erase.request");
        draft.outside(self.subject);
        draft.word("tenant", self.tenant);
        draft.finish()
    }
}

/// What was done about a legal hold, and the kind of record it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldAction {
    /// `session.hold`: it was put on a session.
    Hold,
    /// `session.erase.refused`: a key was not destroyed because of it.
    RefuseErasure,
    /// `session.release`: it was ended.
    Release,
}

/// Something that was done about a legal hold. It stands outside of the session's chain, which may have
/// ended.
pub struct HoldChange<'a> {
    /// What.
    pub action: HoldAction,
    /// The session.
    pub subject: Subject<'a>,
    /// Whose it is.
    pub tenant: &'a str,
    /// Who did it or asked for it, as the system knows: `uid:` and a number, or `gateway`.
    pub by: &'a str,
    /// Why it is on hold, such as the number of a case.
    pub reason: &'a str,
    /// Since when it is, in microseconds since 1970 (UTC).
    pub since_us: i64,
}

impl HoldChange<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new(match self.action {
            HoldAction::Hold => "session.hold",
            HoldAction::RefuseErasure => "session.erase.refused",
            HoldAction::Release => "session.release",
        });
        draft.outside(self.subject);
        draft.word("tenant", self.tenant);
        let words = [("by", Some(self.by)), ("reason", Some(self.reason))];
        draft.object("hold", words, |hold| {
            hold.integer("since_us", self.since_us.unsigned_abs());
        });
        draft.finish()
    }
}

/// `session.erase.final`: the store that a session's key was destroyed in cannot be put back to before
/// that any more. It stands outside of the session's chain.
pub struct ErasedForGood<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// Whose it was.
    pub tenant: &'a str,
    /// When the key was destroyed, in microseconds since 1970 (UTC).
    pub since_us: i64,
    /// How far back the store can be put, as the configuration says.
    pub recovery: Duration,
}

impl ErasedForGood<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("session.erase.final");
        draft.outside(self.subject);
        draft.word("tenant", self.tenant);
        let recovery_us = u64::try_from(self.recovery.as_micros()).unwrap_or(u64::MAX);
        draft
            .put()
            .integer("since_us", self.since_us.unsigned_abs())
            .integer("recovery_us", recovery_us);
        draft.finish()
    }
}

/// `audit.gap`: an event of a session may be missing from the log, or from the session's store. It
/// is written by whoever holds the session next, so that the gap is declared and not found.
pub struct AuditGap<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// The number of the event that may be missing.
    pub missing: u64,
}

impl AuditGap<'_> {
    /// The event at `link` of its session; the link names the missing event as the one before.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self, link: Link) -> Result<Event, BuildError> {
        let mut draft = Draft::new("audit.gap");
        draft.subject(self.subject, link);
        draft.put().integer("missing", self.missing);
        draft.finish()
    }
}

/// `session.rolled_back`: the store has lost a part of a session, which is not gone on with. It stands
/// outside of the session's chain.
pub struct RolledBack<'a> {
    /// The session.
    pub subject: Subject<'a>,
    /// Whose it is.
    pub tenant: &'a str,
    /// The number that its next record would have by what the store says, where that could be read.
    pub found: Option<u64>,
    /// The number that it would have by what the log says, where the log told.
    pub known: Option<u64>,
}

impl RolledBack<'_> {
    /// The event.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("session.rolled_back");
        draft.outside(self.subject);
        draft.word("tenant", self.tenant);
        draft
            .put()
            .some_integer("store_sseq", self.found)
            .some_integer("log_sseq", self.known);
        draft.finish()
    }
}
