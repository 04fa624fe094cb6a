//! Time stamps: one a day, whatever the authority does first.

use std::sync::atomic::{AtomicI64, Ordering};

use gatehouse_envelope::stamp::Authorities;
use gatehouse_ledger::names;

use super::tsa::{RSA, Tsa};
use super::*;
use crate::config::Timestamp;

const MINUTE_US: u64 = 60_000_000;
/// 2026-11-30T00:00:00Z.
const MIDNIGHT_US: u64 = 1_795_996_800_000_000;

/// A clock that stands still until it is set.
struct Set(AtomicI64);

impl Set {
    fn set(&self, us: u64) {
        self.0.store(us.try_into().unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Set {
    fn utc_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn mono_us(&self) -> u64 {
        0
    }
}

/// What the authority answers instead of a stamp; the digest and a nonce are in the request.
type Answer = Box<dyn FnMut(&[u8], Vec<u8>) -> (u16, Vec<u8>) + Send>;

struct Bureau {
    stamper: Stamper,
    clock: Arc<Set>,
    clocks: Arc<Clocks>,
    script: Arc<Mutex<Option<Answer>>>,
    asked: Arc<Mutex<usize>>,
    _server: Server,
}

impl Bureau {
    async fn start(log: &Log) -> Self {
        let (script, asked) = (
            Arc::new(Mutex::new(None::<Answer>)),
            Arc::new(Mutex::new(0)),
        );
        let (told, count, tsa) = (script.clone(), asked.clone(), Tsa::new(&RSA));
        let certificates = Authorities::parse(&tsa.certificates()).unwrap();
        let server = Server::start("/tsr", move |body| {
            *count.lock() += 1;
            let reply = tsa.reply(&body);
            let (status, reply) = match told.lock().as_mut() {
                Some(answer) => answer(&body, reply),
                None => (200, reply),
            };
            (status, "application/timestamp-reply", reply)
        });
        let server = server.await;
        let authority = Timestamp {
            url: format!("http://{}/tsr", server.address).parse().unwrap(),
            certificates,
            ca: None,
            timeout: Duration::from_secs(60),
        };
        let clock = Arc::new(Set(AtomicI64::new(0)));
        let (anchors, post) = (log.anchors.clone(), Post::new(None).unwrap());
        let clocks = Arc::new(Clocks::new(clock.clone()));
        let stamper = Stamper::new(Arc::new(authority), anchors, post, clocks.clone());
        Self {
            stamper,
            clock,
            clocks,
            script,
            asked,
            _server: server,
        }
    }

    /// Tries at a time; says what was wrong, and how often the authority was asked so far.
    async fn attempt(&self, us: u64) -> (String, usize) {
        self.clock.set(us);
        self.stamper.attempt().await;
        (
            self.stamper.trouble().unwrap_or_default(),
            *self.asked.lock(),
        )
    }
}

fn seal(log: &Log, us: u64) {
    let mut sealer = log.sealer.lock();
    sealer.seal(us, true).unwrap();
    log.anchors.sealed(sealer.last().unwrap());
}

fn stamps(log: &Log) -> Vec<String> {
    let mut names: Vec<_> = log
        .store
        .list("tsa/")
        .unwrap()
        .into_iter()
        .map(|it| it.name)
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_day_is_stamped_once_it_is_over() {
    let log = Log::new();
    let bureau = Bureau::start(&log).await;
    let well = |asked| (String::new(), asked);
    assert_eq!(
        bureau.attempt(MIDNIGHT_US - MINUTE_US).await,
        well(0),
        "there is no seal yet"
    );
    for minute in 1..5 {
        seal(&log, MIDNIGHT_US - minute.min(2) * MINUTE_US);
    }
    // Before the first seal of the next day, and before all clocks have come to it, nothing is due.
    assert_eq!(bureau.attempt(MIDNIGHT_US - MINUTE_US).await, well(0));
    assert_eq!(bureau.attempt(MIDNIGHT_US + 3 * MINUTE_US).await, well(0));
    seal(&log, MIDNIGHT_US + 3 * MINUTE_US);
    assert_eq!(bureau.attempt(MIDNIGHT_US + 4 * MINUTE_US).await, well(1));
    assert_eq!(stamps(&log), [names::stamp("prod", "2026-11-29")]);
    let told = Mutex::new(String::new());
    bureau.clocks.tell(|event| {
        told.lock()
            .push_str(std::str::from_utf8(event.bytes()).unwrap());
        Box::pin(async { Ok(()) })
    });
    let told = told.into_inner();
    assert_eq!(told.matches("clock.status").count(), 1);
    assert!(
        told.starts_with(
            r#"{"kind":"clock.status","reason":"first","clock":{"source":"timestamp","ahead_us":"#
        ),
        "{told}"
    );
    seal(&log, MIDNIGHT_US + 5 * MINUTE_US);
    assert_eq!(
        bureau.attempt(MIDNIGHT_US + 6 * MINUTE_US).await,
        well(1),
        "once is enough"
    );
    // A process that starts anew finds it there. After days without any, the last one's stamp would be too
    // late to show anything; the next day's covers it.
    let again = Bureau::start(&log).await;
    assert_eq!(again.attempt(MIDNIGHT_US + 7 * MINUTE_US).await, well(0));
    let later = MIDNIGHT_US + 5 * 86_400_000_000;
    seal(&log, later);
    assert_eq!(again.attempt(later + 4 * MINUTE_US).await, well(0));
    let next = later + 86_400_000_000;
    seal(&log, next);
    assert_eq!(again.attempt(next + 4 * MINUTE_US).await, well(1));
    let both = ["2026-11-29", "2026-12-05"].map(|day| names::stamp("prod", day));
    assert_eq!(stamps(&log), both);
}

#[tokio::test]
async fn what_is_no_stamp_of_the_seal_is_not_stored() {
    let log = Log::new();
    let bureau = Bureau::start(&log).await;
    seal(&log, MIDNIGHT_US - MINUTE_US);
    seal(&log, MIDNIGHT_US + MINUTE_US);
    let now = MIDNIGHT_US + 3 * MINUTE_US;
    let first = Arc::new(Mutex::new(Vec::new()));
    let (kept, replayed) = (first.clone(), first);
    let stranger = Tsa::new(&RSA);
    let cases: [(Answer, &str); 7] = [
        (
            Box::new(move |_, reply| {
                *kept.lock() = reply;
                (503, Vec::new())
            }),
            "HTTP status 503",
        ),
        (
            Box::new(move |_, _| (200, replayed.lock().clone())),
            "an answer to another request",
        ),
        (
            Box::new(|_, _| (200, b"nonsense".to_vec())),
            "not a time stamp reply",
        ),
        (
            // A refusal: PKIStatusInfo with the status 2.
            Box::new(|_, _| (200, vec![0x30, 0x05, 0x30, 0x03, 0x02, 0x01, 0x02])),
            "did not grant the time stamp: status 2",
        ),
        (
            Box::new(|_, mut reply| {
                if let Some(last) = reply.last_mut() {
                    *last ^= 1;
                }
                (200, reply)
            }),
            "signature does not hold",
        ),
        (
            Box::new(move |request, _| (200, stranger.reply(request))),
            "no trusted authority",
        ),
        (Box::new(|_, _| (0, Vec::new())), "broke off"),
    ];
    for (answer, why) in cases {
        *bureau.script.lock() = Some(answer);
        let (trouble, _) = bureau.attempt(now).await;
        assert!(trouble.contains(why), "{trouble}, not {why}");
        assert!(stamps(&log).is_empty(), "{why}");
    }
    *bureau.script.lock() = None;
    assert_eq!(bureau.attempt(now).await, (String::new(), 8));
    assert_eq!(stamps(&log).len(), 1);
}
