//! What this process knows of sessions' chains besides the store: where the log is ahead, what may
//! be missing, and the newest versions it has seen.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::state::SessionState;
use crate::audit::Link;

/// Versions remembered of sessions used lately; twice this at most.
const REMEMBERED: usize = 32 * 1024;

/// Where a chain really stands, if that is further than the store may say.
#[derive(Clone)]
struct Doubt {
    next: Link,
    missing: Vec<u64>,
}

#[derive(Default)]
pub(super) struct Chains {
    doubts: Mutex<HashMap<String, Doubt>>,
    floors: Mutex<Floors>,
}

/// Two generations: when the younger is full, the older is forgotten. What is forgotten is only a
/// check, never state.
#[derive(Default)]
struct Floors {
    young: HashMap<String, u64>,
    old: HashMap<String, u64>,
}

impl Chains {
    /// Notes that a session's chain goes on at `next`, whatever the store says, and that the event
    /// `missing` may be in the log or in the store only.
    pub(super) fn doubt(&self, id: &str, next: Link, missing: Option<u64>) {
        let mut doubts = self.doubts.lock();
        let doubt = doubts.entry(id.to_owned()).or_insert(Doubt {
            next,
            missing: Vec::new(),
        });
        if next.sseq > doubt.next.sseq {
            doubt.next = next;
        }
        doubt.missing.extend(missing);
    }

    /// Brings a state that was just read up to what is known, under the session's lease.
    pub(super) fn settle(&self, id: &str, state: &mut SessionState) {
        if let Some(doubt) = self.doubts.lock().remove(id) {
            if doubt.next.sseq > state.link.sseq {
                state.link = doubt.next;
            }
            state.gaps.extend(doubt.missing);
            state.gaps.sort_unstable();
            state.gaps.dedup();
        }
    }

    /// Notes a version that was written.
    pub(super) fn saw(&self, id: &str, version: u64) {
        let mut floors = self.floors.lock();
        if floors.young.len() >= REMEMBERED {
            floors.old = std::mem::take(&mut floors.young);
        }
        floors.young.insert(id.to_owned(), version);
    }

    /// Whether a version that was read is older than one that was written: somebody put it back.
    pub(super) fn put_back(&self, id: &str, version: u64) -> bool {
        let floors = self.floors.lock();
        let floor = floors.young.get(id).or_else(|| floors.old.get(id));
        floor.is_some_and(|floor| version < *floor)
    }
}

/// Compares a state with the last event of its session that the log has: number and digest, as the
/// log's recovery found them. The chain goes on after whichever is further; events that the store
/// knows and the log does not have are noted as missing.
pub(super) fn reconcile(state: &mut SessionState, logged: u64, digest: [u8; 32]) {
    let after = logged.saturating_add(1);
    if state.link.sseq <= after {
        state.link = Link {
            sseq: after,
            sprev: digest,
        };
    } else {
        state.gaps.extend(after..state.link.sseq);
        state.gaps.sort_unstable();
        state.gaps.dedup();
    }
}
