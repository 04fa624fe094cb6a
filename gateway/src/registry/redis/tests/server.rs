//! Real servers: started on free ports in folders of their own, killed in the end.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use gatehouse_envelope::secret::Secret;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use redis::{ConnectionLike as _, cmd};

use super::super::address::client;
use crate::config::{Redis, RedisNode};

const PASSWORD: &str = "of-the-gateway";
const ADMIN: &str = "of-the-admin";
/// A server that has not begun to answer by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a server is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// TLS only, under a certificate of an authority of its own, and as the user that the
    /// documentation says.
    Tls,
    /// A node of a cluster.
    Node,
}

/// One running server, on disk synced with every write.
pub(crate) struct Server {
    kind: Kind,
    dir: tempfile::TempDir,
    port: u16,
    more: Vec<String>,
    child: Child,
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[])
    }

    pub(crate) fn start_with(kind: Kind, more: &[&str]) -> Self {
        let mut dir = tempfile::tempdir().unwrap();
        if kind == Kind::Tls {
            certify(dir.path());
            std::fs::write(dir.path().join("users.acl"), users()).unwrap();
        }
        let more: Vec<_> = more.iter().map(|&word| word.to_owned()).collect();
        // Somebody may take the port between our looking and the server's.
        for _ in 0..9 {
            let port = free_port();
            let child = spawn(kind, dir.path(), port, &more);
            let mut server = Self {
                kind,
                dir,
                port,
                more: more.clone(),
                child,
            };
            if server.answers() {
                return server;
            }
            dir = server.into_dir();
        }
        panic!("no redis-server could be started")
    }

    /// Waits until it answers; `false` if it has ended instead.
    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if let Some(mut admin) = self.try_admin() {
                let info = cmd("INFO").arg("server").query::<String>(&mut admin);
                let ours = format!("process_id:{}\r\n", self.child.id());
                // Not somebody else's on the same port; and not one that is still loading.
                let loaded = cmd("DBSIZE").query::<u64>(&mut admin).is_ok();
                if loaded && info.is_ok_and(|info| info.contains(&ours)) {
                    return true;
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("redis-server does not answer")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What a gateway would be told to reach it.
    pub(crate) fn settings(&self) -> Redis {
        let tls = self.kind == Kind::Tls;
        Redis {
            nodes: vec![RedisNode {
                host: "127.0.0.1".to_owned(),
                port: self.port,
                tls,
            }],
            cluster: self.kind == Kind::Node,
            user: tls.then(|| "gatehouse".to_owned()),
            password: tls.then(|| Secret::new(PASSWORD.to_owned())),
            ca: tls.then(|| std::fs::read(self.dir.path().join("ca.pem")).unwrap()),
            prefix: "gatehouse:".to_owned(),
            wait_replicas: 0,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
        }
    }

    /// A connection that may do everything.
    pub(crate) fn admin(&self) -> redis::Connection {
        self.try_admin().unwrap()
    }

    fn try_admin(&self) -> Option<redis::Connection> {
        let mut settings = self.settings();
        if self.kind == Kind::Tls {
            settings.user = Some("admin".to_owned());
            settings.password = Some(Secret::new(ADMIN.to_owned()));
        }
        let client = client(&settings, &settings.nodes[0]).unwrap();
        let connection = client.get_connection_with_timeout(Duration::from_secs(5));
        connection.ok().filter(|it| it.is_open())
    }

    /// Waits until it has caught up with the server that it is a replica of.
    pub(crate) fn follows(&self) {
        let start = Instant::now();
        loop {
            let mut info = cmd("INFO");
            let text: String = info.arg("replication").query(&mut self.admin()).unwrap();
            if text.contains("master_link_status:up") {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "the replica does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it has everything that the other has written.
    pub(crate) fn has_all_of(&self, primary: &Server) {
        let offset = |server: &Server| {
            let mut info = cmd("INFO");
            let text: String = info.arg("replication").query(&mut server.admin()).unwrap();
            let line = text
                .lines()
                .find(|line| line.starts_with("master_repl_offset:"));
            let offset = line.and_then(|line| line.split(':').nth(1)).unwrap();
            offset.parse::<u64>().unwrap()
        };
        let (start, written) = (Instant::now(), offset(primary));
        while offset(self) < written {
            assert!(start.elapsed() < PATIENCE, "the replica does not catch up");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on what its disk holds.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.kind, self.dir.path(), self.port, &self.more);
        assert!(self.answers(), "redis-server does not start again");
    }

    /// Makes time go by for everything in it: whatever was to last lasts that much less.
    pub(crate) fn advance(&self, by: Duration) {
        super::time::advance(&mut self.admin(), by);
    }

    fn into_dir(mut self) -> tempfile::TempDir {
        self.kill();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A port that nobody has, from below those that the system gives out: one that is let go of for a
/// restart is still there afterwards.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 12_000 + (std::process::id() * 97 + next) % 20_000;
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(kind: Kind, dir: &Path, port: u16, more: &[String]) -> Child {
    let mut server = Command::new("redis-server");
    server.current_dir(dir).stdin(Stdio::null());
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let (port, bus) = (port.to_string(), (port + 20_000).to_string());
    let common = "--bind 127.0.0.1 --save  --appendonly yes --appendfsync always --daemonize no";
    server.args(common.split(' ')).arg("--dir").arg(dir);
    match kind {
        Kind::Plain => server.args(["--port", &port]),
        Kind::Node => server
            .args(["--port", &port, "--cluster-enabled", "yes"])
            .args([
                "--cluster-port",
                &bus,
                "--cluster-node-timeout",
                "2000",
                "--cluster-config-file",
                "nodes.conf",
            ]),
        Kind::Tls => server
            .args(["--port", "0", "--tls-port", &port])
            .args(["--tls-auth-clients", "no"])
            .args(["--aclfile", "users.acl", "--tls-ca-cert-file", "ca.pem"])
            .args(["--tls-cert-file", "server.pem", "--tls-key-file", "key.pem"]),
    };
    let started = server.args(more).spawn();
    started.expect("redis-server must be installed: scripts/test.sh does that")
}

/// An authority of its own and a certificate by it.
fn certify(dir: &Path) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(dir.join("ca.pem"), authority.pem()).unwrap();
    std::fs::write(dir.join("server.pem"), certificate.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
}

/// The users that the documentation tells operators to make, and one that may do everything.
fn users() -> String {
    let docs = include_str!("../../../../../docs/sessions-and-keys.md");
    let users = docs.lines().filter(|line| line.starts_with("user "));
    let mut users: Vec<_> = users
        .map(|line| line.replace("PASSWORD", PASSWORD))
        .collect();
    assert_eq!(users.len(), 2);
    users.push(format!("user admin on >{ADMIN} ~* &* +@all\n"));
    users.join("\n")
}

/// Three nodes that have each a third of the slots.
pub(crate) struct Nodes(Vec<Server>);

impl Nodes {
    pub(crate) fn start() -> Self {
        let nodes: Vec<_> = (0..3).map(|_| Server::start(Kind::Node)).collect();
        let first = nodes[0].port();
        for (at, (node, slots)) in nodes
            .iter()
            .zip([(0, 5460), (5461, 10_922), (10_923, 16_383)])
            .enumerate()
        {
            let mut admin = node.admin();
            let mut add = cmd("CLUSTER");
            add.arg("ADDSLOTSRANGE").arg(slots.0).arg(slots.1);
            add.exec(&mut admin).unwrap();
            let epoch = at + 1;
            let mut set = cmd("CLUSTER");
            set.arg("SET-CONFIG-EPOCH").arg(epoch);
            set.exec(&mut admin).unwrap();
            if at > 0 {
                let mut meet = cmd("CLUSTER");
                meet.arg("MEET").arg("127.0.0.1").arg(first);
                meet.arg(first + 20_000);
                meet.exec(&mut admin).unwrap();
            }
        }
        let nodes = Self(nodes);
        nodes.agree();
        nodes
    }

    /// Waits until all know of all.
    fn agree(&self) {
        let start = Instant::now();
        let agreed = |node: &Server| {
            let mut info = cmd("CLUSTER");
            let text: String = info.arg("INFO").query(&mut node.admin()).unwrap();
            text.contains("cluster_state:ok") && text.contains("cluster_known_nodes:3")
        };
        while !self.0.iter().all(agreed) {
            assert!(start.elapsed() < PATIENCE, "the cluster does not form");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn settings(&self) -> Redis {
        self.0[0].settings()
    }

    pub(crate) fn all(&self) -> &[Server] {
        &self.0
    }

    pub(crate) fn advance(&self, by: Duration) {
        for node in &self.0 {
            node.advance(by);
        }
    }

    pub(crate) fn crash(&mut self) {
        for node in &mut self.0 {
            node.kill();
        }
        for node in &mut self.0 {
            node.restart();
        }
        self.agree();
    }
}
