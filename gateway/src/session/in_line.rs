//! The turns of this process in the line of all processes that share a store.
//!
//! The store knows how many of them wait, and in which places; which of them takes the next place is
//! decided here, by the line of this process. All that is said to the store about one session is said at
//! one desk, one after the other: what is said later counts, and turns that come one after the other
//! get places in that order.
//!
//! A turn may be gone at any moment: its caller has hung up, or its patience has ended. What it had
//! begun to say to the store arrives there all the same, so it is said to its end by a task, which
//! keeps the desk meanwhile. Only then the place is left that the store gave for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Mutex, OwnedMutexGuard, oneshot},
    time::Instant,
};
use tokio_util::task::TaskTracker;

use super::store::{Acquired, STANDS, SharedStore, StoreError};

/// How often the store hears of turns that wait behind another of this process.
const BEAT: Duration = Duration::from_secs(STANDS.as_secs() / 3);
/// How long to wait before a store that has failed is told again.
const TELL_AGAIN: Duration = Duration::from_millis(200);

/// Where the store is told how many turns of this process wait for one session.
pub(super) type Desk = Arc<Mutex<Said>>;

/// What was said at a desk.
#[derive(Default)]
pub(super) struct Said {
    /// When the store was told last.
    at: Option<Instant>,
    /// The turns that wait, in the order in which the store was told of them: that of their places.
    turns: Vec<u64>,
    /// The number that was given last to a turn. None is 0.
    last: u64,
}

impl Said {
    /// Which of the turns that wait this one is, once it waits no more.
    fn strike(&mut self, number: u64) -> Option<usize> {
        let nth = self.turns.iter().position(|turn| *turn == number)?;
        self.turns.remove(nth);
        Some(nth)
    }
}

/// The line of all processes.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) store: SharedStore,
    /// This process.
    pub(super) holder: u64,
    /// Knows all that is still to be said when turns are gone.
    pub(super) tracker: TaskTracker,
}

/// A turn that waits, or may have to. When the last clone is dropped, its place in line is left: whatever
/// is under way to the store for it has a clone too.
#[derive(Clone)]
pub(super) struct Ticket(Arc<Waiting>);

struct Waiting {
    outside: Outside,
    session: String,
    desk: Desk,
    /// Under which it stands on the desk's list; 0 while it does not.
    number: AtomicU64,
}

impl Ticket {
    pub(super) fn new(outside: Outside, session: &str, desk: &Desk) -> Self {
        Self(Arc::new(Waiting {
            outside,
            session: session.to_owned(),
            desk: Arc::clone(desk),
            number: AtomicU64::new(0),
        }))
    }

    /// Stands in line behind another turn of this process, for as long as there is room.
    pub(super) async fn stand(&self) {
        let mut is_in = false;
        loop {
            let said = self.reach_desk().await;
            let is_due = said.at.is_none_or(|at| at.elapsed() >= BEAT / 2);
            if !is_in || is_due {
                match self.say(said).await {
                    // What the store forgot of those that came before is no affair of this one.
                    Ok(false) if !is_in => return,
                    Ok(_) => is_in = true,
                    // Who gets to the front finds out what is wrong.
                    Err(_) => {
                        tokio::time::sleep(TELL_AGAIN).await;
                        continue;
                    }
                }
            } else {
                drop(said);
            }
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Asks for the lease once, for the turn that is in front of this process's line.
    pub(super) async fn ask(&self, lease: Duration) -> Result<Acquired, StoreError> {
        let mut said = self.reach_desk().await;
        let turns = self.count(&mut said);
        let Waiting {
            outside, session, ..
        } = &*self.0;
        let asked = outside
            .store
            .acquire_in_line(session, outside.holder, lease, turns);
        let asked = asked.await;
        match asked {
            Ok(Acquired::Busy) => said.at = Some(Instant::now()),
            // It may have a place, and leaves it.
            Err(_) => {}
            // It waits no more, and has no place.
            Ok(_) => {
                said.strike(self.0.number.swap(0, Ordering::SeqCst));
            }
        }
        asked
    }

    /// Leaves the line, for a turn that waits no longer. If the store is not there now it is told later.
    pub(super) async fn leave(self) {
        let (told, hears) = oneshot::channel();
        if let Some(leaving) = self.0.leaving(Some(told)) {
            self.0.outside.tracker.spawn(leaving.run());
            // An error says that it was tried, like any answer.
            let _is_tried = hears.await;
        }
    }

    async fn reach_desk(&self) -> OwnedMutexGuard<Said> {
        Arc::clone(&self.0.desk).lock_owned().await
    }

    /// Counts this turn among those that wait, and says how many they are.
    fn count(&self, said: &mut Said) -> usize {
        if self.0.number.load(Ordering::SeqCst) == 0 {
            said.last += 1;
            said.turns.push(said.last);
            self.0.number.store(said.last, Ordering::SeqCst);
        }
        said.turns.len()
    }

    /// Tells the store how many turns wait, this one among them, to the end whoever listens. Says whether
    /// all of them stand in line.
    async fn say(&self, mut said: OwnedMutexGuard<Said>) -> Result<bool, StoreError> {
        let (turns, ticket) = (self.count(&mut said), self.clone());
        let saying = self.0.outside.tracker.spawn(async move {
            let Waiting {
                outside, session, ..
            } = &*ticket.0;
            let stand = outside.store.stand_in_line(session, outside.holder, turns);
            let stand = stand.await;
            if stand.is_ok() {
                said.at = Some(Instant::now());
            }
            stand
        });
        let stand = saying.await;
        stand.unwrap_or_else(|error| Err(StoreError::Unavailable(Box::new(error))))
    }
}

impl Waiting {
    /// What there is to be said of a turn that is gone, if the store may have a place for it.
    fn leaving(&self, told: Option<oneshot::Sender<()>>) -> Option<Leaving> {
        let number = self.number.swap(0, Ordering::SeqCst);
        (number != 0).then(|| Leaving {
            outside: self.outside.clone(),
            session: self.session.clone(),
            desk: Arc::clone(&self.desk),
            number,
            told,
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Where nothing runs any more, the place is nobody's after a while.
        if let (Some(leaving), Ok(runtime)) = (self.leaving(None), Handle::try_current()) {
            let tracker = self.outside.tracker.clone();
            tracker.spawn_on(leaving.run(), &runtime);
        }
    }
}

/// A turn that is gone, and whose place has to be left.
struct Leaving {
    outside: Outside,
    session: String,
    desk: Desk,
    number: u64,
    /// Dropped once the store was told, or could not be.
    told: Option<oneshot::Sender<()>>,
}

impl Leaving {
    async fn run(mut self) {
        let Outside { store, holder, .. } = &self.outside;
        let mut said = Arc::clone(&self.desk).lock_owned().await;
        let Some(nth) = said.strike(self.number) else {
            return;
        };
        // After that the place is nobody's, whoever was told.
        let until = Instant::now() + STANDS;
        loop {
            let wait = said.turns.len();
            let left = store.leave_line(&self.session, *holder, nth, wait).await;
            drop(said);
            drop(self.told.take());
            if left.is_ok() || Instant::now() >= until {
                return;
            }
            tokio::time::sleep(TELL_AGAIN).await;
            said = Arc::clone(&self.desk).lock_owned().await;
        }
    }
}
