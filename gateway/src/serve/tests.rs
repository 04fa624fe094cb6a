//! A whole gateway whose store and log fail when told to: every exchange that the log has as
//! admitted is settled, and the log verifies as what it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gatehouse_ledger::AppendError;
use gatehouse_ledger::store::Dir;
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::verify::{Verdict, Verifier};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::start::{Listeners, Running, start};
use crate::admin::Office;
use crate::audit::{BookError, Event, Later, Unconfirmed};
use crate::config::Config;
use crate::session::Journal;
use crate::session::store::faulty::{Fault, Faulty};

const ADMITTED: &str = "exchange.admitted";
const SETTLED: &str = "exchange.settled";

/// What is wrong with the log.
#[derive(Clone, Copy)]
enum Wrong {
    /// It takes the event after a while.
    Late,
    /// It is late to say that it does not take the event.
    LateRefusal,
    Refusal,
}

/// The log, with something wrong about the next event of one kind.
struct Log {
    book: Arc<dyn Journal>,
    next: Mutex<Option<(&'static str, Wrong)>>,
}

impl Log {
    async fn offer(&self, event: Event, durable: bool) -> Result<(), Unconfirmed> {
        let of = |next: &mut (&'static str, Wrong)| {
            String::from_utf8_lossy(event.bytes()).contains(next.0)
        };
        let refused = BookError::Append(AppendError::Refused);
        let book = Arc::clone(&self.book);
        let wrong = self.next.lock().take_if(of).map(|(_, wrong)| wrong);
        let later: Later = match wrong {
            None if durable => return book.append(event).await,
            None => return book.take(event).await,
            Some(Wrong::Refusal) => return Err(refused.into()),
            Some(Wrong::Late) => Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                book.take(event).await.map_err(|late| late.error)
            }),
            Some(Wrong::LateRefusal) => Box::pin(async move { Err(refused) }),
        };
        Err(Unconfirmed {
            error: BookError::Late,
            later: Some(later),
        })
    }
}

#[async_trait]
impl Journal for Log {
    async fn append(&self, event: Event) -> Result<(), Unconfirmed> {
        self.offer(event, true).await
    }

    async fn take(&self, event: Event) -> Result<(), Unconfirmed> {
        self.offer(event, false).await
    }

    fn owe(&self, event: Event, attempt: Option<Later>) {
        self.book.owe(event, attempt);
    }
}

struct House {
    running: Running,
    token: String,
    store: Arc<Faulty>,
    log: Arc<Log>,
    data: tempfile::TempDir,
}

impl House {
    async fn open(change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self::open_in(data, None, change).await
    }

    async fn open_in(
        data: tempfile::TempDir,
        token: Option<String>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = Config::for_tests(data.path()).unwrap();
        change(&mut config);
        let mut parts = None;
        let office = Office::open_over(&config, |store, book| {
            let store = Arc::new(Faulty::new(store));
            let next = Mutex::default();
            let log = Arc::new(Log { book, next });
            parts = Some((Arc::clone(&store), Arc::clone(&log)));
            (store, log)
        });
        let office = office.await.unwrap();
        let listeners = Listeners::bind(&config).await.unwrap();
        let mut running = start(config, listeners, office).await.unwrap();
        let first = running.take_first_key().map(|key| key.expose().clone());
        let token = token.or(first).unwrap();
        let (store, log) = parts.unwrap();
        Self {
            running,
            token,
            store,
            log,
            data,
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let (token, body) = (&self.token, body.to_string());
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.running.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A transfer that is aborted may end in a reset.
        let _end = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    async fn session(&self) -> Value {
        let opened = self.post("/v1/sessions", &json!({})).await;
        let opened: Value = serde_json::from_str(&opened.body).unwrap();
        opened["session_id"].clone()
    }

    async fn ask(&self, session: &Value, streamed: bool) -> Answer {
        let body = json!({"model": "echo-1", "session_id": session, "stream": streamed,
            "messages": [{"role": "user", "content": "hello"}]});
        self.post("/v1/chat/completions", &body).await
    }

    /// Stops; gives the verdict on the log, and its records.
    async fn close(self) -> (Verdict, Vec<Value>) {
        self.running.stop().await;
        (verdict(self.data.path()), records(self.data.path()))
    }
}

struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn is(&self, status: &str, code: &str) {
        assert!(
            self.head.starts_with(&format!("HTTP/1.1 {status}")),
            "{}",
            self.head
        );
        assert!(
            self.body.contains(&format!("\"code\":\"{code}\"")),
            "{}",
            self.body
        );
    }
}

fn verdict(data: &Path) -> Verdict {
    let trust = std::fs::read_to_string(data.join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let log = Dir::new(data.join("ledger"));
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    eprintln!("{:?} {:?}", report.faults, report.doubts);
    report.verdict()
}

/// The log's records, in the order of their files and lines.
fn records(data: &Path) -> Vec<Value> {
    let mut folders = vec![data.join("ledger/log")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut records = Vec::new();
    for file in files {
        let packed = std::fs::read(file).unwrap();
        let lines = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.extend(lines.filter_map(|line| line.get("e").cloned()));
    }
    records
}

/// Each admitted exchange and the one record that settles it, by request.
fn settled(records: &[Value]) -> Vec<Value> {
    let mut admitted: BTreeMap<String, Option<Value>> = BTreeMap::new();
    let mut order = Vec::new();
    for record in records {
        let request = || record["rid"].as_str().unwrap().to_owned();
        if record["kind"] == ADMITTED {
            order.push(request());
            assert!(admitted.insert(request(), None).is_none());
        } else if record["kind"] == SETTLED {
            let slot = admitted.get_mut(&request()).expect("never admitted");
            assert!(slot.replace(record.clone()).is_none(), "settled twice");
        }
    }
    let settled = order.iter().map(|request| admitted[request].clone());
    settled
        .map(|record| record.expect("never settled"))
        .collect()
}

fn count(records: &[Value], kind: &str) -> usize {
    records
        .iter()
        .filter(|record| record["kind"] == kind)
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_fails_at_the_admission() {
    for (fault, status, code) in [
        (Fault::Fails, "503", "session_unavailable"),
        (Fault::FailsButPersists, "503", "session_unavailable"),
        (Fault::Overtaken, "409", "session_conflict"),
    ] {
        let house = House::open(|_| {}).await;
        let session = house.session().await;
        house.store.break_next(fault);
        house.ask(&session, false).await.is(status, code);
        // The session goes on as if nothing had been.
        for streamed in [false, true] {
            let next = house.ask(&session, streamed).await;
            assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
        }
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), 3);
        assert_eq!(settled[0]["attempts"], 0, "nothing was sent");
        assert_eq!(settled[0]["status"].to_string(), status);
        assert_eq!(settled[0]["ending"], "error");
        let outside = fault == Fault::Overtaken;
        assert_eq!(settled[0].get("outside").is_some(), outside);
        assert_eq!(settled[0].get("sid").is_none(), outside);
        assert_eq!(count(&records, "audit.gap"), 0);
        assert_eq!(verdict, Verdict::Holds, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_fails_at_the_admission() {
    for (wrong, exchanges) in [
        (Wrong::Refusal, 1),
        (Wrong::LateRefusal, 1),
        (Wrong::Late, 2),
    ] {
        let house = House::open(|_| {}).await;
        let session = house.session().await;
        *house.log.next.lock() = Some((ADMITTED, wrong));
        house
            .ask(&session, false)
            .await
            .is("503", "audit_unavailable");
        let next = house.ask(&session, false).await;
        assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), exchanges);
        if exchanges == 2 {
            assert_eq!(settled[0]["attempts"], 0);
            assert_eq!(settled[0]["status"], 503);
        }
        assert_eq!(count(&records, "audit.gap"), 0);
        assert_eq!(verdict, Verdict::Holds);
    }
}

/// The provider has answered, so the caller is not told that nothing was sent, nor to try again.
#[tokio::test(flavor = "multi_thread")]
async fn store_or_log_fails_at_the_settlement() {
    for streamed in [false, true] {
        for broken in 0..5 {
            let house = House::open(|_| {}).await;
            let session = house.session().await;
            match broken {
                0 => house.store.break_second(Fault::Fails),
                1 => house.store.break_second(Fault::FailsButPersists),
                2 => *house.log.next.lock() = Some((SETTLED, Wrong::Refusal)),
                3 => *house.log.next.lock() = Some((SETTLED, Wrong::LateRefusal)),
                _ => *house.log.next.lock() = Some((SETTLED, Wrong::Late)),
            }
            let answer = house.ask(&session, streamed).await;
            if streamed {
                answer.is("200", "reply_unrecorded");
                assert!(!answer.body.contains("[DONE]"), "{}", answer.body);
            } else {
                answer.is("503", "reply_unrecorded");
                assert!(
                    answer.head.contains("x-should-retry: false"),
                    "{}",
                    answer.head
                );
            }
            let next = house.ask(&session, streamed).await;
            assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
            let (verdict, records) = house.close().await;
            let settled = settled(&records);
            assert_eq!(settled.len(), 2, "{broken}");
            assert_eq!(
                (&settled[0]["attempts"], &settled[0]["ending"]),
                (&1.into(), &"done".into())
            );
            assert_eq!(verdict, Verdict::Holds, "{broken}");
        }
    }
}

/// A provider that takes requests and says nothing.
async fn silent_provider() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, url)
}

fn to(config: &mut Config, url: &str) {
    for provider in &mut config.providers {
        *provider = Arc::new(crate::config::Provider {
            name: provider.name.clone(),
            protocol: crate::config::Protocol::OpenAi,
            models: provider.models.clone(),
            base_url: url.parse().ok(),
            api_key: None,
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_breaks_off_leaves_its_exchange_settled() {
    for panics in [true, false] {
        let (provider, url) = silent_provider().await;
        let house = House::open(|config| {
            to(config, &url);
            config.sessions.lease = Duration::from_millis(30);
        })
        .await;
        let session = house.session().await;
        let gateway = Arc::clone(house.running.gateway());
        let breaking = async {
            let _asked = provider.accept().await.unwrap();
            if panics {
                house.store.break_next(Fault::Panics);
            } else {
                gateway.abandoned.cancel();
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = breaking => {}
            answer = house.ask(&session, false) => answer.is("500", "internal"),
        }
        let (verdict, records) = house.close().await;
        let settled = settled(&records);
        assert_eq!(settled.len(), 1);
        assert_eq!(
            (&settled[0]["status"], &settled[0]["ending"]),
            (&500.into(), &"error".into())
        );
        assert!(settled[0]["outside"]["session"].is_string());
        assert_eq!(verdict, Verdict::Holds);
    }
}

/// Log and store end as a crash would leave them if the store is behind when the gateway stops, and
/// the next start brings them together.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_behind_at_the_end_is_brought_up_by_the_next_start() {
    let house = House::open(|_| {}).await;
    let session = house.session().await;
    house.store.break_next(Fault::Fails);
    house
        .ask(&session, false)
        .await
        .is("503", "session_unavailable");
    house.store.break_always();
    let House {
        running,
        token,
        store,
        log,
        data,
    } = house;
    running.stop().await;
    drop((store, log));
    assert_eq!(verdict(data.path()), Verdict::CouldNotTell);

    let again = House::open_in(data, Some(token), |_| {}).await;
    let next = again.ask(&session, false).await;
    assert!(next.head.starts_with("HTTP/1.1 200"), "{}", next.body);
    let (verdict, records) = again.close().await;
    assert_eq!(settled(&records).len(), 2);
    assert_eq!(count(&records, "audit.gap"), 0);
    assert_eq!(verdict, Verdict::Holds);
}
