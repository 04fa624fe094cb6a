//! The record that says that there was no exchange.

use gatehouse_ledger::event::Event;
use gatehouse_redactor::Label;

use super::parts::{BuildError, Draft, Link, Source, Subject, Who};

/// `exchange.refused`: the one record of a request that never became an exchange.
pub struct Refused<'a> {
    /// The request id.
    pub request: &'a str,
    /// The session and the event's place in it, if the request got as far as having one.
    pub session: Option<(Subject<'a>, Link)>,
    /// The caller, if known.
    pub who: Option<Who<'a>>,
    /// Where the request came from.
    pub source: Source<'a>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The error code of the answer, from the closed list.
    pub code: &'static str,
    /// Whose fault: `caller`, `policy`, `provider` or `gateway`.
    pub blame: &'static str,
    /// The label whose finding refused the request.
    pub label: Option<Label>,
    /// The rule that found it.
    pub rule: Option<&'static str>,
    /// Why the caller has no such session, which no caller is told.
    pub absent: Option<Absent<'a>>,
}

/// Why a session that was asked for is not the caller's to use.
#[derive(Clone, Copy)]
pub struct Absent<'a> {
    /// Why, from a closed list.
    pub reason: &'static str,
    /// The reference of a session that is somebody else's. Not a `sid`: the refusal is none of that
    /// session's events.
    pub session: Option<&'a str>,
    /// Whose it is: a keyed pseudonym, `p_…`.
    pub owner: Option<&'a str>,
}

impl Refused<'_> {
    /// The event; it stands in the chain of its session if it has one.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn build(&self) -> Result<Event, BuildError> {
        let mut draft = Draft::new("exchange.refused");
        draft.word("rid", self.request);
        if let Some((subject, link)) = self.session {
            draft.subject(subject, link);
        }
        if let Some(who) = self.who {
            draft.who(who);
        }
        draft.source(self.source);
        draft.put().integer("status", u64::from(self.status));
        draft
            .put()
            .text("code", self.code)
            .text("blame", self.blame);
        let label = self.label.map(Label::as_str);
        draft.put().some_text("label", label);
        draft.put().some_text("rule", self.rule);
        if let Some(absent) = self.absent {
            let words = [
                ("reason", Some(absent.reason)),
                ("session", absent.session),
                ("owner", absent.owner),
            ];
            draft.object("absent", words, |_| {});
        }
        draft.finish()
    }
}
