//! Sessions: the records of each, over all streams, form one chain without holes.
//!
//! Streams are read one after another, so the records of a session may come in any order. What is
//! known of a session is kept as runs of records that follow one another; in the end there must be
//! one, and it must begin at 0.

use std::collections::{BTreeSet, HashMap};

use data_encoding::HEXLOWER;

use super::{Doubt, Fault, Report, segment::Record};
use crate::{event::event_digest, tree::Hash};

#[derive(Default)]
pub(crate) struct Sessions {
    sessions: HashMap<Box<str>, Session>,
}

#[derive(Default)]
struct Session {
    /// In order, with holes between them.
    runs: Vec<Run>,
    /// Numbers that the log itself says may be missing.
    declared: BTreeSet<u64>,
    /// The first fault, and where.
    fault: Option<(u64, Fault)>,
}

/// Records that follow one another.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    /// What the first one names as the digest of the record before it.
    before: Hash,
    /// The digest of the last one.
    digest: Hash,
}

impl Sessions {
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        let (Some(name), Some(sseq)) = (record.session, record.sseq) else {
            return;
        };
        let before = record
            .sprev
            .and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
        let before = before.and_then(|bytes| Hash::try_from(bytes).ok());
        if !self.sessions.contains_key(name) {
            self.sessions.insert(name.into(), Session::default());
        }
        let Some(session) = self.sessions.get_mut(name) else {
            return;
        };
        match before {
            Some(before) if (record.kind == "session.open") == (sseq == 0) => {
                let digest = event_digest(record.event);
                session.insert(Run {
                    first: sseq,
                    last: sseq,
                    before,
                    digest,
                });
            }
            _ => session.fail(sseq, Fault::SessionChain),
        }
        if record.kind == "audit.gap" {
            session.declared.extend(record.missing);
        }
    }

    /// Whether two records of a session contradict each other. Holes are another matter.
    pub(crate) fn contradict(&self) -> bool {
        self.sessions
            .values()
            .any(|session| session.fault.is_some())
    }

    /// Reports on all sessions. If not every stream is `complete`, a hole is no contradiction.
    pub(crate) fn finish(self, complete: bool, report: &mut Report) {
        report.sessions = self.sessions.len() as u64;
        let mut sessions: Vec<_> = self.sessions.into_iter().collect();
        sessions.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, session) in sessions {
            if let Some((sseq, fault)) = session.fault {
                report.fault_at(&name, Some(sseq), fault);
                continue;
            }
            match session.hole() {
                None => {}
                Some(Hole {
                    sseq,
                    declared: true,
                }) => {
                    report.doubt_at(&name, Some(sseq), Doubt::DeclaredGap);
                }
                Some(Hole {
                    sseq,
                    declared: false,
                }) if complete => {
                    report.fault_at(&name, Some(sseq), Fault::SessionGap);
                }
                Some(Hole {
                    sseq,
                    declared: false,
                }) => {
                    report.doubt_at(&name, Some(sseq), Doubt::SessionGap);
                }
            }
        }
    }
}

/// A number that is missing in a session.
struct Hole {
    sseq: u64,
    declared: bool,
}

impl Session {
    fn fail(&mut self, sseq: u64, fault: Fault) {
        self.fault.get_or_insert((sseq, fault));
    }

    /// Adds a run of one record, and joins what then follows one another.
    fn insert(&mut self, new: Run) {
        if new.first == 0 && new.before != [0; 32] {
            return self.fail(0, Fault::SessionChain);
        }
        // Nearly always the record follows the one before it.
        let at = self.runs.partition_point(|run| run.last < new.first);
        if self.runs.get(at).is_some_and(|run| run.first <= new.first) {
            return self.fail(new.first, Fault::SessionFork);
        }
        self.runs.insert(at, new);
        self.join(at);
        if let Some(before) = at.checked_sub(1) {
            self.join(before);
        }
    }

    /// Joins the run `at` with the next one if that follows it.
    fn join(&mut self, at: usize) {
        let Some([left, right]) = self.runs.get_mut(at..at.saturating_add(2)) else {
            return;
        };
        if left.last.checked_add(1) != Some(right.first) {
            return;
        }
        let (sseq, holds) = (right.first, left.digest == right.before);
        *right = Run {
            first: left.first,
            before: left.before,
            ..*right
        };
        self.runs.remove(at);
        if !holds {
            self.fail(sseq, Fault::SessionChain);
        }
    }

    /// The first number that is missing; one that the log does not declare comes first.
    fn hole(&self) -> Option<Hole> {
        let mut next = 0;
        let mut found: Option<Hole> = None;
        for run in &self.runs {
            if next < run.first {
                // A hole is declared if each of its numbers is. One that is longer than there are
                // declarations is not, however long it is.
                let size = run.first - next;
                let declared = size <= self.declared.len() as u64
                    && (next..run.first).all(|number| self.declared.contains(&number));
                if !declared {
                    return Some(Hole {
                        sseq: next,
                        declared,
                    });
                }
                found.get_or_insert(Hole {
                    sseq: next,
                    declared,
                });
            }
            next = run.last.saturating_add(1);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{event::Event, verify::Verdict, verify::segment::read_event};

    fn chain(count: u64) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        for sseq in 0..count {
            let mut event = Event::kind(if sseq == 0 { "session.open" } else { "x" });
            let before = events.last().map_or([0; 32], Event::digest);
            event
                .text("sid", "s_1")
                .integer("sseq", sseq)
                .hex("sprev", &before);
            events.push(event.finish().unwrap());
        }
        events
    }

    fn check<'e>(events: impl IntoIterator<Item = &'e Event>, complete: bool) -> Report {
        let (mut sessions, mut report) = (Sessions::default(), Report::default());
        let mut scanner = crate::json::Scanner::default();
        for event in events {
            sessions.add(&read_event(&mut scanner, event.bytes()).unwrap());
        }
        sessions.finish(complete, &mut report);
        report
    }

    fn gap(sseq: u64, before: Hash, missing: u64) -> Event {
        let mut event = Event::kind("audit.gap");
        event
            .text("sid", "s_1")
            .integer("sseq", sseq)
            .hex("sprev", &before);
        event.integer("missing", missing);
        event.finish().unwrap()
    }

    #[test]
    fn forks_and_wrong_links_are_faults() {
        let events = chain(4);
        let fork = gap(2, events[1].digest(), 9);
        let fault = |events: &[&Event]| check(events.iter().copied(), true).faults[0].what;
        assert_eq!(
            fault(&[&events[0], &events[1], &events[2], &fork]),
            Fault::SessionFork
        );
        assert_eq!(
            fault(&[&events[0], &events[1], &fork, &events[3]]),
            Fault::SessionChain
        );
        assert_eq!(fault(&[&events[0], &events[0]]), Fault::SessionFork);
        let mut other = Event::kind("x");
        other
            .text("sid", "s_1")
            .integer("sseq", 0)
            .hex("sprev", &[0; 32]);
        assert_eq!(fault(&[&other.finish().unwrap()]), Fault::SessionChain);
    }

    #[test]
    fn a_declared_gap_is_a_doubt_and_a_declared_record_that_is_there_is_nothing() {
        let events = chain(3);
        let declared = gap(3, events[2].digest(), 2);
        let all = check(events.iter().chain([&declared]), true);
        assert_eq!(all.verdict(), Verdict::Holds);
        let without = check([&events[0], &events[1], &declared], true);
        assert_eq!(without.verdict(), Verdict::CouldNotTell);
        let more = check([&events[0], &declared], true);
        assert_eq!(more.verdict(), Verdict::Broken);
    }

    #[test]
    fn each_number_of_a_longer_hole_must_be_declared() {
        let events = chain(4);
        let first = gap(4, events[3].digest(), 2);
        let second = gap(5, first.digest(), 3);
        let both = check([&events[0], &events[1], &first, &second], true);
        assert_eq!(both.verdict(), Verdict::CouldNotTell);
        let one = check([&events[0], &events[1], &first], true);
        assert_eq!(one.verdict(), Verdict::Broken);
        let shorter = check([&events[0], &first, &second], true);
        assert_eq!(shorter.verdict(), Verdict::Broken);
    }

    proptest! {
        #[test]
        fn any_order_holds_and_any_missing_record_is_a_gap(
            count in 2u64..20, drop in any::<prop::sample::Index>(), seed in any::<u64>(),
        ) {
            let mut events = chain(count);
            let missing = drop.index(events.len());
            // A shuffle by a fixed rule.
            events.sort_by_key(|event| event.digest().map(|b| b ^ seed as u8));
            prop_assert_eq!(check(&events, true).verdict(), Verdict::Holds);
            let missing_digest = chain(count)[missing].digest();
            let rest = events.iter().filter(|event| event.digest() != missing_digest);
            let last = missing as u64 + 1 == count;
            let (closed, open) = (check(rest.clone(), true), check(rest, false));
            let verdicts = if last {
                (Verdict::Holds, Verdict::Holds)
            } else {
                (Verdict::Broken, Verdict::CouldNotTell)
            };
            prop_assert_eq!((closed.verdict(), open.verdict()), verdicts);
        }
    }
}
