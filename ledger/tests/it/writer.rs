//! The writer: what it stores is what was appended, and it verifies.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use gatehouse_envelope::sign::{MemorySigner, SignError, Signer};
use gatehouse_ledger::{
    AppendError, CloseError, Durability, Mode, OpenError,
    event::Event,
    store::{Dir, Fetcher, LedgerStore, Memory, Object, StoreError, Stored},
    trust::Trust,
    verify::{Doubt, Finding, State, Verdict, Verifier},
};

use crate::log::{Deployment, verify, wait};

fn plain() -> Event {
    Event::kind("clock.status").finish().unwrap()
}

#[test]
fn a_closed_log_holds() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, recovery) = prod.open(dir.path(), Mode::Local);
    assert!(recovery.links.is_empty() && recovery.writers.is_empty());
    prod.segment(&ledger, 20);
    prod.segment(&ledger, 20);
    ledger.close().unwrap();
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!((report.records, report.sessions), (42, 3));
    assert_eq!(report.streams[0].state, State::Closed);
    let left = std::fs::read_dir(dir.path().join("wal")).unwrap().count();
    assert_eq!(left, 1, "nothing but the lock");
}

#[test]
fn without_a_trust_file_or_with_another_it_does_not_hold() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 3);
    ledger.close().unwrap();
    let report = Verifier::new(None).verify(prod.store.as_ref(), |_| {});
    assert_eq!(report.verdict(), Verdict::CouldNotTell);
    assert_eq!(report.doubts[0].what, Doubt::SignerUnknown);
    assert!(report.faults.is_empty());
    let other = verify(prod.store.as_ref(), &Deployment::new().trust());
    assert_eq!(other.verdict(), Verdict::Broken);
    let file = std::fs::read_to_string(dir.path().join("trust.policy")).unwrap();
    assert_eq!(Trust::parse(&file).unwrap(), prod.trust());
}

#[test]
fn a_running_log_names_its_horizon() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    ledger.seal().unwrap().unwrap();
    prod.segment(&ledger, 4);
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.doubts);
    let running = &report.findings[0];
    assert_eq!((running.what, running.seq), (Finding::Running, Some(9)));
    let stream = &report.streams[0];
    assert_eq!((stream.records, stream.sealed), (10, Some(6)));
    ledger.close().unwrap();
}

#[test]
fn a_day_ends_its_stream_and_the_next_begins_another() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    ledger
        .append(prod.sessions.next(), Durability::Durable)
        .wait()
        .unwrap();
    prod.clock.advance(Duration::from_secs(86_400 * 3 / 4));
    ledger
        .append(prod.sessions.next(), Durability::Durable)
        .wait()
        .unwrap();
    ledger.close().unwrap();
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.streams.len(), 2);
    let names: Vec<String> = prod.store.objects().into_keys().collect();
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("log/p_day=2026-11-29/p_writer=20261129-"))
    );
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("log/p_day=2026-11-30/p_writer=20261130-"))
    );
}

/// The deployment's signer, where somebody else holds the key and can be out of reach.
struct Far {
    near: Arc<MemorySigner>,
    away: AtomicBool,
    signed: AtomicUsize,
}

impl Signer for Far {
    fn name(&self) -> &str {
        self.near.name()
    }

    fn public(&self) -> [u8; 32] {
        self.near.public()
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(SignError::Unavailable);
        }
        let signature = self.near.sign(message);
        // Certificates, of which the spare stream's is one; seals are signed as well.
        let certificate = message.starts_with(b"DSSEv1");
        self.signed
            .fetch_add(usize::from(certificate), Ordering::SeqCst);
        signature
    }
}

#[test]
fn a_new_day_does_not_wait_for_a_signer_that_is_away() {
    for away_since_eleven in [false, true] {
        let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
        let signer = Arc::new(Far {
            near: prod.signer.clone(),
            away: false.into(),
            signed: 0.into(),
        });
        let store = prod.store.clone();
        let (ledger, _) = prod.open_signed(dir.path(), Mode::Local, store, signer.clone());
        let at_the_start = signer.signed.load(Ordering::SeqCst);
        let append = |prod: &mut Deployment| {
            let appended = ledger.append(prod.sessions.next(), Durability::Durable);
            appended.wait()
        };
        signer.away.store(away_since_eleven, Ordering::SeqCst);
        // It is five past two in the afternoon.
        prod.clock.advance(Duration::from_secs(9 * 3600));
        append(&mut prod).unwrap();
        if !away_since_eleven {
            wait(|| signer.signed.load(Ordering::SeqCst) > at_the_start);
        }
        signer.away.store(true, Ordering::SeqCst);
        prod.clock.advance(Duration::from_secs(3600));
        if away_since_eleven {
            assert!(append(&mut prod).is_err(), "no stream of that day yet");
            signer.away.store(false, Ordering::SeqCst);
        }
        append(&mut prod).unwrap();
        signer.away.store(false, Ordering::SeqCst);
        ledger.close().unwrap();
        let report = verify(prod.store.as_ref(), &prod.trust());
        assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.faults);
        assert_eq!(report.streams.len(), 2);
    }
}

#[test]
fn silence_is_filled_with_heartbeats() {
    let (dir, prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    let stored = || {
        ledger.flush().wait().unwrap();
        verify(prod.store.as_ref(), &prod.trust()).records
    };
    assert_eq!(stored(), 1);
    for records in 2..5 {
        prod.clock.advance(Duration::from_secs(11));
        wait(|| stored() == records);
    }
    ledger.close().unwrap();
}

#[test]
fn strict_waits_for_the_store() {
    let (dir, prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Strict);
    for records in 1..6u64 {
        let position = ledger.append(plain(), Durability::Durable).wait().unwrap();
        assert_eq!(position.seq, Some(records));
        let report = verify(prod.store.as_ref(), &prod.trust());
        assert_eq!(
            report.records,
            records + 1,
            "stored when the ticket completes"
        );
    }
    ledger.close().unwrap();
}

#[test]
fn one_process_at_a_time() {
    let (dir, prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    let options = gatehouse_ledger::Options {
        seals: gatehouse_ledger::SealLog::Shared,
        data_dir: dir.path().to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: gatehouse_ledger::Pace::default(),
    };
    let again = || {
        gatehouse_ledger::Ledger::open(
            options.clone(),
            prod.store.clone(),
            prod.signer.clone(),
            prod.clock.clone(),
        )
    };
    assert!(matches!(again(), Err(OpenError::Locked)));
    drop(ledger);
    assert!(again().is_ok());
    std::fs::write(
        dir.path().join("trust.policy"),
        Deployment::new().trust().file(),
    )
    .unwrap();
    assert!(matches!(again(), Err(OpenError::Untrusted)));
}

/// A store that can be switched off.
struct Switch {
    inner: Memory,
    off: AtomicBool,
}

impl Fetcher for Switch {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.inner.list(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.inner.fetch(name, limit)
    }
}

impl LedgerStore for Switch {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if self.off.load(Ordering::SeqCst) {
            // The worst of failures: it failed, and yet it is there.
            self.inner.put_once(name, bytes)?;
            return Err(std::io::Error::other("off").into());
        }
        self.inner.put_once(name, bytes)
    }
}

#[test]
fn a_store_that_is_away_delays_segments_and_nothing_else() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let store = Arc::new(Switch {
        inner: Memory::default(),
        off: AtomicBool::new(false),
    });
    let (ledger, _) = prod.open_with(dir.path(), Mode::Local, store.clone());
    store.off.store(true, Ordering::SeqCst);
    for _ in 0..4 {
        ledger
            .append(prod.sessions.next(), Durability::Durable)
            .wait()
            .unwrap();
        drop(ledger.flush());
    }
    wait(|| ledger.condition().waiting >= 3);
    store.off.store(false, Ordering::SeqCst);
    ledger.close().unwrap();
    let report = verify(&store.inner, &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
}

#[test]
fn a_name_that_is_taken_stops_the_ledger() {
    let (dir, mut prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    let names: Vec<String> = prod.store.objects().into_keys().collect();
    let writer = names[0]
        .trim_start_matches("cert/")
        .trim_end_matches(".dsse.json");
    let segment = gatehouse_ledger::names::segment("2026-11-29", writer, 0);
    prod.store.put_once(&segment, b"somebody else's").unwrap();
    prod.clock.advance(Duration::from_secs(6));
    ledger
        .append(prod.sessions.next(), Durability::Durable)
        .wait()
        .unwrap();
    wait(|| ledger.condition().failed);
    let refused = ledger
        .append(prod.sessions.next(), Durability::Durable)
        .wait();
    assert_eq!(refused, Err(AppendError::Failed));
    assert_eq!(ledger.close(), Err(CloseError::Failed));
}

#[test]
fn a_directory_works_like_memory() {
    let (dir, prod) = (tempfile::tempdir().unwrap(), Deployment::new());
    let store = Arc::new(Dir::new(dir.path().join("ledger")));
    for mode in [Mode::Async, Mode::Local, Mode::Strict] {
        let (ledger, _) = prod.open_with(dir.path(), mode, store.clone());
        let tickets: Vec<_> = (0..50)
            .map(|_| ledger.append(plain(), Durability::Durable))
            .collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
        ledger.close().unwrap();
        assert_eq!(
            ledger.append(plain(), Durability::Taken).wait(),
            Err(AppendError::Stopped)
        );
    }
    let report = verify(store.as_ref(), &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    assert_eq!(report.records, 3 * 52);
}
