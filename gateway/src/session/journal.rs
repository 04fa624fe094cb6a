//! The log as sessions see it.

use async_trait::async_trait;

use crate::audit::{Book, BookError, Event};

/// Takes sessions' records.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Writes an event; durable, as far as the log's mode goes, when this returns.
    async fn append(&self, event: Event) -> Result<(), BookError>;

    /// Writes an event without waiting for the disk. It is durable with the next that is appended.
    async fn take(&self, event: Event) -> Result<(), BookError>;
}

#[async_trait]
impl Journal for Book {
    async fn append(&self, event: Event) -> Result<(), BookError> {
        Book::append(self, event).await
    }

    async fn take(&self, event: Event) -> Result<(), BookError> {
        Book::take(self, event).await
    }
}
