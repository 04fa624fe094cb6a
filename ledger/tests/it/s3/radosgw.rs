//! Ceph's S3 gateway for tests: it enforces every lock, and takes a second put under any name.
#![allow(dead_code, reason = "each crate's tests use the part that they need")]

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

/// The credentials that its script makes.
pub(crate) const CREDENTIALS: (&str, &str) = ("test", "testsecret");

/// A running gateway.
pub(crate) struct RadosGw {
    port: u16,
    /// The script, which ends when its standard input does: with this process, however it ends.
    _script: Child,
}

impl RadosGw {
    /// The one that all tests of this process share: each makes buckets of its own in it. Starting
    /// one takes some 15 seconds.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<RadosGw> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        // Somebody may take the port between our looking and the server's.
        for _ in 0..3 {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/radosgw.sh");
            let mut child = Command::new(script)
                .arg(port.to_string())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut said = String::new();
            let mut from = BufReader::new(child.stdout.take().unwrap());
            from.read_line(&mut said).unwrap();
            if said == "ready\n" {
                let _script = child;
                return Self { port, _script };
            }
            child.wait().unwrap();
        }
        panic!(
            "radosgw could not be started; are radosgw, ceph-mon, ceph-osd and ceph-common \
             installed? scripts/test.sh does that"
        )
    }

    /// Where it listens, on the loopback address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}
