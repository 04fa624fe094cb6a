//! Whose sessions are that this process had turns of: who they belong to never changes, so the next
//! turn of a session in a shared store need not look before it takes the lease.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use parking_lot::Mutex;

/// Sessions remembered; twice this at most.
const REMEMBERED: usize = 32 * 1024;

/// Two generations: when the younger is full, the older is forgotten. Both sides are hashes under a key
/// of this process. What they say is checked against the session once it is opened.
#[derive(Default)]
pub(super) struct Owners {
    key: RandomState,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    young: HashMap<u64, u64>,
    old: HashMap<u64, u64>,
}

impl Owners {
    pub(super) fn note(&self, session: &str, principal: &str) {
        let (session, principal) = (self.key.hash_one(session), self.key.hash_one(principal));
        let mut known = self.known.lock();
        if known.young.len() >= REMEMBERED {
            known.old = std::mem::take(&mut known.young);
        }
        known.young.insert(session, principal);
    }

    /// Whether a session is known to be a principal's.
    pub(super) fn owns(&self, session: &str, principal: &str) -> bool {
        let session = self.key.hash_one(session);
        let known = self.known.lock();
        let owner = known
            .young
            .get(&session)
            .or_else(|| known.old.get(&session));
        owner.is_some_and(|owner| *owner == self.key.hash_one(principal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_known_and_not_for_ever() {
        let owners = Owners::default();
        owners.note("s", "ann");
        assert!(owners.owns("s", "ann") && !owners.owns("s", "bob") && !owners.owns("t", "ann"));
        for n in 0..2 * REMEMBERED {
            owners.note(&n.to_string(), "bob");
        }
        assert!(!owners.owns("s", "ann") && owners.owns(&(2 * REMEMBERED - 1).to_string(), "bob"));
    }
}
