//! Sessions on the real embedded store, with a log that only remembers.

mod continuity;
mod crash;
mod damage;
#[cfg(feature = "aws")]
mod dynamodb;
mod endings;
mod erasure;
mod faults;
mod funds;
mod gone;
mod hold;
mod hold_left;
mod in_line;
#[cfg(feature = "aws")]
mod kms;
mod life;
mod lost;
mod outbox;
mod redis;
mod replicas;
mod rotation;
mod typed;

use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_envelope::keys::{FileKeys, KeyProvider};
use parking_lot::Mutex;

use zeroize::Zeroizing;

use super::{begin::is_reference, *};
use crate::{
    audit::{BookError, Event, Later, Unconfirmed},
    clock::TestClock,
    registry::{CachePolicy, Database, EmbeddedRegistry},
    session::{
        blobs::EmbeddedBlobs,
        index::EmbeddedIndex,
        store::{EmbeddedStore, faulty::Faulty},
    },
};

/// A log in memory that can be told to refuse.
#[derive(Default)]
pub(super) struct Pages {
    events: Mutex<Vec<String>>,
    refuses: AtomicBool,
    next: Mutex<Option<Unconfirmed>>,
    owed: Mutex<Vec<Event>>,
}

impl Pages {
    /// The events of one session, in order.
    fn of(&self, reference: &str) -> Vec<serde_json::Value> {
        let events = self.events.lock();
        let all = events
            .iter()
            .map(|event| serde_json::from_str(event).unwrap());
        all.filter(|event: &serde_json::Value| event["sid"] == reference)
            .collect()
    }

    fn kinds(&self, reference: &str) -> Vec<String> {
        self.of(reference)
            .iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What was said outside of the chains, of one kind.
    fn outside(&self, kind: &str) -> Vec<serde_json::Value> {
        let events = self.events.lock();
        let all = events
            .iter()
            .map(|event| serde_json::from_str(event).unwrap());
        all.filter(|event: &serde_json::Value| event["kind"] == kind && event["sid"].is_null())
            .collect()
    }

    /// The next event is not confirmed.
    fn break_next(&self, why: Unconfirmed) {
        *self.next.lock() = Some(why);
    }

    /// Takes what it is owed.
    fn pay(&self) {
        for event in self.owed.lock().drain(..) {
            let text = String::from_utf8(event.bytes().to_vec()).unwrap();
            self.events.lock().push(text);
        }
    }

    fn refuse(&self, refuse: bool) {
        self.refuses.store(refuse, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl Journal for Pages {
    async fn append(&self, event: Event) -> Result<(), Unconfirmed> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(BookError::Late.into());
        }
        if let Some(why) = self.next.lock().take() {
            return Err(why);
        }
        self.events
            .lock()
            .push(String::from_utf8(event.bytes().to_vec()).unwrap());
        Ok(())
    }

    async fn take(&self, event: Event) -> Result<(), Unconfirmed> {
        self.append(event).await
    }

    fn owe(&self, event: Event, _: Option<Later>) {
        self.owed.lock().push(event);
    }
}

/// One process's sessions in a directory.
pub(super) struct House {
    pub(super) sessions: Sessions,
    pub(super) database: Arc<Database>,
    pub(super) faults: Arc<Faulty>,
    pub(super) pages: Arc<Pages>,
    pub(super) clock: Arc<TestClock>,
}

/// Who asks, where it does not matter.
const BY: &str = "uid:7";

pub(super) const NOW_US: i64 = 1_795_961_100_000_000;

pub(super) fn limits() -> Limits {
    Limits {
        wait: Duration::from_millis(50),
        ..Limits::default()
    }
}

impl House {
    pub(super) fn open(dir: &std::path::Path) -> Self {
        Self::open_with(dir, limits(), Arc::new(Pages::default()), NOW_US)
    }

    pub(super) fn open_with(
        dir: &std::path::Path,
        limits: Limits,
        pages: Arc<Pages>,
        now_us: i64,
    ) -> Self {
        let provider = FileKeys::open_or_create(&dir.join("keys/root")).unwrap();
        Self::open_under(dir, limits, pages, now_us, Arc::new(provider))
    }

    /// The same under any root key.
    pub(super) fn open_under(
        dir: &std::path::Path,
        limits: Limits,
        pages: Arc<Pages>,
        now_us: i64,
        provider: Arc<dyn KeyProvider>,
    ) -> Self {
        let clock = Arc::new(TestClock::new(now_us));
        let database = Arc::new(Database::open(&dir.join("sessions.redb")).unwrap());
        let registry: Arc<dyn Registry> =
            Arc::new(EmbeddedRegistry::new(database.clone(), clock.clone()));
        let policy = CachePolicy::default();
        let keyring = Keyring::new(provider, registry.clone(), clock.clone(), policy);
        let store = EmbeddedStore::new(database.clone(), clock.clone());
        let faults = Arc::new(Faulty::new(Arc::new(store)));
        let sessions = Sessions::new(Parts {
            store: faults.clone(),
            registry,
            blobs: Arc::new(EmbeddedBlobs::new(database.clone())),
            index: Arc::new(EmbeddedIndex::new(database.clone(), clock.clone())),
            keyring: Arc::new(keyring),
            journal: pages.clone(),
            clock: clock.clone(),
            limits,
            outbox: Some(dir.join("outbox")),
        });
        Self {
            sessions: sessions.unwrap(),
            database,
            faults,
            pages,
            clock,
        }
    }

    /// Another process over the same store, with a data directory and a log of its own.
    pub(super) fn restarted(&self, dir: &std::path::Path, pages: Arc<Pages>) -> Self {
        let shared = &self.sessions.shared;
        let sessions = Sessions::new(Parts {
            store: shared.store.clone(),
            registry: shared.registry.clone(),
            blobs: shared.blobs.clone(),
            index: shared.index.clone(),
            keyring: shared.keyring.clone(),
            journal: pages.clone(),
            clock: shared.clock.clone(),
            limits: shared.limits,
            outbox: Some(dir.join("outbox")),
        });
        Self {
            sessions: sessions.unwrap(),
            database: self.database.clone(),
            faults: self.faults.clone(),
            pages,
            clock: self.clock.clone(),
        }
    }

    /// Puts an older row of a session back, as a replica that had not seen the newer ones would.
    pub(super) async fn put_back(&self, name: &str, row: store::Row) {
        let store = &self.sessions.shared.store;
        let store::Acquired::Held { fence, row: now } =
            store.acquire(name, 7, Duration::ZERO).await.unwrap()
        else {
            panic!("not held")
        };
        store.remove(name, fence, now.version).await.unwrap();
        assert_eq!(row.version, 1, "the first version can be made anew");
        let write = store::Write {
            sealed: row.sealed,
            expires_us: row.expires_us,
            lease: Lease::Free,
            sync: Durable::Now,
        };
        store.create(name, 7, write).await.unwrap();
    }

    /// What another process finds if this one dies now: a copy of everything on the disk.
    pub(super) fn crash(&self, dir: &std::path::Path) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        std::fs::create_dir(copy.path().join("keys")).unwrap();
        for file in ["sessions.redb", "keys/root"] {
            std::fs::copy(dir.join(file), copy.path().join(file)).unwrap();
        }
        copy
    }
}

/// A caller with an open session, in a directory of their own.
pub(super) async fn scene() -> (tempfile::TempDir, House, Caller, Opened) {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let ann = caller("ann", "t");
    let opened = house.sessions.open(&ann).await.unwrap();
    (dir, house, ann, opened)
}

pub(super) fn caller(name: &str, tenant: &str) -> Caller {
    Caller {
        key_id: format!("k_{name}"),
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        agent: None,
        token_digest: [1; 32],
    }
}

/// An event as the pipeline would write it.
pub(super) fn event(turn: &Turn, kind: &str) -> Vec<u8> {
    let link = turn.link();
    let sprev = gatehouse_envelope::digest::hex(&link.sprev);
    let (sid, sseq) = (turn.reference(), link.sseq);
    format!(r#"{{"kind":"{kind}","sid":"{sid}","sseq":{sseq},"sprev":"{sprev}"}}"#).into_bytes()
}

/// Records an event in the store and the log.
pub(super) async fn record(house: &House, turn: &mut Turn, kind: &str) -> Result<(), SessionError> {
    let event = event(turn, kind);
    turn.record(&event).await?;
    house
        .pages
        .append(Event::from_bytes(event).unwrap())
        .await
        .map_err(|_| SessionError::Log)
}

/// Ends a turn with an event.
pub(super) async fn finish(house: &House, mut turn: Turn, kind: &str) {
    let event = event(&turn, kind);
    house
        .pages
        .append(Event::from_bytes(event.clone()).unwrap())
        .await
        .unwrap();
    turn.finish(&event).await.unwrap();
}

/// Checks that a session's records form one chain without holes.
pub(super) fn chain_is_whole(house: &House, reference: &str) {
    let events = house.pages.events.lock();
    let mut link = Link::START;
    for event in events.iter().filter(|event| event.contains(reference)) {
        let read: serde_json::Value = serde_json::from_str(event).unwrap();
        assert_eq!(read["sseq"], link.sseq, "{event}");
        assert_eq!(
            read["sprev"],
            gatehouse_envelope::digest::hex(&link.sprev),
            "{event}"
        );
        link = state::after(link, event.as_bytes());
    }
    assert!(link.sseq > 0, "no records at all");
}

pub(super) fn absence<T>(result: Result<T, SessionError>) -> Absence {
    match result {
        Err(SessionError::NotFound(absence)) => absence,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("found"),
    }
}
