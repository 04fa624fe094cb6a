//! Answers that are lost, and what the row is then.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_leaves_the_row_before_or_after_the_write() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, mut settings) = table.front();
    let direct = open(&table, &table.settings()).await;
    settings.timeout = Duration::from_millis(1500);
    let store = open(&table, &settings).await;
    // The fault, and the version that is there afterwards.
    let faults = [
        ("cut", Fate::Cut, 1),
        ("swallowed", Fate::Swallowed, 2),
        ("silent", Fate::Silent, 1),
        ("failing", Fate::Refused(500, "InternalServerError"), 1),
        ("away", Fate::Refused(503, "ServiceUnavailable"), 1),
        ("throttled", Fate::Refused(400, "ThrottlingException"), 1),
        (
            "spent",
            Fate::Refused(400, "ProvisionedThroughputExceededException"),
            1,
        ),
        ("denied", Fate::Refused(400, "AccessDeniedException"), 1),
    ];
    for (id, fate, expected) in faults {
        let first = row(format!("{id} at 1").as_bytes(), Lease::Keep(TTL));
        let fence = direct.create(id, 1, first).await.unwrap();
        let second = || row(format!("{id} at 2").as_bytes(), Lease::Keep(TTL));
        front.set(fate);
        let done = store.commit(id, fence, 1, second()).await;
        let Err(StoreError::Unavailable(why)) = done else {
            panic!("{id}")
        };
        assert!(why.to_string().starts_with("dynamodb "), "{why}");
        assert!(store.link.condition().failed());
        // Whatever is asked meanwhile ends, and in time.
        let read = store.read(id).await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{id}");
        front.set(Fate::Passes);
        assert_eq!(version(&direct, id).await, expected, "{id}");
        // It comes back by itself, and whoever acquires next finds the row whole.
        back(&store, id).await;
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

/// Waits until the store answers again.
async fn back(store: &DynamoStore, id: &str) {
    for _ in 0..100 {
        if store.read(id).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it does not come back")
}

/// Failed, but persisted: the second attempt finds what the first one left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_found_out_by_the_write_itself() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let store = open(&table, &settings).await;
    let broken = || Fate::Refused(500, "InternalServerError");
    for (id, fate) in [("lost", Fate::Swallowed), ("failed", broken())] {
        let at = |version: u64, lease| row(format!("{id} at {version}").as_bytes(), lease);
        let faulty = || front.rule(table::once(fate.clone()));
        faulty();
        let fence = store.create(id, 1, at(1, Lease::Keep(TTL))).await.unwrap();
        faulty();
        store.renew(id, fence, TTL).await.unwrap();
        faulty();
        let keeps = at(2, Lease::Keep(TTL));
        store.commit(id, fence, 1, keeps).await.unwrap();
        faulty();
        let frees = at(3, Lease::Free);
        store.commit(id, fence, 2, frees).await.unwrap();
        assert_eq!(version(&store, id).await, 3);
        faulty();
        let Acquired::Held { fence: next, .. } = store.acquire(id, 2, TTL).await.unwrap() else {
            panic!("{id} is not held")
        };
        // Taken once, and it can be written under.
        assert_eq!(next >> 32, (fence >> 32) + 1);
        faulty();
        store.free(id, next).await.unwrap();
        faulty();
        let Acquired::Held { fence: last, row } = store.seize(id, 2, TTL).await.unwrap() else {
            panic!("{id} is not held")
        };
        store
            .commit(id, last, row.version, at(4, Lease::Free))
            .await
            .unwrap();
        assert_eq!(version(&store, id).await, 4);
    }
}

/// Whether it was done cannot be told any more: it must not be said that it was not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_behind_which_another_has_written_is_not_taken_for_a_refusal() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let (one, two) = (
        open(&table, &settings).await,
        open(&table, &table.settings()).await,
    );
    let fence = one.create("id", 1, row(b"id at 1", Lease::Keep(TTL))).await;
    let fence = fence.unwrap();
    // Between the two sendings somebody else takes the session over and writes.
    let (runtime, first) = (tokio::runtime::Handle::current(), AtomicBool::new(true));
    let other = Arc::clone(&two);
    front.rule(move |_| {
        if first.swap(false, Ordering::SeqCst) {
            return Fate::Swallowed;
        }
        runtime.block_on(async {
            let Acquired::Held { fence, row: there } = other.seize("id", 2, TTL).await.unwrap()
            else {
                panic!("not held")
            };
            let next = row(b"id at 3", Lease::Free);
            let written = other.commit("id", fence, there.version, next);
            written.await.unwrap();
        });
        Fate::Passes
    });
    let done = one.commit("id", fence, 1, row(b"id at 2", Lease::Keep(TTL)));
    assert!(matches!(done.await, Err(StoreError::Unavailable(_))));
    front.set(Fate::Passes);
    assert_eq!(version(&two, "id").await, 3);
}
