//! Three gateways over one Redis, or one table in DynamoDB, under a mixed load, while one after the other
//! is killed and started again: no turn that was acknowledged is lost, no two turns of a session run at once, nobody reads
//! what is not his, and the records of every session are dense over the three logs together.
//!
//! Short by itself. `GATEHOUSE_REPLICAS=1000x20` makes it 1,000 sessions of 20 turns; over the table a
//! fifth as many, since an emulator takes a few hundred calls a second.

mod house;
mod line;
mod provider;
#[cfg(feature = "aws")]
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::house::{House, Reply, Store};
use self::provider::Provider;
use crate::streams::{Speaks, text_of};

/// Sessions that are worked with at one time.
const AT_ONCE: usize = 16;
/// Turns between two deaths, in a long run; a short one has six deaths or so. The place in line of a turn that
/// died with its replica is kept for six seconds: a turn behind it, at a replica that dies before that is
/// over, comes to nothing too.
const LIFE: usize = 400;
/// After this a turn that fails again and again fails the test.
const PATIENCE: Duration = Duration::from_secs(120);

struct Size {
    sessions: usize,
    turns: usize,
}

fn size() -> Size {
    let text = std::env::var_os("GATEHOUSE_REPLICAS").and_then(|text| text.into_string().ok());
    let numbers = text.as_deref().unwrap_or("24x8");
    let (sessions, turns) = numbers.split_once('x').unwrap();
    Size {
        sessions: sessions.parse().unwrap(),
        turns: turns.parse().unwrap(),
    }
}

/// What the callers saw.
#[derive(Default)]
struct Seen {
    /// The requests that were answered whole.
    acknowledged: parking_lot::Mutex<Vec<String>>,
    retries: AtomicUsize,
    denied: AtomicUsize,
    /// How many replicas have died.
    deaths: AtomicUsize,
    /// How many turns go by between two deaths.
    life: usize,
}

impl Seen {
    fn new(turns: usize) -> Self {
        Self {
            life: (turns / 7).clamp(1, LIFE),
            ..Self::default()
        }
    }

    /// Whether it is time for the next death.
    fn is_due(&self) -> bool {
        let deaths = self.deaths.load(Ordering::Relaxed);
        self.acknowledged.lock().len() >= (deaths + 1) * self.life
    }

    /// Turns must not get so far ahead of the deaths that the load is over before they are: a replica
    /// takes its time to start where many share a machine.
    async fn wait_for_deaths(&self) {
        let ahead = || {
            let deaths = self.deaths.load(Ordering::Relaxed);
            self.acknowledged.lock().len() >= (deaths + 1) * self.life + self.life / 2
        };
        while ahead() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn mail(session: usize) -> String {
    format!("ann.{session}@mail-{session}.example.org")
}

/// What the session's turn asks. The provider knows the session by its number.
fn request(id: &Value, session: usize, turn: usize) -> Value {
    let content = format!(
        "Turn {turn} of session-{session}: write to {}.",
        mail(session)
    );
    let mut request = Speaks::OpenAi.request(&content);
    request["stream"] = json!(turn % 2 == 1);
    request["session_id"] = id.clone();
    request
}

fn text(reply: &Reply, streamed: bool) -> Option<String> {
    let answer = reply.answer.as_ref()?;
    if answer.status != 200 || !answer.complete || (streamed && !answer.ended()) {
        return None;
    }
    Some(match streamed {
        true => text_of(answer, 0),
        false => answer.json()["choices"][0]["message"]["content"]
            .as_str()?
            .to_owned(),
    })
}

/// The replica that a balancer sends an attempt to: any. Whoever went from one to the next would be sent to
/// the one that dies next, each time.
fn any_of(session: usize, attempt: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    (session, attempt).hash(&mut hasher);
    (hasher.finish() % house::REPLICAS as u64) as usize
}

/// Opens a session and has all its turns, each again and again until it is answered.
async fn converse(house: Arc<House>, seen: Arc<Seen>, session: usize, turns: usize) -> String {
    let opened = loop {
        let reply = house.post(session, 0, "/v1/sessions", &json!({})).await;
        match reply.answer {
            Some(answer) if answer.complete && answer.status < 300 => break answer.json(),
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    for turn in 0..turns {
        seen.wait_for_deaths().await;
        let body = request(&opened["session_id"], session, turn);
        let (since, mut attempt) = (Instant::now(), turn);
        loop {
            let at = any_of(session, attempt);
            let reply = house.post(at, 0, Speaks::OpenAi.path(), &body).await;
            if let Some(text) = text(&reply, turn % 2 == 1) {
                assert_eq!(text, format!("written to {}", mail(session)));
                let request = reply
                    .answer
                    .and_then(|answer| answer.header("x-request-id"));
                seen.acknowledged.lock().push(request.unwrap());
                break;
            }
            assert!(
                since.elapsed() < PATIENCE,
                "session {session}: {}",
                reply.what()
            );
            let status = reply.answer.as_ref().map_or(0, |answer| answer.status);
            // A turn that its replica died with holds the session until its lease is over.
            assert!(matches!(status, 0 | 200 | 409 | 500..), "{}", reply.what());
            seen.retries.fetch_add(1, Ordering::Relaxed);
            attempt += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // Another key of the same tenant, with the right id.
        let thief = house
            .post(session + turn, 1, Speaks::OpenAi.path(), &body)
            .await;
        if let Some(answer) = thief.answer {
            assert!(
                matches!(answer.status, 0 | 404 | 500..),
                "{}",
                answer.text()
            );
            seen.denied
                .fetch_add(usize::from(answer.status == 404), Ordering::Relaxed);
        }
    }
    opened["reference"].as_str().unwrap().to_owned()
}

/// Kills one replica after the other, as turns go by, until all of them are over.
async fn kill(house: Arc<House>, seen: Arc<Seen>, turns: usize) {
    while seen.acknowledged.lock().len() < turns {
        if seen.is_due() {
            let deaths = seen.deaths.load(Ordering::Relaxed);
            house.kill_and_restart(deaths % house::REPLICAS).await;
            seen.deaths.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_gateways_over_one_store() {
    three_gateways(Store::Redis, size()).await;
}

#[cfg(feature = "aws")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_gateways_over_one_table() {
    let Size { sessions, turns } = size();
    let sessions = sessions.div_ceil(5).max(8);
    three_gateways(Store::DynamoDb, Size { sessions, turns }).await;
}

#[expect(clippy::print_stderr, reason = "a long run says what it was")]
async fn three_gateways(store: Store, size: Size) {
    let Size { sessions, turns } = size;
    let provider = Arc::new(Provider::start().await);
    let house = Arc::new(House::open(provider.address, store).await);
    let seen = Arc::new(Seen::new(sessions * turns));
    let mut reaper = tokio::task::JoinSet::new();
    let (killed, watched) = (Arc::clone(&house), Arc::clone(&seen));
    reaper.spawn(kill(killed, watched, sessions * turns));

    let (mut conversations, mut references) = (tokio::task::JoinSet::new(), Vec::new());
    for session in 0..sessions {
        if conversations.len() >= AT_ONCE {
            references.push(conversations.join_next().await.unwrap().unwrap());
        }
        let (house, seen) = (Arc::clone(&house), Arc::clone(&seen));
        conversations.spawn(converse(house, seen, session, turns));
    }
    references.extend(conversations.join_all().await);
    reaper.join_all().await;
    let deaths = seen.deaths.load(Ordering::Relaxed);
    assert!(deaths >= 5 || sessions * turns < 40, "{deaths} deaths");
    let retries = seen.retries.load(Ordering::Relaxed);
    assert!(retries > 0 || deaths < 20, "nobody was hit");
    // What the last deaths left is brought to its end without anybody asking.
    tokio::time::sleep(house::LEASE + Duration::from_secs(4)).await;
    let house = Arc::into_inner(house).unwrap();
    let closed = house.close().await;
    let records = &closed.records;

    eprintln!(
        "{sessions} sessions of {turns} turns, {deaths} deaths, {retries} retries, {} denied; {} records",
        seen.denied.load(Ordering::Relaxed),
        records.len(),
    );
    provider.check(sessions);
    all_is_recorded(records, &seen.acknowledged.lock(), turns);
    is_dense(records, &references);
    closed.is_clean();
}

/// A replica that stands still in the middle of a turn, for longer than its lease: another goes on with
/// the session, and what the first one says when it wakes changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stands_still_is_overtaken() {
    stands_still(Store::Redis).await;
}

/// No clock says that its lease is over: another replica has to see it unchanged for as long.
#[cfg(feature = "aws")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_stands_still_is_overtaken_without_a_clock() {
    stands_still(Store::DynamoDb).await;
}

async fn stands_still(store: Store) {
    let provider = Provider::start().await;
    let house = Arc::new(House::open(provider.address, store).await);
    let opened = house.post(0, 0, "/v1/sessions", &json!({})).await;
    let opened = opened.answer.unwrap().json();
    let mut slow = request(&opened["session_id"], 0, 0);
    slow["messages"][0]["content"] = json!(format!("session-0: write to {} slowly", mail(0)));
    let (asked, body) = (Arc::clone(&house), slow.clone());
    let mut first = tokio::task::JoinSet::new();
    first.spawn(async move { asked.post(0, 0, Speaks::OpenAi.path(), &body).await });
    while provider.under_way("session-0") == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    house.signal(0, "STOP");
    // It waits until the lease is over.
    let second = request(&opened["session_id"], 0, 2);
    let second = house.post(1, 0, Speaks::OpenAi.path(), &second).await;
    assert_eq!(
        text(&second, false),
        Some(format!("written to {}", mail(0)))
    );
    house.signal(0, "CONT");
    let first = first.join_next().await.unwrap().unwrap().answer.unwrap();
    assert_eq!(first.error().as_deref(), Some("session_conflict"));
    let request = first.header("x-request-id").unwrap();

    let closed = Arc::into_inner(house).unwrap().close().await;
    let records = &closed.records;
    let mut settled = records
        .iter()
        .filter(|record| record["kind"] == "exchange.settled" && record["rid"] == request);
    let settled = (settled.next().unwrap(), settled.next());
    assert_eq!(settled.0["outside"]["session"], opened["reference"]);
    assert!(settled.0["ending"] == "error" && settled.1.is_none());
    let reference = opened["reference"].as_str().unwrap();
    is_dense(records, &[reference.to_owned()]);
    closed.is_clean();
}

/// Every turn that was acknowledged is in the log, admitted and done; no exchange has two ends.
fn all_is_recorded(records: &[Value], acknowledged: &[String], turns: usize) {
    let rids = |kind: &str| -> Vec<&str> {
        let found = records.iter().filter(|record| record["kind"] == kind);
        found
            .map(|record| record["rid"].as_str().unwrap())
            .collect()
    };
    let done: BTreeSet<&str> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.settled" && record["ending"] == "done")
        .map(|record| record["rid"].as_str().unwrap())
        .collect();
    let (admitted, settled) = (rids("exchange.admitted"), rids("exchange.settled"));
    let only_once: BTreeSet<&str> = admitted.iter().copied().collect();
    assert_eq!(only_once.len(), admitted.len(), "admitted twice");
    let ended: BTreeSet<&str> = settled.iter().copied().collect();
    assert_eq!(ended.len(), settled.len(), "settled twice");
    for request in acknowledged {
        assert!(
            only_once.contains(request.as_str()),
            "{request} was not admitted"
        );
        assert!(done.contains(request.as_str()), "{request} is not done");
    }
    assert!(acknowledged.len() >= turns);
    let open: Vec<_> = only_once.difference(&ended).collect();
    assert!(open.is_empty(), "no outcome: {open:?}");
}

/// The numbers of every session's records, over all logs, are 0, 1, 2 and so on.
fn is_dense(records: &[Value], references: &[String]) {
    let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for record in records {
        if let (Some(session), Some(number)) = (record["sid"].as_str(), record["sseq"].as_u64()) {
            numbers.entry(session).or_default().push(number);
        }
    }
    for (session, numbers) in &mut numbers {
        numbers.sort_unstable();
        let expected: Vec<u64> = (0..numbers.len() as u64).collect();
        assert_eq!(*numbers, expected, "{session}");
    }
    for reference in references {
        assert!(numbers.contains_key(reference.as_str()));
    }
}
