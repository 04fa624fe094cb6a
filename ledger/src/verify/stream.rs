//! One stream: its certificate, its segments in order, its end.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use gatehouse_envelope::stamp::Authorities;

use super::{
    Doubt, Fault, Finding, Locks, Report, State, StreamReport,
    seal::Promise,
    segment::{End, Memory, Position, Problem, Record},
};
use crate::{
    cert::{Certificate, CertificateError},
    note::Key,
    seal::{SealedState, fingerprint},
    segment::MAX_STORED,
    store::{Fetcher, StoreError, Stored},
    tree::Tree,
    trust::Trust,
};

/// The most bytes of a certificate that are read.
const MAX_CERTIFICATE: usize = 1 << 16;

/// How long after the last record of a stream a seal must list it.
const LATE_US: u64 = 600_000_000;

/// What the store holds of a stream.
#[derive(Default)]
pub(super) struct Segments {
    pub(super) certificate: Option<String>,
    /// First number, day and name, in order.
    pub(super) segments: BTreeSet<(u64, String, String)>,
}

/// What streams are checked with.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    pub(super) log: &'a dyn Fetcher,
    pub(super) trust: Option<&'a Trust>,
    pub(super) authorities: Option<&'a Authorities>,
    pub(super) locks: Locks,
}

/// Where a stream stands, and what it is checked against.
pub(super) struct Place<'p> {
    pub(super) by: By<'p>,
    pub(super) writer: &'p str,
    pub(super) found: &'p Segments,
    /// What the seals say of it.
    pub(super) promise: Option<&'p Promise>,
}

/// Checks a stream and reports on it; calls `step` after each segment.
pub(super) fn check_stream(
    place: &Place<'_>,
    report: &mut Report,
    event: &mut dyn FnMut(&Record<'_>),
    mut step: impl FnMut(),
) {
    let mut position = Position {
        writer: place.writer,
        tree: Tree::new(),
        previous: None,
        last_us: 0,
        day: None,
        end: End::None,
        by_deployment: false,
        memory: Memory::default(),
    };
    let (mut state, mut seals, faults) = (State::Broken, None, report.broken());
    let mut event = |record: &Record<'_>| {
        if record.kind == "writer.open" {
            seals = record.seals.map(str::to_owned);
        }
        event(record);
    };
    if let Some(certificate) = certificate(place, report) {
        let mut kept = Kept::new(place.promise);
        let whole = place.found.segments.iter().all(|segment| {
            let good = check_segment(
                place,
                segment,
                &certificate,
                &mut position,
                report,
                &mut event,
            ) && kept.is_kept(&position, segment, report);
            step();
            good
        });
        if whole && kept.is_whole(&position, place, report) {
            state = finish(&position, place, report);
            unsealed(place, seals.as_deref(), &position, report);
        }
    }
    // What ends it here may be all right, and in a folder that could not be read.
    let hidden = state == State::Broken
        && report.broken() == faults
        && report.hidden.may_have_stream(place.writer);
    if hidden {
        state = State::Open;
    }
    report.records += position.tree.size();
    report.streams.push(StreamReport {
        writer: place.writer.to_owned(),
        state,
        hidden,
        records: position.tree.size(),
        last_us: position.last_us,
        sealed: place.promise.map(Promise::size),
    });
}

impl By<'_> {
    /// Reads an object, or reports why it cannot be.
    fn read(
        &self,
        name: &str,
        limit: usize,
        too_large: Fault,
        report: &mut Report,
    ) -> Option<Stored> {
        match self.log.fetch(name, limit) {
            Ok(Some(stored)) => return Some(stored),
            Err(StoreError::TooLarge) => report.fault(name, too_large),
            Err(StoreError::Conflict) => report.fault(name, Fault::Differs),
            Ok(None) => report.doubt(name, Doubt::Unreadable),
            Err(error) => report.unread(name, &error),
        }
        None
    }
}

/// What seals say of a stream, compared with it as it is read.
struct Kept<'p> {
    promise: Option<&'p Promise>,
    /// Up to where it was compared.
    size: u64,
}

impl<'p> Kept<'p> {
    fn new(promise: Option<&'p Promise>) -> Self {
        Self { promise, size: 0 }
    }

    /// Whether the stream, now at the end of `segment`, is what seals say of it.
    fn is_kept(
        &mut self,
        position: &Position<'_>,
        (_, _, name): &(u64, String, String),
        report: &mut Report,
    ) -> bool {
        let Some(promise) = self.promise else {
            return true;
        };
        let end = match position.end {
            End::Closed => b'c',
            End::None => b'o',
            End::Recovered { .. } => b'r',
        };
        let (size, root) = (position.tree.size(), position.tree.root());
        let is = fingerprint(&root, position.previous.as_ref(), position.last_us, end);
        // A seal names the ends of segments, and no place within one.
        let mut said = promise.sizes.range(self.size + 1..=size);
        let kept = said.all(|(at, said)| *at == size && *said == is);
        self.size = size;
        if !kept {
            report.fault(name, Fault::StreamChanged);
        }
        kept
    }

    /// Whether the stream is as long as seals say.
    fn is_whole(&self, position: &Position<'_>, place: &Place<'_>, report: &mut Report) -> bool {
        let sealed = self.promise.map_or(0, Promise::size);
        if sealed <= position.tree.size() {
            return true;
        }
        report.fault_at(place.writer, Some(position.tree.size()), Fault::StreamCut);
        false
    }
}

/// Says if a stream that says which seals its store has is in none of them, or has outlived them.
fn unsealed(place: &Place<'_>, log: Option<&str>, position: &Position<'_>, report: &mut Report) {
    let Some(log) = log else {
        return;
    };
    let seals = report.seals.iter().find(|seals| seals.log == log);
    let far = |one: u64, other: u64| one > other.saturating_add(LATE_US);
    let open = matches!(position.end, End::None);
    let doubt = match (seals, place.promise) {
        (None, None) => Doubt::NotSealed,
        // A stream is stored from its first second on, and sealed within the next minute.
        (Some(seals), None) if !seals.broken && far(seals.last_us, position.last_us) => {
            Doubt::SealUnlisted
        }
        // It went on for long after the last seal: seals have been removed, or were not made.
        (Some(seals), Some(_)) if open && far(position.last_us, seals.last_us) => Doubt::OpenEnd,
        _ => return,
    };
    report.doubt(place.writer, doubt);
}

/// The issuers of all certificates that hold in themselves.
pub(super) fn issuers(log: &dyn Fetcher, streams: &BTreeMap<String, Segments>) -> Vec<Key> {
    let mut keys = Vec::new();
    for name in streams
        .values()
        .filter_map(|found| found.certificate.as_ref())
    {
        let stored = log.get(name, MAX_CERTIFICATE).ok().flatten();
        if let Some(certificate) = stored.and_then(|bytes| Certificate::open(&bytes).ok())
            && !keys.contains(&certificate.issuer)
        {
            keys.push(certificate.issuer);
        }
    }
    keys
}

/// The writer's certificate, if it can be relied upon.
fn certificate(place: &Place<'_>, report: &mut Report) -> Option<Certificate> {
    let Place {
        by, writer, found, ..
    } = *place;
    let Some(name) = &found.certificate else {
        // It is stored before the first segment, so somebody took it away.
        report.fault(
            found.segments.first().map_or("", |s| s.2.as_str()),
            Fault::CertificateMissing,
        );
        return None;
    };
    let too_large = Fault::Certificate(CertificateError::Malformed);
    let stored = by.read(name, MAX_CERTIFICATE, too_large, report)?;
    if let Some(kept) = stored.kept {
        by.locks.judge(name, kept, None, report);
    }
    let certificate = match Certificate::open(&stored.bytes) {
        Ok(certificate) => certificate,
        Err(CertificateError::Newer) => {
            report.doubt(name, Doubt::Newer);
            return None;
        }
        Err(error) => {
            report.fault(name, Fault::Certificate(error));
            return None;
        }
    };
    if certificate.writer != writer {
        report.fault(name, Fault::CertificateOther);
        return None;
    }
    if by
        .trust
        .is_some_and(|trust| !trust.logs.contains(&certificate.issuer))
    {
        report.fault(name, Fault::Untrusted);
        return None;
    }
    Some(certificate)
}

/// Checks one segment; false if the stream cannot be followed any further.
fn check_segment(
    place: &Place<'_>,
    (first_seq, day, name): &(u64, String, String),
    certificate: &Certificate,
    position: &mut Position<'_>,
    report: &mut Report,
    event: &mut dyn FnMut(&Record<'_>),
) -> bool {
    match first_seq.cmp(&position.tree.size()) {
        Ordering::Equal => {}
        Ordering::Greater => {
            report.fault(name, Fault::Missing);
            return false;
        }
        Ordering::Less => {
            report.fault(name, Fault::Overlap);
            return false;
        }
    }
    let stored = place.by.read(name, MAX_STORED, Fault::Frame, report);
    let Some(stored) = stored else {
        return false;
    };
    match position.advance(&stored.bytes, day, certificate, event) {
        Ok(bytes) => {
            report.bytes += bytes;
            if let Some(kept) = stored.kept {
                let last_us = Some(position.last_us);
                place.by.locks.judge(name, kept, last_us, report);
            }
            true
        }
        Err((seq, Problem::Fault(fault))) => {
            report.fault_at(name, seq, fault);
            false
        }
        Err((_, Problem::Newer)) => {
            report.doubt(name, Doubt::Newer);
            false
        }
    }
}

/// What the end of a stream says.
fn finish(position: &Position<'_>, at: &Place<'_>, report: &mut Report) -> State {
    let found = at.found;
    let last = found.segments.last().or(found.segments.first());
    let place = match (last, &found.certificate) {
        (Some((_, _, name)), _) | (None, Some(name)) => name.as_str(),
        (None, None) => "",
    };
    let seq = position.tree.size().checked_sub(1);
    match position.end {
        End::None => {
            match at.promise.map(|promise| promise.state) {
                // What the seals have is there; what came behind is past the horizon.
                Some(SealedState::Lost) => report.finding_at(place, seq, Finding::Lost),
                Some(_) => report.finding_at(place, seq, Finding::Running),
                None if found.segments.is_empty() => report.doubt(place, Doubt::NothingStored),
                None => report.doubt_at(place, seq, Doubt::OpenEnd),
            }
            State::Open
        }
        End::Closed if position.by_deployment => {
            report.fault_at(place, seq, Fault::Succession);
            State::Broken
        }
        End::Closed => State::Closed,
        End::Recovered { cut } => {
            let finding = if cut {
                Finding::RecoveredCut
            } else {
                Finding::Recovered
            };
            report.finding(place, finding);
            State::Recovered
        }
    }
}
