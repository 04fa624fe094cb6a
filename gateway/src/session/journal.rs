//! The log as sessions see it.

use async_trait::async_trait;
use gatehouse_ledger::Durability;

use crate::audit::{Book, Event, Later, Unconfirmed};

/// Takes sessions' records.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes an event; durable, as far as the log's mode goes, when this returns.
    async fn append(&self, event: Event) -> Result<(), Unconfirmed>;

    /// Writes an event without waiting for the disk. It is durable with the next that is appended.
    async fn take(&self, event: Event) -> Result<(), Unconfirmed>;

    /// The same for the outcome of a turn, for which the log is given more time.
    async fn take_outcome(&self, event: Event) -> Result<(), Unconfirmed> {
        self.take(event).await
    }

    /// Leaves an event that was not confirmed and that the log must have: it is offered again, with
    /// the same bytes, until it is taken. `attempt` is one that is under way.
    fn owe(&self, event: Event, attempt: Option<Later>);
}

#[async_trait]
impl Journal for Book {
    async fn append(&self, event: Event) -> Result<(), Unconfirmed> {
        self.offer(event, Durability::Durable).await
    }

    async fn take(&self, event: Event) -> Result<(), Unconfirmed> {
        self.offer(event, Durability::Taken).await
    }

    async fn take_outcome(&self, event: Event) -> Result<(), Unconfirmed> {
        self.offer_outcome(event).await
    }

    fn owe(&self, event: Event, attempt: Option<Later>) {
        Book::owe(self, event, attempt);
    }
}
