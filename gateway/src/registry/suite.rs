//! What every registry must do, run on each backend.

use std::time::Duration;

use super::{Durable, Expected, Put, Registry, Table};

fn put(expected: Expected, value: &[u8]) -> Put {
    Put::new(expected, value.to_vec(), Durable::Now)
}

fn was(value: &[u8]) -> Expected {
    Expected::Value(value.to_vec())
}

/// Runs everything; `advance` makes time go by for the backend.
pub(crate) async fn run(registry: &dyn Registry, advance: &(dyn Fn(Duration) + Sync)) {
    writes_only_what_is_expected(registry).await;
    takes_away_only_what_was_there(registry).await;
    one_of_many_wins(registry).await;
    lists_groups_in_order(registry).await;
    lifetimes_end(registry, advance).await;
    what_stays_can_be_given_an_end(registry, advance).await;
}

async fn writes_only_what_is_expected(registry: &dyn Registry) {
    let (table, name) = (Table::SessionKeys, "s_a/t/1");
    // Any byte may stand in a value, and none at all.
    let (first, second) = (&b"\x00\r\n\xff"[..], &b""[..]);
    assert!(registry.get(table, name).await.unwrap().is_none());
    let try_put = |put| registry.put_if(table, name, put);
    assert!(!try_put(put(was(first), second)).await.unwrap());
    assert!(try_put(put(Expected::Absent, first)).await.unwrap());
    assert!(!try_put(put(Expected::Absent, second)).await.unwrap());
    assert!(!try_put(put(was(second), second)).await.unwrap());
    assert_eq!(registry.get(table, name).await.unwrap().unwrap(), first);
    assert!(try_put(put(was(first), second)).await.unwrap());
    assert_eq!(registry.get(table, name).await.unwrap().unwrap(), second);
    // Other rows, and the same name in another table, are others.
    for (table, name) in [(Table::Ended, name), (table, "s_a/t/2"), (table, "s_a")] {
        assert!(registry.get(table, name).await.unwrap().is_none());
    }
    assert!(registry.delete(table, name, Durable::Now).await.unwrap());
    assert!(!registry.delete(table, name, Durable::Now).await.unwrap());
    assert!(registry.get(table, name).await.unwrap().is_none());
    assert!(!try_put(put(was(second), first)).await.unwrap());
}

async fn takes_away_only_what_was_there(registry: &dyn Registry) {
    let table = Table::SessionKeys;
    for name in ["s_away/t/1", "s_away/t/2"] {
        let put = put(Expected::Absent, name.as_bytes());
        assert!(registry.put_if(table, name, put).await.unwrap());
    }
    let away = async |was: &[u8]| {
        let put = Put::away(was.to_vec(), Durable::Now);
        registry.put_if(table, "s_away/t/1", put).await.unwrap()
    };
    assert!(!away(b"another").await);
    assert!(registry.get(table, "s_away/t/1").await.unwrap().is_some());
    assert!(away(b"s_away/t/1").await);
    assert!(!away(b"s_away/t/1").await && !away(b"").await);
    assert!(registry.get(table, "s_away/t/1").await.unwrap().is_none());
    let left = registry.list(table, "s_away").await.unwrap();
    assert_eq!(left, [("s_away/t/2".to_owned(), b"s_away/t/2".to_vec())]);
    let deleted = registry.delete(table, "s_away/t/1", Durable::Now);
    assert!(!deleted.await.unwrap());
}

async fn one_of_many_wins(registry: &dyn Registry) {
    let table = Table::TenantKeys;
    let mut won = Vec::new();
    let tries = (0..16u8).map(|n| async move {
        let put = put(Expected::Absent, &[n]);
        registry
            .put_if(table, "race/1", put)
            .await
            .unwrap()
            .then_some(n)
    });
    // Started together: the backend, not the test, decides who is first.
    let tries: Vec<_> = tries.map(Box::pin).collect();
    for winner in all(tries).await.into_iter().flatten() {
        won.push(winner);
    }
    assert_eq!(won.len(), 1, "one of the writes to an absent row wins");
    let row = registry.get(table, "race/1").await.unwrap().unwrap();
    assert_eq!(row, won);
}

/// Drives futures side by side.
async fn all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = std::pin::Pin::new(future).poll(context)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

async fn lists_groups_in_order(registry: &dyn Registry) {
    let rows = [
        (Table::TenantKeys, "acme/0000000002"),
        (Table::TenantKeys, "acme/0000000001"),
        (Table::TenantKeys, "acme-2/0000000001"),
        (Table::LogKeys, "acme/2026"),
        (Table::CallerKeys, "ff"),
        (Table::CallerKeys, "00"),
    ];
    for (table, name) in rows {
        let put = put(Expected::Absent, name.as_bytes());
        assert!(registry.put_if(table, name, put).await.unwrap());
    }
    let names = async |table, group| {
        let rows = registry.list(table, group).await.unwrap();
        for (name, value) in &rows {
            assert_eq!(name.as_bytes(), value);
        }
        rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(
        names(Table::TenantKeys, "acme").await,
        ["acme/0000000001", "acme/0000000002"]
    );
    assert_eq!(names(Table::LogKeys, "acme").await, ["acme/2026"]);
    assert_eq!(names(Table::CallerKeys, "").await, ["00", "ff"]);
    assert!(names(Table::TenantKeys, "ac").await.is_empty());
}

async fn lifetimes_end(registry: &dyn Registry, advance: &(dyn Fn(Duration) + Sync)) {
    let (table, hour) = (Table::Ended, Duration::from_secs(3600));
    let lasting = |value: &[u8]| Put {
        lifetime: Some(hour),
        ..put(Expected::Absent, value)
    };
    let try_put = |name, put| registry.put_if(table, name, put);
    assert!(try_put("s_b/t/1", lasting(b"c")).await.unwrap());
    advance(hour / 2);
    assert!(try_put("s_b/t/2", lasting(b"x")).await.unwrap());
    assert!(!try_put("s_b/t/1", lasting(b"e")).await.unwrap());
    registry.sweep().await.unwrap();
    assert_eq!(registry.list(table, "s_b").await.unwrap().len(), 2);
    advance(hour / 2);
    // Before anything has been swept, too.
    assert!(registry.get(table, "s_b/t/1").await.unwrap().is_none());
    let left = registry.list(table, "s_b").await.unwrap();
    assert_eq!(left, [("s_b/t/2".to_owned(), b"x".to_vec())]);
    registry.sweep().await.unwrap();
    assert_eq!(registry.list(table, "s_b").await.unwrap(), left);
    // What is over is as good as absent.
    assert!(try_put("s_b/t/1", lasting(b"r")).await.unwrap());
    assert_eq!(registry.get(table, "s_b/t/1").await.unwrap().unwrap(), b"r");
}

/// As the key of a session that has ended is, whose payloads stay for a while.
async fn what_stays_can_be_given_an_end(
    registry: &dyn Registry,
    advance: &(dyn Fn(Duration) + Sync),
) {
    let (table, hour) = (Table::SessionKeys, Duration::from_secs(3600));
    let [kept, other] = ["s_c/t/1", "s_d/t/1"];
    for name in [kept, other] {
        let made = registry.put_if(table, name, put(Expected::Absent, b"key"));
        assert!(made.await.unwrap());
    }
    let ends = Put {
        lifetime: Some(hour),
        ..put(was(b"key"), b"key")
    };
    assert!(registry.put_if(table, kept, ends).await.unwrap());
    registry.sweep().await.unwrap();
    assert_eq!(registry.get(table, kept).await.unwrap().unwrap(), b"key");
    advance(hour);
    assert!(registry.get(table, kept).await.unwrap().is_none());
    registry.sweep().await.unwrap();
    assert!(registry.list(table, "s_c").await.unwrap().is_empty());
    assert_eq!(registry.get(table, other).await.unwrap().unwrap(), b"key");
}
