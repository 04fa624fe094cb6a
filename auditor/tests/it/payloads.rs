//! Sealed payloads: compared with the log, opened and searched, by the real program. The log, the
//! payloads and the keys are a gateway's, made with the same parts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_envelope::{
    digest::{hex, sha256},
    keys::SessionKeys,
    payload::{Commitment, Place},
    secret::Secret,
    sign::MemorySigner,
};
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::SystemClock,
    event::{Builder, Event},
    payload::{Body, Location, Part},
    store::{Dir, Fetcher, LedgerStore},
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

#[test]
fn payloads_that_are_what_the_log_says_hold() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, CLEAN, "", LATER);
    book.exchange(&mut session, &"x".repeat(200_000), "reply", LATER);
    let closed = book.close();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(json["payloads"]["counts"], json!({"whole": 4}));
    // Without the option nothing is looked at.
    let (ledger, trust) = (closed.at("ledger"), closed.at("trust.policy"));
    std::fs::remove_dir_all(closed.at("payloads")).unwrap();
    let output = auditor(&["verify", &ledger, "--trust", &trust]);
    assert_eq!(output.status.code(), Some(0));
    let gone = closed.at("payloads");
    let output = auditor(&["verify", &ledger, "--trust", &trust, "--payloads", &gone]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn erased_is_not_missing_and_says_by_which_record() {
    let book = Book::new();
    let (mut kept, mut erased, mut later) = (book.session(0), book.session(1), book.session(2));
    let bodies = book.exchange(&mut kept, CLEAN, "ok", LATER);
    let gone = book.exchange(&mut erased, CLEAN, "ok", LATER);
    book.exchange(&mut later, CLEAN, "ok", LATER);
    book.append(&mut erased, "session.erase.request", |_| {});
    book.append(&mut later, "session.close", |_| {});
    // A session that had ended is erased outside of its chain.
    let mut event = Event::kind("session.erase.request");
    event.object("outside", |outside| {
        outside.text("session", &later.name);
    });
    let event = event.finish().unwrap();
    book.ledger
        .append(event, Durability::Durable)
        .wait()
        .unwrap();
    let closed = book.close();
    std::fs::remove_file(closed.object(&gone[0])).unwrap();
    std::fs::remove_file(closed.object(&bodies[1])).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(2), "{json}");
    let counts = json!({"whole": 1, "erased": 4, "missing": 1});
    assert_eq!(json["payloads"]["counts"], counts);
    let places = json["payloads"]["places"].as_array().unwrap();
    for place in places {
        let why = place["why"].as_str().unwrap();
        assert_eq!(
            why.starts_with("proved by record 20"),
            place["state"] == "erased",
            "{place}"
        );
    }
    // Its key would be destroyed; even with it nothing of an erased session is opened.
    let (code, json, _) = closed.rescan(&[&kept, &erased], &[]);
    assert_eq!(code, Some(2), "{json}");
    assert_eq!(json["not_searched"], json!({"erased": 4, "missing": 1}));
    assert_eq!(json["searched"], 1);
}

#[test]
fn what_is_past_its_time_may_be_gone() {
    let book = Book::new();
    let mut session = book.session(0);
    let bodies = book.exchange(&mut session, CLEAN, "ok", 1);
    let closed = book.close();
    std::fs::remove_file(closed.object(&bodies[0])).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(
        json["payloads"]["counts"],
        json!({"whole": 1, "expired": 1})
    );
    let (code, json, _) = closed.rescan(&[&session], &[]);
    assert_eq!((code, &json["searched"]), (Some(0), &json!(1)), "{json}");
}

/// Every byte of an object, its ends, and other objects in its place.
#[test]
fn every_change_of_a_payload_is_found() {
    let book = Book::new();
    let (mut session, mut other) = (book.session(0), book.session(1));
    let [request, reply] = book.exchange(&mut session, "short", "also short", LATER);
    let [foreign, _] = book.exchange(&mut other, "short", "also short", LATER);
    let closed = book.close();
    let path = closed.object(&request);
    let bytes = std::fs::read(&path).unwrap();
    let mut changes: Vec<Vec<u8>> = (0..bytes.len())
        .map(|at| {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            changed
        })
        .collect();
    changes.push(bytes[..bytes.len() - 1].to_vec());
    changes.push([&bytes[..], b"x"].concat());
    changes.push(Vec::new());
    changes.push(std::fs::read(closed.object(&reply)).unwrap());
    changes.push(std::fs::read(closed.object(&foreign)).unwrap());
    // Each is looked at through the program once for all kinds, and through its parts for all.
    let named = Dir::new(closed.at("payloads"));
    for changed in &changes {
        std::fs::write(&path, changed).unwrap();
        let read = named.get(&request.location.name(), 1 << 20);
        let read = read.unwrap().unwrap();
        let place = Place {
            part: "req",
            tenant: "t",
            session: &session.name,
            number: request.location.number,
        };
        let commitment = Commitment {
            ct: &request.ct,
            len: request.len,
            kc: &request.kc,
            pm: &request.pm,
        };
        let opened = session.keys.payload().open(&place, &commitment, &read);
        assert!(opened.is_err());
    }
    for changed in [
        &changes[0],
        &changes[20],
        &changes[bytes.len()],
        &changes[bytes.len() + 1],
    ] {
        std::fs::write(&path, changed).unwrap();
        let (code, json) = closed.verify();
        assert_eq!(code, Some(1), "{json}");
        assert_eq!(
            json["payloads"]["counts"],
            json!({"whole": 3, "altered": 1})
        );
        let (code, json, _) = closed.rescan(&[&session, &other], &[]);
        assert_eq!(
            (code, &json["not_searched"]),
            (Some(2), &json!({"altered": 1}))
        );
    }
}

#[test]
fn nothing_but_payloads_belongs_beside_them() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, CLEAN, "ok", LATER);
    let stray = Location::new(&session.name, 9, Part::Request, &[7; 32]);
    book.payloads
        .put_once(&stray.name(), b"of an attempt")
        .unwrap();
    let closed = book.close();
    let (code, json) = closed.verify();
    assert_eq!(
        (code, &json["payloads"]["strays"]),
        (Some(0), &json!(1)),
        "{json}"
    );
    // A wrapped key, say.
    let key = Path::new(&closed.at("payloads")).join(format!("p/{}/key.bin", session.name));
    std::fs::write(&key, b"wrapped").unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(1), "{json}");
    assert!(
        json["payloads"]["foreign"][0]
            .as_str()
            .unwrap()
            .ends_with("key.bin")
    );
    std::fs::remove_file(&key).unwrap();
    // Payloads in the log's own place could not be erased.
    let log = Path::new(&closed.at("ledger")).join("p/s_a");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::write(log.join("1-req-0000000000000000.bin"), b"x").unwrap();
    let (code, json) = closed.verify();
    assert_eq!(
        (code, &json["payloads"]["misplaced"]),
        (Some(1), &json!(1)),
        "{json}"
    );
}

#[test]
fn a_rescan_says_what_and_where_and_never_the_text() {
    let book = Book::new();
    let mut session = book.session(0);
    let reply = r#"{"choices":[{"index":0,"message":{"content":"Call +1 212 555 0142"}}]}"#;
    book.exchange(&mut session, LEAK, reply, LATER);
    book.exchange(&mut session, CLEAN, "ok", LATER);
    let closed = book.close();
    let (code, json, said) = closed.rescan(&[&session], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(json["searched"], 4);
    let found = json["found"].as_array().unwrap();
    let mail = found.iter().find(|it| it["label"] == "EMAIL").unwrap();
    assert_eq!(
        (&mail["session"], &mail["sseq"], &mail["part"]),
        (&json!(session.name), &json!(1), &json!("req"))
    );
    let range = |name| usize::try_from(mail[name].as_u64().unwrap()).unwrap();
    assert_eq!(&LEAK[range("start")..range("end")], "jane.doe@example.org");
    assert!(
        found
            .iter()
            .any(|it| it["part"] == "rep" && it["label"] == "PHONE"),
        "{said}"
    );
    assert!(!said.contains("jane") && !said.contains("555"), "{said}");
    // Only what is asked for.
    let (code, json, _) = closed.rescan(&[&session], &["--to", "2020-01-01"]);
    assert_eq!((code, &json["searched"]), (Some(2), &json!(0)));
    let other = format!("s_{}", "z".repeat(26));
    let (code, _, _) = closed.rescan(&[&session], &["--session", &other]);
    assert_eq!(code, Some(2));
    // A policy that wants nothing of mail addresses and phones.
    let policy = closed.at("redaction.toml");
    std::fs::write(&policy, "profile = 'secrets-only'\n").unwrap();
    let (code, json, said) = closed.rescan(&[&session], &["--redaction", &policy]);
    assert_eq!((code, &json["searched"]), (Some(0), &json!(4)), "{said}");
}

#[test]
fn without_the_right_key_nothing_is_opened() {
    let book = Book::new();
    let (mut session, stranger) = (book.session(0), book.session(1));
    book.exchange(&mut session, LEAK, "ok", LATER);
    let closed = book.close();
    let (code, json, _) = closed.rescan(&[&stranger], &[]);
    assert_eq!(
        (code, &json["not_searched"]),
        (Some(2), &json!({"without a key": 2}))
    );
    let wrong = Session {
        name: session.name.clone(),
        ..stranger
    };
    let (code, json, _) = closed.rescan(&[&wrong], &[]);
    assert_eq!(
        (code, &json["not_searched"]),
        (Some(2), &json!({"with another key": 2}))
    );
    let keys = closed.at("odd");
    std::fs::write(&keys, "{\"session\":\"s_a\",\"key\":\"c2VjcmV0\"}\n").unwrap();
    let (ledger, payloads) = (closed.at("ledger"), closed.at("payloads"));
    let output = auditor(&["rescan", &ledger, "--payloads", &payloads, "--keys", &keys]);
    assert_eq!(output.status.code(), Some(64));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("c2VjcmV0"));
}

#[test]
fn a_broken_log_is_not_gone_by() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, LEAK, "ok", LATER);
    let closed = book.close();
    for segment in crate::segments(closed.dir.path()) {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[40] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    }
    let (code, _, said) = closed.rescan(&[&session], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the log is broken"), "{said}");
}

/// For another reader: a log with its payloads, keys, and the digests of what they open to.
#[test]
fn payloads_for_another_reader() {
    let book = Book::new();
    let (mut one, mut two, mut gone) = (book.session(0), book.session(1), book.session(2));
    let texts = [
        (CLEAN.to_owned(), "short".to_owned()),
        ("x".to_owned(), "y".repeat(65_536)),
        ("é".repeat(50_000), "z".repeat(131_073)),
    ];
    let mut wanted = serde_json::Map::new();
    let mut digest = |body: &Body, text: &str| {
        let digest = hex(&sha256(&[text.as_bytes()]));
        wanted.insert(body.location.name(), digest.into());
    };
    for (request, reply) in &texts {
        for session in [&mut one, &mut two] {
            let [req, rep] = book.exchange(session, request, reply, LATER);
            digest(&req, request);
            digest(&rep, reply);
        }
    }
    book.exchange(&mut gone, CLEAN, "gone", LATER);
    book.append(&mut gone, "session.erase.request", |_| {});
    let closed = book.close();
    write_keys(Path::new(&closed.at("keys.jsonl")), &[&one, &two]);
    std::fs::write(closed.at("texts.json"), Value::from(wanted).to_string()).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");

    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("payload-fixture");
    let _old = std::fs::remove_dir_all(&out);
    copy(closed.dir.path(), &out);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
