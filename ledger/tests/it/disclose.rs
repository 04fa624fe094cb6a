//! Disclosures: what is shown of a session holds, and nothing else does.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode,
    cosign::{WitnessKey, cosign},
    disclose::{Checked, DiscloseError, Made, Proof, README, check, disclose},
    event::Event,
    export::{Export, Exported},
    names,
    note::Note,
    store::Memory,
    trust::{Quorum, Trust},
    verify::{Doubt, Fault, Finding, Verdict},
};

use crate::log::{Deployment, verify};

/// When the last cosignature was made.
const LATER_S: u64 = 1_795_961_400;

type Objects = BTreeMap<String, Vec<u8>>;

/// A log of two writers with a session in both of them, seals, and cosignatures on some of these.
struct Log {
    objects: Objects,
    trust: Trust,
    /// The same, and a witness whose cosignature is needed.
    witnessed: Trust,
}

static LOG: LazyLock<Log> = LazyLock::new(|| made(3));

fn made(rounds: usize) -> Log {
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut prod = Deployment::new();
    let (first, _) = prod.open(dirs[0].path(), Mode::Local);
    let (second, _) = prod.open(dirs[1].path(), Mode::Local);
    for _ in 0..rounds {
        for ledger in [&first, &second] {
            prod.segment(ledger, 13);
            // Two segments between two seals, so that a seal covers records of the one before.
            prod.segment(ledger, 8);
            hold(ledger, "s_1");
            grant(ledger, "s_1");
            ledger.seal().unwrap().unwrap();
        }
        prod.clock.advance(Duration::from_secs(60));
    }
    first.close().unwrap();
    second.close().unwrap();
    let witness = MemorySigner::generate("witness.example").unwrap();
    let key = WitnessKey::of(&witness).unwrap();
    let mut objects = prod.store.objects();
    let last = seals(&objects) - 1;
    for (number, at) in [(last / 2, LATER_S - 60), (last, LATER_S)] {
        let note = objects[&names::seal_note("prod", number)].clone();
        let note = String::from_utf8(note).unwrap();
        let line = cosign(Note::parse(&note).unwrap().text, &witness, at).unwrap();
        let name = names::cosignature("prod", number, key.id());
        objects.insert(name, format!("{note}{line}").into_bytes());
    }
    let trust = prod.trust();
    let file = trust.file().replace("quorum none\n", "");
    let file = format!("{file}witness w {key}\nquorum w\n");
    let witnessed = Trust::parse(&file).unwrap();
    Log {
        objects,
        trust,
        witnessed,
    }
}

/// A record that is about a session without a place in its chain.
fn hold(ledger: &Ledger, session: &str) {
    let mut event = Event::kind("session.hold");
    event.object("outside", |fields| {
        fields.text("session", session);
    });
    let event = event.finish().unwrap();
    ledger.append(event, Durability::Durable).wait().unwrap();
    ledger.flush().wait().unwrap();
}

/// A record that keys of a session, or of several, were given out.
fn grant(ledger: &Ledger, session: &str) {
    for session in [Some(session.to_owned()), None] {
        let export = Export {
            session,
            ..Export::of(Exported::PayloadKeys)
        };
        let event = export.event("uid:1000").unwrap();
        ledger.append(event, Durability::Durable).wait().unwrap();
    }
    ledger.flush().wait().unwrap();
}

fn seals(objects: &Objects) -> u64 {
    let seals = objects.keys().filter(|name| name.starts_with("seal/"));
    seals.filter(|name| name.ends_with(".json")).count() as u64
}

/// What is disclosed of a session.
pub(crate) fn disclosed(session: &str) -> Objects {
    shown(&LOG.objects, session).1
}

pub(crate) fn trusts() -> (Trust, Trust) {
    (LOG.trust.clone(), LOG.witnessed.clone())
}

fn shown(objects: &Objects, session: &str) -> (Made, Objects) {
    shown_for(objects, session, &LOG.witnessed)
}

fn shown_for(objects: &Objects, session: &str, trust: &Trust) -> (Made, Objects) {
    let mut shown = Objects::new();
    let log = Memory::with(objects.clone());
    let made = disclose(&log, trust, session, &mut |name, bytes| {
        assert!(shown.insert(name.to_owned(), bytes.to_vec()).is_none());
        Ok(())
    });
    (made.unwrap(), shown)
}

fn checked(objects: &Objects, trust: &Trust) -> Checked {
    check(&Memory::with(objects.clone()), trust)
}

fn faults(objects: &Objects, trust: &Trust) -> Vec<Fault> {
    let checked = checked(objects, trust);
    checked.report.faults.iter().map(|at| at.what).collect()
}

#[test]
fn a_session_is_shown_whole_and_alone() {
    let report = verify(&Memory::with(LOG.objects.clone()), &LOG.witnessed);
    assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.doubts);
    for session in ["s_0", "s_1", "s_2"] {
        let (made, shown) = shown(&LOG.objects, session);
        assert!(made.records > 12 && made.streams == 2, "{made:?}");
        assert_eq!(made.outside, if session == "s_1" { 12 } else { 0 });
        assert_eq!(made.sealed, made.records + made.outside);
        for trust in [&LOG.trust, &LOG.witnessed] {
            let checked = checked(&shown, trust);
            let report = &checked.report;
            assert_eq!(
                (report.verdict(), report.findings.len()),
                (Verdict::Holds, 0),
                "{:?} {:?} {:?}",
                report.faults,
                report.doubts,
                report.findings
            );
            assert_eq!(checked.session.as_deref(), Some(session));
            assert_eq!(
                (report.records, checked.outside, checked.sealed),
                (made.records, made.outside, made.sealed)
            );
            assert_eq!(checked.last, Some(made.records - 1));
            let asked = trust.quorum != Quorum::None;
            assert_eq!(checked.witnessed_s, asked.then_some(LATER_S));
        }
        // No record of another session, and of the log's own none at all.
        for (name, bytes) in &shown {
            let text = String::from_utf8_lossy(bytes);
            let sessions = ["s_0", "s_1", "s_2"].iter();
            for other in sessions.filter(|other| **other != session) {
                assert!(!text.contains(other), "{name}");
            }
            assert!(!text.contains("clock.status"), "{name}");
        }
    }
    let other = faults(&disclosed("s_0"), &Deployment::new().trust());
    assert!(other.contains(&Fault::SealSignature) && other.contains(&Fault::Untrusted));
    assert!(
        other
            .iter()
            .all(|it| [Fault::SealSignature, Fault::Untrusted].contains(it))
    );
}

#[test]
fn the_first_seal_behind_a_record_is_shown() {
    let shown = disclosed("s_1");
    let count = shown
        .keys()
        .filter(|name| name.starts_with("seal/"))
        .count();
    assert!(
        count > 6,
        "one for each seal behind which the session went on"
    );
    // Each leads to the first checkpoint from it on that was cosigned.
    let last = seals(&LOG.objects) - 1;
    let proofs = shown.iter().filter(|(name, _)| name.starts_with("seal/"));
    for (_, text) in proofs.filter(|(name, _)| name.ends_with("-proof")) {
        let proof = Proof::parse(std::str::from_utf8(text).unwrap()).unwrap();
        let note = Note::parse(proof.note).unwrap();
        let first = [last / 2, last].into_iter().find(|it| *it >= proof.index);
        let size = (first.unwrap() + 1).to_string();
        let said = note.text.lines().nth(1).unwrap();
        assert_eq!((said, note.signatures()), (size.as_str(), 2));
    }
}

#[test]
fn every_byte_of_everything() {
    // A small one, as every byte costs a check of all of it.
    let log = made(1);
    let (made, shown) = shown_for(&log.objects, "s_1", &log.witnessed);
    assert_eq!(made.outside, 4);
    for (name, bytes) in &shown {
        for at in 0..bytes.len() {
            let mut changed = shown.clone();
            changed.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let verdict = checked(&changed, &log.witnessed).report.verdict();
            assert_ne!(verdict, Verdict::Holds, "{name} {at}");
        }
    }
}

#[test]
fn whatever_is_missing_or_exchanged() {
    let shown = disclosed("s_0");
    let last = checked(&shown, &LOG.trust).last.unwrap();
    let last = format!("session/{last:020}");
    let names: Vec<&String> = shown.keys().collect();
    for (index, name) in names.iter().enumerate() {
        let mut without = shown.clone();
        let bytes = without.remove(*name).unwrap();
        let verdict = checked(&without, &LOG.witnessed).report.verdict();
        assert_ne!(verdict, Verdict::Holds, "without {name}");
        let other = names[(index + 1) % names.len()];
        let mut exchanged = shown.clone();
        exchanged.insert((*name).clone(), shown[other].clone());
        exchanged.insert(other.clone(), bytes);
        let verdict = checked(&exchanged, &LOG.witnessed).report.verdict();
        assert_ne!(verdict, Verdict::Holds, "{name} and {other}");
    }
    // The end of a session can be held back: the number of the last record is said.
    let mut cut = shown.clone();
    cut.retain(|name, _| !name.starts_with(&last));
    let checked = checked(&cut, &LOG.trust);
    assert_eq!(checked.report.verdict(), Verdict::Holds);
    assert_eq!(checked.last, Some(checked.report.records - 1));
}

#[test]
fn what_is_wrong_is_named() {
    let shown = disclosed("s_0");
    let record = |sseq: u64| format!("session/{sseq:020}.json");
    let proof = |sseq: u64| format!("session/{sseq:020}.tlog-proof");
    let mut none = shown.clone();
    none.clear();
    let doubts = checked(&none, &LOG.trust).report.doubts;
    assert_eq!(doubts[0].what, Doubt::Empty);

    let mut between = shown.clone();
    between.retain(|name, _| *name != record(3) && *name != proof(3));
    let mut orphan = shown.clone();
    orphan.remove(&record(3));
    assert_eq!(faults(&orphan, &LOG.trust), [Fault::ProvedMissing]);
    let doubts = checked(&between, &LOG.trust).report.doubts;
    assert_eq!(doubts[0].what, Doubt::SessionGap);

    let mut path = shown.clone();
    path.insert(proof(3), shown[&proof(4)].clone());
    assert_eq!(faults(&path, &LOG.trust), [Fault::Leaf]);

    let mut renumbered = shown.clone();
    for part in [record, proof] {
        renumbered.insert(part(900), shown[&part(0)].clone());
    }
    assert_eq!(faults(&renumbered, &LOG.trust), [Fault::SessionChain]);

    let mut other = shown.clone();
    for (name, bytes) in disclosed("s_1") {
        other.insert(name.replace("session/0", "session/1"), bytes);
    }
    assert!(faults(&other, &LOG.trust).contains(&Fault::SessionChain));

    let mut unsealed = shown.clone();
    unsealed.retain(|name, _| !name.starts_with("seal/"));
    let report = checked(&unsealed, &LOG.trust).report;
    assert_eq!(
        (report.verdict(), report.findings[0].what),
        (Verdict::Holds, Finding::NotSealed)
    );
    let doubts = checked(&unsealed, &LOG.witnessed).report.doubts;
    assert_eq!(doubts[0].what, Doubt::Quorum);

    let mut stranger = shown.clone();
    stranger.insert("seal/prod/x".into(), Vec::new());
    stranger.insert(README.into(), b"words".to_vec());
    let report = checked(&stranger, &LOG.trust).report;
    assert_eq!(
        (report.verdict(), report.findings.len()),
        (Verdict::Holds, 1)
    );
}

#[test]
fn what_cannot_be_shown() {
    let log = Memory::with(LOG.objects.clone());
    let none = disclose(&log, &LOG.trust, "s_9", &mut |_, _| Ok(()));
    assert!(matches!(none, Err(DiscloseError::NoSession)), "{none:?}");
    let full = disclose(&log, &LOG.trust, "s_0", &mut |_, _| {
        Err(std::io::Error::other("full"))
    });
    assert!(matches!(full, Err(DiscloseError::Write(_))), "{full:?}");
    let mut damaged = LOG.objects.clone();
    let segment = damaged
        .keys()
        .find(|name| name.starts_with("log/"))
        .unwrap()
        .clone();
    damaged.insert(segment, b"noise".to_vec());
    let damaged = Memory::with(damaged);
    let unread = disclose(&damaged, &LOG.trust, "s_0", &mut |_, _| Ok(()));
    assert!(
        matches!(unread, Err(DiscloseError::Unread(_))),
        "{unread:?}"
    );
}

/// What is outside of the chain is of the stream, the number and the session that it stands under.
#[test]
fn a_record_outside_of_the_chain_is_the_sessions_own() {
    let shown = disclosed("s_1");
    let outside = |name: &&String| name.starts_with("outside/");
    let names: Vec<&String> = shown.keys().filter(outside).collect();
    assert_eq!(names.len(), 24, "each with its proof");
    let [first, first_proof, second, second_proof] = [0, 1, 2, 3].map(|at| names[at]);
    let moved = |to: [&str; 2], from: [&str; 2]| {
        let mut moved = shown.clone();
        for (to, from) in to.into_iter().zip(from) {
            moved.insert(to.to_owned(), shown[from].clone());
        }
        faults(&moved, &LOG.trust)
    };
    let other = moved([first, first_proof], [second, second_proof]);
    assert_eq!(other, [Fault::Leaf], "under another's number");
    let (record, proof) = (
        "session/00000000000000000001.json",
        "session/00000000000000000001.tlog-proof",
    );
    let chained = moved([record, proof], [first, first_proof]);
    assert_eq!(chained, [Fault::Kind], "in the chain");
    // A record of the chain stands in its stream too, and is not one outside of it.
    let text = std::str::from_utf8(&shown[proof]).unwrap();
    let index = Proof::parse(text).unwrap().index;
    let line = String::from_utf8(shown[record].clone()).unwrap();
    let writer = line.split('"').nth(5).unwrap();
    let at = format!("outside/{writer}/{index:020}");
    let chained = moved(
        [&format!("{at}.json"), &format!("{at}.tlog-proof")],
        [record, proof],
    );
    assert_eq!(chained, [Fault::Outside]);
    // Of another session.
    let mut mixed = disclosed("s_0");
    for name in &names[..2] {
        mixed.insert((*name).clone(), shown[*name].clone());
    }
    assert_eq!(faults(&mixed, &LOG.trust), [Fault::Outside]);
    // Alone they say nothing of the session's chain.
    let mut alone = shown.clone();
    alone.retain(|name, _| !name.starts_with("session/"));
    let checked = checked(&alone, &LOG.trust);
    assert_eq!(checked.report.doubts[0].what, Doubt::Empty);
    assert_eq!((checked.report.records, checked.outside), (0, 12));
}

/// Before anything is sealed, a record leads to the checkpoint of its own segment.
#[test]
fn before_the_first_seal() {
    let mut open = LOG.objects.clone();
    open.retain(|name, _| !name.starts_with("seal/") && !name.starts_with("cosig/"));
    let (made, shown) = shown(&open, "s_0");
    assert_eq!((made.sealed, made.records > 12), (0, true));
    let checked = checked(&shown, &LOG.trust);
    assert_eq!(
        (checked.report.verdict(), checked.sealed),
        (Verdict::Holds, 0)
    );
    assert_eq!(
        checked.report.findings.len(),
        checked.report.records as usize
    );
}
