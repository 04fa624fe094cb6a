//! A log, and the same log with one object changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use gatehouse_ledger::{
    Durability, Mode,
    store::{Fetcher, Memory, Object, StoreError, Stored},
    trust::Trust,
    verify::{Verdict, Verifier},
};

use crate::log::{Deployment, copy};

/// A log of two writers and more than 200 records: the first closed its stream of three segments,
/// the second died after storing two and was recovered. A third stream is that of the process that
/// recovered it.
pub(crate) struct Log {
    pub(crate) trust: Trust,
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// The same without its seals, which are not read anew then for every change of a stream: it
    /// cannot hold, but be broken or not.
    bare: BTreeMap<String, Vec<u8>>,
}

pub(crate) static LOG: LazyLock<Log> = LazyLock::new(|| {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut prod = Deployment::new();
    let (first, _) = prod.open(dirs[0].path(), Mode::Local);
    let (second, _) = prod.open(dirs[1].path(), Mode::Local);
    for _ in 0..2 {
        prod.segment(&first, 34);
        prod.segment(&second, 34);
    }
    prod.segment(&first, 34);
    first.close().unwrap();
    for _ in 0..30 {
        second
            .append(prod.sessions.next(), Durability::Durable)
            .wait()
            .unwrap();
    }
    copy(dirs[1].path(), dirs[2].path());
    let kept = Arc::new(Memory::with(prod.store.objects()));
    drop(second);
    prod.store = kept;
    let (third, recovery) = prod.open(dirs[2].path(), Mode::Local);
    recovery.complete().unwrap();
    third.close().unwrap();
    let objects = prod.store.objects();
    let mut bare = objects.clone();
    bare.retain(|name, _| !name.starts_with("seal/"));
    Log {
        trust: prod.trust(),
        objects,
        bare,
    }
});

impl Log {
    pub(crate) fn segments(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let segment = |(name, _): &(&String, &Vec<u8>)| name.starts_with("log/");
        self.objects
            .iter()
            .filter(segment)
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    pub(crate) fn certificates(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let certificate = |(name, _): &(&String, &Vec<u8>)| name.starts_with("cert/");
        let objects = self.objects.iter().filter(certificate);
        objects.map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// Whether a segment is the last of its stream: nothing names its stored bytes.
    pub(crate) fn is_last(&self, name: &str) -> bool {
        let stream = name
            .rsplit_once('/')
            .unwrap()
            .0
            .split_once("p_writer=")
            .unwrap()
            .1;
        self.segments()
            .filter(|(other, _)| other.contains(stream))
            .all(|(other, _)| other.rsplit_once('/').unwrap().1 <= name.rsplit_once('/').unwrap().1)
    }

    pub(crate) fn verdict(&self, changed: &str, bytes: Option<&[u8]>) -> Verdict {
        self.verdict_of(&self.objects, changed, bytes)
    }

    fn verdict_of(
        &self,
        base: &BTreeMap<String, Vec<u8>>,
        changed: &str,
        bytes: Option<&[u8]>,
    ) -> Verdict {
        let log = Changed {
            base,
            changed,
            bytes,
        };
        Verifier::new(Some(&self.trust))
            .first_fault_only()
            .verify(&log, |_| {})
            .verdict()
    }

    /// The verdict of the log without seals, with other lines in one of its segments: never "holds".
    pub(crate) fn lines_verdict(&self, changed: &str, lines: &[u8]) -> Verdict {
        self.verdict_of(&self.bare, changed, Some(&pack(lines)))
    }
}

/// A log with one object changed or taken away.
struct Changed<'a> {
    base: &'a BTreeMap<String, Vec<u8>>,
    changed: &'a str,
    bytes: Option<&'a [u8]>,
}

impl Fetcher for Changed<'_> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let there = |name: &&String| name.starts_with(prefix);
        let kept = |name: &&String| name.as_str() != self.changed || self.bytes.is_some();
        let names = self.base.keys().filter(there).filter(kept).cloned();
        Ok(names.map(Object::once).collect())
    }

    fn fetch(&self, name: &str, _: usize) -> Result<Option<Stored>, StoreError> {
        let bytes = match name == self.changed {
            true => self.bytes.map(<[u8]>::to_vec),
            false => self.base.get(name).cloned(),
        };
        Ok(bytes.map(Stored::from))
    }
}

pub(crate) fn unpack(stored: &[u8]) -> Option<Vec<u8>> {
    zstd::bulk::decompress(stored, 1 << 20).ok()
}

pub(crate) fn pack(lines: &[u8]) -> Vec<u8> {
    let mut packer = zstd::bulk::Compressor::new(-7).unwrap();
    packer.include_checksum(true).unwrap();
    packer.compress(lines).unwrap()
}

pub(crate) fn lines(stored: &[u8]) -> Vec<Vec<u8>> {
    unpack(stored)
        .unwrap()
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}
