mod line;

use parking_lot::Mutex;

use super::*;
use crate::{
    config::Redis,
    registry::redis_tests::{Kind, Nodes, Proxy, Server, Wire, time::now_us},
    session::store::suite::{self, Backend},
};

enum Servers {
    Cluster(Nodes),
    One(Server),
}

/// Servers that sync every write, so that what was written outlives them.
struct OnDisk {
    servers: Mutex<Servers>,
    store: Arc<RedisStore>,
}

impl OnDisk {
    async fn new(servers: Servers) -> Self {
        let settings = match &servers {
            Servers::Cluster(nodes) => nodes.settings(),
            Servers::One(server) => server.settings(),
        };
        Self {
            store: open(&settings).await,
            servers: Mutex::new(servers),
        }
    }
}

async fn open(settings: &Redis) -> Arc<RedisStore> {
    let link = Link::open(settings).await.unwrap();
    Arc::new(RedisStore::new(Arc::new(link)))
}

#[async_trait]
impl Backend for OnDisk {
    fn store(&self) -> Arc<dyn SessionStore> {
        self.store.clone()
    }

    async fn other(&self) -> Arc<dyn SessionStore> {
        let settings = match &*self.servers.lock() {
            Servers::Cluster(nodes) => nodes.settings(),
            Servers::One(server) => server.settings(),
        };
        open(&settings).await
    }

    /// The servers are killed and started again; the connections have to be made anew.
    async fn after_crash(&self) -> Arc<dyn SessionStore> {
        match &mut *self.servers.lock() {
            Servers::Cluster(nodes) => nodes.crash(),
            Servers::One(server) => {
                server.kill();
                server.restart();
            }
        }
        self.store()
    }

    async fn advance(&self, by: Duration) {
        match &*self.servers.lock() {
            Servers::Cluster(nodes) => nodes.advance(by),
            Servers::One(server) => server.advance(by),
        }
    }

    fn now_us(&self) -> i64 {
        now_us()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_does_what_every_store_must() {
    for kind in [Kind::Plain, Kind::Tls] {
        suite::run(&OnDisk::new(Servers::One(Server::start(kind))).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_does_what_every_store_must() {
    suite::run(&OnDisk::new(Servers::Cluster(Nodes::start())).await).await;
}

#[test]
fn fences_grow_and_are_written_as_they_are_read() {
    for fence_of in [1 << 32, (7 << 32) | 5, (1 << 33) - 1] {
        assert_eq!(fence(written(fence_of).into_bytes()), Some(fence_of));
    }
    let of = |text: &str| fence(text.as_bytes().to_vec());
    assert!(of("2:0") > of("1:4294967295"));
    for bad in ["", ":", "1", "1:-", "-1:1", "1:4294967296", "1:2:3"] {
        assert_eq!(of(bad), None, "{bad}");
    }
}

const TTL: Duration = Duration::from_secs(60);

fn row(content: &[u8], lease: Lease) -> Write {
    Write {
        sealed: Sealed::from_store(content.to_vec()),
        expires_us: now_us() + 3_600_000_000,
        lease,
        sync: Durable::Now,
    }
}

/// Which of two versions a store has, whole.
async fn version(store: &RedisStore, id: &str) -> u64 {
    let there = store.read(id).await.unwrap().unwrap();
    let whole = format!("{id} at {}", there.version);
    assert_eq!(there.sealed.as_bytes(), whole.as_bytes());
    there.version
}

#[tokio::test]
async fn a_fault_leaves_the_row_before_or_after_the_write() {
    let server = Server::start(Kind::Plain);
    let proxy = Proxy::to(server.port());
    let mut settings = server.settings();
    let direct = open(&settings).await;
    settings.nodes[0].port = proxy.port();
    settings.timeout = Duration::from_millis(1500);
    let store = open(&settings).await;
    // The fault, and the version that is there afterwards.
    let table = [
        ("cut", Wire::Cut, 1),
        ("swallowed", Wire::Swallows, 2),
        ("silent", Wire::Silent, 2),
    ];
    for (id, wire, expected) in table {
        let first = row(format!("{id} at 1").as_bytes(), Lease::Keep(TTL));
        let fence = store.create(id, 1, first).await.unwrap();
        let second = || row(format!("{id} at 2").as_bytes(), Lease::Keep(TTL));
        proxy.set(wire);
        let done = store.commit(id, fence, 1, second()).await;
        assert!(matches!(done, Err(StoreError::Unavailable(_))), "{id}");
        assert!(store.link.condition().failed());
        // Whatever is asked meanwhile ends, and in time.
        let read = store.read(id).await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{id}");
        proxy.set(Wire::Good);
        assert_eq!(version(&direct, id).await, expected, "{id}");
        // It comes back by itself, and whoever acquires next finds the row whole.
        assert_eq!(back(&store, id).await, expected);
        assert!(!store.link.condition().failed());
        // The same write once more does nothing where it was done before.
        let again = store.commit(id, fence, 1, second()).await;
        match expected {
            1 => assert!(again.is_ok(), "{id}"),
            _ => assert!(matches!(again, Err(StoreError::Conflict)), "{id}"),
        }
        assert_eq!(version(&direct, id).await, 2, "{id}");
    }
}

/// Reads as soon as the store answers again.
async fn back(store: &RedisStore, id: &str) -> u64 {
    for _ in 0..100 {
        if store.read(id).await.is_ok() {
            return version(store, id).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not come back")
}

#[tokio::test]
async fn a_connection_that_ended_while_nobody_used_it_costs_nothing() {
    let server = Server::start(Kind::Plain);
    let proxy = Proxy::to(server.port());
    let mut settings = server.settings();
    settings.nodes[0].port = proxy.port();
    let store = open(&settings).await;
    store
        .create("idle", 1, row(b"idle at 1", Lease::Free))
        .await
        .unwrap();
    for _ in 0..5 {
        proxy.set(Wire::Cut);
        proxy.set(Wire::Good);
        // The other side's end has to arrive; there is nothing else to wait for.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(version(&store, "idle").await, 1);
    }
}

#[tokio::test]
async fn a_server_that_has_forgotten_the_scripts_is_told_them_again() {
    let server = Server::start(Kind::Plain);
    let store = open(&server.settings()).await;
    store
        .create("s", 1, row(b"s at 1", Lease::Free))
        .await
        .unwrap();
    let mut flush = redis::cmd("SCRIPT");
    flush.arg("FLUSH").exec(&mut server.admin()).unwrap();
    assert_eq!(version(&store, "s").await, 1);
}

#[tokio::test]
async fn rows_that_no_version_wrote_are_not_used() {
    let server = Server::start(Kind::Plain);
    let store = open(&server.settings()).await;
    let mut admin = server.admin();
    for (id, field, value) in [
        ("d1", "format", "0"),
        ("d2", "format", "x"),
        ("d3", "version", "-1"),
        ("d4", "fence", "7"),
        ("d5", "expires", ""),
        ("n1", "format", "2"),
    ] {
        store.create(id, 1, row(b"x", Lease::Free)).await.unwrap();
        let mut set = redis::cmd("HSET");
        set.arg(store.session(id)).arg(field).arg(value);
        set.exec(&mut admin).unwrap();
        let newer = id.starts_with('n');
        for refused in [
            store.read(id).await.map(drop),
            store.acquire(id, 1, TTL).await.map(drop),
        ] {
            match refused {
                Err(StoreError::Newer) => assert!(newer, "{id}"),
                Err(StoreError::Damaged) => assert!(!newer, "{id}"),
                _ => panic!("{id} was used"),
            }
        }
    }
}

#[tokio::test]
async fn the_name_of_a_row_that_is_gone_stays_until_it_is_forgotten() {
    let server = Server::start(Kind::Plain);
    let store = open(&server.settings()).await;
    let ended = Write {
        expires_us: now_us() - 1,
        ..row(b"x", Lease::Free)
    };
    store.create("gone/t/1", 1, ended).await.unwrap();
    assert!(matches!(
        store.forget("gone/t/1").await,
        Err(StoreError::Conflict)
    ));
    // As the server does it days later.
    let mut gone = redis::cmd("DEL");
    gone.arg(store.session("gone/t/1"));
    gone.exec(&mut server.admin()).unwrap();
    for _sweep in 0..2 {
        let acquired = store.acquire("gone/t/1", 1, TTL).await;
        assert!(matches!(acquired, Ok(Acquired::Missing)));
        assert_eq!(store.ended(None, 9).await.unwrap().names, ["gone/t/1"]);
    }
    store.forget("gone/t/1").await.unwrap();
    assert!(store.ended(None, 9).await.unwrap().names.is_empty());
    assert!(store.list("", None, 9).await.unwrap().names.is_empty());
}

#[tokio::test]
async fn a_write_waits_for_as_many_replicas_as_it_is_told() {
    let primary = Server::start(Kind::Plain);
    let mut settings = primary.settings();
    settings.wait_replicas = 1;
    settings.timeout = Duration::from_secs(2);
    let store = open(&settings).await;
    let alone = store.create("alone", 1, row(b"alone at 1", Lease::Free));
    let Err(StoreError::Unavailable(why)) = alone.await else {
        panic!("nobody confirmed it")
    };
    assert_eq!(why.to_string(), "0 of 1 redis replicas confirmed a write");
    // It was done all the same, as the error says that it may have been.
    assert_eq!(version(&store, "alone").await, 1);
    let port = primary.port().to_string();
    let replica = Server::start_with(Kind::Plain, &["--replicaof", "127.0.0.1", &port]);
    replica.follows();
    store
        .create("two", 1, row(b"two at 1", Lease::Free))
        .await
        .unwrap();
    let there: bool = redis::cmd("EXISTS")
        .arg(store.session("two"))
        .query(&mut replica.admin())
        .unwrap();
    assert!(there, "the replica has what was confirmed");
}

/// `CLUSTER …` at one node.
fn cluster<T: redis::FromRedisValue>(node: &Server, words: &[&str]) -> T {
    let mut command = redis::cmd("CLUSTER");
    command.arg(words);
    command.query(&mut node.admin()).unwrap()
}

#[tokio::test]
async fn a_session_is_followed_from_node_to_node() {
    let nodes = Nodes::start();
    let store = open(&nodes.settings()).await;
    let row_of = |version: u64| row(format!("on at {version}").as_bytes(), Lease::Keep(TTL));
    let fence = store.create("on", 1, row_of(1)).await.unwrap();
    let key = store.session("on");
    let slot: u16 = cluster(&nodes.all()[0], &["KEYSLOT", &key]);
    let from = &nodes.all()[usize::from(slot) / 5461];
    let to = nodes.all().iter().find(|node| node.port() != from.port());
    let to = to.unwrap();
    let ids = [from, to].map(|node| cluster::<String>(node, &["MYID"]));
    let slot = slot.to_string();
    cluster::<()>(to, &["SETSLOT", &slot, "IMPORTING", &ids[0]]);
    cluster::<()>(from, &["SETSLOT", &slot, "MIGRATING", &ids[1]]);
    // Before its keys have gone, when they have, and when the slot has.
    store.commit("on", fence, 1, row_of(2)).await.unwrap();
    let keys: Vec<String> = cluster(from, &["GETKEYSINSLOT", &slot, "9"]);
    assert_eq!(
        keys.len(),
        3,
        "the session, and its bucket's names and ends"
    );
    let mut migrate = redis::cmd("MIGRATE");
    migrate
        .arg("127.0.0.1")
        .arg(to.port())
        .arg("")
        .arg(0)
        .arg(5000);
    let migrate = migrate.arg("KEYS").arg(keys);
    migrate.exec(&mut from.admin()).unwrap();
    assert_eq!(version(&store, "on").await, 2);
    store.commit("on", fence, 2, row_of(3)).await.unwrap();
    for node in [to, from] {
        cluster::<()>(node, &["SETSLOT", &slot, "NODE", &ids[1]]);
    }
    store.commit("on", fence, 3, row_of(4)).await.unwrap();
    assert_eq!(version(&store, "on").await, 4);
}
