//! Recovery: what a dead process left is stored under its name, once and for all.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_ledger::{
    Durability, Mode,
    event::Event,
    store::Memory,
    verify::{Finding, Report, State, Verdict},
};

use crate::log::{Deployment, START_US, copy, verify};

/// Everything that a dead process had been told is there: `dies` says how much of it was stored.
fn dead(dies: impl FnOnce(&mut Deployment, &gatehouse_ledger::Ledger)) -> (Deployment, Report) {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(first.path(), Mode::Local);
    dies(&mut prod, &ledger);
    // What is on the disk now is what the second process finds; the first goes on into another
    // store, as if it had never been.
    copy(first.path(), second.path());
    let kept = Arc::new(Memory::with(prod.store.objects()));
    drop(ledger);
    prod.store = kept;
    for _ in 0..2 {
        let (ledger, recovery) = prod.open(second.path(), Mode::Local);
        assert_eq!(recovery.damaged, [""; 0]);
        let links: Vec<_> = recovery
            .links
            .iter()
            .map(|l| (l.session.clone(), l.sseq))
            .collect();
        assert_eq!(links.len(), 3, "{links:?}");
        ledger.close().unwrap();
        // Not completed: the second time the same is recovered again, to the same bytes.
    }
    let (ledger, recovery) = prod.open(second.path(), Mode::Local);
    recovery.complete().unwrap();
    ledger.close().unwrap();
    let (ledger, recovery) = prod.open(second.path(), Mode::Local);
    assert!(recovery.links.is_empty() && recovery.writers.is_empty());
    ledger.close().unwrap();
    let report = verify(prod.store.as_ref(), &prod.trust());
    (prod, report)
}

#[test]
fn what_a_dead_process_left_is_stored_under_its_name() {
    let (_, report) = dead(|prod, ledger| {
        for _ in 0..9 {
            ledger
                .append(prod.sessions.next(), Durability::Durable)
                .wait()
                .unwrap();
        }
    });
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    let recovered = report
        .streams
        .iter()
        .find(|s| s.state == State::Recovered)
        .unwrap();
    assert_eq!(recovered.records, 11);
    assert_eq!(report.findings[0].what, Finding::Recovered);
}

#[test]
fn recovery_goes_on_behind_what_was_stored() {
    let (prod, report) = dead(|prod, ledger| {
        prod.segment(ledger, 10);
        prod.segment(ledger, 10);
        for _ in 0..9 {
            ledger
                .append(prod.sessions.next(), Durability::Durable)
                .wait()
                .unwrap();
        }
    });
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    let recovered = report
        .streams
        .iter()
        .find(|s| s.state == State::Recovered)
        .unwrap();
    assert_eq!(recovered.records, 31);
    assert!(prod.store.objects().len() > 5);
}

#[test]
fn a_torn_end_is_cut_off_and_said() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(first.path(), Mode::Local);
    for _ in 0..6 {
        ledger
            .append(prod.sessions.next(), Durability::Durable)
            .wait()
            .unwrap();
    }
    copy(first.path(), second.path());
    let kept = Arc::new(Memory::with(prod.store.objects()));
    drop(ledger);
    prod.store = kept;
    let wal = std::fs::read_dir(second.path().join("wal"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    let file = std::fs::read_dir(&wal)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 5);
    std::fs::write(&file, bytes).unwrap();
    let (ledger, recovery) = prod.open(second.path(), Mode::Local);
    assert_eq!(recovery.cut.len(), 1);
    ledger.close().unwrap();
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.findings[0].what, Finding::RecoveredCut);
    let recovered = report
        .streams
        .iter()
        .find(|s| s.state == State::Recovered)
        .unwrap();
    assert_eq!(recovered.records, 7, "opening, five of six, closing");
}

/// An event of a session, wherever it says that it stands.
fn placed(kind: &'static str, sseq: u64, sprev: [u8; 32]) -> Event {
    let mut event = Event::kind(kind);
    event
        .text("sid", "s_1")
        .integer("sseq", sseq)
        .hex("sprev", &sprev);
    event.finish().unwrap()
}

/// The one stream's folder in the write-ahead log.
fn stream_of(dir: &Path) -> PathBuf {
    let entries = std::fs::read_dir(dir.join("wal")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.find(|path| path.is_dir()).unwrap()
}

/// What recovery says of a log with these events, whose file somebody changed: whether it set it
/// aside, and the links that it found.
fn recovered(events: &[Event], change: impl Fn(Vec<u8>) -> Vec<u8>) -> (bool, Vec<(String, u64)>) {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let prod = Deployment::new();
    let (ledger, _) = prod.open(first.path(), Mode::Local);
    for event in events {
        let appended = ledger.append(event.clone(), Durability::Durable);
        appended.wait().unwrap();
    }
    copy(first.path(), second.path());
    let before = prod.store.objects();
    drop(ledger);
    let file = std::fs::read_dir(stream_of(second.path())).unwrap().next();
    let file = file.unwrap().unwrap().path();
    std::fs::write(&file, change(std::fs::read(&file).unwrap())).unwrap();
    let store = Arc::new(Memory::with(before.clone()));
    let (ledger, recovery) = prod.open_with(second.path(), Mode::Local, store.clone());
    let aside = !recovery.damaged.is_empty();
    let links = recovery.links.iter().map(|l| (l.session.clone(), l.sseq));
    let links = links.collect();
    let segments = |objects: &std::collections::BTreeMap<String, Vec<u8>>| {
        let names = objects.keys().filter(|name| name.starts_with("log/"));
        names.count()
    };
    assert_eq!(segments(&store.objects()) == segments(&before), aside);
    ledger.close().unwrap();
    (aside, links)
}

/// The deployment's key signs nothing that its own verifier would call broken.
#[test]
fn a_log_that_contradicts_itself_is_not_signed() {
    let open = placed("session.open", 0, [0; 32]);
    let next = placed("exchange.admitted", 1, open.digest());
    let last = placed("exchange.settled", 2, next.digest());
    let chain = [open.clone(), next.clone(), last.clone()];
    let same = |bytes: Vec<u8>| bytes;
    let links = vec![("s_1".to_owned(), 2)];
    assert_eq!(recovered(&chain, same), (false, links.clone()));
    // A record that was late stands behind the one that follows it.
    let late = [open.clone(), last.clone(), next.clone()];
    assert_eq!(recovered(&late, same), (false, links));

    let fork = placed("exchange.refused", 1, open.digest());
    let wrong = placed("exchange.refused", 1, [7; 32]);
    let nameless = Event::kind("writer.open").finish().unwrap();
    let mut closing = Event::kind("writer.close");
    closing.text("state", "closed");
    for bad in [
        vec![open.clone(), next.clone(), fork],
        vec![open.clone(), next.clone(), next.clone()],
        vec![open.clone(), wrong],
        vec![next.clone(), placed("session.open", 3, [0; 32])],
        vec![open.clone(), nameless],
        vec![open.clone(), closing.finish().unwrap(), next.clone()],
    ] {
        assert!(recovered(&bad, same).0, "{}", bad.len());
    }
}

/// Every record of a segment is of one day, and time does not go back.
#[test]
fn a_log_of_two_days_is_not_signed() {
    let open = placed("session.open", 0, [0; 32]);
    let next = placed("exchange.admitted", 1, open.digest());
    for (day, us) in [
        ("2026-11-30", START_US + 86_400_000_000),
        ("2026-11-28", START_US - 86_400_000_000),
    ] {
        let (aside, _) = recovered(&[open.clone(), next.clone()], |bytes| {
            let mut frames = frames(&bytes);
            let leaf = String::from_utf8(frames.pop().unwrap()).unwrap();
            let moved = leaf
                .replace("2026-11-29T", &format!("{day}T"))
                .replace(&START_US.to_string(), &us.to_string());
            assert_ne!(moved, leaf);
            frames.push(moved.into_bytes());
            file(&frames)
        });
        assert!(aside, "{day}");
    }
}

/// The payloads of a file of the write-ahead log, as docs/audit-log.md describes it.
fn frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes.strip_prefix(&[1]).unwrap();
    let mut frames = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        frames.push(behind[4..4 + length].to_vec());
        rest = &behind[4 + length..];
    }
    frames
}

fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![1];
    for payload in frames {
        let length = (payload.len() as u32).to_le_bytes();
        let sum = crc32c(&[&length[..], payload].concat());
        bytes.extend_from_slice(&length);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(payload);
    }
    bytes
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0x82f6_3b78 * (sum & 1));
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    !bytes.iter().fold(!0, byte)
}
