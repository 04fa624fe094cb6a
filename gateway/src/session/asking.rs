//! Asking for a session's lease, to the end.
//!
//! Where others share the store, a lease that nobody has any use for keeps them waiting until it is over.
//! So a question that has been put is heard to its end by a task, though its turn be gone meanwhile, and
//! a lease that comes of it then is given back.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::TaskTracker;

use super::{
    Sessions, Shared,
    in_line::Outside,
    queue::Place,
    store::{Acquired, SharedStore, StoreError},
    turn::Location,
};

/// How long to wait before a store that gave no answer is asked again: at first, and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// So many sessions' leases are asked about at one time; those of others end by themselves.
const MOST_DOUBTED: usize = 1024;

impl Sessions {
    /// The line in which turns stand that may wait; there is none where no other process is.
    pub(super) fn outside(&self) -> Option<Outside> {
        let shared = &self.shared;
        shared.is_shared().then(|| Outside {
            store: Arc::clone(&shared.store),
            holder: shared.holder,
            tracker: shared.errands.clone(),
        })
    }

    /// Asks for the lease once, for the turn that is in front of this process's line.
    pub(super) async fn ask(
        &self,
        location: &Location,
        place: &mut Place,
    ) -> Result<Acquired, StoreError> {
        let shared = &self.shared;
        let (store, holder, lease) = (
            Arc::clone(&shared.store),
            shared.holder,
            shared.limits.lease,
        );
        let Some(ticket) = place.ticket.take() else {
            let name = location.name.clone();
            let asking = async move { store.acquire(&name, holder, lease).await };
            return self.to_the_end(location, place, asking).await;
        };
        let asks = ticket.clone();
        let asking = async move { asks.ask(lease).await };
        let asked = self.to_the_end(location, place, asking).await;
        if matches!(asked, Ok(Acquired::Busy)) {
            place.ticket = Some(ticket);
        }
        asked
    }

    /// Takes the lease from whoever has it.
    pub(super) async fn seize(
        &self,
        location: &Location,
        place: &Place,
    ) -> Result<Acquired, StoreError> {
        let shared = &self.shared;
        let (store, holder, lease) = (
            Arc::clone(&shared.store),
            shared.holder,
            shared.limits.lease,
        );
        let name = location.name.clone();
        let seizing = async move { store.seize(&name, holder, lease).await };
        self.to_the_end(location, place, seizing).await
    }

    /// Gives up a place in line, for a turn that waits no longer.
    pub(super) async fn leave(&self, place: &mut Place) {
        if let Some(ticket) = place.ticket.take() {
            ticket.leave().await;
        }
    }

    /// Waits until all is said to the store that turns which are gone have left to be said. For the end
    /// of the process, when no new turns come.
    pub async fn errands_done(&self) {
        self.shared.errands.close();
        self.shared.errands.wait().await;
    }

    async fn to_the_end(
        &self,
        location: &Location,
        place: &Place,
        asking: impl Future<Output = Result<Acquired, StoreError>> + Send + 'static,
    ) -> Result<Acquired, StoreError> {
        let shared = &self.shared;
        if !shared.is_shared() {
            return asking.await;
        }
        // Meanwhile no other turn of this process asks: it would take the lease over.
        let turn = place.hold();
        let mut unclaimed = Unclaimed {
            store: Arc::clone(&shared.store),
            name: location.name.clone(),
            tracker: shared.errands.clone(),
            acquired: None,
        };
        let (sessions, doubted) = (self.clone(), location.clone());
        let asking = shared.errands.spawn(async move {
            match asking.await {
                Ok(acquired) => unclaimed.acquired = Some(acquired),
                Err(error) => {
                    // It may have been given all the same.
                    sessions.doubt(doubted);
                    return Err(error);
                }
            }
            drop(turn);
            Ok(unclaimed)
        });
        let asked = asking.await;
        let asked = asked.unwrap_or_else(|error| Err(StoreError::Unavailable(Box::new(error))));
        Ok(asked?.acquired.take().unwrap_or(Acquired::Busy))
    }
}

impl Sessions {
    /// Sees to it that a lease is freed that this process may hold without knowing.
    fn doubt(&self, location: Location) {
        let mut doubted = self.shared.doubted.lock();
        if doubted.len() >= MOST_DOUBTED || !doubted.insert(location.name.clone()) {
            return;
        }
        let sessions = self.clone();
        self.shared.errands.spawn(async move {
            sessions.give_back(&location).await;
            sessions.shared.doubted.lock().remove(&location.name);
        });
    }

    /// Frees it once the store answers: who holds a lease gets it once more. Where another turn of this process
    /// comes first, that one does.
    async fn give_back(&self, location: &Location) {
        let Shared {
            store,
            holder,
            limits,
            queue,
            errands,
            ..
        } = &*self.shared;
        // After that it is nobody's.
        let until = Instant::now() + limits.lease;
        let mut pause = ASK_AGAIN.0;
        while Instant::now() < until && !errands.is_closed() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(ASK_AGAIN.1);
            let Some(_place) = queue.wait(&location.name, Duration::ZERO).await else {
                return;
            };
            let left = until.saturating_duration_since(Instant::now());
            match store.acquire(&location.name, *holder, left).await {
                Ok(Acquired::Held { fence, .. } | Acquired::Expired { fence, .. }) => {
                    if store.free(&location.name, fence).await.is_ok() {
                        return;
                    }
                }
                Ok(Acquired::Busy | Acquired::Full | Acquired::Missing) => return,
                Err(_) => {}
            }
        }
    }
}

/// What came of a question, until somebody has heard it.
struct Unclaimed {
    store: SharedStore,
    name: String,
    tracker: TaskTracker,
    acquired: Option<Acquired>,
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        let fence = match self.acquired.take() {
            Some(Acquired::Held { fence, .. } | Acquired::Expired { fence, .. }) => fence,
            _ => return,
        };
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (store, name) = (Arc::clone(&self.store), std::mem::take(&mut self.name));
        let freeing = async move {
            // One that cannot be given back ends by itself.
            let _freed = store.free(&name, fence).await;
        };
        self.tracker.spawn_on(freeing, &runtime);
    }
}
