//! Replicas whose clocks are days apart count on the same day: that of the store that they share.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::keys::FileKeys;

use super::{Ask, Budget, Denied, Meter, Scope, Worst};
use crate::{
    clock::{Clock, TestClock},
    config::Caps,
    registry::{CachePolicy, Keyring, Registry},
};

/// One replica: its clock is so much ahead of the store's.
pub(crate) struct Replica {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) meter: Arc<dyn Meter>,
    pub(crate) registry: Arc<dyn Registry>,
}

/// How far the clocks of two replicas are ahead of the store's.
pub(crate) fn clocks(now_us: i64) -> [Arc<TestClock>; 2] {
    let ahead = Arc::new(TestClock::new(now_us));
    ahead.advance(Duration::from_secs(50 * 3600));
    [Arc::new(TestClock::new(now_us)), ahead]
}

/// What one has set aside, the other has no room for any more.
pub(crate) async fn one_day_for_all(replicas: [Replica; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let root = Arc::new(FileKeys::open_or_create(&dir.path().join("root")).unwrap());
    let caps = Caps {
        key_tokens_per_day: Some(100),
        ..Caps::default()
    };
    let mut held = Vec::new();
    for (request, replica) in ["r_1", "r_2"].into_iter().zip(replicas) {
        let session_until_us = replica.clock.utc_us() + 3_600_000_000;
        let policy = CachePolicy::default();
        let keyring = Keyring::new(root.clone(), replica.registry, replica.clock, policy);
        let budget = Budget::new(replica.meter, Arc::new(keyring), caps);
        let ask = Ask {
            request,
            tenant: "t",
            key: "k_ann",
            session: "s_days",
            session_until_us,
            session_spent: 0,
            worst: Worst {
                input: 50,
                output: 10,
            },
        };
        held.push(budget.plan(ask).await.unwrap().reserve().await);
    }
    assert!(held[0].is_ok());
    assert!(matches!(
        held[1],
        Err(Denied::Capped {
            scope: Scope::Key,
            cap: 100,
            used: 60
        })
    ));
}
