use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use gatehouse_envelope::keys::SessionKeys;
use gatehouse_envelope::payload::Commitment;
use gatehouse_envelope::secret::Secret;
use gatehouse_ledger::store::{Fetcher, Memory, Object, Stored};
use parking_lot::Mutex;

use super::*;
use crate::clock::TestClock;
use crate::config::PayloadPlace;

/// What a store does with a put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Conflict,
    Fails,
    FailsButStores,
    Hangs,
    Stores,
}

/// A store that does one thing after the other, and the last for ever.
struct Faulty {
    inner: Memory,
    plan: Vec<Does>,
    puts: AtomicU32,
    hanging: (Mutex<Option<mpsc::Sender<()>>>, Mutex<mpsc::Receiver<()>>),
}

impl Faulty {
    fn go_on(&self) {
        drop(self.hanging.0.lock().take());
    }
}

impl Fetcher for Faulty {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.inner.list(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.inner.fetch(name, limit)
    }
}

impl LedgerStore for Faulty {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let at = self.puts.fetch_add(1, Ordering::SeqCst) as usize;
        let failed = || Err(std::io::Error::other("away").into());
        match self.plan.get(at).or(self.plan.last()).unwrap() {
            Does::Conflict => Err(StoreError::Conflict),
            Does::Fails => failed(),
            Does::FailsButStores => {
                self.inner.put_once(name, bytes)?;
                failed()
            }
            Does::Hangs => {
                // Until the other end is dropped.
                let _ended = self.hanging.1.lock().recv();
                failed()
            }
            Does::Stores => self.inner.put_once(name, bytes),
        }
    }
}

fn payloads(plan: &[Does]) -> (Payloads, Arc<Faulty>) {
    let (hold, held) = mpsc::channel();
    let store = Arc::new(Faulty {
        hanging: (Mutex::new(Some(hold)), Mutex::new(held)),
        inner: Memory::default(),
        plan: plan.to_vec(),
        puts: AtomicU32::new(0),
    });
    let settings = config::Payloads {
        place: PayloadPlace::Dir("nowhere".into()),
        retention_days: 3,
        reply: KeptReply::Received,
        timeout: Duration::from_secs(2),
    };
    let clock = Arc::new(TestClock::new(1_000_000));
    (Payloads::new(store.clone(), clock, &settings), store)
}

fn keys() -> SessionKeys {
    SessionKeys::new(&Secret::new([5; 32]))
}

fn sealed(payloads: &Payloads) -> Sealed {
    let draft = payloads.begin(&keys(), ("t", "s_a"), 17, Part::Request);
    let mut draft = draft.unwrap();
    draft.push(b"what was ").unwrap();
    draft.push(b"sent").unwrap();
    draft.finish().unwrap()
}

#[tokio::test]
async fn what_is_stored_is_what_the_record_says() {
    let (payloads, store) = payloads(&[Does::Stores]);
    let sealed = sealed(&payloads);
    payloads.put(&sealed).await.unwrap();
    let body = &sealed.body;
    assert_eq!(body.until_us, 1_000_000 + 3 * DAY_US);
    assert!(body.location.name().starts_with("p/s_a/17-req-"));
    let object = store.inner.get(&body.location.name(), 1 << 20).unwrap();
    let object = object.unwrap();
    assert_eq!(object.len() as u64, body.object_len());
    let place = Place {
        part: "req",
        tenant: "t",
        session: "s_a",
        number: 17,
    };
    let commitment = Commitment {
        ct: &body.ct,
        len: body.len,
        kc: &body.kc,
        pm: &body.pm,
    };
    let keys = keys();
    let opened = keys.payload().open(&place, &commitment, &object);
    assert_eq!(opened.unwrap().as_slice(), b"what was sent");
}

/// What a store may do, whether the payload counts as stored, and how often it was offered.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails() {
    use Does::{Conflict, Fails, FailsButStores, Stores};
    for (plan, stored, puts) in [
        (&[Stores][..], true, 1),
        (&[Fails, Stores], true, 2),
        (&[FailsButStores, Stores], true, 2),
        (&[Fails, FailsButStores, Stores], true, 3),
        (&[Fails], false, 3),
        (&[FailsButStores], false, 3),
        (&[Conflict], false, 1),
    ] {
        let (payloads, store) = payloads(plan);
        let sealed = sealed(&payloads);
        let done = payloads.put(&sealed).await;
        assert_eq!(done.is_ok(), stored);
        assert_eq!(
            (payloads.trouble().is_none(), payloads.is_away()),
            (stored, !stored)
        );
        assert_eq!(store.puts.load(Ordering::SeqCst), puts);
        let there = store.inner.list("").unwrap().len();
        assert!(there == 1 || !stored);
    }
}

/// After a failure no more are asked for, for a while; what the next one meets counts then.
#[tokio::test(start_paused = true)]
async fn trouble_is_said_until_something_is_kept_again() {
    let trouble = Trouble::default();
    let mut seen = Vec::new();
    for put in [Ok(()), Err(&Unstored::Late), Ok(())] {
        trouble.note(put);
        for _ in 0..2 {
            seen.push((trouble.text(), trouble.is_fresh()));
            tokio::time::advance(Duration::from_secs(10)).await;
        }
    }
    let late = || Some("not stored in time".to_owned());
    let (well, away, tries) = ((None, false), (late(), true), (late(), false));
    assert_eq!(
        seen,
        [well.clone(), well.clone(), away, tries, well.clone(), well]
    );
}

/// More payloads than may be on their way, in a store that takes none in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_is_not_waited_for() {
    let (mut payloads, store) = payloads(&[Does::Hangs]);
    payloads.timeout = Duration::from_millis(20);
    let sealed = sealed(&payloads);
    for _ in 0..3 {
        let done = payloads.put(&sealed).await;
        assert!(matches!(done, Err(Unstored::Late)));
    }
    // The threads that hang are let go, so that the test can end.
    store.go_on();
}
