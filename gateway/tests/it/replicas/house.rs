//! Three gateways, each a process of its own with a data directory of its own, and the store that they
//! share.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gatehouse::admin::{Answer as Told, Request};
use gatehouse::auth::NewCaller;
use gatehouse_ledger::store::Dir;
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::verify::{Report, Verdict, Verifier};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::gate::caller::parse;
use crate::gate::{Answer, Caller, collect, records};

pub(super) const REPLICAS: usize = 3;
/// How long a dead replica's turn holds its session.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// How long anything may take to start.
const START: Duration = Duration::from_secs(120);
/// Of one request.
const REQUEST: Duration = Duration::from_secs(60);

pub(super) struct House {
    replicas: Vec<Replica>,
    /// Two keys of one tenant.
    tokens: Vec<String>,
    server: Server,
    dir: tempfile::TempDir,
}

/// What they share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    #[cfg(feature = "aws")]
    DynamoDb,
    Redis,
}

/// It is there as long as this is.
enum Server {
    #[cfg(feature = "aws")]
    DynamoDb(super::table::Table),
    Redis {
        #[expect(dead_code, reason = "it dies when this is dropped")]
        process: Process,
        port: u16,
    },
}

impl Server {
    async fn start(store: Store, dir: &Path) -> Self {
        match store {
            #[cfg(feature = "aws")]
            Store::DynamoDb => Self::DynamoDb(super::table::Table::start().await),
            Store::Redis => {
                let (process, port) = redis(dir).await;
                Self::Redis { process, port }
            }
        }
    }

    /// What stands in `[sessions]` for it.
    fn settings(&self) -> String {
        match self {
            #[cfg(feature = "aws")]
            Self::DynamoDb(table) => table.settings(),
            Self::Redis { port, .. } => {
                format!("store = \"redis\"\nurl = \"redis://127.0.0.1:{port}\"")
            }
        }
    }
}

/// A process that dies with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

struct Replica {
    data: PathBuf,
    config: PathBuf,
    address: SocketAddr,
    /// `None` while it is dead.
    process: Mutex<Option<Process>>,
}

/// What came of a request.
pub(super) struct Reply {
    /// `None`: nobody was there.
    pub(super) answer: Option<Answer>,
}

impl Reply {
    pub(super) fn what(&self) -> String {
        let answer = self.answer.as_ref();
        answer.map_or("nobody there".to_owned(), |answer| {
            format!("{} {}", answer.status, answer.text())
        })
    }
}

fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

impl House {
    pub(super) async fn open(provider: SocketAddr, store: Store) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(store, dir.path()).await;
        let sessions = server.settings();
        let replicas: Vec<_> = (0..REPLICAS)
            .map(|n| {
                Replica::new(
                    &dir.path().join(format!("replica-{n}")),
                    &sessions,
                    provider,
                )
            })
            .collect();
        // The first one makes the keys, which all have in common.
        replicas[0].start().await;
        let mut tokens = Vec::new();
        for name in ["one", "two"] {
            tokens.push(replicas[0].key(name).await);
        }
        let keys = replicas[0].data.join("keys");
        for replica in &replicas[1..] {
            copy(&keys, &replica.data.join("keys"));
            replica.start().await;
        }
        Self {
            replicas,
            tokens,
            server,
            dir,
        }
    }

    /// Sends a request to one of the replicas, whichever `n` says.
    pub(super) async fn post(&self, n: usize, key: usize, path: &str, body: &Value) -> Reply {
        let caller = Caller {
            address: self.replicas[n % REPLICAS].address,
            token: self.tokens[key].clone(),
        };
        let bytes = body.to_string().into_bytes();
        let bytes = caller.request("POST", path, "connection: close\r\n", &bytes);
        let raw = tokio::time::timeout(REQUEST, exchange(caller.address, &bytes)).await;
        Reply {
            answer: raw.ok().and_then(Result::ok).map(parse),
        }
    }

    /// How many turns stand in line for a session, as Redis has it.
    pub(super) fn waiting(&self, reference: &str) -> usize {
        let port = match &self.server {
            #[cfg(feature = "aws")]
            Server::DynamoDb(_) => panic!("only Redis is looked into"),
            Server::Redis { port, .. } => *port,
        };
        let client = redis::Client::open(("127.0.0.1", port)).unwrap();
        let mut server = client.get_connection().unwrap();
        let pattern = format!("*:session:{reference}/*");
        let keys: Vec<String> = redis::cmd("KEYS").arg(pattern).query(&mut server).unwrap();
        let mut line = redis::cmd("HGET");
        line.arg(&keys[0]).arg("line");
        let line: Option<String> = line.query(&mut server).unwrap();
        line.map_or(0, |line| line.split(' ').count())
    }

    /// Sends a signal to one of them.
    pub(super) fn signal(&self, n: usize, signal: &str) {
        self.replicas[n].signal(signal);
    }

    pub(super) fn kill(&self, n: usize) {
        drop(self.replicas[n].process.lock().take());
    }

    pub(super) async fn kill_and_restart(&self, n: usize) {
        let replica = &self.replicas[n];
        self.kill(n);
        tokio::time::sleep(Duration::from_millis(200)).await;
        replica.start().await;
    }

    /// Stops all in order, and gives back what the logs together say.
    pub(super) async fn close(self) -> Closed {
        for replica in &self.replicas {
            replica.stop().await;
        }
        drop(self.server);
        let all = self.dir.path().join("all");
        for replica in &self.replicas {
            copy(&replica.data.join("ledger"), &all.join("ledger"));
        }
        let trust = self.replicas[0].data.join("trust.policy");
        let scan = scan(&all.join("ledger"), &trust);
        let trust = Trust::parse(&std::fs::read_to_string(trust).unwrap()).unwrap();
        let log = Dir::new(all.join("ledger"));
        Closed {
            report: Verifier::new(Some(&trust)).verify(&log, |_| {}),
            records: records(&all),
            scan,
        }
    }
}

/// The logs of all replicas together.
pub(super) struct Closed {
    report: Report,
    pub(super) records: Vec<Value>,
    scan: Value,
}

impl Closed {
    /// It verifies, and every control of the auditor's passes: each had something to test, and found
    /// nothing.
    pub(super) fn is_clean(&self) {
        let (verdict, report) = (self.report.verdict(), &self.report);
        let faults = (&report.faults, &report.doubts);
        assert_eq!(verdict, Verdict::Holds, "{faults:?}");
        let controls = self.scan["controls"].as_array().unwrap();
        assert!(controls.len() > 10);
        for control in controls {
            // Without witnesses there is no other clock to compare with.
            let optional = control["optional"].is_string();
            let wanted = if optional { "not_tested" } else { "pass" };
            assert_eq!(control["result"], wanted, "{control:#}");
        }
        assert_eq!(self.scan["exit"], 0);
    }
}

/// What the auditor says, a program of its own that knows nothing of the gateway.
fn scan(ledger: &Path, trust: &Path) -> Value {
    let auditor = Path::new(env!("CARGO_BIN_EXE_gatehouse")).with_file_name("gatehouse-auditor");
    let mut scan = Command::new(auditor);
    scan.arg("scan").arg(ledger).arg("--trust").arg(trust);
    let scanned = scan.arg("--json").output();
    let scanned =
        scanned.expect("cargo build -p gatehouse-auditor comes first, as in scripts/test.sh");
    let told = String::from_utf8_lossy(&scanned.stderr);
    serde_json::from_slice(&scanned.stdout).unwrap_or_else(|_| panic!("{told}"))
}

async fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(bytes).await?;
    let mut raw = Vec::new();
    // What came before a connection broke is what the caller saw.
    let _ended = stream.read_to_end(&mut raw).await;
    Ok(raw)
}

async fn redis(dir: &Path) -> (Process, u16) {
    let port = free_address().port();
    let mut server = Command::new("redis-server");
    server
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--port", &port.to_string()])
        .current_dir(dir)
        .stdout(Stdio::null());
    let server = server.spawn();
    let server =
        Process(server.expect("redis-server must be installed: scripts/test.sh does that"));
    reachable(SocketAddr::from(([127, 0, 0, 1], port))).await;
    (server, port)
}

async fn reachable(address: SocketAddr) {
    let start = Instant::now();
    while TcpStream::connect(address).await.is_err() {
        assert!(start.elapsed() < START, "{address} does not answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Replica {
    fn new(data: &Path, sessions: &str, provider: SocketAddr) -> Self {
        let (address, admin) = (free_address(), free_address());
        let text = format!(
            r#"
            config_version = 1
            listen = "{address}"
            admin_listen = "{admin}"
            data_dir = {data:?}

            [[provider]]
            name = "openai"
            protocol = "openai"
            base_url = "http://{provider}/v1"

            [sessions]
            {sessions}
            lease = "{}s"
            wait = "30s"

            # Many share a disk here.
            [ledger]
            append_timeout = "20s"

            [log]
            level = "warn"
            "#,
            LEASE.as_secs(),
        );
        let config = data.with_extension("toml");
        std::fs::write(&config, text).unwrap();
        Self {
            data: data.to_owned(),
            config,
            address,
            process: Mutex::default(),
        }
    }

    async fn start(&self) {
        let mut gateway = Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        gateway
            .args(["up", "--no-model", "--config"])
            .arg(&self.config);
        // The emulator's; nothing else is asked for any.
        gateway.env("AWS_ACCESS_KEY_ID", "test");
        gateway.env("AWS_SECRET_ACCESS_KEY", "test");
        let gateway = gateway.stdout(Stdio::null()).spawn().unwrap();
        *self.process.lock() = Some(Process(gateway));
        reachable(self.address).await;
    }

    fn signal(&self, signal: &str) {
        let process = self.process.lock();
        let id = process.as_ref().unwrap().0.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it as an operator would.
    async fn stop(&self) {
        self.signal("TERM");
        let mut process = self.process.lock().take().unwrap();
        let start = Instant::now();
        while process.0.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < START, "a gateway does not stop");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes a caller's key.
    async fn key(&self, name: &str) -> String {
        let request = Request::KeyCreate(NewCaller {
            name: name.to_owned(),
            tenant: "default".to_owned(),
            agent: None,
        });
        let (socket, start) = (self.data.join("admin.sock"), Instant::now());
        let mut stream = loop {
            match UnixStream::connect(&socket).await {
                Ok(stream) => break stream,
                // It listens before it has opened all that it needs.
                Err(error) => assert!(start.elapsed() < START, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let mut line = serde_json::to_vec(&request).unwrap();
        line.push(b'\n');
        stream.write_all(&line).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        match serde_json::from_str(&answer).unwrap() {
            Told::Created { token, .. } => token,
            _ => panic!("no key"),
        }
    }
}

/// Copies all files below a directory into another.
fn copy(from: &Path, to: &Path) {
    let mut files = Vec::new();
    collect(from, &mut files);
    for file in files {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        // With its mode: keys that others may read are refused.
        std::fs::copy(&file, &target).unwrap();
    }
}
