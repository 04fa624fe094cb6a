//! The line of those that wait for a session, over several processes.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::session::store::{PLACES, STANDS};

/// Two more processes.
const C: u64 = 3;
const D: u64 = 4;

/// What a holder was told of which so many turns wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Full,
    Held(u64),
    Wait,
}

async fn ask(store: &dyn SessionStore, id: &str, holder: u64, turns: usize) -> Told {
    let acquired = store.acquire_in_line(id, holder, TTL, turns).await;
    match acquired.unwrap() {
        Acquired::Busy => Told::Wait,
        Acquired::Full => Told::Full,
        Acquired::Held { fence, .. } => Told::Held(fence),
        Acquired::Expired { .. } | Acquired::Missing => panic!("{id} is gone"),
    }
}

/// The fence, and gives the lease back.
async fn goes(store: &dyn SessionStore, id: &str, holder: u64, turns: usize) -> u64 {
    match ask(store, id, holder, turns).await {
        Told::Held(fence) => {
            store.free(id, fence).await.unwrap();
            fence
        }
        told => panic!("{holder} does not go: {told:?}"),
    }
}

/// A session whose turn A has.
async fn taken(backend: &dyn Backend, id: &str) -> u64 {
    let row = write(backend, b"0", Lease::Keep(TTL), Durable::Now);
    backend.store().create(id, A, row).await.unwrap()
}

pub(super) async fn run(backend: &dyn Backend) {
    they_go_in_the_order_in_which_they_came(backend).await;
    the_line_has_an_end(backend).await;
    who_is_gone_holds_nobody_up(backend).await;
    who_gives_up_leaves_its_place(backend).await;
    who_leaves_gives_up_its_own_place(backend).await;
    who_is_slow_at_its_turn_has_no_old_fence(backend).await;
    a_turn_that_said_nothing_holds_nobody_up(backend).await;
    who_seizes_goes_ahead_and_the_line_stays(backend).await;
    the_line_goes_with_the_session(backend).await;
    everybody_gets_its_turn(backend).await;
}

async fn they_go_in_the_order_in_which_they_came(backend: &dyn Backend) {
    let (one, two) = (backend.store(), backend.other().await);
    let (one, two, id) = (&*one, &*two, "line");
    let first = taken(backend, id).await;
    assert_eq!(ask(two, id, B, 1).await, Told::Wait);
    assert!(one.stand_in_line(id, A, 1).await.unwrap());
    assert!(two.stand_in_line(id, B, 2).await.unwrap());
    assert_eq!(ask(one, id, C, 1).await, Told::Wait);
    // Said again, nothing changes.
    assert_eq!(ask(two, id, B, 2).await, Told::Wait);
    assert!(one.stand_in_line(id, A, 1).await.unwrap());
    one.free(id, first).await.unwrap();

    for (holder, turns) in [(C, 1), (A, 1)] {
        assert_eq!(ask(one, id, holder, turns).await, Told::Wait);
    }
    // Nobody passes them by who does not wait.
    let passes = two.acquire(id, D, TTL).await.unwrap();
    assert!(matches!(passes, Acquired::Busy));
    let mut fences = vec![first, goes(two, id, B, 2).await];
    for (holder, turns) in [(C, 1), (B, 1)] {
        assert_eq!(ask(two, id, holder, turns).await, Told::Wait);
    }
    fences.push(goes(one, id, A, 1).await);
    assert_eq!(ask(one, id, C, 1).await, Told::Wait);
    fences.push(goes(two, id, B, 1).await);
    fences.push(goes(one, id, C, 1).await);
    assert!(
        fences.is_sorted_by(|before, after| before < after),
        "{fences:?}"
    );
    // Nobody is left.
    let (fence, _) = held(two, id, D).await;
    two.free(id, fence).await.unwrap();
    let none = one.acquire_in_line("none", A, TTL, 1).await.unwrap();
    assert!(matches!(none, Acquired::Missing));
    assert!(one.stand_in_line("none", A, 1).await.unwrap());
}

async fn the_line_has_an_end(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "full");
    let store = &*store;
    taken(backend, id).await;
    assert!(store.stand_in_line(id, B, PLACES - 1).await.unwrap());
    assert_eq!(ask(store, id, C, 1).await, Told::Wait);
    assert_eq!(ask(store, id, D, 1).await, Told::Full);
    assert!(!store.stand_in_line(id, D, 1).await.unwrap());
    assert!(!store.stand_in_line(id, B, PLACES).await.unwrap());
    // Who stands there stays there.
    assert!(store.stand_in_line(id, B, PLACES - 1).await.unwrap());
    assert_eq!(ask(store, id, D, 1).await, Told::Full);
    assert!(store.stand_in_line(id, B, PLACES - 2).await.unwrap());
    assert_eq!(ask(store, id, D, 1).await, Told::Wait);
}

async fn who_is_gone_holds_nobody_up(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "dead");
    let store = &*store;
    let fence = taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    assert_eq!(ask(store, id, C, 1).await, Told::Wait);
    store.free(id, fence).await.unwrap();
    backend.advance(STANDS / 2).await;
    assert_eq!(ask(store, id, C, 1).await, Told::Wait);
    backend.advance(STANDS / 2).await;
    // Nothing was heard of B.
    let Told::Held(fence) = ask(store, id, C, 1).await else {
        panic!("held up")
    };
    assert_eq!(ask(store, id, D, 1).await, Told::Wait);
    // It was only slow, and begins again at the end.
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    store.free(id, fence).await.unwrap();
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    goes(store, id, D, 1).await;
    goes(store, id, B, 1).await;
}

async fn who_gives_up_leaves_its_place(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "left");
    let store = &*store;
    let fence = taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    assert!(store.stand_in_line(id, B, 2).await.unwrap());
    assert_eq!(ask(store, id, C, 1).await, Told::Wait);
    assert!(store.stand_in_line(id, B, 0).await.unwrap());
    store.free(id, fence).await.unwrap();
    goes(store, id, C, 1).await;
    let (fence, _) = held(store, id, D).await;
    store.free(id, fence).await.unwrap();
}

/// Those behind it keep theirs, whichever of a process's places is given up.
async fn who_leaves_gives_up_its_own_place(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "leaves");
    let store = &*store;
    let fence = taken(backend, id).await;
    for (holder, turns) in [(B, 1), (C, 1), (B, 2), (D, 1), (B, 3)] {
        assert_eq!(ask(store, id, holder, turns).await, Told::Wait);
    }
    // B C B D B; said twice, it is done once.
    for _ in 0..2 {
        store.leave_line(id, B, 0, 2).await.unwrap();
    }
    store.leave_line(id, A, 0, 0).await.unwrap();
    store.leave_line(id, B, 7, 0).await.unwrap();
    store.leave_line("none", B, 0, 0).await.unwrap();
    store.free(id, fence).await.unwrap();
    assert_eq!(ask(store, id, B, 2).await, Told::Wait);
    goes(store, id, C, 1).await;
    assert_eq!(ask(store, id, D, 1).await, Told::Wait);
    goes(store, id, B, 2).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    goes(store, id, D, 1).await;
    store.leave_line(id, B, 0, 0).await.unwrap();
    let (fence, _) = held(store, id, A).await;
    store.free(id, fence).await.unwrap();
}

async fn who_is_slow_at_its_turn_has_no_old_fence(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "slow");
    let store = &*store;
    let first = taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    store.free(id, first).await.unwrap();
    let Told::Held(slow) = ask(store, id, B, 1).await else {
        panic!("it is its turn")
    };
    assert_eq!(ask(store, id, C, 1).await, Told::Wait);
    backend.advance(TTL + Duration::from_secs(1)).await;
    let Told::Held(fence) = ask(store, id, C, 1).await else {
        panic!("its lease is over")
    };
    assert!(fence > slow && slow > first);
    // It wakes up.
    let late = write(backend, b"late", Lease::Keep(TTL), Durable::Now);
    let late = store.commit(id, slow, 1, late).await;
    assert!(matches!(late, Err(StoreError::Conflict)));
    let renewed = store.renew(id, slow, TTL).await;
    assert!(matches!(renewed, Err(StoreError::Conflict)));
    store.free(id, slow).await.unwrap();
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    store.free(id, fence).await.unwrap();
    assert!(goes(store, id, B, 1).await > fence);
    assert_eq!(content(store, id).await.unwrap(), b"0");
}

async fn a_turn_that_said_nothing_holds_nobody_up(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "silent");
    let store = &*store;
    let silent = taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    // Another turn of A's asks only once the one before is over.
    assert_eq!(ask(store, id, A, 1).await, Told::Wait);
    let late = write(backend, b"late", Lease::Keep(TTL), Durable::Now);
    let late = store.commit(id, silent, 1, late).await;
    assert!(matches!(late, Err(StoreError::Conflict)));
    assert!(goes(store, id, B, 1).await > silent);
    goes(store, id, A, 1).await;
}

async fn who_seizes_goes_ahead_and_the_line_stays(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "seized");
    let store = &*store;
    taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    let seized = store.seize(id, C, TTL).await.unwrap();
    let Acquired::Held { fence, .. } = seized else {
        panic!("not seized")
    };
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    store.free(id, fence).await.unwrap();
    assert_eq!(ask(store, id, D, 1).await, Told::Wait);
    goes(store, id, B, 1).await;
    goes(store, id, D, 1).await;
}

async fn the_line_goes_with_the_session(backend: &dyn Backend) {
    let (store, id) = (backend.store(), "removed");
    let store = &*store;
    let fence = taken(backend, id).await;
    assert_eq!(ask(store, id, B, 1).await, Told::Wait);
    // A write of the row leaves the line alone.
    let next = write(backend, b"1", Lease::Keep(TTL), Durable::Now);
    store.commit(id, fence, 1, next).await.unwrap();
    let passes = store.acquire(id, C, TTL).await.unwrap();
    assert!(matches!(passes, Acquired::Busy));
    store.remove(id, fence, 2).await.unwrap();
    let gone = store.acquire_in_line(id, B, TTL, 1).await.unwrap();
    assert!(matches!(gone, Acquired::Missing));
    let again = write(backend, b"0", Lease::Free, Durable::Now);
    store.create(id, A, again).await.unwrap();
    let (fence, _) = held(store, id, C).await;
    store.free(id, fence).await.unwrap();
}

/// Many turns of several processes at once: each goes, one at a time, and nobody is forgotten.
async fn everybody_gets_its_turn(backend: &dyn Backend) {
    const TURNS: usize = 4;
    let id = "many";
    let row = write(backend, b"0", Lease::Free, Durable::Now);
    backend.store().create(id, A, row).await.unwrap();
    let under_way = Arc::new(AtomicUsize::new(0));
    let mut processes = tokio::task::JoinSet::new();
    let expires_us = later(backend.now_us(), HOUR);
    for holder in [A, B, C, D] {
        let under_way = Arc::clone(&under_way);
        let store = match holder {
            A | C => backend.store(),
            _ => backend.other().await,
        };
        processes.spawn(async move {
            let mut left = TURNS;
            while left > 0 {
                let asked = store.acquire_in_line(id, holder, TTL, left).await.unwrap();
                let Acquired::Held { fence, row } = asked else {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    continue;
                };
                left -= 1;
                assert_eq!(under_way.fetch_add(1, Ordering::SeqCst), 0);
                let next = Write {
                    sealed: Sealed::from_store(b"next".to_vec()),
                    expires_us,
                    lease: Lease::Keep(TTL),
                    sync: Durable::Soon,
                };
                store.commit(id, fence, row.version, next).await.unwrap();
                under_way.fetch_sub(1, Ordering::SeqCst);
                store.free(id, fence).await.unwrap();
            }
        });
    }
    processes.join_all().await;
    let row = backend.store().read(id).await.unwrap().unwrap();
    assert_eq!(row.version, 1 + 4 * TURNS as u64);
    let (fence, _) = held(&*backend.store(), id, A).await;
    backend.store().free(id, fence).await.unwrap();
}
