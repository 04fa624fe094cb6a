//! What a log says of payloads: which sessions have some, and which were erased.

use std::collections::HashMap;

use gatehouse_ledger::{payload::Body, read::Entry};

use crate::{cli::Failure, proved::Proved};

/// What the whole log says, before any payload is looked at.
#[derive(Default)]
pub(super) struct Survey {
    /// Sessions with payloads, in the order in which the log names them first.
    pub(super) sessions: Vec<Box<str>>,
    /// Where each of them stands in that order.
    places: HashMap<Box<str>, usize>,
    /// The record that says that a session was erased, as `writer/number`.
    erased: HashMap<Box<str>, String>,
    /// Payloads that the log names.
    pub(super) named: u64,
}

impl Survey {
    /// Reads the log once.
    pub(super) fn of(log: &Proved<'_>) -> Result<Self, Failure> {
        let mut survey = Self::default();
        log.records(|entry| {
            survey.record(entry);
            Ok(())
        })?;
        Ok(survey)
    }

    fn record(&mut self, entry: &Entry<'_>) {
        if entry.kind == "session.erase.request" {
            let outside = || outside(entry.event);
            if let Some(session) = entry.session.map(str::to_owned).or_else(outside) {
                let proof = format!("{}/{}", entry.writer, entry.seq);
                self.erased.entry(session.into()).or_insert(proof);
            }
        }
        for body in Body::read(entry.event).unwrap_or_default() {
            self.named += 1;
            let session: Box<str> = body.location.session.into();
            let next = self.sessions.len();
            let sessions = &mut self.sessions;
            self.places.entry(session).or_insert_with_key(|session| {
                sessions.push(session.clone());
                next
            });
        }
    }

    /// The record that proves that a session was erased.
    pub(super) fn erased(&self, session: &str) -> Option<&str> {
        self.erased.get(session).map(String::as_str)
    }

    /// Sessions with payloads that were not erased, from one of them on.
    pub(super) fn from<'s>(&'s self, session: &str) -> impl Iterator<Item = &'s str> {
        let at = self.places.get(session).copied();
        let rest = at
            .and_then(|at| self.sessions.get(at..))
            .unwrap_or_default();
        let rest = rest.iter().map(AsRef::as_ref);
        rest.filter(|session| self.erased(session).is_none())
    }
}

/// The session of a record that stands outside of its chain.
fn outside(event: &str) -> Option<String> {
    let event: serde_json::Value = serde_json::from_str(event).ok()?;
    let session = event.get("outside")?.get("session")?.as_str()?;
    Some(session.to_owned())
}
