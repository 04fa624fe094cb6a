//! Seals: each log of them from its first to its last, and what they say of the streams.
//!
//! The first fault of a log of seals ends its check, as with streams. What the seals before it say
//! of streams still counts: it is signed.

use std::collections::BTreeMap;

use super::{Doubt, Fault, Finding, Report, SealReport, Witnessed, stream::By};
use crate::{
    clock::day,
    note::{Key, Note, checkpoint},
    seal::{MAX_NOTE, MAX_SEAL, Seal, SealedState, Unsealed, digests},
    store::{Kept, StoreError},
    tree::{Hash, Tree},
    trust::Quorum,
};

/// How far the cosignatures may be behind the seals: they come when a witness answers.
const BEHIND_US: u64 = 600_000_000;
/// How much later than its seal a cosignature or time stamp may be: what comes later does not show that
/// the seal is of its time.
pub(super) const LATE_US: u64 = 49 * 3600 * 1_000_000;

/// What the store holds of a log of seals: names by the seals' numbers.
#[derive(Default)]
pub(super) struct Seals {
    pub(super) bodies: BTreeMap<u64, String>,
    pub(super) notes: BTreeMap<u64, String>,
    pub(super) cosignatures: BTreeMap<u64, Vec<([u8; 4], String)>>,
    /// Names of time stamps by the days of the seals.
    pub(super) stamps: BTreeMap<String, String>,
}

/// What seals say of a stream.
pub(super) struct Promise {
    /// What it was at which size: see `Sealed::fingerprint`.
    pub(super) sizes: BTreeMap<u64, Hash>,
    pub(super) state: SealedState,
}

impl Promise {
    /// The size up to which seals have it.
    pub(super) fn size(&self) -> u64 {
        self.sizes.last_key_value().map_or(0, |(size, _)| *size)
    }
}

pub(super) type Promises = BTreeMap<String, Promise>;

/// Checks a log of seals, reports on it, and adds what it says of streams to `promises`.
pub(super) fn check_seals(
    by: By<'_>,
    (name, found): (&str, &Seals),
    keys: &[Key],
    report: &mut Report,
    promises: &mut Promises,
) {
    let mut check = Check {
        by,
        name,
        found,
        keys,
        kept: Vec::new(),
        tree: Tree::new(),
        last: None,
        summary: SealReport {
            log: name.to_owned(),
            seals: 0,
            last_us: 0,
            longest_gap_us: 0,
            witnessed: None,
            stamped: None,
            broken: false,
        },
        days: BTreeMap::new(),
        first_us: 0,
    };
    while check.step(report, promises) {}
    check.quorum(report);
    check.stamps(report);
    report.seals.push(check.summary);
}

pub(super) struct Check<'c> {
    pub(super) by: By<'c>,
    pub(super) name: &'c str,
    pub(super) found: &'c Seals,
    keys: &'c [Key],
    /// How the objects that were read are locked, until it is judged.
    pub(super) kept: Vec<(String, Kept)>,
    tree: Tree,
    last: Option<(Seal, Hash)>,
    pub(super) summary: SealReport,
    /// The last seal of each day, as far as they are checked.
    pub(super) days: BTreeMap<String, Sealed>,
    /// When the first seal was made.
    pub(super) first_us: u64,
}

/// A seal that was checked, as a time stamp is to be on it.
pub(super) struct Sealed {
    pub(super) number: u64,
    pub(super) root: Hash,
    pub(super) unix_us: u64,
}

/// Why a log of seals cannot be followed any further.
pub(super) enum Stop {
    Doubt(Doubt),
    Fault(Fault),
}

impl<'c> Check<'c> {
    /// Checks the next seal; false if there is none, or the log cannot be followed any further.
    fn step(&mut self, report: &mut Report, promises: &mut Promises) -> bool {
        let number = self.tree.size();
        let (body, note) = (
            self.found.bodies.get(&number),
            self.found.notes.get(&number),
        );
        let (Some(body), Some(note)) = (body, note) else {
            self.end(number, report);
            return false;
        };
        let sealed = self.seal(number, body, note, promises);
        if sealed.is_ok() {
            self.cosignatures(number, report);
        }
        for (name, kept) in self.kept.drain(..) {
            // A seal is stored at once; its checkpoint and cosignatures may be later.
            let made_us = (sealed.is_ok() && name == *body).then_some(self.summary.last_us);
            self.by.locks.judge(&name, kept, made_us, report);
        }
        match sealed {
            Ok(()) => {}
            Err((place, stop)) => {
                self.summary.broken = true;
                match stop {
                    Stop::Doubt(doubt) => report.doubt(&place, doubt),
                    Stop::Fault(fault) => report.fault(&place, fault),
                }
                return false;
            }
        }
        true
    }

    /// Nothing may be left behind the last seal, but one that was begun.
    fn end(&mut self, number: u64, report: &mut Report) {
        let begun = self.found.bodies.get(&number);
        let behind = |numbers: Option<&u64>| numbers.is_some_and(|last| *last >= number);
        let more = behind(self.found.notes.keys().next_back())
            || behind(self.found.cosignatures.keys().next_back())
            || self
                .found
                .bodies
                .keys()
                .next_back()
                .is_some_and(|last| *last > number);
        if more {
            let faults = report.broken();
            report.fault_at(self.name, Some(number), Fault::SealMissing);
            self.summary.broken = report.broken() > faults;
        } else if let Some(body) = begun {
            report.finding(body, Finding::SealUnsigned);
        }
    }

    fn seal(
        &mut self,
        number: u64,
        body: &str,
        note: &str,
        promises: &mut Promises,
    ) -> Result<(), (String, Stop)> {
        let at_body = |stop: Stop| (body.to_owned(), stop);
        let bytes = self.get(body, MAX_SEAL).map_err(at_body)?;
        let (digest, leaf) = digests(&bytes);
        let before = self.tree.clone();
        self.tree.push(leaf);
        self.note(note).map_err(|stop| (note.to_owned(), stop))?;
        let seal = Seal::parse(&bytes).map_err(|error| match error {
            Unsealed::Newer => at_body(Stop::Doubt(Doubt::Newer)),
            Unsealed::Malformed => at_body(Stop::Fault(Fault::Seal)),
        })?;
        let last = self.last.as_ref().map(|(seal, digest)| (seal, digest));
        if seal.log != self.name || !seal.is_behind(last, &before) {
            return Err(at_body(Stop::Fault(Fault::SealChain)));
        }
        if !seal.keeps(last.map(|(seal, _)| seal)) {
            return Err(at_body(Stop::Fault(Fault::SealOmits)));
        }
        promise(&seal, promises).map_err(|fault| at_body(Stop::Fault(fault)))?;
        let gap = last.map_or(0, |(last, _)| seal.unix_us - last.unix_us);
        self.summary.longest_gap_us = self.summary.longest_gap_us.max(gap);
        self.summary.last_us = seal.unix_us;
        if number == 0 {
            self.first_us = seal.unix_us;
        }
        let sealed = Sealed {
            number,
            root: self.tree.root(),
            unix_us: seal.unix_us,
        };
        self.days.insert(day(seal.unix_us), sealed);
        self.summary.seals = number + 1;
        self.last = Some((seal, digest));
        Ok(())
    }

    pub(super) fn get(&mut self, name: &str, limit: usize) -> Result<Vec<u8>, Stop> {
        match self.by.log.fetch(name, limit) {
            Ok(Some(stored)) => {
                self.kept
                    .extend(stored.kept.map(|kept| (name.to_owned(), kept)));
                Ok(stored.bytes)
            }
            Err(StoreError::TooLarge) => Err(Stop::Fault(Fault::Seal)),
            Err(StoreError::Conflict) => Err(Stop::Fault(Fault::Differs)),
            Ok(None) | Err(_) => Err(Stop::Doubt(Doubt::Unreadable)),
        }
    }

    /// The checkpoint of the tree as it is now, signed once, by a key that counts.
    fn note(&mut self, name: &str) -> Result<(), Stop> {
        let bytes = self.get(name, MAX_NOTE)?;
        let holds = std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| Note::parse(text).ok())
            .is_some_and(|note| note.signatures() == 1 && self.is_ours(&note));
        match holds {
            true => Ok(()),
            false => Err(Stop::Fault(Fault::SealSignature)),
        }
    }

    /// Whether a note is the checkpoint of the tree as it is now, by a key that counts.
    fn is_ours(&self, note: &Note<'_>) -> bool {
        note.text == checkpoint(self.name, self.tree.size(), &self.tree.root())
            && self.keys.iter().any(|key| note.is_signed_by(key))
    }

    /// Checks the cosignatures on the seal `number`, the last one checked.
    fn cosignatures(&mut self, number: u64, report: &mut Report) {
        let (mut times, found) = (BTreeMap::<&str, u64>::new(), self.found);
        for (id, name) in found.cosignatures.get(&number).into_iter().flatten() {
            match self.cosignature(*id, name) {
                Ok(found) => times.extend(found),
                Err(Stop::Doubt(doubt)) => report.doubt(name, doubt),
                Err(Stop::Fault(fault)) => report.fault(name, fault),
            }
        }
        let cosigned_s = self.by.trust.and_then(|trust| trust.quorum_time(&times));
        if let Some(cosigned_s) = cosigned_s {
            if cosigned_s.saturating_mul(1_000_000) > self.summary.last_us.saturating_add(LATE_US) {
                report.doubt_at(self.name, Some(number), Doubt::Late);
            }
            self.summary.witnessed = Some(Witnessed {
                seal: number,
                unix_us: self.summary.last_us,
                cosigned_s,
            });
        }
    }

    /// Checks a cosignature: by which witness of the trust file it is, and of what time. None if it
    /// is by a witness that the file does not name, of whom nothing can be said.
    fn cosignature(&mut self, id: [u8; 4], name: &str) -> Result<Option<(&'c str, u64)>, Stop> {
        let fault = Stop::Fault(Fault::Cosignature);
        let bytes = match self.get(name, MAX_NOTE) {
            Err(Stop::Fault(Fault::Seal)) => return Err(fault),
            other => other?,
        };
        let text = std::str::from_utf8(&bytes).ok();
        let Some(note) = text.and_then(|text| Note::parse(text).ok()) else {
            return Err(fault);
        };
        if note.signatures() != 2 || !self.is_ours(&note) {
            return Err(fault);
        }
        let witnesses = self.by.trust.map_or(&[][..], |trust| &trust.witnesses);
        let known = witnesses
            .iter()
            .filter_map(|witness| Some((witness, witness.key.as_ref()?)))
            .find(|(_, key)| key.id() == id);
        let Some((witness, key)) = known else {
            return Ok(None);
        };
        match key.cosigned(&note) {
            Some(time) => Ok(Some((&witness.name, time))),
            None => Err(fault),
        }
    }

    /// What is to be said if the trust file asks for witnesses.
    fn quorum(&self, report: &mut Report) {
        let asked = self
            .by
            .trust
            .is_some_and(|trust| trust.quorum != Quorum::None);
        if !asked || self.summary.broken {
            return;
        }
        match self.summary.witnessed {
            None => report.doubt(self.name, Doubt::Quorum),
            Some(seen) if self.summary.last_us.saturating_sub(seen.unix_us) > BEHIND_US => {
                report.doubt_at(self.name, Some(seen.seal), Doubt::WitnessBehind);
            }
            Some(_) => {}
        }
    }
}

/// Notes what a seal says of streams; a fault if seals contradict each other.
fn promise(seal: &Seal, promises: &mut Promises) -> Result<(), Fault> {
    for stream in &seal.streams {
        let known = promises
            .entry(stream.writer.clone())
            .or_insert_with(|| Promise {
                sizes: BTreeMap::new(),
                state: stream.state,
            });
        let said = stream.fingerprint();
        if *known.sizes.entry(stream.size).or_insert(said) != said {
            return Err(Fault::SealOmits);
        }
        known.state = stream.state;
    }
    Ok(())
}
