//! The seals of the log, as far as a disclosure needs them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::make::DiscloseError;
use crate::{
    names::{self, Name},
    note::Note,
    seal::{MAX_NOTE, MAX_SEAL, Seal, digests},
    store::Fetcher,
    tree::Nodes,
    trust::{Quorum, Trust},
};

/// One log of seals.
pub(super) struct Seals {
    pub(super) log: String,
    /// The tree over those that have a checkpoint.
    pub(super) tree: Nodes,
    /// Of the streams that are asked for: the first seal that lists each at that size.
    sizes: HashMap<String, BTreeMap<u64, u64>>,
    /// Key ids of the witnesses that have cosigned a seal.
    cosigned: BTreeMap<u64, Vec<[u8; 4]>>,
}

/// Where a stream was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    /// The index in the list of logs.
    pub(super) log: usize,
    pub(super) number: u64,
    /// Of the stream, by that seal.
    pub(super) size: u64,
}

/// All logs of seals in the store.
pub(super) fn all(
    store: &dyn Fetcher,
    streams: &HashSet<&str>,
) -> Result<Vec<Seals>, DiscloseError> {
    let mut logs: BTreeMap<String, Seals> = BTreeMap::new();
    for object in store.list("cosig/")? {
        if let Name::Cosignature { log, number, id } = Name::parse(&object.name) {
            let seals = logs.entry(log).or_insert_with_key(|log| Seals::new(log));
            seals.cosigned.entry(number).or_default().push(id);
        }
    }
    for object in store.list("seal/")? {
        if let Name::Seal { log, .. } = Name::parse(&object.name) {
            logs.entry(log).or_insert_with_key(|log| Seals::new(log));
        }
    }
    let mut logs: Vec<Seals> = logs.into_values().collect();
    for seals in &mut logs {
        seals.read(store, streams)?;
    }
    Ok(logs)
}

/// The first seal, of any log, that lists the stream with its record `seq`.
pub(super) fn first(logs: &[Seals], writer: &str, seq: u64) -> Option<Sealed> {
    let of = |(log, seals): (usize, &Seals)| {
        let sizes = seals.sizes.get(writer)?;
        let (size, number) = sizes.range(seq.checked_add(1)?..).next()?;
        Some(Sealed {
            log,
            number: *number,
            size: *size,
        })
    };
    logs.iter()
        .enumerate()
        .filter_map(of)
        .min_by_key(|it| it.size)
}

impl Seals {
    fn new(log: &str) -> Self {
        Self {
            log: log.to_owned(),
            tree: Nodes::default(),
            sizes: HashMap::new(),
            cosigned: BTreeMap::new(),
        }
    }

    fn read(&mut self, store: &dyn Fetcher, streams: &HashSet<&str>) -> Result<(), DiscloseError> {
        loop {
            let number = self.tree.size();
            let body = store.get(&names::seal(&self.log, number), MAX_SEAL)?;
            let note = store.get(&names::seal_note(&self.log, number), MAX_NOTE)?;
            let (Some(body), Some(_)) = (body, note) else {
                return Ok(());
            };
            let unread = || DiscloseError::Unread(names::seal(&self.log, number));
            let seal = Seal::parse(&body).map_err(|_| unread())?;
            self.tree.push(digests(&body).1);
            for stream in &seal.streams {
                if streams.contains(stream.writer.as_str()) && stream.size > 0 {
                    let sizes = self.sizes.entry(stream.writer.clone()).or_default();
                    sizes.entry(stream.size).or_insert(number);
                }
            }
        }
    }

    /// The checkpoint that the proof of seal `number` leads to, and how many seals it covers: the first
    /// from that seal on that the trust file's quorum has cosigned, else the newest.
    pub(super) fn top(
        &self,
        store: &dyn Fetcher,
        trust: &Trust,
        number: u64,
    ) -> Result<(u64, String), DiscloseError> {
        let last = self.tree.size().saturating_sub(1);
        if trust.quorum != Quorum::None {
            for number in self
                .cosigned
                .range(number..=last)
                .map(|(number, _)| *number)
            {
                let note = self.note(store, number)?;
                if quorum_time(&note, trust).is_some() {
                    return Ok((number + 1, note));
                }
            }
        }
        Ok((last + 1, self.note(store, last)?))
    }

    /// The checkpoint of a seal, with all cosignatures on it.
    fn note(&self, store: &dyn Fetcher, number: u64) -> Result<String, DiscloseError> {
        let mut whole = text(store, names::seal_note(&self.log, number))?;
        for id in self.cosigned.get(&number).into_iter().flatten() {
            let cosigned = text(store, names::cosignature(&self.log, number, *id))?;
            let lines = cosigned.rsplit_once("\n\n").map_or("", |(_, lines)| lines);
            for line in lines.split_inclusive('\n') {
                if !whole.contains(line) {
                    whole.push_str(line);
                }
            }
        }
        Ok(whole)
    }
}

/// When a note had the cosignatures that the trust file asks for, in seconds since 1970.
pub(super) fn quorum_time(note: &str, trust: &Trust) -> Option<u64> {
    let note = Note::parse(note).ok()?;
    let times = trust.witnesses.iter().filter_map(|witness| {
        let time = witness.key.as_ref()?.cosigned(&note)?;
        Some((witness.name.as_str(), time))
    });
    trust.quorum_time(&times.collect())
}

fn text(store: &dyn Fetcher, name: String) -> Result<String, DiscloseError> {
    let stored = store.get(&name, MAX_NOTE)?;
    let text = stored.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or(DiscloseError::Unread(name))
}
