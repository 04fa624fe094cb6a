//! Sessions on a real Redis: what a turn costs, and what a fail-over that loses writes leaves.

use super::*;
use crate::{
    registry::{
        Link, RedisRegistry,
        redis_tests::{Kind, Proxy, Server, Wire, time::now_us},
    },
    session::{
        blobs::{Blobs, RedisBlobs},
        index::{Index, RedisIndex},
        store::{RedisStore, SharedStore},
    },
};

const ADMITTED: &str = "exchange.admitted";
const SETTLED: &str = "exchange.settled";

/// One process over a store that others may share.
pub(super) struct Process {
    pub(super) sessions: Sessions,
    pub(super) pages: Arc<Pages>,
}

/// What it keeps everything in.
pub(super) struct Stores {
    pub(super) store: SharedStore,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) blobs: Arc<dyn Blobs>,
    pub(super) index: Arc<dyn Index>,
}

impl Process {
    async fn new(settings: &crate::config::Redis, dir: &std::path::Path, name: &str) -> Self {
        Self::with(settings, dir, name, limits()).await
    }

    pub(super) async fn with(
        settings: &crate::config::Redis,
        dir: &std::path::Path,
        name: &str,
        limits: Limits,
    ) -> Self {
        let link = Arc::new(Link::open(settings).await.unwrap());
        let stores = Stores {
            store: Arc::new(RedisStore::new(link.clone())),
            registry: Arc::new(RedisRegistry::new(link.clone())),
            blobs: Arc::new(RedisBlobs::new(link.clone())),
            index: Arc::new(RedisIndex::new(link)),
        };
        Self::over_with(stores, now_us(), dir, name, limits)
    }

    /// With the root key in `dir`, which all have to share, and an outbox called `name`.
    #[cfg(feature = "aws")]
    pub(super) fn over(stores: Stores, now_us: i64, dir: &std::path::Path, name: &str) -> Self {
        Self::over_with(stores, now_us, dir, name, limits())
    }

    fn over_with(
        stores: Stores,
        now_us: i64,
        dir: &std::path::Path,
        name: &str,
        limits: Limits,
    ) -> Self {
        let clock = Arc::new(TestClock::new(now_us));
        let root = Arc::new(FileKeys::open_or_create(&dir.join("keys/root")).unwrap());
        let policy = CachePolicy::default();
        let keyring = Keyring::new(root, stores.registry.clone(), clock.clone(), policy);
        let pages = Arc::new(Pages::default());
        let sessions = Sessions::new(Parts {
            store: stores.store,
            registry: stores.registry,
            blobs: stores.blobs,
            index: stores.index,
            keyring: Arc::new(keyring),
            journal: pages.clone(),
            clock,
            limits,
            outbox: Some(dir.join(name)),
        });
        let sessions = sessions.unwrap();
        Self { sessions, pages }
    }

    /// One exchange, from the id to the settled record.
    pub(super) async fn exchange(&self, caller: &Caller, id: &str) -> Result<(), SessionError> {
        let mut turn = self.sessions.turn(caller, Some(id)).await?;
        let admitted = event(&turn, ADMITTED);
        turn.record(&admitted).await?;
        self.write(admitted).await;
        let settled = event(&turn, SETTLED);
        self.write(settled.clone()).await;
        turn.finish(&settled).await
    }

    async fn write(&self, event: Vec<u8>) {
        let event = Event::from_bytes(event).unwrap();
        self.pages.append(event).await.unwrap();
    }
}

#[tokio::test]
async fn a_turn_costs_four_scripts_in_three_round_trips() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(Kind::Plain));
    let one = Process::new(&server.settings(), dir.path(), "one").await;
    let ann = caller("ann", "t");
    let opened = one.sessions.open(&ann).await.unwrap();
    let id = opened.id.expose();
    // The first one tells the server the scripts, and this process whose the session is.
    one.exchange(&ann, id).await.unwrap();
    forget_calls(&server);
    one.exchange(&ann, id).await.unwrap();
    // The lease and the key, sent together; the admission; the settlement.
    assert_eq!(calls(&server), [4, 0]);
}

fn forget_calls(server: &Server) {
    let mut reset = ::redis::cmd("CONFIG");
    reset.arg("RESETSTAT").exec(&mut server.admin()).unwrap();
}

/// How many scripts the server has run since, by their digests and by their texts.
fn calls(server: &Server) -> [u64; 2] {
    let mut info = ::redis::cmd("INFO");
    let stats: String = info.arg("commandstats").query(&mut server.admin()).unwrap();
    ["cmdstat_evalsha:", "cmdstat_eval:"].map(|name| {
        let line = stats.lines().find(|line| line.starts_with(name));
        line.map_or(0, |line| {
            let calls = line.split(['=', ',']).nth(1).unwrap();
            calls.parse().unwrap()
        })
    })
}

#[tokio::test]
async fn to_find_a_session_costs_the_same_whosever_it_is_and_if_there_is_none() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(Kind::Plain));
    let one = Process::new(&server.settings(), dir.path(), "one").await;
    let (ann, bob) = (caller("ann", "t"), caller("bob", "t"));
    let opened = one.sessions.open(&ann).await.unwrap().reference;
    let closed = one.sessions.open(&ann).await.unwrap().reference;
    one.sessions.close(&ann, &closed).await.unwrap();
    let mut none = opened.clone();
    none.replace_range(2..10, "aaaaaaaa");
    let mut costs = Vec::new();
    for (caller, reference) in [
        (&ann, &opened),
        (&bob, &opened),
        (&ann, &closed),
        (&ann, &none),
    ] {
        // The first one tells the server the scripts.
        let _first = one.sessions.state(caller, reference, &()).await;
        forget_calls(&server);
        let found = one.sessions.state(caller, reference, &()).await;
        assert_eq!(found.is_ok(), costs.is_empty(), "only the first");
        costs.push(calls(&server));
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// The primary acknowledges what its replica never gets, dies, and the replica takes its place.
#[tokio::test]
async fn a_fail_over_that_lost_writes_is_noticed_and_the_session_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let mut primary = Server::start(Kind::Plain);
    let replication = Proxy::to(primary.port());
    let port = replication.port().to_string();
    let follows = &["--replicaof", "127.0.0.1", &port];
    let replica = Server::start_with(Kind::Plain, follows);
    replica.follows();
    let address = Proxy::to(primary.port());
    let mut settings = primary.settings();
    settings.nodes[0].port = address.port();
    let one = Process::new(&settings, dir.path(), "one").await;
    let two = Process::new(&settings, dir.path(), "two").await;
    let ann = caller("ann", "t");
    let [lost, kept] = [
        one.sessions.open(&ann).await.unwrap(),
        one.sessions.open(&ann).await.unwrap(),
    ];
    one.exchange(&ann, lost.id.expose()).await.unwrap();
    one.exchange(&ann, kept.id.expose()).await.unwrap();
    replica.has_all_of(&primary);

    replication.set(Wire::Cut);
    one.exchange(&ann, lost.id.expose()).await.unwrap();
    primary.kill();
    let mut promote = ::redis::cmd("REPLICAOF");
    promote.arg("NO").arg("ONE");
    promote.exec(&mut replica.admin()).unwrap();
    address.lead_to(replica.port());

    // Who has written what was lost notices; by its mark everybody does.
    for process in [&one, &two, &one] {
        let refused = process.exchange(&ann, lost.id.expose()).await;
        assert!(matches!(refused, Err(SessionError::RolledBack(_))));
    }
    let told = |process: &Process| {
        let events = process.pages.events.lock();
        let of = events
            .iter()
            .filter(|event| event.contains("session.rolled_back"));
        of.filter(|event| event.contains(&lost.reference)).count()
    };
    assert_eq!((told(&one), told(&two)), (1, 0));
    // No number of the chain was given twice: nothing was recorded behind the roll-back.
    let records = one.pages.of(&lost.reference);
    let mut numbers: Vec<_> = records.iter().filter_map(|r| r["sseq"].as_u64()).collect();
    numbers.dedup();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    // What the replica had goes on.
    two.exchange(&ann, kept.id.expose()).await.unwrap();
    one.exchange(&ann, kept.id.expose()).await.unwrap();
}
