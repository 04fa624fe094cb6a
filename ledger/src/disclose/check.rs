//! Checking a disclosure against a trust file.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Part, Proof, outside, outside_proof, record_proof, seal_proof, seals::quorum_time};
use crate::{
    cert::{Certificate, CertificateError},
    json::Scanner,
    leaf::{Leaf, LeafReader, MAX_LEAF},
    names,
    note::Note,
    read::outside_of,
    seal::{MAX_NOTE, MAX_SEAL, Seal, Unsealed, digests, read_checkpoint},
    store::{Fetcher, StoreError},
    tree::{Hash, leaf_hash, verify_inclusion},
    trust::{Quorum, Trust},
    verify::{Doubt, Fault, Finding, Report, segment::read_event, session::Sessions},
};

/// The most bytes of a certificate.
const MAX_CERTIFICATE: usize = 1 << 16;
/// The most bytes of a proof: a note, and a path.
const MAX_PROOF: usize = MAX_NOTE + (1 << 13);

/// What a disclosure proves.
#[derive(Default)]
pub struct Checked {
    /// What does not fit, could not be told, or is worth knowing. Streams and seals are not listed.
    pub report: Report,
    /// The session.
    pub session: Option<String>,
    /// The number of its last record here.
    pub last: Option<u64>,
    /// What kind of record that is.
    pub last_kind: String,
    /// The times of the first and the last record of the chain, in microseconds since 1970.
    pub times_us: Option<(u64, u64)>,
    /// How many records are here that are about the session and stand outside of its chain. Those of the
    /// chain are counted in the report.
    pub outside: u64,
    /// Of how many records, in and outside of the chain, seals show that they were in the log by the time
    /// of the seal.
    pub sealed: u64,
    /// The time of the last of these seals, by the deployment's clock, in microseconds since 1970.
    pub sealed_us: Option<u64>,
    /// When a quorum of witnesses had cosigned checkpoints over all of these seals, by their clocks, in
    /// seconds since 1970; none if the trust file asks for none, or one is missing.
    pub witnessed_s: Option<u64>,
}

impl Checked {
    /// Whether all that was checked so far, and this, is of one session.
    fn is_of(&mut self, session: &str) -> bool {
        self.session.get_or_insert_with(|| session.to_owned()) == session
    }
}

/// A record that is where its proof says.
struct Shown<'l> {
    writer: &'l str,
    seq: u64,
    leaf: Leaf<'l>,
    /// The checkpoint that the proof leads to.
    size: u64,
    root: Hash,
}

/// What a seal says of a stream at a size.
struct Sealed {
    root: Hash,
    /// The time of the seal, in microseconds since 1970.
    unix_us: u64,
    /// When a quorum had cosigned it, in seconds since 1970.
    witnessed_s: Option<u64>,
}

/// Something that does not fit, or could not be told.
enum Stop {
    Doubt(Doubt),
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Checks a disclosure. Nothing but its own objects and `trust` is read.
pub fn check(folder: &dyn Fetcher, trust: &Trust) -> Checked {
    let mut checked = Checked::default();
    let parts = match Parts::list(folder, &mut checked.report) {
        Ok(parts) => parts,
        Err(error) => {
            checked.report.unread("", &error);
            return checked;
        }
    };
    // What stands outside of the chain says nothing of what stands in it.
    if parts.records.is_empty() {
        checked.report.doubt("", Doubt::Empty);
    }
    let mut check = Check {
        folder,
        trust,
        certificates: BTreeMap::new(),
        seen: HashMap::new(),
        scanner: Scanner::default(),
        sessions: Sessions::default(),
    };
    // The first seals first: theirs is the time that counts.
    for (log, number) in &parts.seals {
        if let Err(stop) = check.seal(log, *number, &mut checked.report) {
            checked.report.stop(&names::seal(log, *number), stop);
        }
    }
    for (sseq, name) in &parts.records {
        if let Err(stop) = check.record(*sseq, name, &mut checked) {
            checked.report.stop(name, stop);
        }
    }
    for (writer, seq) in &parts.outside {
        if let Err(stop) = check.outside(writer, *seq, &mut checked) {
            checked.report.stop(&outside(writer, *seq), stop);
        }
    }
    // A proof alone says that what it proves was taken away, as the end of a session may be.
    for proof in parts.orphans() {
        checked.report.fault(&proof, Fault::ProvedMissing);
    }
    checked.report.records = parts.records.len() as u64;
    checked.outside = parts.outside.len() as u64;
    // Whoever discloses could leave out what is at the end of a session, but nothing in between.
    check.sessions.finish(false, &mut checked.report);
    checked
}

/// What a disclosure has, by name.
#[derive(Default)]
struct Parts {
    /// By number in the session, with its name.
    records: BTreeSet<(u64, String)>,
    /// Records outside of the chain, by stream and number in it.
    outside: BTreeSet<(String, u64)>,
    seals: BTreeSet<(String, u64)>,
    proofs: BTreeSet<String>,
}

impl Parts {
    fn list(folder: &dyn Fetcher, report: &mut Report) -> Result<Self, StoreError> {
        let mut parts = Self::default();
        let listed = folder.survey("")?;
        for (name, error) in listed.unread {
            report.unread(&name, &error.into());
        }
        for object in listed.objects {
            match Part::parse(&object.name) {
                Part::Outside { writer, seq } => _ = parts.outside.insert((writer, seq)),
                Part::Record(sseq) => _ = parts.records.insert((sseq, object.name)),
                Part::Seal { log, number } => _ = parts.seals.insert((log, number)),
                Part::Proof => _ = parts.proofs.insert(object.name),
                Part::Certificate | Part::Readme => {}
                Part::Unknown => report.finding(&object.name, Finding::Stranger),
            }
        }
        Ok(parts)
    }

    /// The proofs beside which what they prove is not there.
    fn orphans(&self) -> Vec<String> {
        let records = self.records.iter().map(|(sseq, _)| record_proof(*sseq));
        let others = self.outside.iter().map(|(of, seq)| outside_proof(of, *seq));
        let seals = self
            .seals
            .iter()
            .map(|(log, number)| seal_proof(log, *number));
        let proved: BTreeSet<String> = records.chain(others).chain(seals).collect();
        self.proofs.difference(&proved).cloned().collect()
    }
}

struct Check<'c> {
    folder: &'c dyn Fetcher,
    trust: &'c Trust,
    certificates: BTreeMap<String, Certificate>,
    /// By writer and size: the first seal that says it.
    seen: HashMap<(String, u64), Sealed>,
    scanner: Scanner,
    sessions: Sessions,
}

impl Check<'_> {
    /// Checks a seal, and notes what it says of streams.
    fn seal(&mut self, log: &str, number: u64, report: &mut Report) -> Result<(), Stop> {
        let bytes = self.get(&names::seal(log, number), MAX_SEAL, Fault::Seal)?;
        let seal = Seal::parse(&bytes).map_err(|error| match error {
            Unsealed::Malformed => Stop::Fault(Fault::Seal),
            Unsealed::Newer => Stop::Doubt(Doubt::Newer),
        })?;
        if seal.log != log || seal.number != number {
            return Err(Fault::Seal.into());
        }
        let proof = self.get(&seal_proof(log, number), MAX_PROOF, Fault::Proof)?;
        let proof = text(&proof)?;
        let note = Note::parse(proof.note).map_err(|_| Fault::Proof)?;
        let (size, root) = read_checkpoint(&note, log).ok_or(Fault::SealSignature)?;
        if !self.trust.logs.iter().any(|key| note.is_signed_by(key)) {
            return Err(Fault::SealSignature.into());
        }
        let leaf = digests(&bytes).1;
        if proof.index != number || !verify_inclusion(&leaf, number, size, &proof.path, &root) {
            return Err(Fault::Inclusion.into());
        }
        let witnessed_s = quorum_time(proof.note, self.trust);
        if self.trust.quorum != Quorum::None && witnessed_s.is_none() {
            report.doubt(&seal_proof(log, number), Doubt::Quorum);
        }
        for stream in seal.streams {
            let said = Sealed {
                root: stream.root,
                unix_us: seal.unix_us,
                witnessed_s,
            };
            let at = (stream.writer, stream.size);
            if self.seen.entry(at).or_insert(said).root != stream.root {
                return Err(Fault::SealOmits.into());
            }
        }
        Ok(())
    }

    /// Checks a record of the session's chain, and its proof.
    fn record(&mut self, sseq: u64, name: &str, checked: &mut Checked) -> Result<(), Stop> {
        let line = self.get(name, MAX_LEAF, Fault::Leaf)?;
        let shown = self.shown(&line, &record_proof(sseq))?;
        let record = read_event(&mut self.scanner, shown.leaf.event)?;
        let session = record.session.ok_or(Fault::Kind)?;
        if !checked.is_of(session) || record.sseq != Some(sseq) {
            return Err(Fault::SessionChain.into());
        }
        self.sessions.add(&record);
        let us = shown.leaf.stamp.unix_us;
        let (first_us, last_us) = checked.times_us.unwrap_or((us, us));
        checked.times_us = Some((first_us.min(us), last_us.max(us)));
        (checked.last, checked.last_kind) = (Some(sseq), record.kind.to_owned());
        self.sealed(&shown, name, checked)
    }

    /// Checks a record that is about the session and has no place in its chain, and its proof.
    fn outside(&mut self, writer: &str, seq: u64, checked: &mut Checked) -> Result<(), Stop> {
        let name = outside(writer, seq);
        let line = self.get(&name, MAX_LEAF, Fault::Leaf)?;
        let shown = self.shown(&line, &outside_proof(writer, seq))?;
        if (shown.writer, shown.seq) != (writer, seq) {
            return Err(Fault::Leaf.into());
        }
        read_event(&mut self.scanner, shown.leaf.event)?;
        match outside_of(shown.leaf.event) {
            Some(session) if checked.is_of(session) => self.sealed(&shown, &name, checked),
            _ => Err(Fault::Outside.into()),
        }
    }

    /// The record in `line`, which its proof leads from to a checkpoint of its stream.
    fn shown<'l>(&mut self, line: &'l [u8], proof: &str) -> Result<Shown<'l>, Stop> {
        let proof = self.get(proof, MAX_PROOF, Fault::Proof)?;
        let proof = text(&proof)?;
        let writer = writer_of(line).ok_or(Fault::Leaf)?;
        let leaf = LeafReader::default().read(line, writer, proof.index);
        let leaf = leaf.ok_or(Fault::Leaf)?;
        let (size, root) = self.checkpoint(writer, &proof)?;
        if !verify_inclusion(&leaf_hash(line), proof.index, size, &proof.path, &root) {
            return Err(Fault::Inclusion.into());
        }
        Ok(Shown {
            writer,
            seq: proof.index,
            leaf,
            size,
            root,
        })
    }

    /// Compares the checkpoint that a record leads to with what seals say of the stream.
    fn sealed(&self, shown: &Shown<'_>, name: &str, checked: &mut Checked) -> Result<(), Stop> {
        match self.seen.get(&(shown.writer.to_owned(), shown.size)) {
            Some(sealed) if sealed.root != shown.root => return Err(Fault::StreamChanged.into()),
            Some(sealed) => {
                checked.sealed += 1;
                checked.sealed_us = checked.sealed_us.max(Some(sealed.unix_us));
                checked.witnessed_s = checked.witnessed_s.max(sealed.witnessed_s);
            }
            None if self.trust.quorum != Quorum::None => return Err(Stop::Doubt(Doubt::Quorum)),
            None => checked.report.finding(name, Finding::NotSealed),
        }
        Ok(())
    }

    /// Size and root of the stream's checkpoint in a proof, signed by its writer or, where it was
    /// recovered, by the deployment.
    fn checkpoint(&mut self, writer: &str, proof: &Proof<'_>) -> Result<(u64, Hash), Stop> {
        let certificate = self.certificate(writer)?;
        let note = Note::parse(proof.note).map_err(|_| Fault::Proof)?;
        let origin = names::deployment_of(writer).map(|of| names::origin(of, writer));
        let origin = origin.ok_or(Fault::Leaf)?;
        let stated = read_checkpoint(&note, &origin).ok_or(Fault::Checkpoint)?;
        let signed = note.is_signed_by(&certificate.key) || note.is_signed_by(&certificate.issuer);
        if !signed {
            return Err(Fault::Signature.into());
        }
        Ok(stated)
    }

    fn certificate(&mut self, writer: &str) -> Result<Certificate, Stop> {
        if let Some(known) = self.certificates.get(writer) {
            return Ok(known.clone());
        }
        let malformed = Fault::Certificate(CertificateError::Malformed);
        let name = names::certificate(writer);
        let stored = match self.folder.get(&name, MAX_CERTIFICATE) {
            Ok(None) => return Err(Fault::CertificateMissing.into()),
            Ok(Some(stored)) => stored,
            Err(error) => return Err(unread(&error, malformed)),
        };
        let certificate = Certificate::open(&stored).map_err(|error| match error {
            CertificateError::Newer => Stop::Doubt(Doubt::Newer),
            other => Stop::Fault(Fault::Certificate(other)),
        })?;
        if certificate.writer != writer {
            return Err(Fault::CertificateOther.into());
        }
        if !self.trust.logs.contains(&certificate.issuer) {
            return Err(Fault::Untrusted.into());
        }
        self.certificates
            .insert(writer.to_owned(), certificate.clone());
        Ok(certificate)
    }

    fn get(&self, name: &str, limit: usize, malformed: Fault) -> Result<Vec<u8>, Stop> {
        match self.folder.get(name, limit) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Fault::ProofMissing.into()),
            Err(error) => Err(unread(&error, malformed)),
        }
    }
}

impl Report {
    fn stop(&mut self, name: &str, stop: Stop) {
        match stop {
            Stop::Doubt(doubt) => self.doubt(name, doubt),
            Stop::Fault(fault) => self.fault(name, fault),
        }
    }
}

fn unread(error: &StoreError, malformed: Fault) -> Stop {
    match error {
        StoreError::TooLarge => Stop::Fault(malformed),
        _ => Stop::Doubt(Doubt::Unreadable),
    }
}

fn text(proof: &[u8]) -> Result<Proof<'_>, Fault> {
    let text = std::str::from_utf8(proof).ok();
    let proof = text.and_then(Proof::parse);
    let proof = proof.filter(|proof| proof.note.len() <= MAX_NOTE);
    proof.ok_or(Fault::Proof)
}

/// The writer that a line names, which is not yet known to be a leaf.
fn writer_of(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(b"{\"v\":1,\"w\":\"")?;
    let end = rest.iter().position(|b| *b == b'"')?;
    std::str::from_utf8(rest.get(..end)?).ok()
}
