//! Whether a lease has run out, by no clock but this process's own sense of how time goes by.
//!
//! DynamoDB has no clock that a condition could be on, and the clocks of two gateways need not agree.
//! So a lease says for how long it is given, and every renewal changes it. Whoever has seen the very
//! same lease for that long knows that it has run out: it was written before he first saw it.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// Leases remembered; twice this at most. One that is forgotten has to be watched anew.
const REMEMBERED: usize = 32 * 1024;

/// One holder's lease, at one renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The lease's number and its taker's nonce.
    pub(super) fence: u64,
    /// Counts its renewals.
    pub(super) beat: u64,
    /// For how long it is given, from each of them.
    pub(super) lasts: Duration,
}

/// Two generations: when the younger is full, the older is forgotten.
#[derive(Default)]
pub(super) struct Watch {
    key: RandomState,
    seen: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<u64, (Seen, Instant)>,
    old: HashMap<u64, (Seen, Instant)>,
}

impl Watch {
    /// Notes that a session has this lease now, and says whether it has had it for so long that it has
    /// run out.
    pub(super) fn is_over(&self, id: &str, lease: Seen) -> bool {
        let (id, now) = (self.key.hash_one(id), Instant::now());
        let mut seen = self.seen.lock();
        let before = seen.young.get(&id).or_else(|| seen.old.get(&id));
        if let Some((before, since)) = before
            && *before == lease
        {
            return now.duration_since(*since) >= slowest(lease.lasts);
        }
        if seen.young.len() >= REMEMBERED {
            seen.old = std::mem::take(&mut seen.young);
        }
        seen.young.insert(id, (lease, now));
        false
    }
}

/// What shows on the fastest clock while so much goes by on the slowest that is still in order.
fn slowest(duration: Duration) -> Duration {
    duration.saturating_add(duration / 1000)
}

#[cfg(test)]
impl Watch {
    /// Makes time go by for it.
    pub(super) fn advance(&self, by: Duration) {
        let mut seen = self.seen.lock();
        let Generations { young, old } = &mut *seen;
        for (_, since) in young.values_mut().chain(old.values_mut()) {
            *since -= slowest(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Seen = Seen {
        fence: 7,
        beat: 0,
        lasts: Duration::from_secs(10),
    };

    #[test]
    fn a_lease_is_over_once_it_was_seen_unchanged_for_as_long_as_it_is_given() {
        let watch = Watch::default();
        let second = Duration::from_secs(1);
        assert!(!watch.is_over("a", LEASE));
        watch.advance(9 * second);
        assert!(!watch.is_over("a", LEASE) && !watch.is_over("b", LEASE));
        watch.advance(second);
        assert!(watch.is_over("a", LEASE));
        assert!(!watch.is_over("b", LEASE), "seen later");
        // Renewed, or another's: from the start.
        for changed in [Seen { beat: 1, ..LEASE }, Seen { fence: 8, ..LEASE }] {
            assert!(!watch.is_over("a", changed));
            watch.advance(9 * second);
            assert!(!watch.is_over("a", changed));
        }
    }

    #[test]
    fn what_is_forgotten_is_watched_anew() {
        let watch = Watch::default();
        assert!(!watch.is_over("first", LEASE));
        watch.advance(LEASE.lasts);
        for n in 0..REMEMBERED {
            watch.is_over(&n.to_string(), LEASE);
        }
        assert!(
            watch.is_over("first", LEASE),
            "the older generation is kept"
        );
        for n in 0..REMEMBERED {
            watch.is_over(&format!("+{n}"), LEASE);
        }
        assert!(!watch.is_over("first", LEASE));
    }
}
