//! The line of those that wait, beside replicas that know none, and a call that is sent twice.

use super::*;

/// Runs the script by which the release before took leases.
async fn take_as_before(store: &RedisStore, id: &str, holder: u64) -> Vec<u8> {
    let script = Script::new(concat!(
        include_str!("../../../../registry/redis/clock.lua"),
        include_str!("../lease.lua"),
        include_str!("acquire_without_line.lua")
    ));
    let call = Call::new(&script, vec![store.session(id)])
        .number(7)
        .number(holder)
        .number(micros(TTL))
        .arg("");
    store.run(&call).await.unwrap().word
}

/// A replica of the release before knows no line: it takes the lease when it is free, and those that
/// stand in line keep their places.
#[tokio::test]
async fn a_replica_that_knows_no_line_leaves_it_alone() {
    let server = Server::start(Kind::Plain);
    let store = open(&server.settings()).await;
    let first = row(b"mixed at 1", Lease::Keep(TTL));
    let fence = store.create("mixed", 1, first).await.unwrap();
    let waits = async |holder| {
        let asked = store.acquire_in_line("mixed", holder, TTL, 1).await;
        matches!(asked.unwrap(), Acquired::Busy)
    };
    assert!(waits(2).await && waits(3).await);
    assert_eq!(take_as_before(&store, "mixed", 4).await, b"busy");
    store.free("mixed", fence).await.unwrap();
    assert_eq!(take_as_before(&store, "mixed", 4).await, b"held");
    assert!(waits(3).await && waits(2).await);
    // Its lease is one like all others.
    let before = (((fence >> 32) + 1) << 32) | 7;
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

/// A call that is sent again since its answer was lost finds what it has taken, and gives up one place.
#[tokio::test]
async fn a_lease_that_is_asked_for_twice_by_one_call_is_taken_once() {
    let server = Server::start(Kind::Plain);
    let store = open(&server.settings()).await;
    let first = row(b"twice at 1", Lease::Keep(TTL));
    let fence = store.create("twice", 1, first).await.unwrap();
    assert!(store.stand_in_line("twice", 2, 1).await.unwrap());
    assert!(store.stand_in_line("twice", 3, 1).await.unwrap());
    assert!(store.stand_in_line("twice", 2, 2).await.unwrap());
    store.free("twice", fence).await.unwrap();
    let call = Call::new(&store.acquire, vec![store.session("twice")])
        .number(9)
        .number(2)
        .number(micros(TTL))
        .arg("line")
        .number(2)
        .number(PLACES)
        .number(micros(STANDS));
    let mut leases = Vec::new();
    for _ in 0..2 {
        let answer = store.run(&call).await.unwrap();
        assert_eq!(answer.word, b"held");
        leases.push(answer.row().unwrap().0);
    }
    assert_eq!(leases[0], leases[1]);
    store
        .free("twice", super::super::fence(leases.remove(0)).unwrap())
        .await
        .unwrap();
    // The other's place is the next, then its second one.
    for holder in [2, 3] {
        let asked = store.acquire_in_line("twice", holder, TTL, 1).await;
        let is_next = holder == 3;
        assert_eq!(matches!(asked, Ok(Acquired::Held { .. })), is_next);
    }
}
