//! Seals, as the verifier sees them.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use gatehouse_envelope::sign::{MemorySigner, Signer};
use gatehouse_ledger::{
    Durability, Mode, names,
    note::Key,
    seal::{Seal, SealError, SealedState, Sealer},
    store::{Fetcher, LedgerStore, Memory, Object, StoreError, Stored},
    trust::Trust,
    verify::{Doubt, Fault, Finding, Report, Verdict, Verifier},
};

use crate::log::{Deployment, START_US, copy, verify};

mod made;

type Objects = BTreeMap<String, Vec<u8>>;

/// A log of three writers with many seals in it: two closed, one died and was recovered.
struct Log {
    prod: Deployment,
    objects: Objects,
}

static LOG: LazyLock<Log> = LazyLock::new(|| {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut prod = Deployment::new();
    let (first, _) = prod.open(dirs[0].path(), Mode::Local);
    let (second, _) = prod.open(dirs[1].path(), Mode::Local);
    for _ in 0..3 {
        prod.segment(&first, 25);
        first.seal().unwrap().unwrap();
        prod.segment(&second, 25);
        second.seal().unwrap().unwrap();
        prod.clock.advance(Duration::from_secs(60));
    }
    first.close().unwrap();
    for _ in 0..20 {
        let event = prod.sessions.next();
        second.append(event, Durability::Durable).wait().unwrap();
    }
    copy(dirs[1].path(), dirs[2].path());
    let kept = Arc::new(Memory::with(prod.store.objects()));
    drop(second);
    prod.store = kept;
    let (third, recovery) = prod.open(dirs[2].path(), Mode::Local);
    recovery.complete().unwrap();
    prod.segment(&third, 10);
    third.close().unwrap();
    let objects = prod.store.objects();
    Log { prod, objects }
});

fn report(objects: &Objects) -> Report {
    verify(&Memory::with(objects.clone()), &LOG.prod.trust())
}

fn faults(objects: &Objects) -> Vec<Fault> {
    report(objects).faults.iter().map(|at| at.what).collect()
}

fn without(gone: impl Fn(&str) -> bool) -> Objects {
    let mut objects = LOG.objects.clone();
    objects.retain(|name, _| !gone(name));
    objects
}

fn count() -> u64 {
    let seals = LOG.objects.keys().filter(|name| name.starts_with("seal/"));
    seals.filter(|name| name.ends_with(".json")).count() as u64
}

fn parse(number: u64) -> Seal {
    Seal::parse(&LOG.objects[&names::seal("prod", number)]).unwrap()
}

#[test]
fn a_sealed_log_holds_and_every_record_is_sealed() {
    let report = report(&LOG.objects);
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.seals.len(), 1);
    assert_eq!(report.seals[0].seals, count());
    assert!(count() >= 8, "{}", count());
    for stream in &report.streams {
        assert_eq!(stream.sealed, Some(stream.records), "{stream:?}");
    }
    let last = parse(count() - 1);
    let states: Vec<_> = last.streams.iter().map(|stream| stream.state).collect();
    assert_eq!(
        states.iter().filter(|s| **s == SealedState::Closed).count(),
        2
    );
    assert_eq!(
        states
            .iter()
            .filter(|s| **s == SealedState::Recovered)
            .count(),
        1
    );
}

#[test]
fn every_byte_of_every_seal_and_checkpoint() {
    for (name, bytes) in LOG
        .objects
        .iter()
        .filter(|(name, _)| name.starts_with("seal/"))
    {
        for at in 0..bytes.len() {
            let mut changed = LOG.objects.clone();
            changed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let log = Memory::with(changed);
            let trust = LOG.prod.trust();
            let report = Verifier::new(Some(&trust))
                .first_fault_only()
                .verify(&log, |_| {});
            assert_eq!(report.verdict(), Verdict::Broken, "{name} {at}");
        }
    }
}

#[test]
fn seals_dropped_repeated_exchanged() {
    let last = count() - 1;
    for number in 0..=last {
        let (body, note) = (
            names::seal("prod", number),
            names::seal_note("prod", number),
        );
        for gone in [vec![&body], vec![&note], vec![&body, &note]] {
            let changed = without(|name| gone.iter().any(|gone| *gone == name));
            let found = report(&changed);
            // The last one may never have been made, or not yet been signed.
            let end = number == last && gone.contains(&&note);
            let wanted = if end { Verdict::Holds } else { Verdict::Broken };
            assert_eq!(found.verdict(), wanted, "{number} {gone:?}");
        }
        for other in 0..=last {
            for of in [names::seal, names::seal_note] {
                let mut changed = LOG.objects.clone();
                changed.insert(of("prod", number), LOG.objects[&of("prod", other)].clone());
                let wanted = number == other;
                assert_eq!(faults(&changed).is_empty(), wanted, "{number} {other}");
            }
        }
    }
    let none = without(|name| name.starts_with("seal/"));
    let found = report(&none);
    assert_eq!(found.verdict(), Verdict::CouldNotTell);
    assert!(found.doubts.iter().all(|at| at.what == Doubt::NotSealed));
}

#[test]
fn whole_streams_and_ends_of_streams_are_missed() {
    let certificates = LOG.objects.keys().filter(|name| name.starts_with("cert/"));
    for certificate in certificates {
        let writer = certificate
            .trim_start_matches("cert/")
            .trim_end_matches(".dsse.json");
        let removed = faults(&without(|name| name.contains(writer)));
        assert!(removed.contains(&Fault::StreamMissing), "{removed:?}");
        let segments: Vec<&String> = LOG
            .objects
            .keys()
            .filter(|name| name.starts_with("log/") && name.contains(writer))
            .collect();
        for first in 0..segments.len() {
            let cut = faults(&without(|name| {
                segments[first..].iter().any(|s| *s == name)
            }));
            assert!(cut.contains(&Fault::StreamCut), "{first}: {cut:?}");
        }
    }
}

/// Also of a last segment, whose stored bytes nothing else names.
#[test]
fn another_packing_of_the_same_lines_is_another_stream() {
    for (name, stored) in LOG
        .objects
        .iter()
        .filter(|(name, _)| name.starts_with("log/"))
    {
        let lines = crate::changed::unpack(stored).unwrap();
        let mut changed = LOG.objects.clone();
        changed.insert(name.clone(), crate::changed::pack(&lines));
        let found = faults(&changed);
        // The next segment names the bytes as well, where no seal names the end of this one.
        let named = matches!(found.first(), Some(Fault::StreamChanged | Fault::Header));
        assert!(named, "{name} {found:?}");
    }
}

/// The last seals and all that came behind, as if it had never been: only who knows of a later seal
/// can see it.
#[test]
fn rolled_back_seals_move_the_horizon_and_a_kept_cosignature_shows_them() {
    let last = count() - 1;
    let seal_of = |name: &str| {
        let number = name.strip_prefix("seal/prod/")?.split_once('.')?.0;
        number.parse::<u64>().ok()
    };
    let rolled = without(|name| seal_of(name).is_some_and(|number| number == last));
    let found = report(&rolled);
    assert_eq!(found.verdict(), Verdict::Holds);
    assert_eq!(found.seals[0].seals, last);
    let mut kept = rolled;
    kept.insert(names::cosignature("prod", last, [1; 4]), Vec::new());
    assert!(faults(&kept).contains(&Fault::SealMissing));
}

/// Makes a log's seal `number` anew with `change`, and all behind it fit, signed by `signer`.
fn forged(signer: &MemorySigner, number: u64, change: impl Fn(&mut Seal)) -> Objects {
    let mut objects = without(|name| name.starts_with("seal/"));
    let mut tree = gatehouse_ledger::tree::Tree::new();
    let mut previous = None;
    for at in 0..count() {
        let mut seal = parse(at);
        seal.previous = previous;
        seal.edge = tree.edge().to_vec();
        if at == number {
            change(&mut seal);
        }
        let bytes = seal.bytes();
        previous = Some(gatehouse_envelope::digest::sha256(&[&bytes]));
        tree.push(gatehouse_ledger::tree::leaf_hash(&bytes));
        let text = gatehouse_ledger::note::checkpoint("prod", tree.size(), &tree.root());
        let note = gatehouse_ledger::note::sign(&text, signer).unwrap();
        objects.insert(names::seal("prod", at), bytes);
        objects.insert(names::seal_note("prod", at), note.into_bytes());
    }
    objects
}

/// Logs for another verifier.
pub(crate) fn logs() -> Vec<(&'static str, Objects)> {
    let (signer, middle) = (LOG.prod.signer.as_ref(), count() / 2);
    let open = |seal: &Seal| {
        let open = |stream: &gatehouse_ledger::seal::Sealed| stream.state == SealedState::Open;
        seal.streams.iter().position(open).unwrap()
    };
    let change = |change: &dyn Fn(&mut Seal)| forged(signer, middle, change);
    let last = count() - 1;
    let body = |number: u64| names::seal("prod", number);
    vec![
        ("whole", LOG.objects.clone()),
        ("without-seals", without(|name| name.starts_with("seal/"))),
        (
            "without-the-last",
            without(|name| name.contains(&format!("{last:020}"))),
        ),
        ("without-a-body", without(|name| name == body(2))),
        (
            "unsigned-end",
            without(|name| name == names::seal_note("prod", last)),
        ),
        ("anew", change(&|_| {})),
        (
            "omitted",
            change(&|seal| drop(seal.streams.remove(open(seal)))),
        ),
        (
            "repeated",
            change(&|seal| seal.streams.push(seal.streams[0].clone())),
        ),
        ("time-back", change(&|seal| seal.unix_us = START_US - 1)),
        ("edge", change(&|seal| seal.edge[0][0] ^= 1)),
        ("other-root", {
            change(&|seal| {
                let at = open(seal);
                seal.streams[at].root[0] ^= 1;
            })
        }),
        ("lost-too-early", {
            change(&|seal| {
                let at = open(seal);
                seal.streams[at].state = SealedState::Lost;
            })
        }),
        ("other-log", change(&|seal| seal.log = "other".into())),
        ("far", change(&|seal| seal.unix_us = (1 << 53) - 1)),
    ]
}

pub(crate) fn trust() -> gatehouse_ledger::trust::Trust {
    LOG.prod.trust()
}

/// Whoever has the deployment's key cannot make seals that contradict each other or the streams.
#[test]
fn seals_that_are_signed_and_wrong() {
    let (signer, middle) = (LOG.prod.signer.as_ref(), count() / 2);
    assert_eq!(faults(&forged(signer, middle, |_| {})), []);
    let first = |objects: Objects| faults(&objects).first().copied();
    let open = |seal: &Seal| {
        let open = |stream: &gatehouse_ledger::seal::Sealed| stream.state == SealedState::Open;
        seal.streams.iter().position(open).unwrap()
    };
    let omitted = forged(signer, middle, |seal| drop(seal.streams.remove(open(seal))));
    assert_eq!(first(omitted), Some(Fault::SealOmits));
    let shorter = forged(signer, middle, |seal| {
        let at = open(seal);
        seal.streams[at] = parse(0).streams[0].clone();
    });
    assert!(matches!(
        first(shorter),
        Some(Fault::SealOmits | Fault::Seal)
    ));
    let other_root = forged(signer, middle, |seal| {
        let at = open(seal);
        seal.streams[at].root[0] ^= 1;
    });
    let found = faults(&other_root);
    assert!(
        found
            .iter()
            .any(|fault| matches!(fault, Fault::SealOmits | Fault::StreamChanged)),
        "{found:?}"
    );
    let back = forged(signer, middle, |seal| seal.unix_us = START_US - 1);
    assert_eq!(first(back), Some(Fault::SealChain));
    let edge = forged(signer, middle, |seal| seal.edge[0][0] ^= 1);
    assert_eq!(first(edge), Some(Fault::SealChain));
    let previous = forged(signer, middle, |seal| seal.previous = Some([7; 32]));
    assert_eq!(first(previous), Some(Fault::SealChain));
    let lost = forged(signer, middle, |seal| {
        let at = open(seal);
        seal.streams[at].state = SealedState::Lost;
    });
    assert_eq!(first(lost), Some(Fault::Seal));
    let stranger = MemorySigner::generate("prod").unwrap();
    assert_eq!(
        first(forged(&stranger, 0, |_| {})),
        Some(Fault::SealSignature)
    );
}

/// A log whose gateway runs, and the same without the seals of its last ten minutes.
pub(crate) fn outlived() -> (Objects, Objects, Trust) {
    let dir = tempfile::tempdir().unwrap();
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    ledger.seal().unwrap().unwrap();
    let early = prod.store.objects();
    prod.clock.advance(Duration::from_secs(601));
    prod.segment(&ledger, 5);
    ledger.seal().unwrap().unwrap();
    let whole = prod.store.objects();
    let mut cut = whole.clone();
    cut.retain(|name, _| !name.starts_with("seal/") || early.contains_key(name));
    (whole, cut, prod.trust())
}

/// Whoever takes away the last seals of a log cannot make it hold by that.
#[test]
fn a_stream_that_outlived_its_seals_cannot_be_told() {
    let (whole, cut, trust) = outlived();
    let report = verify(&Memory::with(whole), &trust);
    assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.doubts);
    let report = verify(&Memory::with(cut), &trust);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    assert_eq!(
        (report.verdict(), report.doubts[0].what),
        (Verdict::CouldNotTell, Doubt::OpenEnd)
    );
}
