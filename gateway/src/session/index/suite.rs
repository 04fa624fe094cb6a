//! What every index must do, run on each backend.

use std::time::Duration;

use super::{Index, MOST, Renamed};
use crate::clock::{Clock, TestClock, later};

async fn put(index: &dyn Index, clock: &TestClock, reference: &str, old: &[&str], new: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let renamed = Renamed {
        reference: reference.to_owned(),
        old: owned(old),
        new: owned(new),
        expires_us: later(clock.utc_us(), Duration::from_secs(60)),
    };
    index.rename(renamed).await.unwrap();
}

async fn under(index: &dyn Index, name: &str) -> Vec<String> {
    let mut found = index.find(name).await.unwrap().references;
    found.sort();
    found
}

/// Runs everything.
pub(crate) async fn run(index: &dyn Index, clock: &TestClock) {
    assert!(under(index, "none").await.is_empty());
    put(index, clock, "s_a", &[], &["one", "two"]).await;
    put(index, clock, "s_b", &[], &["one"]).await;
    put(index, clock, "s_b", &[], &["one"]).await;
    assert_eq!(under(index, "one").await, ["s_a", "s_b"]);
    put(index, clock, "s_a", &["one", "two"], &["three", "one"]).await;
    assert_eq!(under(index, "one").await, ["s_a", "s_b"]);
    assert!(under(index, "two").await.is_empty());
    assert_eq!(under(index, "three").await, ["s_a"]);
    put(index, clock, "s_b", &["one"], &[]).await;
    assert_eq!(under(index, "one").await, ["s_a"]);
    crowds(index, clock).await;
    expires(index, clock).await;
}

/// A name that too many share stays useless, even when some of them leave.
async fn crowds(index: &dyn Index, clock: &TestClock) {
    for n in 0..=MOST {
        assert!(!index.find("many").await.unwrap().crowded);
        put(index, clock, &format!("s_{n}"), &[], &["many"]).await;
    }
    let found = index.find("many").await.unwrap();
    assert!(found.crowded);
    assert_eq!(found.references.len(), MOST);
    put(index, clock, "s_0", &["many"], &[]).await;
    assert!(index.find("many").await.unwrap().crowded);
}

async fn expires(index: &dyn Index, clock: &TestClock) {
    clock.advance(Duration::from_secs(30));
    put(index, clock, "s_late", &[], &["three"]).await;
    clock.advance(Duration::from_secs(31));
    assert_eq!(under(index, "three").await, ["s_late"]);
    assert_eq!(index.find("many").await.unwrap(), super::Entries::default());
    index.sweep().await.unwrap();
    assert_eq!(under(index, "three").await, ["s_late"]);
    assert!(under(index, "one").await.is_empty());
}
