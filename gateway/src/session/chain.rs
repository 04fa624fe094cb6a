//! What this process knows of sessions' chains besides the store: where the log is ahead, what may
//! be missing, and the newest rows it has seen.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::state::SessionState;
use crate::audit::Link;

/// Rows remembered of sessions used lately; twice this at most.
const REMEMBERED: usize = 32 * 1024;

/// Where a chain really stands, if that is further than the store may say.
struct Doubt {
    next: Link,
    missing: Vec<u64>,
    since: Instant,
}

impl Doubt {
    fn new(next: Link) -> Self {
        Self {
            next,
            missing: Vec::new(),
            since: Instant::now(),
        }
    }
}

#[derive(Default)]
pub(super) struct Chains {
    /// Others write the same rows: what is doubtful stands in the outbox, not here.
    shared: bool,
    doubts: Mutex<HashMap<String, Doubt>>,
    floors: Mutex<Floors>,
}

/// What is remembered of the newest row of a session that this process has written, or read under its
/// lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// 0: nothing is remembered.
    version: u64,
    /// The number of the chain's next event then, and the beginning of the digest of the one before it.
    /// `None` where the store may have taken the last one back.
    link: Option<(u64, [u8; 8])>,
}

impl Seen {
    fn new(version: u64, link: Link) -> Self {
        let digest = link.sprev.first_chunk().copied();
        Self {
            version,
            link: digest.map(|digest| (link.sseq, digest)),
        }
    }

    /// Whether a row of this version, read later, is older.
    pub(super) fn is_after(self, version: u64) -> bool {
        version < self.version
    }

    /// Whether the chain of a state that was read later has another event in the place of the last one
    /// seen, or has not come so far: the row was put back, also if others have since written as many
    /// versions as were lost. What lies further back than a state tells is taken for the same.
    fn is_missed_by(self, state: &SessionState) -> bool {
        let Some((next, digest)) = self.link else {
            return false;
        };
        // Before the first event there is nothing that could be another.
        let Some(last) = next.checked_sub(1) else {
            return false;
        };
        match state.digest_of(last) {
            Some(known) => !known.starts_with(&digest),
            None => state.link.sseq < next,
        }
    }
}

/// Two generations: when the younger is full, the older is forgotten. What is forgotten is only a
/// check, never state. Sessions are told apart by 64 bits of a hash under a key of this process, so
/// that nobody can make two of the same, and chance does not.
#[derive(Default)]
struct Floors {
    key: RandomState,
    young: HashMap<u64, Seen>,
    old: HashMap<u64, Seen>,
}

impl Chains {
    pub(super) fn new(shared: bool) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    /// Notes that a session's chain goes on at `next`, whatever the store says.
    pub(super) fn goes_on(&self, id: &str, next: Link) {
        if self.shared {
            return;
        }
        let mut doubts = self.doubts.lock();
        let doubt = doubts
            .entry(id.to_owned())
            .or_insert_with(|| Doubt::new(next));
        if next.sseq > doubt.next.sseq {
            doubt.next = next;
        }
    }

    /// The same, and that the event with this number may be in the log or in the store only.
    pub(super) fn doubt(&self, id: &str, next: Link, number: u64) {
        self.goes_on(id, next);
        if let Some(doubt) = self.doubts.lock().get_mut(id) {
            doubt.missing.push(number);
        }
    }

    /// Takes a doubt back: both have the event.
    pub(super) fn sure(&self, id: &str, number: u64) {
        let mut doubts = self.doubts.lock();
        if let Some(doubt) = doubts.get_mut(id) {
            doubt.missing.retain(|missing| *missing != number);
            if doubt.missing.is_empty() {
                doubts.remove(id);
            }
        }
    }

    /// Notes that the log has the event, while the store may not: the chain goes on behind it, and
    /// nothing is to be declared.
    pub(super) fn logged(&self, id: &str, number: u64) {
        if let Some(doubt) = self.doubts.lock().get_mut(id) {
            doubt.missing.retain(|missing| *missing != number);
        }
    }

    /// Notes that the store was told that a number is free again: the log refused its event.
    pub(super) fn freed(&self, id: &str, number: u64, next: Link) {
        if let Some(doubt) = self.doubts.lock().get_mut(id) {
            doubt.missing.retain(|missing| *missing != number);
            if next.sseq <= number {
                doubt.next = next;
            }
        }
    }

    /// Whether anything is known of a session that its store may not know.
    pub(super) fn doubts(&self, id: &str) -> bool {
        self.doubts.lock().contains_key(id)
    }

    /// The sessions of which that has been so for `age`.
    pub(super) fn doubtful(&self, age: Duration) -> Vec<String> {
        let doubts = self.doubts.lock();
        let old = doubts
            .iter()
            .filter(|(_, doubt)| doubt.since.elapsed() >= age);
        old.map(|(id, _)| id.clone()).collect()
    }

    /// Forgets a session that the store does not have, if it has been in doubt for `age`.
    pub(super) fn forget_after(&self, id: &str, age: Duration) {
        let mut doubts = self.doubts.lock();
        if doubts
            .get(id)
            .is_some_and(|doubt| doubt.since.elapsed() >= age)
        {
            doubts.remove(id);
        }
    }

    /// Forgets a session that has ended.
    pub(super) fn forget(&self, id: &str) {
        self.doubts.lock().remove(id);
    }

    /// Brings a state that was just read up to what is known, under the session's lease.
    pub(super) fn settle(&self, id: &str, state: &mut SessionState) {
        if let Some(doubt) = self.doubts.lock().get(id) {
            if doubt.next.sseq > state.link.sseq {
                state.link = doubt.next;
            }
            state.gaps.extend(&doubt.missing);
            state.gaps.sort_unstable();
            state.gaps.dedup();
        }
    }

    /// Notes a state that the store has: what it says need not be remembered here.
    pub(super) fn kept(&self, id: &str, state: &SessionState) {
        let mut doubts = self.doubts.lock();
        if let Some(doubt) = doubts.get_mut(id) {
            doubt
                .missing
                .retain(|missing| !state.gaps.contains(missing));
            if doubt.missing.is_empty() && doubt.next.sseq <= state.link.sseq {
                doubts.remove(id);
            }
        }
    }

    /// Notes a row that was written, or read under its lease.
    pub(super) fn saw(&self, id: &str, version: u64, link: Link) {
        let mut floors = self.floors.lock();
        if floors.young.len() >= REMEMBERED {
            floors.old = std::mem::take(&mut floors.young);
        }
        let id = floors.key.hash_one(id);
        let seen = Seen::new(version, link);
        let floor = floors.young.entry(id).or_insert(seen);
        if version >= floor.version {
            *floor = seen;
        }
    }

    /// Notes that the last event that was seen of a session is to be taken back, by a write that may
    /// happen or not: it says nothing any more.
    pub(super) fn may_take_back(&self, id: &str) {
        let mut floors = self.floors.lock();
        let id = floors.key.hash_one(id);
        let Floors { young, old, .. } = &mut *floors;
        for seen in [young.get_mut(&id), old.get_mut(&id)].into_iter().flatten() {
            seen.link = None;
        }
    }

    /// The newest row of a session that is remembered. One that is read after this was asked and does
    /// not go on from it was put back, or lost.
    pub(super) fn floor(&self, id: &str) -> Seen {
        let floors = self.floors.lock();
        let id = floors.key.hash_one(id);
        let floor = floors.young.get(&id).or_else(|| floors.old.get(&id));
        floor.copied().unwrap_or_default()
    }

    /// Whether a state that was read after `floor` was asked for lacks what had been seen by then. A
    /// process that has its store to itself knows by the version alone.
    pub(super) fn is_missed(&self, id: &str, floor: Seen, state: &SessionState) -> bool {
        // What was seen meanwhile, or taken back, may be what the state was read after.
        self.shared && floor.is_missed_by(state) && self.floor(id) == floor
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
