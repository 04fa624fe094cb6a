//! Seals as they are made: by replicas that race, over stores that fail, past clocks that are wrong.

use super::*;

#[test]
fn replicas_race_and_agree() {
    let dirs: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut prod = Deployment::new();
    let ledgers: Vec<_> = dirs
        .iter()
        .map(|dir| prod.open(dir.path(), Mode::Local).0)
        .collect();
    for round in 0..8 {
        for ledger in &ledgers {
            prod.segment(ledger, 2);
        }
        prod.clock.advance(Duration::from_secs(20));
        std::thread::scope(|scope| {
            for ledger in &ledgers {
                scope.spawn(|| ledger.seal().unwrap().unwrap());
            }
        });
        let report = verify(prod.store.as_ref(), &prod.trust());
        assert!(report.faults.is_empty(), "{round}: {:?}", report.faults);
    }
    for ledger in &ledgers {
        ledger.close().unwrap();
    }
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    // Wishes of one moment may be served by one seal: what they would put is the same to the byte.
    assert!(report.seals[0].seals > 8, "each round makes one");
}

fn sealer(prod: &Deployment) -> Result<Sealer, SealError> {
    let keys = vec![Key::of(prod.signer.as_ref()).unwrap()];
    let signer: Arc<dyn Signer> = prod.signer.clone();
    Sealer::open(prod.store.clone(), signer, keys, "prod")
}

#[test]
fn one_seal_a_minute_whoever_makes_it() {
    let prod = Deployment::new();
    let (mut one, mut other) = (sealer(&prod).unwrap(), sealer(&prod).unwrap());
    for minute in 0..5 {
        let us = START_US + minute * 60_000_000;
        one.seal(us, false).unwrap();
        other.seal(us + 1_000_000, false).unwrap();
        one.seal(us + 59_000_000, false).unwrap();
        assert_eq!((one.last(), other.last()), (Some(minute), Some(minute)));
    }
    // Whoever comes later finds the last one without reading all.
    assert_eq!(sealer(&prod).unwrap().last(), Some(4));
    // A clock that is behind makes none, or one of the same time.
    one.seal(START_US, false).unwrap();
    assert_eq!(one.last(), Some(4));
    one.seal(START_US, true).unwrap();
    assert_eq!(sealer(&prod).unwrap().last(), Some(5));
}

/// A process that dies between a seal and its checkpoint leaves the second to the next.
#[test]
fn a_seal_without_its_checkpoint_is_finished_by_the_next() {
    for number in [0, 3] {
        let prod = Deployment::new();
        let mut one = sealer(&prod).unwrap();
        for _ in 0..=number {
            one.seal(START_US, true).unwrap();
        }
        let mut objects = prod.store.objects();
        let note = objects.remove(&names::seal_note("prod", number)).unwrap();
        let store = Arc::new(Memory::with(objects));
        let found = verify(store.as_ref(), &prod.trust());
        assert_eq!(found.findings[0].what, Finding::SealUnsigned);
        let again = Deployment {
            store,
            ..Deployment::new()
        };
        let again = Deployment {
            signer: prod.signer.clone(),
            ..again
        };
        sealer(&again).unwrap().seal(START_US, false).unwrap();
        assert_eq!(
            again.store.objects()[&names::seal_note("prod", number)],
            note
        );
    }
}

#[test]
fn what_does_not_follow_is_never_signed() {
    let prod = Deployment::new();
    let mut one = sealer(&prod).unwrap();
    one.seal(START_US, true).unwrap();
    let mut next = Seal::parse(&prod.store.objects()[&names::seal("prod", 0)]).unwrap();
    next.number = 1;
    next.previous = Some([3; 32]);
    prod.store
        .put_once(&names::seal("prod", 1), &next.bytes())
        .unwrap();
    let refused = one.seal(START_US, true);
    assert!(matches!(refused, Err(SealError::Foreign(1))), "{refused:?}");
    let refused = sealer(&prod).unwrap().seal(START_US, true);
    assert!(matches!(refused, Err(SealError::Foreign(1))), "{refused:?}");
    assert!(
        !prod
            .store
            .objects()
            .contains_key(&names::seal_note("prod", 1))
    );
    // Nor does one begin behind a checkpoint that another key signed.
    let other = Deployment {
        store: prod.store.clone(),
        ..Deployment::new()
    };
    assert!(matches!(sealer(&other), Err(SealError::Foreign(0))));
}

/// A stream whose disk is gone is given up after two days, and the log holds up to its horizon.
#[test]
fn a_stream_that_nobody_ends_is_lost_at_last() {
    let dir = tempfile::tempdir().unwrap();
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    ledger.seal().unwrap().unwrap();
    // The process is gone from here on: what it writes at its end goes into another store.
    let kept = Arc::new(Memory::with(prod.store.objects()));
    drop(ledger);
    prod.store = kept;
    let running = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        (running.verdict(), running.findings[0].what),
        (Verdict::Holds, Finding::Running)
    );
    let mut later = sealer(&prod).unwrap();
    for day in 1..5 {
        later.seal(START_US + day * 86_400_000_000, true).unwrap();
    }
    let report = verify(prod.store.as_ref(), &prod.trust());
    assert_eq!(
        (report.verdict(), report.findings[0].what),
        (Verdict::Holds, Finding::Lost)
    );
    assert_eq!(report.streams[0].sealed, Some(6));
    let last = Seal::parse(&prod.store.objects()[&names::seal("prod", later.last().unwrap())]);
    assert!(
        last.unwrap().streams.is_empty(),
        "it is listed as lost once"
    );
}

/// A last seal of a time that has not come is an error that is told, and no reason to wait for it.
#[test]
fn a_seal_of_a_later_time_is_told() {
    let prod = Deployment::new();
    let mut ahead = sealer(&prod).unwrap();
    ahead.seal(START_US + 86_400_000_000, true).unwrap();
    let mut here = sealer(&prod).unwrap();
    let told = here.seal(START_US, false);
    assert!(matches!(told, Err(SealError::Ahead)), "{told:?}");
    // One that nobody has signed yet stays so.
    let mut objects = prod.store.objects();
    let note = names::seal_note("prod", 0);
    objects.remove(&note).unwrap();
    let prod = Deployment {
        store: Arc::new(Memory::with(objects)),
        ..prod
    };
    for now in [false, true] {
        let told = sealer(&prod).unwrap().seal(START_US, now);
        assert!(matches!(told, Err(SealError::Ahead)), "{told:?}");
        assert!(!prod.store.objects().contains_key(&note));
    }
    let later_us = START_US + 86_400_000_000;
    sealer(&prod).unwrap().seal(later_us, false).unwrap();
    assert!(prod.store.objects().contains_key(&note));
}

/// A stray object in a stream's place gets into no seal.
#[test]
fn what_no_writer_signed_is_not_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let mut prod = Deployment::new();
    let (ledger, _) = prod.open(dir.path(), Mode::Local);
    prod.segment(&ledger, 5);
    let objects = prod.store.objects();
    let (name, stored) = objects
        .iter()
        .find(|(name, _)| name.starts_with("log/"))
        .unwrap();
    let stray = name.replace("00000.jsonl", "00006.jsonl");
    prod.store.put_once(&stray, stored).unwrap();
    let mut sealer = sealer(&prod).unwrap();
    sealer.seal(START_US, true).unwrap();
    assert_eq!(sealer.damaged(), 1);
    let number = sealer.last().unwrap();
    let seal = Seal::parse(&prod.store.objects()[&names::seal("prod", number)]).unwrap();
    assert_eq!(seal.streams[0].size, 6, "what the writer did sign is");
}

/// Puts that fail, and puts that fail after they were done, in no simple order.
struct Failing {
    store: Memory,
    puts: std::sync::atomic::AtomicU64,
}

impl Fetcher for Failing {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.store.list(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.store.fetch(name, limit)
    }
}

impl LedgerStore for Failing {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let failed = || Err(StoreError::Io(std::io::Error::other("no answer")));
        let put = self.puts.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        match put.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 {
            0 | 1 => failed(),
            2 | 3 => self.store.put_once(name, bytes).and_then(|()| failed()),
            _ => self.store.put_once(name, bytes),
        }
    }
}

#[test]
fn a_store_that_fails_holds_seals_up_and_breaks_none() {
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let keys = vec![Key::of(signer.as_ref()).unwrap()];
    let store = Arc::new(Failing {
        store: Memory::default(),
        puts: Default::default(),
    });
    let mut made = 0;
    for minute in 0..40 {
        let us = START_US + minute * 60_000_000;
        let opened = Sealer::open(store.clone(), signer.clone(), keys.clone(), "prod");
        let sealed = opened.and_then(|mut sealer| sealer.seal(us, false));
        made += u64::from(sealed.is_ok());
    }
    assert!(made > 0);
    let trust = gatehouse_ledger::trust::Trust::one(keys[0].clone());
    let report = verify(&store.store, &trust);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    assert!(report.seals[0].seals >= made);
}
