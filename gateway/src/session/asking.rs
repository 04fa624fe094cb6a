//! Asking for a session's lease, to the end.
//!
//! Where others share the store, a lease that nobody has any use for keeps them waiting until it is over.
//! So a question that has been put is heard to its end by a task, though its turn be gone meanwhile, and
//! a lease that comes of it then is given back.

use std::{future::Future, sync::Arc};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::{
    Sessions,
    in_line::Outside,
    queue::Place,
    store::{Acquired, SharedStore, StoreError},
    turn::Location,
};

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
        let asking = shared.errands.spawn(async move {
            unclaimed.acquired = Some(asking.await?);
            drop(turn);
            Ok(unclaimed)
        });
        let asked = asking.await;
        let asked = asked.unwrap_or_else(|error| Err(StoreError::Unavailable(Box::new(error))));
        Ok(asked?.acquired.take().unwrap_or(Acquired::Busy))
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
