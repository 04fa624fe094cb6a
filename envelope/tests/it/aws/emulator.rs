//! moto and MiniStack, started on free ports of the loopback address in folders of their own.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// Credentials that may do everything. moto takes any, and checks none.
pub(crate) const ACCESS_KEY: &str = "test";
/// The secret that belongs to them.
pub(crate) const SECRET_KEY: &str = "test";
/// The region in which everything is.
pub(crate) const REGION: &str = "us-east-1";

/// One that has not begun to answer by then never will; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends with whoever started it: nobody ever writes to its standard input, which the system closes
/// when that process is gone, however it went.
const WATCH: &str = "\
import os, sys, threading
def watch():
    os.read(0, 1)
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
";

const MINISTACK: &str = "\
from ministack.app import main
sys.argv = sys.argv[:1]
sys.exit(main())
";

/// One request after the other: moto's DynamoDB is not atomic under threads.
const MOTO: &str = "\
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple
app = DomainDispatcherApplication(create_backend_app)
run_simple('127.0.0.1', int(sys.argv[1]), app, threaded=False, request_handler=MotoRequestHandler)
";

/// Which emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Checks IAM and signatures for keys that IAM made, the states of KMS keys, and conditional
    /// writes to S3; signs with Ed25519. Its KMS takes changed ciphertexts and knows no `ReEncrypt`.
    MiniStack,
    /// Checks ciphertexts, and can `ReEncrypt` and rotate. Knows no IAM and no states of KMS keys.
    Moto,
}

/// A running emulator. It is gone when this is dropped, or when the test's process is.
pub(crate) struct Emulator {
    kind: Kind,
    port: u16,
    child: Child,
    dir: tempfile::TempDir,
}

impl Emulator {
    /// The one of its kind that all tests of this process share: each makes keys, buckets, tables
    /// and users of its own in it.
    pub(crate) fn shared(kind: Kind) -> &'static Self {
        static MINISTACK: OnceLock<Emulator> = OnceLock::new();
        static MOTO: OnceLock<Emulator> = OnceLock::new();
        let it = match kind {
            Kind::MiniStack => &MINISTACK,
            Kind::Moto => &MOTO,
        };
        it.get_or_init(|| Self::start(kind))
    }

    /// One of the test's own, to be killed.
    pub(crate) fn start(kind: Kind) -> Self {
        let mut last = String::new();
        // Somebody may take the port between our looking and the server's.
        for _ in 0..9 {
            let dir = tempfile::tempdir().unwrap();
            let port = free_port();
            let child = spawn(kind, dir.path(), port);
            let mut emulator = Self {
                kind,
                port,
                child,
                dir,
            };
            if emulator.answers() {
                return emulator;
            }
            let said = std::fs::read_to_string(emulator.dir.path().join("log"));
            last = said.unwrap_or_default();
        }
        panic!("{kind:?} could not be started; it said last:\n{last}")
    }

    /// Which one it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it listens, on the loopback address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its address, for every service.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// An operation as an administrator: `target` is what the service calls it
    /// (`TrentService.CreateKey`), `body` the JSON that it takes. Gives back the JSON of its answer.
    pub(crate) fn ask(&self, target: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let service = match target.split('.').next() {
            Some("TrentService") => "kms",
            _ => "dynamodb",
        };
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {service}.{REGION}.amazonaws.com\r\nconnection: close\r\n\
             content-type: application/x-amz-json-1.1\r\ncontent-length: {}\r\n\
             x-amz-target: {target}\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential={ACCESS_KEY}/20260101/{REGION}/{service}/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.split(' ').nth(1) == Some("200"), "{target}: {answer}");
        body.to_owned()
    }

    /// Ends it at once. What it held is lost: neither keeps anything on a disk.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }

    /// Starts it again on the same port, empty.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = spawn(self.kind, self.dir.path(), self.port);
        assert!(self.answers(), "{:?} does not start again", self.kind);
    }

    /// Waits until it answers; `false` if it has ended instead.
    fn answers(&mut self) -> bool {
        let path = match self.kind {
            Kind::MiniStack => "/_ministack/health",
            Kind::Moto => "/moto-api/data.json",
        };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let is_up = asks(self.port, path);
            // Whoever answers on the port of a process that has ended is another.
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if is_up {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{:?} does not answer", self.kind)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(kind: Kind, dir: &Path, port: u16) -> Child {
    let python = std::env::var_os("GATEHOUSE_TEST_PYTHON").expect(
        "GATEHOUSE_TEST_PYTHON must name the Python of an environment that has moto and MiniStack: \
         scripts/test.sh makes one and says where it is",
    );
    let port = port.to_string();
    let log = std::fs::File::create(dir.join("log")).unwrap();
    let mut server = Command::new(python);
    let boot = match kind {
        Kind::MiniStack => format!("{WATCH}{MINISTACK}"),
        Kind::Moto => format!("{WATCH}{MOTO}"),
    };
    server.args(["-c", &boot, &port]).current_dir(dir);
    // Nothing of the surroundings: neither credentials nor proxies.
    server.env_clear().env("HOME", dir).env("TMPDIR", dir);
    if let Some(path) = std::env::var_os("PATH") {
        server.env("PATH", path);
    }
    match kind {
        Kind::MiniStack => server
            .env("BIND_HOST", "127.0.0.1")
            .env("GATEWAY_PORT", &port)
            .env("AUTH", "true")
            // No listeners beside the one.
            .env("IOT_MTLS_ENABLED", "0")
            .env("SFTP_ENABLED", "0"),
        Kind::Moto => server.env("AWS_DEFAULT_REGION", REGION),
    };
    server.stdin(Stdio::piped());
    server.stdout(log.try_clone().unwrap()).stderr(log);
    server.spawn().expect("the Python of GATEHOUSE_TEST_PYTHON")
}

/// A port that nobody has, from below those that the system gives out.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 12_000 + (std::process::id() * 89 + next * 7) % 20_000;
        let port = u16::try_from(port).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Whether a GET is answered with 200.
fn asks(port: u16, path: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok::<_, std::io::Error>(head)
    };
    ask().is_ok_and(|head| head.ends_with(b" 200"))
}
