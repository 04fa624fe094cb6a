//! Witnesses and authorities that behave, and such that do not, each behind a socket of its own; and a log whose
//! store fails when told to.

mod cosigning;
mod stamps;
mod time;
mod tls;
#[path = "../../../envelope/tests/it/tsa.rs"]
mod tsa;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::cosign::{WitnessKey, cosign};
use gatehouse_ledger::note::Key;
use gatehouse_ledger::seal::Sealer;
use gatehouse_ledger::store::{Fetcher, LedgerStore, Memory, Object, StoreError, Stored};
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

/// A store that fails when told to.
#[derive(Default)]
struct Broken {
    inner: Memory,
    /// Lists nothing that comes after a name.
    is_unlisted: AtomicBool,
    /// Takes no cosignature.
    is_full: AtomicBool,
}

impl Fetcher for Broken {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.inner.list(prefix)
    }

    fn list_after(&self, prefix: &str, name: &str) -> Result<Vec<Object>, StoreError> {
        match self.is_unlisted.load(Ordering::SeqCst) {
            true => Err(std::io::Error::other("not now").into()),
            false => self.inner.list_after(prefix, name),
        }
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.inner.fetch(name, limit)
    }
}

impl LedgerStore for Broken {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if name.starts_with("cosig/") && self.is_full.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("no space").into());
        }
        self.inner.put_once(name, bytes)
    }
}

/// A log of seals.
struct Log {
    signer: Arc<MemorySigner>,
    store: Arc<Broken>,
    anchors: Anchors,
    sealer: Mutex<Sealer>,
    time: Arc<TestClock>,
    clocks: Arc<Clocks>,
}

impl Log {
    fn new() -> Self {
        let (signer, store) = (
            Arc::new(MemorySigner::generate("prod").unwrap()),
            Arc::new(Broken::default()),
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
