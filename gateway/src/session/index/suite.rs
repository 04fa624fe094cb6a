//! What every index must do, run on each backend.

use std::time::Duration;

use super::{Entries, Index, MOST, Named};
use crate::clock::later;

/// The time that a backend goes by.
pub(crate) trait Time: Sync {
    /// What its clock shows, about.
    fn now_us(&self) -> i64;
    /// Makes time go by for it.
    fn advance(&self, by: Duration);
}

async fn put(index: &dyn Index, clock: &dyn Time, name: &str, reference: &str) {
    let named = Named {
        name: name.to_owned(),
        reference: reference.to_owned(),
        expires_us: later(clock.now_us(), Duration::from_secs(60)),
    };
    index.add(named).await.unwrap();
}

async fn under(index: &dyn Index, name: &str) -> Vec<String> {
    let mut found = index.find(name).await.unwrap().references;
    found.sort();
    found
}

/// Runs everything.
pub(crate) async fn run(index: &dyn Index, clock: &dyn Time) {
    assert!(under(index, "none").await.is_empty());
    put(index, clock, "one", "s_a").await;
    put(index, clock, "two", "s_a").await;
    put(index, clock, "one", "s_b").await;
    put(index, clock, "one", "s_b").await;
    assert_eq!(under(index, "one").await, ["s_a", "s_b"]);
    assert_eq!(under(index, "two").await, ["s_a"]);
    crowds(index, clock).await;
    expires(index, clock).await;
}

/// A name that too many share is useless.
async fn crowds(index: &dyn Index, clock: &dyn Time) {
    for n in 0..=MOST {
        assert!(!index.find("many").await.unwrap().crowded);
        put(index, clock, "many", &format!("s_{n}")).await;
    }
    let found = index.find("many").await.unwrap();
    assert!(found.crowded);
    assert_eq!(found.references.len(), MOST);
}

async fn expires(index: &dyn Index, clock: &dyn Time) {
    clock.advance(Duration::from_secs(30));
    put(index, clock, "two", "s_late").await;
    clock.advance(Duration::from_secs(31));
    assert_eq!(under(index, "two").await, ["s_late"]);
    assert_eq!(index.find("many").await.unwrap(), Entries::default());
    index.sweep().await.unwrap();
    assert_eq!(under(index, "two").await, ["s_late"]);
    assert!(under(index, "one").await.is_empty());
}
