//! Folders of a log that cannot be read: the rest is verified, and it is said which ones they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Error, ErrorKind},
};

use gatehouse_ledger::{
    names::Name,
    read::records,
    store::{Fetcher, Memory, Object, StoreError, Stored, Survey},
    trust::Trust,
    verify::{Doubt, Fault, Report, State, StreamReport, Verdict, Verifier},
};

use crate::{changed, cosigned, stamped};

type Objects = BTreeMap<String, Vec<u8>>;

/// A log of which nobody may look into one folder.
struct Hiding<'h> {
    log: Memory,
    folder: &'h str,
}

impl Hiding<'_> {
    fn hides(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    fn denied(&self) -> Error {
        Error::new(
            ErrorKind::PermissionDenied,
            format!("/x/{}: no", self.folder),
        )
    }
}

impl Fetcher for Hiding<'_> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        match self.survey(prefix)?.unread.is_empty() {
            true => self.log.list(prefix),
            false => Err(self.denied().into()),
        }
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        let mut objects = self.log.list(prefix)?;
        objects.retain(|object| !self.hides(&object.name));
        let is_below = self.folder.starts_with(prefix) || prefix.starts_with(self.folder);
        let unread = (self.folder.to_owned(), self.denied());
        let unread = is_below.then_some(unread).into_iter().collect();
        Ok(Survey { objects, unread })
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        match self.hides(name) {
            true => Err(self.denied().into()),
            false => self.log.fetch(name, limit),
        }
    }
}

fn verified(objects: &Objects, folder: &str, trust: Option<&Trust>) -> Report {
    let log = Memory::with(objects.clone());
    Verifier::new(trust).verify(&Hiding { log, folder }, |_| {})
}

/// Every folder of a log.
fn folders(objects: &Objects) -> BTreeSet<&str> {
    let parents = |name: &str| -> Vec<usize> { name.match_indices('/').map(|it| it.0).collect() };
    let of = |name: &'_ String| {
        parents(name)
            .into_iter()
            .map(|at| (name.len(), at))
            .collect()
    };
    let mut found = BTreeSet::new();
    for name in objects.keys() {
        let ends: Vec<(usize, usize)> = of(name);
        found.extend(ends.into_iter().map(|(_, at)| &name[..at]));
    }
    found
}

#[test]
fn whatever_cannot_be_read_is_named_and_breaks_nothing() {
    let logs = [
        (&changed::LOG.objects, &changed::LOG.trust),
        (&cosigned::LOG.objects, &cosigned::LOG.trust),
        (&stamped::LOG.objects, &stamped::LOG.trust),
    ];
    for (objects, trust) in logs {
        for folder in folders(objects) {
            for trust in [Some(trust), None] {
                let report = verified(objects, folder, trust);
                let said = (&report.faults, &report.doubts);
                assert_eq!(report.verdict(), Verdict::CouldNotTell, "{folder} {said:?}");
                let named = report.doubts.iter().find(|at| at.place == folder);
                assert_eq!(named.unwrap().what, Doubt::Unreadable, "{folder}");
                assert!(report.reason.unwrap().contains("/x/"), "{folder}");
                let is_broken = |state| state == State::Broken;
                assert!(
                    !report.streams.iter().any(|it| is_broken(it.state)),
                    "{folder}"
                );
            }
        }
    }
}

#[test]
fn what_can_be_read_is_checked_all_the_same() {
    let log = &changed::LOG;
    let segments = |name: &&String| matches!(Name::parse(name), Name::Segment { .. });
    let names: Vec<&String> = log.objects.keys().filter(segments).collect();
    let (first, last) = (names[0], names[names.len() - 1]);
    let folder = |name: &'static str| name.rsplit_once('/').unwrap().0;
    assert_ne!(folder(first), folder(last), "of two streams");
    let whole = verified(&log.objects, folder(last), Some(&log.trust));
    assert!(whole.records > 10);
    let mut read = 0;
    let hiding = Hiding {
        log: Memory::with(log.objects.clone()),
        folder: folder(last),
    };
    let unread = records(&hiding, |_| read += 1).unwrap();
    assert_eq!(
        (unread, read),
        (vec![folder(last).to_owned()], whole.records)
    );
    // A change in another stream is one.
    let mut objects = log.objects.clone();
    let bytes = objects.get_mut(first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let broken = verified(&objects, folder(last), Some(&log.trust));
    assert_eq!(broken.verdict(), Verdict::Broken);
    // So is a hole in a stream whose folders can all be read.
    let without = names.iter().find(|name| folder(name) != folder(last));
    let mut objects = log.objects.clone();
    objects.remove(*without.unwrap());
    let broken = verified(&objects, folder(last), Some(&log.trust));
    assert_eq!(broken.verdict(), Verdict::Broken);
}

/// What a session misses may be in a folder of records, and in no other one.
#[test]
fn a_hidden_folder_without_records_excuses_no_missing_ones() {
    let log = &changed::LOG;
    // The third process wrote of no session.
    let segments = |writer: &str| log.segments().filter(|it| it.0.contains(writer)).count();
    let writers = log.certificates().map(|(name, _)| {
        let writer = name.trim_start_matches("cert/");
        writer.trim_end_matches(".dsse.json")
    });
    let writer = writers.max_by_key(|writer| segments(writer)).unwrap();
    let mut objects = log.objects.clone();
    objects.retain(|name, _| !name.contains(writer) && !name.starts_with("seal/"));
    let gaps = |report: &Report| {
        let faults = report.faults.iter();
        faults.filter(|at| at.what == Fault::SessionGap).count()
    };
    for folder in ["x", "tsa", "cosig", "seal"] {
        let report = verified(&objects, folder, Some(&log.trust));
        let said = (&report.faults, &report.doubts);
        assert_eq!(report.verdict(), Verdict::Broken, "{folder} {said:?}");
        assert!(gaps(&report) > 0, "{folder}");
        assert!(report.is_hidden(folder) && !report.is_hidden("y"));
    }
    for folder in ["log", "log/p_day=2026-11-28"] {
        let report = verified(&objects, folder, Some(&log.trust));
        assert_eq!(gaps(&report), 0, "{folder}");
    }
}

/// More of them than the lists have room for: a doubt is one there as well.
#[test]
fn streams_without_their_certificates_are_no_broken_ones_however_many() {
    let name = |number: u64| {
        let writer = format!("20261129-prod-{number:032x}");
        format!("log/p_day=2026-11-29/p_writer={writer}/{:020}.jsonl.zst", 0)
    };
    let objects: Objects = (0..1001).map(|it| (name(it), Vec::new())).collect();
    let report = verified(&objects, "cert", Some(&changed::LOG.trust));
    assert_eq!(report.streams.len(), 1001);
    assert!(report.more > 0 && report.faults.is_empty());
    for stream in &report.streams {
        assert_eq!((stream.state, stream.hidden), (State::Open, true));
    }
    // Faults are, whether there is room for them or not.
    let report = verified(&objects, "tsa", Some(&changed::LOG.trust));
    assert!(report.more > 0 && report.faults.len() == 1000);
    let broken = |it: &&StreamReport| it.state == State::Broken;
    assert_eq!(report.streams.iter().filter(broken).count(), 1001);
}
