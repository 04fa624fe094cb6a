//! What the turns under way in this process have come to, for callers that wait.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use super::{SessionError, Sessions};
use crate::auth::Caller;

/// The most streams of progress that one principal has at a time.
pub const STREAMS: usize = 16;

/// Turns by the references of their sessions, and who is told of them.
#[derive(Default)]
pub(super) struct Board {
    turns: Mutex<HashMap<String, Arc<Counts>>>,
    watchers: Mutex<HashMap<String, usize>>,
}

struct Counts {
    request: String,
    started_us: i64,
    replying: AtomicBool,
    events: AtomicU64,
    bytes: AtomicU64,
}

/// A turn that says how far it is. It is not under way any more when this is dropped.
pub struct Reporting {
    sessions: Sessions,
    reference: String,
    counts: Arc<Counts>,
}

impl Reporting {
    /// The provider has begun to answer.
    pub fn replying(&self) {
        self.counts.replying.store(true, Ordering::Relaxed);
    }

    /// So much of the answer has come.
    pub fn came(&self, events: u64, bytes: usize) {
        self.counts.events.fetch_add(events, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        let mut turns = self.sessions.shared.board.turns.lock();
        let mine = |there: &Arc<Counts>| Arc::ptr_eq(there, &self.counts);
        if turns.get(&self.reference).is_some_and(mine) {
            turns.remove(&self.reference);
        }
    }
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nothing.
    Idle,
    /// It waits for its user's answer.
    Paused,
    /// A turn is under way, here or on another replica.
    Running,
}

/// How far a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub doing: Doing,
    /// Turns that reached a provider, the one under way included.
    pub steps: u64,
    /// The turn under way, if it is one of this process.
    pub turn: Option<TurnProgress>,
}

/// How far a turn is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnProgress {
    /// The id of its request.
    pub request: String,
    /// When it was admitted, in microseconds since 1970 (UTC).
    pub started_us: i64,
    /// Whether the provider has begun to answer.
    pub replying: bool,
    /// Events that have come.
    pub events: u64,
    /// Bytes that have come.
    pub bytes: u64,
}

impl Sessions {
    /// Begins to report the progress of a turn.
    pub fn report(&self, reference: &str, request: &str) -> Reporting {
        let counts = Arc::new(Counts {
            request: request.to_owned(),
            started_us: self.shared.clock.utc_us(),
            replying: AtomicBool::new(false),
            events: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let mut turns = self.shared.board.turns.lock();
        turns.insert(reference.to_owned(), Arc::clone(&counts));
        drop(turns);
        Reporting {
            sessions: self.clone(),
            reference: reference.to_owned(),
            counts,
        }
    }

    /// Tells a caller how far one of its sessions is.
    ///
    /// # Errors
    /// The session cannot be used, or is not the caller's.
    pub async fn progress(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<Progress, SessionError> {
        let (_, loaded) = self.find_own(caller, reference).await?;
        let turn = self.turn_here(reference);
        // Of a store that is this process's alone, the board knows all turns; what the row says is then
        // one that a crash cut short.
        let elsewhere = loaded.held && self.shared.store.shared();
        let doing = match (elsewhere || turn.is_some(), loaded.state.is_paused()?) {
            (true, _) => Doing::Running,
            (false, true) => Doing::Paused,
            (false, false) => Doing::Idle,
        };
        Ok(Progress {
            doing,
            steps: loaded.state.steps,
            turn,
        })
    }

    /// How far a session's turn is, if it is one of this process. Nothing is read, and nobody asked
    /// whose it is.
    pub fn turn_here(&self, reference: &str) -> Option<TurnProgress> {
        let counts = self.shared.board.turns.lock().get(reference).cloned()?;
        Some(TurnProgress {
            request: counts.request.clone(),
            started_us: counts.started_us,
            replying: counts.replying.load(Ordering::Relaxed),
            events: counts.events.load(Ordering::Relaxed),
            bytes: counts.bytes.load(Ordering::Relaxed),
        })
    }

    /// Begins to tell a caller of a turn again and again; `None` if it is told of [`STREAMS`] already.
    pub fn watch(&self, caller: &Caller) -> Option<Watching> {
        let principal = caller.principal();
        let mut watchers = self.shared.board.watchers.lock();
        let count = watchers.entry(principal.clone()).or_default();
        if *count >= STREAMS {
            return None;
        }
        *count += 1;
        let sessions = self.clone();
        Some(Watching {
            sessions,
            principal,
        })
    }
}

/// A caller that is told of a turn, until this is dropped.
pub struct Watching {
    sessions: Sessions,
    principal: String,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watchers = self.sessions.shared.board.watchers.lock();
        if let Some(count) = watchers.get_mut(&self.principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                watchers.remove(&self.principal);
            }
        }
    }
}
