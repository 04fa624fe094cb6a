//! The line of those that wait, beside replicas that know none, and what it costs.

use super::*;

/// Takes a lease as the release before did.
async fn takes_as_before(store: &DynamoStore, id: &str, holder: u64) -> bool {
    let verb = Verb::Update {
        key: key(id),
        expression:
            "SET lease_no = lease_no + :one, lease_nonce = :nonce, lease_holder = :holder, \
                     lease_us = :lasts, lease_until_us = :until, lease_beat = :zero"
                .to_owned(),
        shown: false,
    };
    let condition = "row_format = :one AND lease_nonce <> :nonce \
                     AND (lease_holder = :zero OR lease_holder = :holder)";
    let values = vec![
        (":one", number(1)),
        (":zero", number(0)),
        (":nonce", number(7)),
        (":holder", number(holder)),
        (":lasts", number(micros(TTL))),
        (":until", number(store.until_us(TTL))),
    ];
    let taken = store.change(verb, condition, values, true).await.unwrap();
    matches!(taken, Written::Done(_))
}

/// A replica of the release before knows no line: it takes the lease when it is free, and those that
/// stand in line keep their places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_knows_no_line_leaves_it_alone() {
    let table = Table::new(Kind::MiniStack).await;
    let store = open(&table, &table.settings()).await;
    let first = row(b"mixed at 1", Lease::Keep(TTL));
    let held = store.create("mixed", 1, first).await.unwrap();
    let waits = async |holder| {
        let asked = store.acquire_in_line("mixed", holder, TTL, 1).await;
        matches!(asked.unwrap(), Acquired::Busy)
    };
    assert!(waits(2).await && waits(3).await);
    assert!(!takes_as_before(&store, "mixed", 4).await);
    store.free("mixed", held).await.unwrap();
    assert!(takes_as_before(&store, "mixed", 4).await);
    assert!(waits(3).await && waits(2).await);
    // Its lease is one like all others.
    let before = fence(2, 7);
    let next = row(b"mixed at 2", Lease::Free);
    store.commit("mixed", before, 1, next).await.unwrap();
    assert!(waits(3).await);
    let second = store.acquire_in_line("mixed", 2, TTL, 1).await;
    let Ok(Acquired::Held { fence, .. }) = second else {
        panic!("it is first in line")
    };
    assert!(fence > before);
    store.free("mixed", fence).await.unwrap();
    assert_eq!(version(&store, "mixed").await, 2);
}

/// Those that wait cost a write when they get their places, and none each time they ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_need_not_wait_costs_one_call() {
    let table = Table::new(Kind::MiniStack).await;
    let (front, settings) = table.front();
    let store = open(&table, &settings).await;
    let first = row(b"calls at 1", Lease::Keep(TTL));
    let held = store.create("calls", 1, first).await.unwrap();
    let asks = async |holder| {
        let before = front.count("UpdateItem");
        let asked = store.acquire_in_line("calls", holder, TTL, 1).await;
        let asked = matches!(asked.unwrap(), Acquired::Held { .. });
        (asked, front.count("UpdateItem") - before)
    };
    // The attempt to take it, and the place.
    assert_eq!(asks(2).await, (false, 2));
    assert_eq!(asks(2).await, (false, 1));
    store.free("calls", held).await.unwrap();
    assert_eq!(asks(2).await, (true, 2));
    // Its own.
    assert_eq!(asks(2).await, (true, 1));
}
