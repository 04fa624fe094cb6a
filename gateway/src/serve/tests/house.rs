//! A whole gateway whose store and log fail when told to.

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
use tokio::net::TcpStream;

use super::super::listeners::Listeners;
use super::super::start::{Running, start};
use crate::admin::Office;
use crate::audit::{BookError, Event, Later, Unconfirmed};
use crate::config::Config;
use crate::session::Journal;
use crate::session::store::faulty::Faulty;

pub(super) const ADMITTED: &str = "exchange.admitted";
pub(super) const SETTLED: &str = "exchange.settled";

/// What is wrong with the log.
#[derive(Clone, Copy)]
pub(super) enum Wrong {
    /// It takes the event after a while.
    Late,
    /// It is late to say that it does not take the event.
    LateRefusal,
    Refusal,
}

/// The log, with something wrong about the next event of one kind.
pub(super) struct Log {
    book: Arc<dyn Journal>,
    pub(super) next: Mutex<Option<(&'static str, Wrong)>>,
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

pub(super) struct House {
    pub(super) running: Running,
    pub(super) token: String,
    pub(super) store: Arc<Faulty>,
    pub(super) log: Arc<Log>,
    pub(super) data: tempfile::TempDir,
}

impl House {
    pub(super) async fn open(change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().unwrap();
        Self::open_in(data, None, change).await
    }

    pub(super) async fn open_in(
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

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
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

    pub(super) async fn session(&self) -> Value {
        let opened = self.post("/v1/sessions", &json!({})).await;
        let opened: Value = serde_json::from_str(&opened.body).unwrap();
        opened["session_id"].clone()
    }

    pub(super) async fn ask(&self, session: &Value, streamed: bool) -> Answer {
        let body = json!({"model": "echo-1", "session_id": session, "stream": streamed,
            "messages": [{"role": "user", "content": "hello"}]});
        self.post("/v1/chat/completions", &body).await
    }

    /// Stops; gives the verdict on the log, and its records.
    pub(super) async fn close(self) -> (Verdict, Vec<Value>) {
        self.running.stop().await;
        (verdict(self.data.path()), records(self.data.path()))
    }
}

pub(super) struct Answer {
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn is(&self, status: &str, code: &str) {
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

pub(super) fn verdict(data: &Path) -> Verdict {
    let trust = std::fs::read_to_string(data.join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let log = Dir::new(data.join("ledger"));
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    eprintln!("{:?} {:?}", report.faults, report.doubts);
    report.verdict()
}

/// The log's records, in the order of their files and lines.
pub(super) fn records(data: &Path) -> Vec<Value> {
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
pub(super) fn settled(records: &[Value]) -> Vec<Value> {
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

pub(super) fn count(records: &[Value], kind: &str) -> usize {
    records
        .iter()
        .filter(|record| record["kind"] == kind)
        .count()
}
