//! Witnesses and authorities that behave, and such that do not, each behind a socket of its own.

mod stamps;
mod tls;
#[path = "../../../envelope/tests/it/tsa.rs"]
mod tsa;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::cosign::{WitnessKey, cosign};
use gatehouse_ledger::note::Key;
use gatehouse_ledger::seal::Sealer;
use gatehouse_ledger::store::{Fetcher, Memory};
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::witness::{AddCheckpoint, SIZE_TYPE, State, judge};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::*;
use crate::clock::TestClock;
use crate::config;

/// 2026-11-29T14:05:00Z.
const START_US: u64 = 1_795_961_100_000_000;
const START_S: u64 = START_US / 1_000_000;

/// A log of seals.
struct Log {
    signer: Arc<MemorySigner>,
    store: Arc<Memory>,
    anchors: Anchors,
    sealer: Mutex<Sealer>,
    time: Arc<TestClock>,
    clocks: Arc<Clocks>,
}

impl Log {
    fn new() -> Self {
        let (signer, store) = (
            Arc::new(MemorySigner::generate("prod").unwrap()),
            Arc::new(Memory::default()),
        );
        let keys = vec![Key::of(signer.as_ref()).unwrap()];
        let anchors = Anchors::new(store.clone(), &keys, "prod");
        let sealer = Sealer::open(store.clone(), signer.clone(), keys, "prod").unwrap();
        let time = Arc::new(TestClock::new(START_US as i64));
        Self {
            clocks: Arc::new(Clocks::new(time.clone())),
            time,
            signer,
            store,
            anchors,
            sealer: Mutex::new(sealer),
        }
    }

    /// Makes `count` more seals.
    fn grow(&self, count: u64) {
        let mut sealer = self.sealer.lock();
        for _ in 0..count {
            sealer.seal(START_US, true).unwrap();
        }
        self.anchors.sealed(sealer.last().unwrap());
    }

    /// What the log is told of other clocks.
    fn told(&self) -> Vec<serde_json::Value> {
        let events = Mutex::new(Vec::new());
        self.clocks.tell(|event| {
            let event = serde_json::from_slice(event.bytes()).unwrap();
            events.lock().push(event);
            Box::pin(async { Ok(()) })
        });
        events.into_inner()
    }

    fn cosignatures(&self) -> usize {
        self.store.list("cosig/").unwrap().len()
    }
}

/// A status, a media type, a body.
type Reply = (u16, &'static str, String);
/// What a witness answers instead of what it should.
type Script = Arc<Mutex<Option<Reply>>>;

/// Answers one request a connection.
struct Server {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Server {
    async fn start(
        path: &'static str,
        mut answer: impl FnMut(Vec<u8>) -> (u16, &'static str, Vec<u8>) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (status, kind, body) = answer(request(&mut stream, path).await);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n"
                );
                // Status 0 is no answer at all. Whoever has seen enough hangs up.
                if status > 0 {
                    let _sent = stream.write_all(&[head.as_bytes(), &body].concat()).await;
                }
            }
        });
        Self {
            address,
            _serving: serving,
        }
    }
}

/// A witness of the log.
struct House {
    server: Server,
    signer: Arc<MemorySigner>,
    script: Script,
    /// The bodies that it got.
    asked: Arc<Mutex<Vec<String>>>,
    state: Arc<Mutex<State>>,
    /// What its clock shows.
    now_s: Arc<Mutex<u64>>,
}

impl House {
    async fn start(log: &Log) -> Self {
        let signer = Arc::new(MemorySigner::generate("w1").unwrap());
        let (script, asked) = (Script::default(), Arc::new(Mutex::new(Vec::new())));
        let state = Arc::new(Mutex::new(State::default()));
        let trust = Trust::one(Key::of(log.signer.as_ref()).unwrap());
        let (own, told, said) = (signer.clone(), script.clone(), asked.clone());
        let (known, now_s) = (state.clone(), Arc::new(Mutex::new(START_S)));
        let time = now_s.clone();
        let server = Server::start("/add-checkpoint", move |body| {
            let body = String::from_utf8(body).unwrap();
            let scripted = told.lock().clone();
            let reply =
                scripted.unwrap_or_else(|| answer(&trust, &own, (&known, &time.lock()), &body));
            said.lock().push(body);
            (reply.0, reply.1, reply.2.into_bytes())
        });
        Self {
            server: server.await,
            signer,
            script,
            asked,
            state,
            now_s,
        }
    }

    fn key(&self) -> WitnessKey {
        WitnessKey::of(self.signer.as_ref()).unwrap()
    }

    fn follower(&self, log: &Log) -> Follower {
        let witness = config::Witness {
            url: format!("http://{}/add-checkpoint", self.server.address)
                .parse()
                .unwrap(),
            key: self.key(),
            ca: None,
            timeout: Duration::from_secs(30),
        };
        Follower::new(
            Arc::new(witness),
            log.anchors.clone(),
            Post::new(None).unwrap(),
            log.clocks.clone(),
        )
    }

    /// From which sizes it was asked to go on.
    fn olds(&self) -> Vec<u64> {
        let asked = self.asked.lock();
        let old = |body: &String| AddCheckpoint::parse(body.as_bytes()).unwrap().old;
        asked.iter().map(old).collect()
    }
}

async fn request(stream: &mut TcpStream, path: &str) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        stream.read_buf(&mut all).await.unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n");
        let Some((head, body)) = end.map(|end| all.split_at(end + 4)) else {
            continue;
        };
        let head = String::from_utf8(head.to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() == length.unwrap().parse::<usize>().unwrap() {
            assert!(head.starts_with(&format!("POST {path} HTTP/1.1")), "{head}");
            return body.to_vec();
        }
    }
}

fn answer(
    trust: &Trust,
    own: &MemorySigner,
    (known, now_s): (&Mutex<State>, &u64),
    body: &str,
) -> Reply {
    let asked = AddCheckpoint::parse(body.as_bytes()).unwrap();
    let mut known = known.lock();
    match judge(trust, &[], &asked, |_| *known) {
        Ok(granted) => {
            let checkpoint = granted.checkpoint;
            let (size, root) = (checkpoint.size, checkpoint.root);
            *known = State { size, root };
            (
                200,
                "text/plain",
                cosign(granted.text, own, *now_s).unwrap(),
            )
        }
        Err(refusal) => match refusal.known() {
            Some(size) => (refusal.status(), SIZE_TYPE, format!("{size}\n")),
            None => (refusal.status(), "text/plain", String::new()),
        },
    }
}

fn followed(follower: &Follower) -> (u64, String) {
    let Followed {
        behind, trouble, ..
    } = follower.followed();
    (behind, trouble.unwrap_or_default())
}

#[tokio::test]
async fn every_seal_is_cosigned_once() {
    let log = Log::new();
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    follower.attempt().await;
    assert_eq!(
        followed(&follower),
        (0, String::new()),
        "there is nothing yet"
    );
    log.grow(3);
    assert_eq!(followed(&follower).0, 3);
    for _ in 0..2 {
        follower.attempt().await;
        assert_eq!(followed(&follower), (0, String::new()));
    }
    log.grow(2);
    follower.attempt().await;
    assert_eq!((house.olds(), log.cosignatures()), (vec![0, 3], 2));
    // A process that starts anew asks nothing while the store knows the answer, and learns the size
    // from the witness.
    let again = house.follower(&log);
    again.attempt().await;
    assert_eq!(house.olds().len(), 2);
    let other = house.follower(&log);
    log.grow(4);
    other.attempt().await;
    assert_eq!((house.olds(), log.cosignatures()), (vec![0, 3, 0, 5], 3));
    // And the first one, which went by the size of before, finds it done.
    follower.attempt().await;
    assert_eq!((house.olds().len(), followed(&follower).0), (4, 0));
    log.grow(1);
    follower.attempt().await;
    assert_eq!(house.olds().last(), Some(&9));
}

#[tokio::test]
async fn refusals_are_told_and_nothing_is_stored() {
    let log = Log::new();
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    log.grow(2);
    follower.attempt().await;
    log.grow(1);
    let stranger = MemorySigner::generate("w1").unwrap();
    let elsewhere = cosign("prod\n3\nAAAA\n", house.signer.as_ref(), 7).unwrap();
    let foreign = cosign("prod\n3\nAAAA\n", &stranger, 7).unwrap();
    for (reply, why) in [
        (
            (403, "text/plain", String::new()),
            "does not trust the deployment's key",
        ),
        (
            (404, "text/plain", String::new()),
            "does not witness this log",
        ),
        (
            (422, "text/plain", String::new()),
            "does not continue what it has cosigned",
        ),
        (
            (409, "text/plain", "2\n".to_owned()),
            "does not say which size",
        ),
        (
            (409, SIZE_TYPE, "two\n".to_owned()),
            "does not say which size",
        ),
        ((409, SIZE_TYPE, "2\n".to_owned()), "another history"),
        ((500, "text/plain", String::new()), "HTTP status 500"),
        ((302, "text/plain", String::new()), "HTTP status 302"),
        ((200, "text/plain", "nonsense".to_owned()), "no cosignature"),
        ((200, "text/plain", elsewhere), "no cosignature"),
        ((200, "text/plain", foreign), "no cosignature"),
        ((200, "text/plain", "x".repeat(1 << 17)), "too large"),
        ((0, "", String::new()), "broke off"),
    ] {
        let status = reply.0;
        *house.script.lock() = Some(reply);
        follower.attempt().await;
        let (behind, trouble) = followed(&follower);
        assert!(trouble.contains(why), "{status}: {trouble}");
        assert_eq!((behind, log.cosignatures()), (1, 1), "{status}");
    }
    *house.script.lock() = None;
    follower.attempt().await;
    assert_eq!(
        (followed(&follower), log.cosignatures()),
        ((0, String::new()), 2)
    );
}

#[tokio::test]
async fn another_history_is_refused_by_the_witness() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(3);
    house.follower(&log).attempt().await;
    // The same deployment, its store gone and begun anew.
    let (store, keys) = (
        Arc::new(Memory::default()),
        [Key::of(log.signer.as_ref()).unwrap()],
    );
    let sealer = Sealer::open(store.clone(), log.signer.clone(), keys.to_vec(), "prod").unwrap();
    let fork = Log {
        signer: log.signer.clone(),
        anchors: Anchors::new(store.clone(), &keys, "prod"),
        store,
        sealer: Mutex::new(sealer),
        time: log.time.clone(),
        clocks: log.clocks.clone(),
    };
    fork.sealer.lock().seal(START_US + 1, true).unwrap();
    let follower = house.follower(&fork);
    for (grown, why) in [
        (1, "fewer seals than the witness"),
        (1, "another history: its seal 2"),
        (1, "does not continue"),
    ] {
        fork.grow(grown);
        follower.attempt().await;
        let (_, trouble) = followed(&follower);
        assert!(trouble.contains(why), "{trouble}");
    }
    assert_eq!(fork.cosignatures(), 0);
    assert_eq!(house.state.lock().size, 3);
}

#[tokio::test]
async fn a_witness_that_is_away_is_tried_again() {
    let log = Log::new();
    log.grow(1);
    let house = House::start(&log).await;
    let follower = house.follower(&log);
    // Nobody listens where the other one was told to be.
    let (gone, key) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), house.key());
    let url = format!("http://{}/add-checkpoint", gone.local_addr().unwrap());
    drop(gone);
    let witness = config::Witness {
        url: url.parse().unwrap(),
        key,
        ca: None,
        timeout: Duration::from_secs(30),
    };
    let away = Follower::new(
        Arc::new(witness),
        log.anchors.clone(),
        Post::new(None).unwrap(),
        log.clocks.clone(),
    );
    away.attempt().await;
    assert_eq!(followed(&away), (1, "not reached".to_owned()));
    follower.attempt().await;
    // Its cosignature is there, whoever has asked for it.
    away.attempt().await;
    assert_eq!(followed(&away), (0, String::new()));
}

/// How far it had come shows in the store, though it is away.
#[tokio::test]
async fn a_process_that_starts_anew_counts_from_what_the_store_shows() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(3);
    house.follower(&log).attempt().await;
    log.grow(2);
    *house.script.lock() = Some((500, "text/plain", String::new()));
    let again = house.follower(&log);
    again.attempt().await;
    let (behind, trouble) = followed(&again);
    assert!(behind == 2 && trouble.contains("500"), "{behind} {trouble}");
    log.grow(1);
    again.attempt().await;
    assert_eq!(followed(&again).0, 3);
}

#[tokio::test]
async fn what_time_a_witness_says_is_told() {
    let log = Log::new();
    let house = House::start(&log).await;
    log.grow(1);
    *house.now_s.lock() = START_S + 7;
    house.follower(&log).attempt().await;
    let [told] = <[_; 1]>::try_from(log.told()).unwrap();
    let id = gatehouse_envelope::digest::hex(&house.key().id());
    let clock = serde_json::json!({
        "source": "witness", "id": id, "ahead_us": 0, "behind_us": 8_000_000, "off_us": 7_000_000, "n": 1
    });
    assert_eq!(
        (&told["kind"], &told["reason"], &told["clock"]),
        (&"clock.status".into(), &"first".into(), &clock)
    );
    log.grow(1);
    house.follower(&log).attempt().await;
    assert!(log.told().is_empty(), "it is as it was");
}

/// Others have it cosigned first each time, and this process has to know what time it is all the same.
#[tokio::test]
async fn a_replica_that_is_never_first_asks_for_the_time_alone() {
    let (log, mut other) = (Log::new(), Log::new());
    let house = House::start(&log).await;
    log.grow(1);
    house.follower(&log).attempt().await;
    (other.anchors, other.store) = (log.anchors.clone(), log.store.clone());
    let (first, second) = (house.follower(&log), house.follower(&other));
    // What it answers in the second in which it had cosigned may be of then.
    for (later_s, asked, told) in [(0, 2, 0), (1, 2, 1), (29 * 60, 0, 0), (60, 2, 1)] {
        log.grow(1);
        first.attempt().await;
        let before = house.asked.lock().len();
        other.time.advance(Duration::from_secs(later_s));
        *house.now_s.lock() += later_s;
        second.attempt().await;
        // It learns the size first.
        assert_eq!(house.asked.lock().len() - before, asked, "{later_s}");
        assert_eq!(other.told().len(), told, "{later_s}");
    }
    assert_eq!((log.cosignatures(), followed(&second).0), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_witness_that_does_not_answer_is_not_waited_for() {
    let log = Log::new();
    log.grow(1);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let witness = config::Witness {
        url: format!("http://{}/add-checkpoint", silent.local_addr().unwrap())
            .parse()
            .unwrap(),
        key: WitnessKey::of(&MemorySigner::generate("w").unwrap()).unwrap(),
        ca: None,
        timeout: Duration::from_secs(3),
    };
    let follower = Follower::new(
        Arc::new(witness),
        log.anchors.clone(),
        Post::new(None).unwrap(),
        log.clocks.clone(),
    );
    follower.attempt().await;
    assert_eq!(followed(&follower), (1, "no answer in time".to_owned()));
}

#[test]
fn witnesses_are_told_in_a_line() {
    let one = |name: &str, behind, trouble: Option<&str>| Followed {
        name: name.to_owned(),
        behind,
        trouble: trouble.map(str::to_owned),
    };
    assert_eq!(lines(&[], None), "");
    assert_eq!(
        lines(
            &[one("w1", 0, None), one("w2", 7, Some("not reached"))],
            Some("no answer in time")
        ),
        "witnesses: w1 is 0 seals behind; w2 is 7 seals behind: not reached\n\
         time stamp: no answer in time\n"
    );
}
