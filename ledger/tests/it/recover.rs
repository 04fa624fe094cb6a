//! Recovery: what a dead process left is stored under its name, once and for all.

use std::sync::Arc;

use gatehouse_ledger::{
    Durability, Mode,
    store::Memory,
    verify::{Finding, Report, State, Verdict},
};

use crate::log::{Deployment, copy, verify};

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
