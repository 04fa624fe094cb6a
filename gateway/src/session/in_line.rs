//! The turns of this process in the line of all processes that share a store.
//!
//! The store knows how many of them wait, and in which places; which of them takes the next place is
//! decided here, by the line of this process. All that is said to the store about one session is said at
//! one desk, one after the other: what is said later counts, and turns that come one after the other
//! get places in that order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use super::{
    Sessions,
    queue::Place,
    store::{Acquired, STANDS, SessionStore, StoreError},
    turn::Location,
};

/// How often the store hears of turns that wait behind another of this process.
const BEAT: Duration = Duration::from_secs(STANDS.as_secs() / 3);
/// How long to wait before a store that has failed is told again.
const TELL_AGAIN: Duration = Duration::from_millis(200);

/// Where the store is told how many turns of this process wait for one session.
#[derive(Default)]
pub(super) struct Desk {
    /// When it was told last.
    told: Mutex<Option<Instant>>,
    turns: AtomicUsize,
}

/// A turn that waits, or may have to. Counted from when the store is told of it until this is dropped.
pub(super) struct Ticket {
    desk: Arc<Desk>,
    counted: AtomicBool,
}

impl Ticket {
    pub(super) fn new(desk: &Arc<Desk>) -> Self {
        Self {
            desk: Arc::clone(desk),
            counted: AtomicBool::new(false),
        }
    }

    /// How many turns wait, with this one. To be asked at the desk only.
    fn count(&self, _desk: &MutexGuard<'_, Option<Instant>>) -> usize {
        if !self.counted.swap(true, Ordering::SeqCst) {
            self.desk.turns.fetch_add(1, Ordering::SeqCst);
        }
        self.desk.turns.load(Ordering::SeqCst)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.counted.load(Ordering::SeqCst) {
            self.desk.turns.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The line of all processes.
#[derive(Clone, Copy)]
pub(super) struct Outside<'a> {
    pub(super) store: &'a dyn SessionStore,
    /// This process.
    pub(super) holder: u64,
}

impl Outside<'_> {
    /// Stands in line behind another turn of this process, for as long as there is room.
    pub(super) async fn stand(self, session: &str, ticket: &Ticket) {
        let mut is_in = false;
        loop {
            let mut told = ticket.desk.told.lock().await;
            let is_due = told.is_none_or(|told| told.elapsed() >= BEAT / 2);
            if !is_in || is_due {
                let turns = ticket.count(&told);
                match self.store.stand_in_line(session, self.holder, turns).await {
                    // What the store forgot of those that came before is no affair of this one.
                    Ok(false) if !is_in => return,
                    Ok(_) => (*told, is_in) = (Some(Instant::now()), true),
                    // Who gets to the front finds out what is wrong.
                    Err(_) => {
                        drop(told);
                        tokio::time::sleep(TELL_AGAIN).await;
                        continue;
                    }
                }
            }
            drop(told);
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Gives up a place in line. If the store is not there it is nobody's after a while.
    pub(super) async fn leave(self, session: &str, ticket: Ticket) {
        let desk = Arc::clone(&ticket.desk);
        let _told = desk.told.lock().await;
        let was_counted = ticket.counted.load(Ordering::SeqCst);
        drop(ticket);
        if was_counted {
            let turns = desk.turns.load(Ordering::SeqCst);
            let left = self.store.stand_in_line(session, self.holder, turns);
            let _is_tried_once = left.await;
        }
    }
}

impl Sessions {
    /// The line in which turns stand that may wait; there is none where no other process is.
    pub(super) fn outside(&self) -> Option<Outside<'_>> {
        let shared = &self.shared;
        shared.is_shared().then_some(Outside {
            store: &*shared.store,
            holder: shared.holder,
        })
    }

    /// Asks for the lease once, for the turn that is in front of this process's line.
    pub(super) async fn ask(
        &self,
        location: &Location,
        place: &mut Place,
    ) -> Result<Acquired, StoreError> {
        let shared = &self.shared;
        let (name, lease) = (location.name.as_str(), shared.limits.lease);
        let Some(ticket) = place.ticket.take() else {
            return shared.store.acquire(name, shared.holder, lease).await;
        };
        let desk = Arc::clone(&ticket.desk);
        let mut told = desk.told.lock().await;
        let turns = ticket.count(&told);
        let asked = shared
            .store
            .acquire_in_line(name, shared.holder, lease, turns);
        let asked = asked.await;
        if matches!(asked, Ok(Acquired::Busy)) {
            *told = Some(Instant::now());
            place.ticket = Some(ticket);
        } else {
            // It waits no more, and is not counted when the store is told the next time.
            drop(ticket);
        }
        drop(told);
        asked
    }

    /// Gives up a place in line, for a turn that waits no longer.
    pub(super) async fn leave(&self, location: &Location, place: &mut Place) {
        if let (Some(outside), Some(ticket)) = (self.outside(), place.ticket.take()) {
            outside.leave(&location.name, ticket).await;
        }
    }
}
