mod line;

mod faults;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::{
    config::DynamoDb,
    registry::{
        Durable, FORMAT, binary_of,
        dynamodb_tests::{
            aws::{Fate, Kind},
            table::{self, Table},
        },
        text_of,
    },
    session::{
        blobs::s3_tests::parts as bucket,
        store::suite::{self, Backend},
    },
};

const TTL: Duration = Duration::from_secs(60);

/// A store by the side of another one that has watched its leases all the while.
struct Watched {
    table: Table,
    store: Arc<DynamoStore>,
}

async fn open(table: &Table, settings: &DynamoDb) -> Arc<DynamoStore> {
    let blobs = Arc::new(bucket(&table.settings()).await);
    let link = table.link_by(settings).await;
    Arc::new(DynamoStore::new(link, blobs))
}

impl Watched {
    async fn new(kind: Kind) -> Self {
        let table = Table::new(kind).await;
        let store = open(&table, &table.settings()).await;
        Self { table, store }
    }
}

#[async_trait]
impl Backend for Watched {
    fn store(&self) -> Arc<dyn SessionStore> {
        self.store.clone()
    }

    async fn other(&self) -> Arc<dyn SessionStore> {
        open(&self.table, &self.table.settings()).await
    }

    /// An emulator keeps nothing over a crash of its own; what a gateway leaves in a crash of its
    /// own is what another finds over connections of its own.
    async fn after_crash(&self) -> Arc<dyn SessionStore> {
        open(&self.table, &self.table.settings()).await
    }

    async fn advance(&self, by: Duration) {
        for item in self.table.items().await {
            let id = text_of(&item, "sk").unwrap();
            self.store.read(&id).await.unwrap();
        }
        self.table.advance(by).await;
        self.store.watch.advance(by);
    }

    fn now_us(&self) -> i64 {
        table::now_us()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_what_every_store_must() {
    suite::run(&Watched::new(Kind::MiniStack).await).await;
}

/// Another emulator, which reads expressions in its own way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_what_every_store_must_on_moto() {
    suite::run(&Watched::new(Kind::Moto).await).await;
}

fn row(content: &[u8], lease: Lease) -> Write {
    Write {
        sealed: Sealed::from_store(content.to_vec()),
        expires_us: table::now_us() + 3_600_000_000,
        lease,
        sync: Durable::Now,
    }
}

/// Which version a store has, whole.
async fn version(store: &DynamoStore, id: &str) -> u64 {
    let there = store.read(id).await.unwrap().unwrap();
    let whole = format!("{id} at {}", there.version);
    assert_eq!(there.sealed.as_bytes(), whole.as_bytes());
    there.version
}

/// A machine that has stood still learns of it by the answer to the very write that gives it a lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_whole_also_right_after_the_machine_stood_still() {
    let table = Table::new(Kind::MiniStack).await;
    let resumed = open(&table, &table.settings()).await;
    let other = open(&table, &table.settings()).await;
    let still = Duration::from_secs(600);
    for id in ["taken", "renewed", "written"] {
        let first = resumed
            .create(id, 1, row(b"x at 1", Lease::Keep(TTL)))
            .await
            .unwrap();
        if id == "taken" {
            resumed.free(id, first).await.unwrap();
        }
        resumed.link.stand_still(still);
        match id {
            "taken" => {
                let held = resumed.acquire(id, 1, TTL).await.unwrap();
                assert!(matches!(held, Acquired::Held { .. }));
            }
            "renewed" => resumed.renew(id, first, TTL).await.unwrap(),
            _ => {
                let next = row(b"x at 2", Lease::Keep(TTL));
                resumed.commit(id, first, 1, next).await.unwrap();
            }
        }
        let items = table.items().await;
        let item = items.iter().find(|it| text_of(it, "sk").unwrap() == id);
        let stored = resumed.stored(item.cloned()).unwrap();
        assert!(stored.until_us > table::now_us() + 50_000_000, "{id}");
        let busy = other.acquire(id, 2, TTL).await.unwrap();
        assert!(matches!(busy, Acquired::Busy), "{id}");
    }
}

/// Another takes the lease over before it can be lengthened: the row is written, and its writer is not told
/// that it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_was_lost_behind_a_write_leaves_the_write_in_doubt() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let resumed = open(&table, &settings).await;
    let other = open(&table, &table.settings()).await;
    let first = row(b"lost at 1", Lease::Keep(TTL));
    let fence = resumed.create("lost", 1, first).await.unwrap();
    resumed.link.stand_still(Duration::from_secs(600));
    let (runtime, calls) = (tokio::runtime::Handle::current(), AtomicUsize::new(0));
    let taker = Arc::clone(&other);
    front.rule(move |_| {
        // The write itself, then what makes its lease longer.
        if calls.fetch_add(1, Ordering::SeqCst) == 1 {
            let taken = runtime.block_on(taker.acquire("lost", 2, TTL));
            assert!(matches!(taken, Ok(Acquired::Held { .. })));
        }
        Fate::Passes
    });
    let next = row(b"lost at 2", Lease::Keep(TTL));
    let written = resumed.commit("lost", fence, 1, next).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))));
    front.set(Fate::Passes);
    assert_eq!(version(&other, "lost").await, 2);
    let next = row(b"lost at 3", Lease::Free);
    let late = resumed.commit("lost", fence, 2, next).await;
    assert!(matches!(late, Err(StoreError::Conflict)));
}

#[tokio::test]
async fn a_lease_is_over_for_who_saw_it_unchanged_and_long_ago_for_everybody() {
    let table = Table::new(Kind::MiniStack).await;
    let settings = table.settings();
    let (one, two) = (open(&table, &settings).await, open(&table, &settings).await);
    let fence = one.create("id", 1, row(b"id at 1", Lease::Keep(TTL))).await;
    let fence = fence.unwrap();
    let busy = async |store: &DynamoStore| {
        let taken = store.acquire("id", 2, TTL).await.unwrap();
        matches!(taken, Acquired::Busy)
    };
    // A clock alone says so only when nobody can see it otherwise.
    table.advance(TTL).await;
    assert!(busy(&two).await);
    two.watch.advance(TTL / 2);
    // Any sign of life is one from now on.
    one.renew("id", fence, TTL).await.unwrap();
    assert!(busy(&two).await);
    two.watch.advance(TTL / 2);
    assert!(busy(&two).await);
    let next = row(b"id at 2", Lease::Keep(TTL));
    one.commit("id", fence, 1, next).await.unwrap();
    assert!(busy(&two).await);
    two.watch.advance(TTL);
    let Acquired::Held { fence: newer, .. } = two.acquire("id", 2, TTL).await.unwrap() else {
        panic!("it has run out")
    };
    assert!(newer > fence);
    let late = one.commit("id", fence, 2, row(b"id at 3", Lease::Free));
    assert!(matches!(late.await, Err(StoreError::Conflict)));
    assert!(matches!(
        one.renew("id", fence, TTL).await,
        Err(StoreError::Conflict)
    ));
    // Whoever comes long after a crash need not wait.
    let three = open(&table, &settings).await;
    table.advance(TTL + two.link.slack()).await;
    assert!(!three.read("id").await.unwrap().unwrap().leased);
    assert!(matches!(
        three.acquire("id", 3, TTL).await,
        Ok(Acquired::Held { .. })
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_all_who_see_a_lease_run_out_one_gets_it() {
    let table = Table::new(Kind::MiniStack).await;
    let store = open(&table, &table.settings()).await;
    let first = row(b"id at 1", Lease::Keep(TTL));
    store.create("id", 1, first).await.unwrap();
    assert!(matches!(
        store.acquire("id", 2, TTL).await,
        Ok(Acquired::Busy)
    ));
    store.watch.advance(TTL);
    let mut takers = tokio::task::JoinSet::new();
    for holder in 2..10 {
        let store = Arc::clone(&store);
        takers.spawn(async move { store.acquire("id", holder, TTL).await.unwrap() });
    }
    let mut held = 0;
    while let Some(taken) = takers.join_next().await {
        held += usize::from(matches!(taken.unwrap(), Acquired::Held { .. }));
    }
    assert_eq!(held, 1);
}

#[tokio::test]
async fn rows_that_no_version_wrote_are_not_used() {
    let table = Table::new(Kind::MiniStack).await;
    let store = open(&table, &table.settings()).await;
    let client = table.client().await;
    for (id, name, value) in [
        ("d1", FORMAT, number(0)),
        ("d2", FORMAT, AttributeValue::S("1".to_owned())),
        ("d3", row::VERSION, number(-1)),
        ("d4", row::FENCE, number("1e30")),
        ("d5", row::LEASE, number("1.5")),
        ("d6", row::SEALED_AT, AttributeValue::S("too".to_owned())),
        ("n1", FORMAT, number(2)),
    ] {
        store.create(id, 1, row(b"x", Lease::Free)).await.unwrap();
        let mut item = table.link().await.get(key(id)).await.unwrap().unwrap();
        item.insert(name.to_owned(), value);
        let put = client.put_item().table_name(&table.settings().table);
        put.set_item(Some(item)).send().await.unwrap();
        let newer = id.starts_with('n');
        for refused in [
            store.read(id).await.map(drop),
            store.acquire(id, 1, TTL).await.map(drop),
        ] {
            match refused {
                Err(StoreError::Newer) => assert!(newer, "{id}"),
                Err(StoreError::Damaged | StoreError::Unavailable(_)) => assert!(!newer, "{id}"),
                _ => panic!("{id} was used"),
            }
        }
    }
}

/// A state larger than a head lies in S3, and the item stays small.
#[tokio::test]
async fn a_large_state_is_kept_in_a_part_and_the_one_before_it_removed() {
    let table = Table::new(Kind::MiniStack).await;
    let store = open(&table, &table.settings()).await;
    let blobs = bucket(&table.settings()).await;
    let objects = async || blobs.names().await;
    let (id, large) = ("s_a/t/1", |byte| vec![byte; 900_000]);
    let first = row(&large(1), Lease::Keep(TTL));
    let fence = store.create(id, 1, first).await.unwrap();
    let there = store.read(id).await.unwrap().unwrap();
    assert!(there.sealed.as_bytes() == large(1));
    let item = table.items().await.remove(0);
    assert!(binary_of(&item, row::SEALED).is_none() && !item.contains_key("let_go_s"));
    assert_eq!(objects().await.len(), 1);
    // From one to the next.
    let next = row(&large(2), Lease::Free);
    store.commit(id, fence, 1, next).await.unwrap();
    assert_eq!(objects().await.len(), 1);
    let Acquired::Held { fence, row: there } = store.acquire(id, 1, TTL).await.unwrap() else {
        panic!("not held")
    };
    assert!(there.sealed.as_bytes() == large(2));
    // A write that is refused leaves nothing behind, and takes nothing away.
    let late = store.commit(id, fence, 1, row(&large(3), Lease::Free));
    assert!(matches!(late.await, Err(StoreError::Conflict)));
    assert_eq!(objects().await.len(), 1);
    assert!(store.read(id).await.unwrap().unwrap().sealed.as_bytes() == large(2));
    // And back into the item.
    let small = row(b"small", Lease::Free);
    store.commit(id, fence, 2, small).await.unwrap();
    assert!(objects().await.is_empty());
    let there = store.read(id).await.unwrap().unwrap();
    assert_eq!(there.sealed.as_bytes(), b"small");
    // Its name begins as the session's other parts do, so it goes with them.
    let Acquired::Held { fence, .. } = store.acquire(id, 1, TTL).await.unwrap() else {
        panic!("not held")
    };
    let next = row(&large(4), Lease::Keep(TTL));
    store.commit(id, fence, 3, next).await.unwrap();
    assert!(objects().await[0].starts_with("parts/s_a/t/1/"));
    blobs.remove("s_a/t/1/").await.unwrap();
    // Without it there is no state: damage, never an empty session.
    assert!(matches!(store.read(id).await, Err(StoreError::Damaged)));
    assert!(matches!(
        store.acquire(id, 1, TTL).await,
        Err(StoreError::Damaged)
    ));
}

/// What AWS would refuse or answer otherwise, and an emulator need not: what is sent counts.
#[tokio::test]
async fn every_read_is_consistent_and_every_write_has_its_condition() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let store = open(&table, &settings).await;
    let id = "s_a/t/1";
    let fence = store.create(id, 1, row(b"sealed", Lease::Keep(TTL))).await;
    let fence = fence.unwrap();
    store.renew(id, fence, TTL).await.unwrap();
    let next = row(b"sealed", Lease::Free);
    store.commit(id, fence, 1, next).await.unwrap();
    let Acquired::Held { fence, .. } = store.acquire(id, 1, TTL).await.unwrap() else {
        panic!("not held")
    };
    store.read(id).await.unwrap();
    store.list("s_a/", None, 9).await.unwrap();
    store.ended(None, 1).await.unwrap();
    store.remove(id, fence, 2).await.unwrap();
    let known = [
        "pk",
        "sk",
        "row_format",
        "row_version",
        "row_fence",
        "row_holder",
        "ends_us",
        "sealed_b",
        "lease_no",
        "lease_nonce",
        "lease_holder",
        "lease_us",
        "lease_until_us",
        "lease_beat",
        "write_id",
    ];
    for sent in front.sent() {
        let body: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
        match sent.operation() {
            "GetItem" | "Query" => assert_eq!(body["ConsistentRead"], true),
            "PutItem" | "UpdateItem" | "DeleteItem" => {
                assert!(body["ConditionExpression"].is_string());
                assert_eq!(body["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
            }
            other => panic!("{other} is not used"),
        }
        // Only sealed bytes stand beside what is in the clear.
        for name in body["Item"]
            .as_object()
            .into_iter()
            .flat_map(|item| item.keys())
        {
            assert!(known.contains(&name.as_str()), "{name}");
        }
        assert!(body["ExpressionAttributeNames"].is_null());
    }
}
