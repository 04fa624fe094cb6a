//! A gateway whose log is in S3: what it does when S3 is away, when its spool is full, and when it is
//! killed. Ceph's S3 gateway stands behind a wire that can be cut.

mod payloads;
#[path = "../../../../ledger/tests/it/s3/place.rs"]
mod place;
#[path = "../../../../ledger/tests/it/s3/radosgw.rs"]
mod radosgw;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatehouse_ledger::clock::{Clock, SystemClock};
use gatehouse_ledger::read::records;
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::verify::{Locks, Report, Verdict, Verifier};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::aws::Fate;
use crate::gate::caller::parse;
use crate::gate::{Answer, Caller};
use place::{Place, Server};
use radosgw::RadosGw;

/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(240);

/// A gateway in a process of its own.
struct Gateway {
    data: tempfile::TempDir,
    config: PathBuf,
    address: SocketAddr,
    admin: SocketAddr,
    token: Mutex<String>,
    process: Mutex<Option<Child>>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Gateway {
    fn new(place: &Place, ledger: &str) -> Self {
        Self::over(&format!(
            "store = \"s3\"\nbucket = \"{}\"\nregion = \"us-east-1\"\nendpoint = \"{}\"\n\
             retention_days = 1\nsegment_age = \"200ms\"\n{ledger}",
            place.bucket.name,
            place.front.endpoint(),
        ))
    }

    /// With a table of settings for the log.
    fn over(ledger: &str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (address, admin) = (free_address(), free_address());
        let text = format!(
            r#"
            config_version = 1
            listen = "{address}"
            admin_listen = "{admin}"
            data_dir = {:?}

            [[provider]]
            name = "echo"
            protocol = "echo"

            [ledger]
            {ledger}

            [log]
            level = "warn"
            "#,
            data.path(),
        );
        let config = data.path().join("gatehouse.toml");
        std::fs::write(&config, text).unwrap();
        Self {
            data,
            config,
            address,
            admin,
            token: Mutex::default(),
            process: Mutex::default(),
        }
    }

    fn command(&self) -> Command {
        let mut gateway = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        gateway
            .args(["up", "--no-model", "--config"])
            .arg(&self.config)
            .env("AWS_ACCESS_KEY_ID", radosgw::CREDENTIALS.0)
            .env("AWS_SECRET_ACCESS_KEY", radosgw::CREDENTIALS.1)
            .env("AWS_EC2_METADATA_DISABLED", "true");
        gateway
    }

    /// Starts it and waits until it says that it listens; the first time it also tells a key.
    fn start(&self) {
        let mut child = self.command().stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        *self.process.lock() = Some(child);
        let first = self.token.lock().is_empty();
        for line in lines.map_while(Result::ok) {
            if let Some(token) = line.trim().strip_prefix("gk_") {
                *self.token.lock() = format!("gk_{token}");
                return;
            }
            if !first && line.starts_with("Gatehouse ") {
                return;
            }
        }
        panic!("the gateway does not start");
    }

    fn kill(&self) {
        if let Some(mut child) = self.process.lock().take() {
            let _gone = child.kill();
            let _gone = child.wait();
        }
    }

    /// Ends it as an operator would.
    fn stop(&self) {
        let mut child = self.process.lock().take().unwrap();
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(sent.unwrap().success());
        assert!(child.wait().unwrap().success());
    }

    /// One exchange; none if nobody is there.
    async fn ask(&self) -> Option<Answer> {
        let caller = Caller {
            address: self.address,
            token: self.token.lock().clone(),
        };
        let body = json!({"model": "echo-1", "messages": [{"role": "user", "content": "hi"}]});
        let bytes = body.to_string().into_bytes();
        let path = "/v1/chat/completions";
        let bytes = caller.request("POST", path, "connection: close\r\n", &bytes);
        raw(self.address, &bytes).await.map(parse)
    }

    async fn readyz(&self) -> Answer {
        let bytes = b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        parse(raw(self.admin, bytes).await.unwrap())
    }

    /// What the bucket's log says, and which requests it has records of, by kind.
    fn log(&self, place: &Place) -> (Report, BTreeMap<String, BTreeSet<String>>) {
        let trust = std::fs::read_to_string(self.data.path().join("trust.policy")).unwrap();
        let trust = Trust::parse(&trust).unwrap();
        let locks = Locks {
            days: 1,
            now_us: Some(SystemClock::new().now().unix_us),
        };
        let reader = place.reader();
        let verifier = Verifier::new(Some(&trust)).locks(locks);
        let report = verifier.verify(&reader, |_| {});
        let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let unread = records(&reader, |entry| {
            if let Some(request) = entry.request {
                let of_kind = kinds.entry(entry.kind.to_owned()).or_default();
                assert!(of_kind.insert(request.to_owned()), "{request} stands twice");
            }
        });
        assert!(unread.unwrap().is_empty());
        (report, kinds)
    }
}

fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

async fn raw(address: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(bytes).await.ok()?;
        let mut raw = Vec::new();
        stream.read_to_end(&mut raw).await.ok()?;
        Some(raw)
    };
    let raw = tokio::time::timeout(PATIENCE, exchange).await.ok()??;
    (!raw.is_empty()).then_some(raw)
}

/// What callers were told.
#[derive(Default)]
struct Told {
    /// Ids of requests that were answered.
    answered: Mutex<BTreeSet<String>>,
    /// Refusals, by status and code.
    refused: Mutex<BTreeMap<(u16, String), usize>>,
    stop: AtomicBool,
}

impl Told {
    fn add(&self, answer: &Answer) {
        if answer.status == 200 && answer.complete {
            let id = answer.header("x-request-id").unwrap();
            self.answered.lock().insert(id);
            return;
        }
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let code = body["error"]["code"].as_str().unwrap_or_default();
        let key = (answer.status, code.to_owned());
        *self.refused.lock().entry(key).or_default() += 1;
    }

    fn answered(&self) -> usize {
        self.answered.lock().len()
    }

    fn unavailable(&self) -> usize {
        let refused = self.refused.lock();
        let key = (503, "audit_unavailable".to_owned());
        refused.get(&key).copied().unwrap_or(0)
    }
}

/// Callers who go on until they are told to stop, whatever becomes of the gateway.
fn load(gateway: &Arc<Gateway>, told: &Arc<Told>) -> JoinSet<()> {
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let (gateway, told) = (Arc::clone(gateway), Arc::clone(told));
        callers.spawn(async move {
            while !told.stop.load(Ordering::SeqCst) {
                match gateway.ask().await {
                    Some(answer) => told.add(&answer),
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        });
    }
    callers
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what} does not happen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// `Place` has a runtime of its own, which no other may wait in.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_goes_and_comes_back_and_the_gateway_is_killed_under_load() {
    let place = apart(|| Place::new(Server::RadosGw)).await;
    let ledger = "append_timeout = '20s'\nsegment_size = '16KiB'\nspool = '192KiB'";
    let gateway = Arc::new(Gateway::new(&place, ledger));
    gateway.start();
    let told = Arc::new(Told::default());
    let callers = load(&gateway, &told);
    let more_than = |count: usize| told.answered() > count;
    until("a request", || more_than(20)).await;

    // S3 is away: requests go on, and are refused once the spool is full.
    place.front.set(Fate::Cut);
    let before = told.answered();
    until("a request without S3", || more_than(before)).await;
    until("a full spool", || told.unavailable() > 3).await;
    let start = Instant::now();
    loop {
        let ready = gateway.readyz().await;
        let why = "the store takes nothing: S3 could not be reached";
        if ready.status == 503 && ready.text().contains(why) {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{}", ready.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // S3 is back: what waited goes out, and requests are served again.
    place.front.set(Fate::Passes);
    let before = told.answered();
    until("a request with S3 again", || more_than(before + 20)).await;

    // Killed while something waits, and started again.
    for _ in 0..3 {
        place.front.set(Fate::Cut);
        let before = told.answered();
        until("a request before the kill", || more_than(before + 5)).await;
        gateway.kill();
        place.front.set(Fate::Passes);
        gateway.start();
        let before = told.answered();
        until("a request after the kill", || more_than(before + 5)).await;
    }
    told.stop.store(true, Ordering::SeqCst);
    callers.join_all().await;
    gateway.stop();
    let refused = told.refused.lock().clone();
    let only: Vec<_> = refused
        .keys()
        .filter(|(status, _)| *status != 503)
        .collect();
    assert!(only.is_empty(), "{only:?}");

    let of = Arc::clone(&gateway);
    let (report, kinds) = apart(move || of.log(&place)).await;
    assert_ne!(report.verdict(), Verdict::Broken, "{:?}", report.faults);
    assert_eq!(report.streams.len(), 4);
    assert!(report.streams.iter().all(|it| it.records > 0));
    let answered = told.answered.lock().clone();
    for kind in ["exchange.admitted", "exchange.settled"] {
        let lost: Vec<_> = answered.difference(&kinds[kind]).collect();
        assert!(lost.is_empty(), "{kind}: {lost:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strict_answers_nobody_whose_record_s3_does_not_have() {
    let place = apart(|| Place::new(Server::RadosGw)).await;
    let ledger = "mode = 'strict'\nappend_timeout = '60s'";
    let gateway = Arc::new(Gateway::new(&place, ledger));
    gateway.start();
    let answer = gateway.ask().await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let id = answer.header("x-request-id").unwrap();
    let of = Arc::clone(&gateway);
    let (place, (_, kinds)) = apart(move || {
        let log = of.log(&place);
        (place, log)
    })
    .await;
    assert!(kinds["exchange.admitted"].contains(&id), "{kinds:?}");
    gateway.stop();

    let gateway = Gateway::new(&place, "mode = 'strict'\nappend_timeout = '1s'");
    gateway.start();
    place.front.set(Fate::Cut);
    let answer = gateway.ask().await.unwrap();
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "audit_unavailable");
    gateway.kill();
    apart(move || drop(place)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_can_hold_no_log_is_refused_loudly() {
    let place = apart(|| Place::with(Server::RadosGw, false)).await;
    let gateway = Gateway::new(&place, "");
    let mut child = gateway.command().stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut errors = child.stderr.take().unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(
        said.contains("ledger.store: the bucket's versioning is not enabled"),
        "{said}"
    );
    apart(move || drop(place)).await;
}
