//! Sealed payloads: compared with the log, opened and searched, by the real program. The log, the
//! payloads and the keys are a gateway's, made with the same parts.

mod checked;
mod granted;
mod other_reader;
mod searched;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_envelope::{keys::SessionKeys, payload::Place, secret::Secret, sign::MemorySigner};
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::SystemClock,
    event::{Builder, Event},
    payload::{Body, Location, Part},
    store::{Dir, LedgerStore},
};
use serde_json::{Value, json};

use crate::{auditor, text};

/// Long after anything here was written.
const LATER: u64 = 4_000_000_000_000_000;

/// A data directory whose log names payloads.
struct Book {
    dir: tempfile::TempDir,
    ledger: Ledger,
    payloads: Dir,
}

/// One session of it.
struct Session {
    name: String,
    keys: SessionKeys,
    sseq: u64,
    sprev: [u8; 32],
}

impl Book {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            seals: SealLog::Own,
            data_dir: dir.path().to_owned(),
            deployment: "prod".into(),
            mode: Mode::Local,
            pace: Pace::default(),
        };
        let signer = Arc::new(MemorySigner::generate("prod").unwrap());
        let store = Arc::new(Dir::new(dir.path().join("ledger")));
        let clock = Arc::new(SystemClock::new());
        let (ledger, _) = Ledger::open(options, store, signer, clock).unwrap();
        let payloads = Dir::new(dir.path().join("payloads"));
        Self {
            dir,
            ledger,
            payloads,
        }
    }

    fn session(&self, number: u8) -> Session {
        let name = format!("s_{}", char::from(b'a' + number).to_string().repeat(26));
        let mut session = Session {
            name,
            keys: SessionKeys::new(&Secret::new([number + 1; 32])),
            sseq: 0,
            sprev: [0; 32],
        };
        self.append(&mut session, "session.open", |_| {});
        session
    }

    fn append(&self, session: &mut Session, kind: &'static str, fill: impl FnOnce(&mut Builder)) {
        let mut event = Event::kind(kind);
        event.text("sid", &session.name);
        event
            .integer("sseq", session.sseq)
            .hex("sprev", &session.sprev);
        fill(&mut event);
        let event = event.finish().unwrap();
        (session.sseq, session.sprev) = (session.sseq + 1, event.digest());
        self.ledger
            .append(event, Durability::Durable)
            .wait()
            .unwrap();
    }

    /// An exchange of which both bodies are kept.
    fn exchange(
        &self,
        session: &mut Session,
        request: &str,
        reply: &str,
        until_us: u64,
    ) -> [Body; 2] {
        let number = session.sseq;
        let bodies = [(Part::Request, request), (Part::Reply, reply)].map(|(part, text)| {
            let place = Place {
                part: part.word(),
                tenant: "t",
                session: &session.name,
                number,
            };
            let mut sealing = session.keys.payload().seal(&place).unwrap();
            sealing.push(text.as_bytes()).unwrap();
            let sealed = sealing.finish().unwrap();
            let location = Location::new(&session.name, number, part, &sealed.ct);
            self.payloads
                .put_once(&location.name(), &sealed.object)
                .unwrap();
            Body {
                location,
                ct: sealed.ct,
                len: sealed.len,
                kid: session.keys.kid().into(),
                kc: session.keys.kc().into(),
                pm: sealed.pm,
                until_us,
            }
        });
        let rid = format!("r_{}{number}", session.name);
        self.append(session, "exchange.admitted", |event| {
            event.text("rid", &rid);
            bodies[0].write(event);
        });
        self.append(session, "exchange.settled", |event| {
            event.text("rid", &rid);
            bodies[1].write(event);
        });
        bodies
    }

    fn close(self) -> Closed {
        self.ledger.close().unwrap();
        Closed { dir: self.dir }
    }
}

struct Closed {
    dir: tempfile::TempDir,
}

impl Closed {
    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn object(&self, body: &Body) -> PathBuf {
        self.dir.path().join("payloads").join(body.location.name())
    }

    fn verify(&self) -> (Option<i32>, Value) {
        let (ledger, trust, payloads) = (
            self.at("ledger"),
            self.at("trust.policy"),
            self.at("payloads"),
        );
        let output = auditor(&[
            "verify",
            &ledger,
            "--trust",
            &trust,
            "--payloads",
            &payloads,
            "--json",
        ]);
        let json = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), json)
    }

    /// A rescan with the keys of these sessions.
    fn rescan(&self, sessions: &[&Session], more: &[&str]) -> (Option<i32>, Value, String) {
        let keys = self.at("keys.jsonl");
        write_keys(Path::new(&keys), sessions);
        let (ledger, trust, payloads) = (
            self.at("ledger"),
            self.at("trust.policy"),
            self.at("payloads"),
        );
        let mut arguments = vec![
            "rescan",
            &ledger,
            "--trust",
            &trust,
            "--payloads",
            &payloads,
            "--keys",
            &keys,
            "--json",
        ];
        arguments.extend_from_slice(more);
        let output = auditor(&arguments);
        let said = format!(
            "{}{}",
            text(&output),
            String::from_utf8_lossy(&output.stderr)
        );
        let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), json, said)
    }
}

fn write_keys(file: &Path, sessions: &[&Session]) {
    let lines = sessions.iter().map(|session| {
        let grant = session.keys.payload().grant();
        let line = json!({
            "session": session.name, "tenant": "t", "kid": session.keys.kid(), "key": grant.expose(),
        });
        format!("{line}\n")
    });
    // Files that were put together by hand have lines with nothing in them.
    let lines = lines.collect::<String>();
    std::fs::write(file, format!("\n{lines} \r\n\n")).unwrap();
}

const CLEAN: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}]}"#;
const LEAK: &str =
    r#"{"model":"m","messages":[{"role":"user","content":"Mail jane.doe@example.org"}]}"#;
