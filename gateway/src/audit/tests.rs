//! The exact bytes of events, and a book that does not wait for ever.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog,
    clock::{Clock as LedgerTime, Stamp},
    store::{Fetcher, LedgerStore, Memory, Object, StoreError, Stored},
};
use gatehouse_redactor::Label;

use super::*;
use crate::clock::SystemClock;

fn subject() -> Subject<'static> {
    Subject {
        session: "s_1",
        run: None,
        trace: None,
    }
}

fn who() -> Who<'static> {
    Who {
        principal: "p_1",
        credential: Some("c_1"),
        tenant: "t_1",
        agent: None,
    }
}

fn text(event: &Event) -> String {
    String::from_utf8(event.bytes().to_vec()).unwrap()
}

fn admitted<'a>(model: &'a str, found: &'a BTreeMap<Label, u32>) -> Admitted<'a> {
    Admitted {
        continuity: "sent",
        request: "r_1",
        subject: subject(),
        who: who(),
        source: Source {
            address: Some("a_1"),
            edge_ids: 1,
        },
        policy: [1; 32],
        build: [2; 32],
        config: [3; 32],
        limit_us: 600_000_000,
        redaction: Redaction {
            visited: 5,
            checked: 4,
            skipped: 3,
            unvisited: 0,
            rules: [4; 32],
            model: None,
            found,
            input: [5; 32],
            output: [6; 32],
        },
        prompt: None,
        reserved_tokens: 4321,
        upstream: Upstream {
            provider: "openai",
            api: "openai_chat",
            model,
            region: None,
            key_id: None,
        },
        payload: None,
        state: Some(StateKey {
            id: "sk_1",
            commitment: "00ff",
        }),
    }
}

#[test]
fn an_admission_as_the_format_has_it() {
    let found = BTreeMap::from([(Label::EMAIL, 2)]);
    let link = Link {
        sseq: 17,
        sprev: [0xab; 32],
    };
    let event = admitted("gpt-4o", &found).build(link).unwrap();
    let hex = |byte: &str| byte.repeat(32);
    let want = format!(
        concat!(
            r#"{{"kind":"exchange.admitted","rid":"r_1","sid":"s_1","sseq":17,"sprev":"{}","#,
            r#""prin":"p_1","tok":"c_1","tenant":"t_1","src":{{"ip_h":"a_1","edge_ids":1}},"#,
            r#""policy":"sha256:{}","build":"sha256:{}","cfg":"sha256:{}","limit_us":600000000,"continuity":"sent","#,
            r#""red":{{"status":"done","visited":5,"checked":4,"skipped":3,"unvisited":0,"#,
            r#""rules":"sha256:{}","found":[{{"label":"EMAIL","n":2}}],"in_h":"{}","out_h":"{}"}},"#,
            r#""budget":{{"reserved_tokens":4321}},"#,
            r#""up":{{"provider":"openai","api":"openai_chat","model":"gpt-4o"}},"#,
            r#""st":{{"kid":"sk_1","kc":"00ff","alg":"A256GCM"}}}}"#
        ),
        hex("ab"),
        hex("01"),
        hex("02"),
        hex("03"),
        hex("04"),
        hex("05"),
        hex("06")
    );
    assert_eq!(text(&event), want);
    assert!(Event::from_bytes(want.into_bytes()).unwrap() == event);
}

#[test]
fn text_in_the_place_of_a_name_fails_the_event() {
    let found = BTreeMap::new();
    for model in ["jane@example.org", "my card is 4111", "", "x\u{e9}"] {
        let built = admitted(model, &found).build(Link::START);
        assert!(matches!(built, Err(BuildError::Word("model"))), "{model}");
    }
}

#[test]
fn a_settlement_says_what_went_where() {
    let masked = BTreeMap::from([(Label::IBAN, 1)]);
    let restored = [Restored {
        destination: Destination::Tool("send_mail"),
        label: Label::EMAIL,
        count: 3,
    }];
    let settled = |restored: &[Restored<'_>]| {
        Settled {
            request: "r_1",
            subject: subject(),
            status: 200,
            upstream_status: Some(200),
            ending: Ending::CallerGone,
            attempts: 1,
            usage: Usage {
                input: Some(9),
                ..Usage::default()
            },
            budget: Some(Charged {
                tokens: 12,
                estimated: true,
                missing: 0,
            }),
            reply: Reply {
                visited: 2,
                masked: &masked,
                restored,
                unresolved: 0,
            },
            phase: None,
            upstream_digest: None,
            payload: None,
            unstored: None,
            duration_us: 1234,
        }
        .build(Some(Link::START))
    };
    let shown = text(&settled(&restored).unwrap());
    assert!(shown.ends_with(concat!(
        r#""status":200,"up_status":200,"ending":"caller_gone","attempts":1,"use":{"in_tokens":9},"#,
        r#""budget":{"settled_tokens":12,"basis":"estimate"},"#,
        r#""reply":{"visited":2,"masked":[{"label":"IBAN","n":1}],"restored":[{"to":"tool","#,
        r#""tool":"send_mail","label":"EMAIL","n":3}],"unresolved":0},"duration_us":1234}"#
    )));
    let hostile = [Restored {
        destination: Destination::Tool("call jane@example.org"),
        ..restored[0]
    }];
    assert!(matches!(settled(&hostile), Err(BuildError::Word("tool"))));
}

#[test]
fn a_refusal_stands_in_its_session_if_it_has_one() {
    let refused = |session| Refused {
        request: "r_1",
        session,
        who: None,
        source: Source::default(),
        status: 400,
        code: "blocked",
        blame: "policy",
        label: Some(Label::IBAN),
        rule: Some("iban"),
        absent: None,
    };
    let without = text(&refused(None).build().unwrap());
    assert!(
        !without.contains("sid") && !without.contains("sseq"),
        "{without}"
    );
    let with = refused(Some((subject(), Link::START))).build().unwrap();
    assert!(text(&with).contains(r#""sid":"s_1","sseq":0,"sprev":"00"#));
}

/// A store that takes its time.
struct Slow(Arc<Memory>);

impl Fetcher for Slow {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.0.list(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.0.fetch(name, limit)
    }
}

impl LedgerStore for Slow {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if name.starts_with("log/") {
            std::thread::sleep(Duration::from_millis(900));
        }
        self.0.put_once(name, bytes)
    }
}

fn book(dir: &Path, mode: Mode) -> Book {
    slow_book(dir, mode).0
}

/// A book over a slow store, and what that store holds.
fn slow_book(dir: &Path, mode: Mode) -> (Book, Arc<Memory>) {
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.to_owned(),
        deployment: "prod".into(),
        mode,
        pace: Pace::default(),
    };
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let clock = Arc::new(LedgerClock(Arc::new(SystemClock::new())));
    let memory = Arc::new(Memory::default());
    let store = Arc::new(Slow(Arc::clone(&memory)));
    let ledger = Ledger::open(options, store, signer, clock).unwrap().0;
    let book = Book::new(Arc::new(ledger), Duration::from_millis(250));
    (book, memory)
}

#[tokio::test]
async fn a_store_that_is_slow_is_too_late_where_the_mode_waits_for_it() {
    let event = || {
        let providers = &["openai"];
        let snapshot = ConfigSnapshot {
            version: "0.1.0",
            build: [0; 32],
            config: [0; 32],
            providers,
            witnesses: 2,
            authorities: 1,
        };
        snapshot.build().unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let strict = book(dir.path(), Mode::Strict);
    assert_eq!(strict.append(event()).await, Err(BookError::Late));
    let dir = tempfile::tempdir().unwrap();
    let local = book(dir.path(), Mode::Local);
    assert_eq!(local.append(event()).await, Ok(()));
    assert_eq!(local.refused(event()).await, Ok(()));
}

/// A promise that was not kept says so, once, and to whoever would say it at the next start; one that
/// was kept says nothing.
#[tokio::test]
async fn a_promise_that_says_how_it_ended_tells_who_else_would() {
    for kept in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let book = book(dir.path(), Mode::Local);
        let told = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let mut pledge = Pledge::new(book.clone(), "r_1", "s_1", None);
        pledge.begins();
        let tells = Arc::clone(&told);
        pledge.also_ends(Some(Box::new(move || {
            tells.store(true, std::sync::atomic::Ordering::SeqCst);
        })));
        match kept {
            true => pledge.keep(),
            false => drop(pledge),
        }
        let told = told.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(told, !kept);
    }
}

/// The records of a log, by kind.
fn kinds(dir: &Path, store: &Memory) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let unread = gatehouse_ledger::read::records(store, |entry| {
        found.push((entry.kind.to_owned(), entry.event.to_owned()));
    });
    assert!(unread.unwrap().is_empty(), "{}", dir.display());
    found
}

#[tokio::test]
async fn where_it_is_allowed_requests_go_on_without_the_log_which_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (book, store) = slow_book(dir.path(), Mode::Strict);
    let book = book.allow_degraded(Some(Duration::from_secs(3600)));
    let event = || {
        let providers = &["openai"];
        let snapshot = ConfigSnapshot {
            version: "0.1.0",
            build: [0; 32],
            config: [0; 32],
            providers,
            witnesses: 2,
            authorities: 1,
        };
        snapshot.build().unwrap()
    };
    for _ in 0..3 {
        book.offer(event(), Durability::Durable).await.unwrap();
    }
    assert!(book.is_degraded());
    // The store is slow, and in the end it has everything.
    while book.is_degraded() {
        book.pay();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ended = book.clone();
    tokio::task::spawn_blocking(move || ended.ledger().close().unwrap())
        .await
        .unwrap();
    let kinds = kinds(dir.path(), &store);
    let count = |kind: &str| kinds.iter().filter(|(of, _)| of == kind).count();
    assert_eq!(count("config.snapshot"), 3, "{kinds:?}");
    let (_, snapshot) = kinds
        .iter()
        .find(|(of, _)| of == "config.snapshot")
        .unwrap();
    assert!(
        snapshot.contains(r#""witnesses":2,"authorities":1"#),
        "{snapshot}"
    );
    assert_eq!(count("audit.degraded.enter"), 1, "{kinds:?}");
    let leaves: Vec<_> = kinds
        .iter()
        .filter(|(of, _)| of == "audit.degraded.leave")
        .collect();
    assert_eq!(leaves.len(), 1, "{kinds:?}");
    assert!(leaves[0].1.contains("\"unlogged\":3,"), "{kinds:?}");
}

#[tokio::test]
async fn past_its_limit_they_do_not_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (book, _) = slow_book(dir.path(), Mode::Strict);
    let book = book.allow_degraded(Some(Duration::ZERO));
    let event = Event::kind("clock.status").finish().unwrap();
    let refused = book.offer(event, Durability::Durable).await;
    assert_eq!(refused.unwrap_err().error, BookError::Late);
}

/// Stands still for a while when it is told to, and with it whoever asks.
struct Stalls(AtomicBool);

impl LedgerTime for Stalls {
    fn now(&self) -> Stamp {
        if self.0.swap(false, Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(400));
        }
        LedgerClock(Arc::new(SystemClock::new())).now()
    }
}

#[tokio::test]
async fn the_outcome_of_an_exchange_outlasts_a_disk_that_hangs_for_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.path().to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: Pace::default(),
    };
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let clock = Arc::new(Stalls(AtomicBool::new(false)));
    let ledger = Ledger::open(options, Arc::new(Memory::default()), signer, clock.clone());
    let book = Book::new(Arc::new(ledger.unwrap().0), Duration::from_millis(200));
    let event = || Event::kind("session.close").finish().unwrap();
    clock.0.store(true, Ordering::Relaxed);
    let late = book.offer(event(), Durability::Taken).await;
    assert_eq!(late.unwrap_err().error, BookError::Late);
    // Whoever offers the next waits behind that one.
    clock.0.store(true, Ordering::Relaxed);
    book.offer_outcome(event()).await.unwrap();
}
