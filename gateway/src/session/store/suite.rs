//! What every store must do, run on each backend.

mod line;
mod listing;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;

use super::{Acquired, Durable, Lease, Row, SessionStore, StoreError, Write};
use crate::clock::later;

const TTL: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// One process.
const A: u64 = 1;
/// And another.
const B: u64 = 2;

/// A backend under test.
#[async_trait]
pub(crate) trait Backend: Sync {
    /// The store, as one process sees it.
    fn store(&self) -> Arc<dyn SessionStore>;
    /// The same, as another process sees it that works on it at the same time.
    async fn other(&self) -> Arc<dyn SessionStore>;
    /// A second view of what is durable at this moment, as after a crash.
    async fn after_crash(&self) -> Arc<dyn SessionStore>;
    /// Makes time go by for the store: whatever was to last lasts that much less.
    async fn advance(&self, by: Duration);
    /// What the store's clock shows, about.
    fn now_us(&self) -> i64;
}

fn write(backend: &dyn Backend, content: &[u8], lease: Lease, sync: Durable) -> Write {
    let expires_us = later(backend.now_us(), HOUR);
    Write {
        sealed: Sealed::from_store(content.to_vec()),
        expires_us,
        lease,
        sync,
    }
}

async fn content(store: &dyn SessionStore, id: &str) -> Option<Vec<u8>> {
    store
        .read(id)
        .await
        .unwrap()
        .map(|row| row.sealed.as_bytes().to_vec())
}

async fn held(store: &dyn SessionStore, id: &str, holder: u64) -> (u64, Row) {
    match store.acquire(id, holder, TTL).await.unwrap() {
        Acquired::Held { fence, row } => (fence, row),
        _ => panic!("not held"),
    }
}

/// Runs everything.
pub(crate) async fn run(backend: &dyn Backend) {
    creates_once(backend).await;
    one_holder_at_a_time(backend).await;
    a_lease_is_seen_until_it_runs_out(backend).await;
    a_late_holder_writes_nothing(backend).await;
    commits_race(backend).await;
    durable_when_it_returns(backend).await;
    whole_after_a_crash(backend).await;
    expiry_is_checked_on_read(backend).await;
    removed_for_good(backend).await;
    line::run(backend).await;
    listing::listed_by_pages(backend).await;
    listing::ended_until_they_are_removed(backend).await;
}

async fn creates_once(backend: &dyn Backend) {
    let store = backend.store();
    store
        .create(
            "once",
            A,
            write(backend, b"first", Lease::Free, Durable::Now),
        )
        .await
        .unwrap();
    let again = store
        .create(
            "once",
            A,
            write(backend, b"second", Lease::Free, Durable::Now),
        )
        .await;
    assert!(matches!(again, Err(StoreError::Exists)));
    assert_eq!(content(&*store, "once").await.unwrap(), b"first");

    // An expired row is still somebody's.
    backend.advance(2 * HOUR).await;
    let again = store
        .create(
            "once",
            A,
            write(backend, b"third", Lease::Free, Durable::Now),
        )
        .await;
    assert!(matches!(again, Err(StoreError::Exists)));
    assert_eq!(content(&*store, "once").await.unwrap(), b"first");
}

async fn one_holder_at_a_time(backend: &dyn Backend) {
    let store = backend.store();
    let fence = store
        .create(
            "one",
            A,
            write(backend, b"0", Lease::Keep(TTL), Durable::Now),
        )
        .await
        .unwrap();
    assert!(matches!(
        store.acquire("one", B, TTL).await.unwrap(),
        Acquired::Busy
    ));
    backend.advance(TTL - Duration::from_secs(1)).await;
    assert!(matches!(
        store.acquire("one", B, TTL).await.unwrap(),
        Acquired::Busy
    ));
    store.renew("one", fence, TTL).await.unwrap();
    backend.advance(TTL - Duration::from_secs(1)).await;
    assert!(matches!(
        store.acquire("one", B, TTL).await.unwrap(),
        Acquired::Busy
    ));
    store.free("one", fence).await.unwrap();
    let (second, row) = held(&*store, "one", B).await;
    assert!(second > fence);
    assert_eq!((row.version, row.sealed.as_bytes()), (1, &b"0"[..]));
    // The same process takes over from itself: it knows that its earlier turn is over.
    let (third, _) = held(&*store, "one", B).await;
    assert!(third > second);
    // By force, from another too.
    let Acquired::Held { fence, row } = store.seize("one", A, TTL).await.unwrap() else {
        panic!("not seized")
    };
    assert!(fence > third && row.version == 1);
    assert!(matches!(
        store.renew("one", third, TTL).await,
        Err(StoreError::Conflict)
    ));
    assert!(matches!(
        store.acquire("one", B, TTL).await.unwrap(),
        Acquired::Busy
    ));
    assert!(matches!(
        store.seize("none", A, TTL).await.unwrap(),
        Acquired::Missing
    ));
    assert!(matches!(
        store.acquire("none", A, TTL).await.unwrap(),
        Acquired::Missing
    ));
}

async fn a_lease_is_seen_until_it_runs_out(backend: &dyn Backend) {
    let store = backend.store();
    let seen = async || {
        let row = store.read("seen").await.unwrap().unwrap();
        (row.holder, row.leased)
    };
    let row = write(backend, b"0", Lease::Keep(TTL), Durable::Now);
    store.create("seen", A, row).await.unwrap();
    assert_eq!(seen().await, (A, true));
    backend.advance(TTL).await;
    assert_eq!(seen().await, (A, false), "who held it last is known still");
    let (fence, row) = held(&*store, "seen", B).await;
    assert!(row.leased && seen().await == (A, true));
    store.free("seen", fence).await.unwrap();
    assert_eq!(seen().await, (A, false));
}

async fn a_late_holder_writes_nothing(backend: &dyn Backend) {
    let store = backend.store();
    let first = store
        .create(
            "late",
            A,
            write(backend, b"0", Lease::Keep(TTL), Durable::Now),
        )
        .await
        .unwrap();
    backend.advance(TTL + Duration::from_secs(1)).await;
    let (second, row) = held(&*store, "late", B).await;
    assert!(second > first);
    // Before the newer holder has written anything, and after.
    let late = || {
        store.commit(
            "late",
            first,
            1,
            write(backend, b"late", Lease::Keep(TTL), Durable::Now),
        )
    };
    assert!(matches!(late().await, Err(StoreError::Conflict)));
    let newer = write(backend, b"newer", Lease::Keep(TTL), Durable::Now);
    store
        .commit("late", second, row.version, newer)
        .await
        .unwrap();
    assert!(matches!(late().await, Err(StoreError::Conflict)));
    assert!(matches!(
        store.renew("late", first, TTL).await,
        Err(StoreError::Conflict)
    ));
    assert!(matches!(
        store.remove("late", first, 1).await,
        Err(StoreError::Conflict)
    ));
    store.free("late", first).await.unwrap();
    assert!(matches!(
        store.acquire("late", A, TTL).await.unwrap(),
        Acquired::Busy
    ));
    assert_eq!(content(&*store, "late").await.unwrap(), b"newer");
    // The right fence on a version that was overtaken is no better.
    let stale = write(backend, b"stale", Lease::Keep(TTL), Durable::Now);
    assert!(matches!(
        store.commit("late", second, 1, stale).await,
        Err(StoreError::Conflict)
    ));
    assert_eq!(content(&*store, "late").await.unwrap(), b"newer");
}

async fn commits_race(backend: &dyn Backend) {
    let store = backend.store();
    let fence = store
        .create(
            "race",
            A,
            write(backend, b"0", Lease::Keep(TTL), Durable::Now),
        )
        .await
        .unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for n in 0..16u8 {
        let (store, write) = (
            backend.store(),
            write(backend, &[n], Lease::Keep(TTL), Durable::Now),
        );
        writers.spawn(async move { (n, store.commit("race", fence, 1, write).await) });
    }
    let mut won = Vec::new();
    while let Some(result) = writers.join_next().await {
        match result.unwrap() {
            (n, Ok(())) => won.push(n),
            (_, Err(error)) => assert!(matches!(error, StoreError::Conflict)),
        }
    }
    assert_eq!(won.len(), 1, "one of the commits on version 1 wins");
    let row = store.read("race").await.unwrap().unwrap();
    assert_eq!((row.version, row.sealed.as_bytes()), (2, &won[..]));
}

async fn durable_when_it_returns(backend: &dyn Backend) {
    let store = backend.store();
    let fence = store
        .create(
            "dur",
            A,
            write(backend, b"1", Lease::Keep(TTL), Durable::Now),
        )
        .await
        .unwrap();
    let crashed = backend.after_crash().await;
    let row = crashed.read("dur").await.unwrap().unwrap();
    assert_eq!(
        (row.version, row.holder, row.sealed.as_bytes()),
        (1, A, &b"1"[..])
    );

    store
        .commit(
            "dur",
            fence,
            1,
            write(backend, b"2", Lease::Keep(TTL), Durable::Soon),
        )
        .await
        .unwrap();
    assert_eq!(
        content(&*store, "dur").await.unwrap(),
        b"2",
        "visible at once"
    );
    store
        .commit(
            "dur",
            fence,
            2,
            write(backend, b"3", Lease::Free, Durable::Now),
        )
        .await
        .unwrap();
    let row = backend
        .after_crash()
        .await
        .read("dur")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (row.version, row.holder, row.sealed.as_bytes()),
        (3, 0, &b"3"[..])
    );
}

async fn whole_after_a_crash(backend: &dyn Backend) {
    let store = backend.store();
    let first = write(backend, b"3", Lease::Free, Durable::Now);
    store.create("whole", A, first).await.unwrap();
    // Whatever a later write leaves behind in a crash, it is one of the two versions, whole.
    let (fence, _) = held(&*store, "whole", A).await;
    store
        .commit(
            "whole",
            fence,
            1,
            write(backend, b"4", Lease::Free, Durable::Soon),
        )
        .await
        .unwrap();
    let row = backend
        .after_crash()
        .await
        .read("whole")
        .await
        .unwrap()
        .unwrap();
    let seen = (row.version, row.sealed.as_bytes());
    assert!(seen == (1, &b"3"[..]) || seen == (2, &b"4"[..]));
}

async fn expiry_is_checked_on_read(backend: &dyn Backend) {
    let store = backend.store();
    store
        .create("exp", A, write(backend, b"x", Lease::Free, Durable::Now))
        .await
        .unwrap();
    // A clock that runs must not come into it.
    backend.advance(HOUR - TTL).await;
    let (fence, _) = held(&*store, "exp", A).await;
    store.free("exp", fence).await.unwrap();
    backend.advance(TTL).await;
    let Acquired::Expired { fence, row } = store.acquire("exp", A, TTL).await.unwrap() else {
        panic!("an expired session was given out")
    };
    store.remove("exp", fence, row.version).await.unwrap();
    assert!(matches!(
        store.acquire("exp", A, TTL).await.unwrap(),
        Acquired::Missing
    ));
}

async fn removed_for_good(backend: &dyn Backend) {
    let store = backend.store();
    store
        .create("rem", A, write(backend, b"x", Lease::Free, Durable::Now))
        .await
        .unwrap();
    let (fence, _) = held(&*store, "rem", A).await;
    assert!(matches!(
        store.remove("rem", fence, 7).await,
        Err(StoreError::Conflict)
    ));
    store.remove("rem", fence, 1).await.unwrap();
    assert!(content(&*store, "rem").await.is_none());
    assert!(
        content(&*backend.after_crash().await, "rem")
            .await
            .is_none()
    );
    let late = store
        .commit(
            "rem",
            fence,
            1,
            write(backend, b"y", Lease::Free, Durable::Now),
        )
        .await;
    assert!(
        matches!(late, Err(StoreError::Conflict)),
        "a removed session does not come back"
    );
}
