//! Verification: what a stored log proves, and past which point it proves nothing.
//!
//! Only public keys are needed, no network and no gateway. Every byte of a segment is either
//! recomputed, hashed into a signed root, or part of a signature; the first thing that does not fit
//! ends the check of its stream, since nothing behind it can be tied to what came before. Streams
//! are read one segment at a time. No input makes this panic.

mod exchange;
mod fault;
mod hidden;
mod kept;
mod report;
mod seal;
pub(crate) mod segment;
pub(crate) mod session;
mod stamp;
mod stream;

use std::collections::BTreeMap;

pub use fault::{Class, Doubt, Fault, Finding};
pub use kept::Locks;
pub use report::{At, Report, SealReport, Stamped, State, StreamReport, Verdict, Witnessed};

use gatehouse_envelope::stamp::Authorities;

use crate::{
    names::Name,
    store::{Fetcher, Object, StoreError, Survey},
    trust::{Quorum, Trust},
};
use exchange::Exchanges;
use seal::{Promises, Seals, check_seals};
use session::Sessions;
use stream::{By, Place, Segments, check_stream, issuers};

/// How far verification is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Segments read.
    pub segments: u64,
    /// Segments there are.
    pub of: u64,
}

/// What to verify with.
#[derive(Clone, Copy)]
pub struct Verifier<'a> {
    trust: Option<&'a Trust>,
    authorities: Option<&'a Authorities>,
    locks: Locks,
    first_only: bool,
}

impl<'a> Verifier<'a> {
    /// Verifies against a trust file. Without one a log can at best be consistent in itself, which
    /// one that was rewritten whole under another key is as well.
    pub fn new(trust: Option<&'a Trust>) -> Self {
        Self {
            trust,
            authorities: None,
            locks: Locks::default(),
            first_only: false,
        }
    }

    /// Stops at the first fault of all instead of the first of each stream.
    #[must_use]
    pub fn first_fault_only(mut self) -> Self {
        self.first_only = true;
        self
    }

    /// Demands time stamps by one of `authorities` on the logs of seals.
    #[must_use]
    pub fn authorities(mut self, authorities: Option<&'a Authorities>) -> Self {
        self.authorities = authorities;
        self
    }

    /// Demands other locks than the default ones, where the store has locks at all.
    #[must_use]
    pub fn locks(mut self, locks: Locks) -> Self {
        self.locks = locks;
        self
    }

    /// Reads everything that `log` holds and says what it proves.
    pub fn verify(&self, log: &dyn Fetcher, mut progress: impl FnMut(Progress)) -> Report {
        let mut report = Report::default();
        if self.trust.is_none() {
            report.doubt("", Doubt::SignerUnknown);
        }
        let Some((seals, streams)) = list(log, &mut report) else {
            return report;
        };
        let by = By {
            log,
            trust: self.trust,
            authorities: self.authorities,
            locks: self.locks,
        };
        let promises = seals_say(by, &seals, &streams, &mut report);
        let mut done = Progress {
            segments: 0,
            of: streams
                .values()
                .map(|found| found.segments.len() as u64)
                .sum(),
        };
        let (mut sessions, mut exchanges) = (Sessions::default(), Exchanges::default());
        for (writer, found) in &streams {
            if self.first_only && report.verdict() == Verdict::Broken {
                return report;
            }
            let mut event = |record: &segment::Record<'_>| {
                sessions.add(record);
                exchanges.add(record);
            };
            let step = || {
                done.segments += 1;
                progress(done);
            };
            let place = Place {
                by,
                writer,
                found,
                promise: promises.get(writer),
            };
            check_stream(&place, &mut report, &mut event, step);
        }
        for writer in promises
            .keys()
            .filter(|writer| !streams.contains_key(*writer))
        {
            report.fault(writer, Fault::StreamMissing);
        }
        // A stream whose end is not there may hold what a session misses.
        let complete = !report.hidden.may_have_records()
            && report
                .streams
                .iter()
                .all(|stream| stream.state.is_complete());
        sessions.finish(complete, &mut report);
        exchanges.finish(&mut report);
        report
    }
}

/// Checks the seals, and gives what they say of the streams.
fn seals_say(
    by: By<'_>,
    seals: &BTreeMap<String, Seals>,
    streams: &BTreeMap<String, Segments>,
    report: &mut Report,
) -> Promises {
    let mut promises = Promises::new();
    let keys = match by.trust {
        Some(trust) => trust.logs.clone(),
        // Whose log it is cannot be told, but it can be one log.
        None => issuers(by.log, streams),
    };
    if keys.is_empty() && report.hidden.may_have_certificates() {
        // The keys may be in what could not be read, and whose log it is is not known anyway.
        return promises;
    }
    for (name, found) in seals {
        check_seals(by, (name, found), &keys, report, &mut promises);
    }
    let asked = by.trust.is_some_and(|trust| trust.quorum != Quorum::None);
    if asked && seals.is_empty() {
        report.doubt("", Doubt::Quorum);
    }
    promises
}

/// Sorts the names in the store by log of seals and by stream; none if the store does not answer.
///
/// A log may be written while it is read: what is listed later may know more than what is listed
/// before, so cosignatures and time stamps come before seals, and seals before streams.
fn list(
    log: &dyn Fetcher,
    report: &mut Report,
) -> Option<(BTreeMap<String, Seals>, BTreeMap<String, Segments>)> {
    let mut found: BTreeMap<String, Seals> = BTreeMap::new();
    for prefix in ["cosig/", "tsa/", "seal/"] {
        let listed = match log.survey(prefix) {
            Err(StoreError::Empty) => Vec::new(),
            listed => seen(listed, report)?,
        };
        for object in listed {
            match Name::parse(&object.name) {
                Name::Cosignature { log, number, id } => {
                    let seals = found.entry(log).or_default();
                    let of = seals.cosignatures.entry(number).or_default();
                    of.push((id, object.name));
                }
                Name::Seal { log, number } => {
                    let seals = found.entry(log).or_default();
                    seals.bodies.insert(number, object.name);
                }
                Name::SealNote { log, number } => {
                    let seals = found.entry(log).or_default();
                    seals.notes.insert(number, object.name);
                }
                Name::Stamp { log, day } => {
                    found
                        .entry(log)
                        .or_default()
                        .stamps
                        .insert(day, object.name);
                }
                _ => {}
            }
        }
    }
    let all = seen(log.survey(""), report)?;
    let streams = list_streams(all, report);
    if streams.is_empty() && found.is_empty() && report.hidden.is_empty() {
        report.doubt("", Doubt::Empty);
    }
    Some((found, streams))
}

/// What of a store could be listed; says what could not.
fn seen(listed: Result<Survey, StoreError>, report: &mut Report) -> Option<Vec<Object>> {
    match listed {
        Ok(Survey { objects, unread }) => {
            for (folder, error) in unread {
                report.hide(&folder, &error.into());
            }
            return Some(objects);
        }
        Err(StoreError::Empty) => report.doubt("", Doubt::EmptyPlace),
        Err(error) => report.unread("", &error),
    }
    None
}

/// Sorts names by stream, and says what can be said of names alone.
fn list_streams(objects: Vec<Object>, report: &mut Report) -> BTreeMap<String, Segments> {
    let mut streams: BTreeMap<String, Segments> = BTreeMap::new();
    for object in objects {
        if object.versions > 1 {
            report.fault(&object.name, Fault::Rewritten);
        }
        if object.deletions > 0 {
            report.fault(&object.name, Fault::Deleted);
        }
        match Name::parse(&object.name) {
            Name::Certificate { writer } => {
                streams.entry(writer).or_default().certificate = Some(object.name);
            }
            Name::Cosignature { .. }
            | Name::Seal { .. }
            | Name::SealNote { .. }
            | Name::Stamp { .. } => {}
            Name::Later => report.doubt(&object.name, Doubt::NotChecked),
            Name::Segment {
                day,
                writer,
                first_seq,
            } => {
                let place = (first_seq, day, object.name);
                streams.entry(writer).or_default().segments.insert(place);
            }
            Name::Unknown => report.finding(&object.name, Finding::Stranger),
        }
    }
    streams
}
