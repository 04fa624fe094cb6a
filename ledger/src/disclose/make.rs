//! Making a disclosure.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    io,
};

use super::{
    Proof, outside, outside_proof, record, record_proof, seal_proof,
    seals::{self, Sealed, Seals},
};
use crate::{
    names::{self, Name},
    read::records,
    seal::MAX_SEAL,
    segment::{MAX_STORED, unpack},
    store::{Fetcher, StoreError},
    tree::{Nodes, leaf_hash},
    trust::Trust,
};

/// The most bytes of a certificate.
const MAX_CERTIFICATE: usize = 1 << 16;

/// Why there is no disclosure.
#[derive(Debug, thiserror::Error)]
pub enum DiscloseError {
    /// No record names the session.
    #[error("the log has no record of this session")]
    NoSession,
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Two records have the same number in the session.
    #[error("two records of the session have the number {0}")]
    Twice(u64),
    /// An object is not what it should be. A log that holds has none of them, but one may have been
    /// changed while it was read.
    #[error("{0} could not be read")]
    Unread(String),
    /// The disclosure could not be written.
    #[error("the disclosure could not be written: {0}")]
    Write(#[from] io::Error),
}

/// What was disclosed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Records in the session's chain.
    pub records: u64,
    /// Records that are about the session and stand outside of its chain.
    pub outside: u64,
    /// How many of both a seal covers.
    pub sealed: u64,
    /// Streams they stand in.
    pub streams: u64,
}

/// Where the session's records stand: by stream, their numbers there, and in the session unless they
/// stand outside of its chain.
type Wanted = BTreeMap<String, BTreeMap<u64, Option<u64>>>;

/// Puts the disclosure of `session` into `put`, which takes names and bytes. The log should have been
/// verified: what is disclosed of one that does not hold proves nothing.
///
/// The nodes of one stream's tree are kept in memory at a time, 64 bytes a record, and those of the
/// seals.
///
/// # Errors
/// See [`DiscloseError`]; what was put by then is no disclosure.
pub fn disclose(
    log: &dyn Fetcher,
    trust: &Trust,
    session: &str,
    put: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
) -> Result<Made, DiscloseError> {
    let wanted = find(log, session)?;
    let writers: HashSet<&str> = wanted.keys().map(String::as_str).collect();
    let seals = seals::all(log, &writers)?;
    let mut made = Made {
        streams: wanted.len() as u64,
        ..Made::default()
    };
    let mut used: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (writer, places) in &wanted {
        copy(log, &names::certificate(writer), MAX_CERTIFICATE, put)?;
        let stream = Stream::read(log, writer, places)?;
        for (seq, sseq) in places {
            let sealed = seals::first(&seals, writer, *seq);
            stream.put(*seq, *sseq, sealed, put)?;
            match sseq {
                Some(_) => made.records += 1,
                None => made.outside += 1,
            }
            if let Some(Sealed { log, number, .. }) = sealed {
                made.sealed += 1;
                used.entry(log).or_default().insert(number);
            }
        }
    }
    for (index, numbers) in used {
        if let Some(seals) = seals.get(index) {
            put_seals(log, trust, seals, &numbers, put)?;
        }
    }
    Ok(made)
}

/// Where the records of a session stand.
fn find(log: &dyn Fetcher, session: &str) -> Result<Wanted, DiscloseError> {
    let mut wanted = Wanted::new();
    let mut numbers = HashSet::new();
    let mut twice = None;
    let unread = records(log, |entry| {
        let sseq = match (entry.session, entry.outside) {
            (Some(of), _) if of == session => Some(entry.sseq.unwrap_or_default()),
            (None, Some(of)) if of == session => None,
            _ => return,
        };
        if let Some(sseq) = sseq.filter(|sseq| !numbers.insert(*sseq)) {
            twice = Some(sseq);
        }
        let places = wanted.entry(entry.writer.to_owned()).or_default();
        places.insert(entry.seq, sseq);
    })?;
    if let Some(name) = unread.into_iter().next() {
        return Err(DiscloseError::Unread(name));
    }
    match twice {
        Some(sseq) => Err(DiscloseError::Twice(sseq)),
        None if wanted.is_empty() => Err(DiscloseError::NoSession),
        None => Ok(wanted),
    }
}

/// A stream with what of it is disclosed.
struct Stream {
    writer: String,
    tree: Nodes,
    /// The signed checkpoints, by size: one for each segment.
    notes: BTreeMap<u64, String>,
    /// The lines that are disclosed.
    lines: HashMap<u64, Vec<u8>>,
}

impl Stream {
    fn read(
        log: &dyn Fetcher,
        writer: &str,
        places: &BTreeMap<u64, Option<u64>>,
    ) -> Result<Self, DiscloseError> {
        let mut stream = Self {
            writer: writer.to_owned(),
            tree: Nodes::default(),
            notes: BTreeMap::new(),
            lines: HashMap::new(),
        };
        let folder = names::segments_of(writer).unwrap_or_default();
        let mut segments = BTreeMap::new();
        for object in log.list(&folder)? {
            if let Name::Segment { first_seq, .. } = Name::parse(&object.name) {
                segments.insert(first_seq, object.name);
            }
        }
        for (_, name) in segments {
            let stored = log.get(&name, MAX_STORED)?;
            let lines = stored.and_then(|stored| unpack(&stored).ok());
            let added = lines.and_then(|lines| stream.add(&lines, places));
            added.ok_or(DiscloseError::Unread(name))?;
        }
        Ok(stream)
    }

    /// Adds the lines of a segment.
    fn add(&mut self, lines: &[u8], places: &BTreeMap<u64, Option<u64>>) -> Option<()> {
        let mut lines = lines.strip_suffix(b"\n")?.split(|b| *b == b'\n');
        let (_header, footer) = (lines.next()?, lines.next_back()?);
        for line in lines {
            let seq = self.tree.size();
            if places.contains_key(&seq) {
                self.lines.insert(seq, line.to_vec());
            }
            self.tree.push(leaf_hash(line));
        }
        let footer: serde_json::Value = serde_json::from_slice(footer).ok()?;
        let note = footer.get("note")?.as_str()?.to_owned();
        self.notes.insert(self.tree.size(), note);
        Some(())
    }

    /// Puts a record and its proof, which leads to the stream's checkpoint that was sealed, or to that
    /// of the record's own segment.
    fn put(
        &self,
        seq: u64,
        sseq: Option<u64>,
        sealed: Option<Sealed>,
        put: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
    ) -> Result<(), DiscloseError> {
        let unread = || DiscloseError::Unread(self.writer.clone());
        let least = sealed.map_or(seq + 1, |sealed| sealed.size);
        let (size, note) = self.notes.range(least..).next().ok_or_else(unread)?;
        let line = self.lines.get(&seq).ok_or_else(unread)?;
        let proof = Proof {
            index: seq,
            path: self.tree.inclusion(seq, *size).ok_or_else(unread)?,
            note,
        };
        let (name, proof_name) = match sseq {
            Some(sseq) => (record(sseq), record_proof(sseq)),
            None => (outside(&self.writer, seq), outside_proof(&self.writer, seq)),
        };
        put(&name, line)?;
        put(&proof_name, proof.text().as_bytes())?;
        Ok(())
    }
}

/// Puts seals and the proofs that they are among the log's. Most lead to one of a few checkpoints, so
/// the one before is tried first.
fn put_seals(
    log: &dyn Fetcher,
    trust: &Trust,
    seals: &Seals,
    numbers: &BTreeSet<u64>,
    put: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
) -> Result<(), DiscloseError> {
    let mut top: Option<(u64, String)> = None;
    for number in numbers {
        let (size, note) = match top.take().filter(|(size, _)| size > number) {
            Some(top) => top,
            None => seals.top(log, trust, *number)?,
        };
        let name = names::seal(&seals.log, *number);
        copy(log, &name, MAX_SEAL, put)?;
        let path = seals.tree.inclusion(*number, size);
        let proof = Proof {
            index: *number,
            path: path.ok_or(DiscloseError::Unread(name))?,
            note: &note,
        };
        put(&seal_proof(&seals.log, *number), proof.text().as_bytes())?;
        top = Some((size, note));
    }
    Ok(())
}

fn copy(
    log: &dyn Fetcher,
    name: &str,
    limit: usize,
    put: &mut dyn FnMut(&str, &[u8]) -> io::Result<()>,
) -> Result<(), DiscloseError> {
    let stored = log.get(name, limit)?;
    let stored = stored.ok_or_else(|| DiscloseError::Unread(name.to_owned()))?;
    Ok(put(name, &stored)?)
}
