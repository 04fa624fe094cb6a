//! After a fault of the store or the log, while the process goes on: bringing the store up to what
//! only this process knows of sessions' chains.

use std::time::Duration;

use super::{SessionError, Sessions, queue::Patience, turn::Location};

/// A session that the store still does not have after this never got its row.
const UNBORN: Duration = Duration::from_secs(120);

impl Sessions {
    /// How many sessions' chains the store does not know to their end. While there are any, the log
    /// must keep what the next start would need.
    pub fn behind(&self) -> usize {
        // What a shared store is asked about stands in the outbox.
        self.shared.chains.doubtful(Duration::ZERO).len()
    }

    /// Brings the store up to the log for every such session that no turn holds, if it has been so for
    /// `age`: its gaps are declared, its place in the chain is written. What does not succeed is
    /// tried again by the next call. Doubts of a few milliseconds are those of turns under way.
    pub async fn mend(&self, age: Duration) {
        let mut doubtful = self.shared.chains.doubtful(age);
        doubtful.extend(self.shared.outbox.doubtful(age));
        for name in doubtful {
            let Some(location) = Location::parse(&name) else {
                continue;
            };
            let reference = location.reference.clone();
            match self.mend_one(location).await {
                Ok(()) => {}
                // The store itself is away: so it is for the others.
                Err(error @ SessionError::Store(_)) => {
                    tracing::debug!(session = reference, %error, "not brought up to the log");
                    return;
                }
                Err(error) => {
                    tracing::debug!(session = reference, %error, "not brought up to the log");
                }
            }
        }
    }

    async fn mend_one(&self, location: Location) -> Result<(), SessionError> {
        // A turn that runs brings its session up to the log itself.
        let free = self.shared.queue.wait(&location.name, Duration::ZERO).await;
        let Some(free) = free else { return Ok(()) };
        let Some(loaded) = self.peek(&location).await? else {
            self.shared.chains.forget_after(&location.name, UNBORN);
            return self.conclude_ended(&location.name).await;
        };
        if loaded.set_aside {
            // Its chain goes on no more, nor does a turn that would do this.
            return self.conclude_ended(&location.name).await;
        }
        drop(free);
        // A fault is no use of the session: it ends when it would have.
        let expires_us = Some(loaded.expires_us);
        let patience = Patience::Waits(self.shared.limits.wait);
        let turn = Box::pin(self.lease(location, loaded, expires_us, patience)).await?;
        turn.release().await
    }
}
