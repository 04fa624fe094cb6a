//! Names by pages: all, and those of sessions that have ended.

use super::*;

pub(super) async fn listed_by_pages(backend: &dyn Backend) {
    let store = backend.store();
    for id in ["l/3", "l/1", "l/2", "m/1"] {
        let row = write(backend, id.as_bytes(), Lease::Free, Durable::Now);
        store.create(id, A, row).await.unwrap();
    }
    assert_eq!(all(&*store, "l/", 9).await, ["l/1", "l/2", "l/3"]);
    assert_eq!(all(&*store, "l/", 1).await, ["l/1", "l/2", "l/3"]);
    assert_eq!(all(&*store, "l/3", 9).await, ["l/3"]);
    assert!(all(&*store, "none", 9).await.is_empty());
    let everything = all(&*store, "", 2).await;
    for id in ["l/1", "l/2", "l/3", "m/1", "once"] {
        assert!(everything.iter().any(|there| there == id), "{id}");
    }
}

/// All ids that begin so, sorted.
async fn all(store: &dyn SessionStore, prefix: &str, limit: usize) -> Vec<String> {
    let (mut ids, mut from) = (Vec::new(), None::<String>);
    loop {
        let page = store.list(prefix, from.as_deref(), limit).await.unwrap();
        assert!(page.names.len() <= limit);
        ids.extend(page.names);
        from = page.next;
        if from.is_none() {
            ids.sort();
            return ids;
        }
    }
}

pub(super) async fn ended_until_they_are_removed(backend: &dyn Backend) {
    let store = backend.store();
    let ended = async || {
        let (mut ids, mut from) = (Vec::new(), None::<String>);
        loop {
            let page = store.ended(from.as_deref(), 1).await.unwrap();
            ids.extend(page.names);
            from = page.next;
            if from.is_none() {
                ids.retain(|id| id.starts_with("end"));
                ids.sort();
                return ids;
            }
        }
    };
    for id in ["end/1", "end/2", "end/3"] {
        let row = write(backend, b"x", Lease::Free, Durable::Now);
        store.create(id, A, row).await.unwrap();
    }
    backend.advance(HOUR / 2).await;
    assert!(ended().await.is_empty());
    // A use makes the session last anew.
    let (fence, row) = held(&*store, "end/2", A).await;
    let longer = write(backend, b"y", Lease::Free, Durable::Now);
    store
        .commit("end/2", fence, row.version, longer)
        .await
        .unwrap();
    backend.advance(HOUR / 2).await;
    assert_eq!(ended().await, ["end/1", "end/3"]);
    let Acquired::Expired { fence, row } = store.acquire("end/1", A, TTL).await.unwrap() else {
        panic!("not expired")
    };
    store.remove("end/1", fence, row.version).await.unwrap();
    assert_eq!(ended().await, ["end/3"]);
}
