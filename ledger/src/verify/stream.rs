//! One stream: its certificate, its segments in order, its end.

use std::{cmp::Ordering, collections::BTreeSet};

use super::{
    Doubt, Fault, Finding, Locks, Report, State, StreamReport,
    segment::{End, Memory, Position, Problem, Record},
};
use crate::{
    cert::{Certificate, CertificateError},
    segment::MAX_STORED,
    store::{Fetcher, StoreError, Stored},
    tree::Tree,
    trust::Trust,
};

/// The most bytes of a certificate that are read.
const MAX_CERTIFICATE: usize = 1 << 16;

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
    pub(super) locks: Locks,
}

/// Checks a stream and reports on it; calls `step` after each segment.
pub(super) fn check_stream(
    by: By<'_>,
    writer: &str,
    found: &Segments,
    report: &mut Report,
    event: &mut dyn FnMut(&Record<'_>),
    mut step: impl FnMut(),
) {
    let mut position = Position {
        writer,
        tree: Tree::new(),
        previous: None,
        last_us: 0,
        day: None,
        end: End::None,
        by_deployment: false,
        memory: Memory::default(),
    };
    let mut state = State::Broken;
    if let Some(certificate) = certificate(by, writer, found, report) {
        let whole = found.segments.iter().all(|segment| {
            let good = check_segment(by, segment, &certificate, &mut position, report, event);
            step();
            good
        });
        if whole {
            state = finish(&position, found, report);
        }
    }
    report.records += position.tree.size();
    report.streams.push(StreamReport {
        writer: writer.to_owned(),
        state,
        records: position.tree.size(),
        last_us: position.last_us,
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

/// The writer's certificate, if it can be relied upon.
fn certificate(
    by: By<'_>,
    writer: &str,
    found: &Segments,
    report: &mut Report,
) -> Option<Certificate> {
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
    by: By<'_>,
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
    let Some(stored) = by.read(name, MAX_STORED, Fault::Frame, report) else {
        return false;
    };
    match position.advance(&stored.bytes, day, certificate, event) {
        Ok(bytes) => {
            report.bytes += bytes;
            if let Some(kept) = stored.kept {
                let last_us = Some(position.last_us);
                by.locks.judge(name, kept, last_us, report);
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
fn finish(position: &Position<'_>, found: &Segments, report: &mut Report) -> State {
    let last = found.segments.last().or(found.segments.first());
    let place = match (last, &found.certificate) {
        (Some((_, _, name)), _) | (None, Some(name)) => name.as_str(),
        (None, None) => "",
    };
    let seq = position.tree.size().checked_sub(1);
    match position.end {
        End::None if found.segments.is_empty() => {
            report.doubt(place, Doubt::NothingStored);
            State::Open
        }
        End::None => {
            report.doubt_at(place, seq, Doubt::OpenEnd);
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
