//! A store that fails when told to: before the write, or after it (failed, but persisted).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{Acquired, Row, SessionStore, StoreError, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is written, and an error returned.
    Fails,
    /// There is a row of that name already.
    Collides,
    /// It is written, and an error returned all the same.
    FailsButPersists,
    /// Another holder has the lease.
    Overtaken,
}

pub(crate) struct Faulty {
    inner: Arc<dyn SessionStore>,
    next: Mutex<Option<Fault>>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn SessionStore>) -> Self {
        Self {
            inner,
            next: Mutex::default(),
        }
    }

    /// The next write fails so.
    pub(crate) fn break_next(&self, fault: Fault) {
        *self.next.lock() = Some(fault);
    }

    fn down() -> StoreError {
        StoreError::Unavailable("injected".into())
    }
}

#[async_trait]
impl SessionStore for Faulty {
    async fn create(&self, id: &str, holder: u64, write: Write) -> Result<u64, StoreError> {
        let fault = self.next.lock().take();
        if fault == Some(Fault::Collides) {
            let there = Write {
                sealed: gatehouse_envelope::seal::Sealed::from_store(b"somebody's".to_vec()),
                ..write
            };
            self.inner.create(id, holder, there).await?;
            return Err(StoreError::Exists);
        }
        if fault == Some(Fault::Fails) {
            return Err(Self::down());
        }
        let done = self.inner.create(id, holder, write).await;
        if fault.is_some() {
            Err(Self::down())
        } else {
            done
        }
    }

    async fn acquire(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.inner.acquire(id, holder, ttl).await
    }

    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError> {
        if self.next.lock().take_if(|next| *next == Fault::Overtaken).is_some() {
            return Err(StoreError::Conflict);
        }
        self.inner.renew(id, fence, ttl).await
    }

    async fn commit(
        &self,
        id: &str,
        fence: u64,
        version: u64,
        write: Write,
    ) -> Result<(), StoreError> {
        let fault = self.next.lock().take();
        if fault == Some(Fault::Fails) {
            return Err(Self::down());
        }
        if fault == Some(Fault::Overtaken) {
            return Err(StoreError::Conflict);
        }
        let done = self.inner.commit(id, fence, version, write).await;
        if fault.is_some() {
            Err(Self::down())
        } else {
            done
        }
    }

    async fn free(&self, id: &str, fence: u64) -> Result<(), StoreError> {
        self.inner.free(id, fence).await
    }

    async fn read(&self, id: &str) -> Result<Option<Row>, StoreError> {
        self.inner.read(id).await
    }

    async fn remove(&self, id: &str, fence: u64, version: u64) -> Result<(), StoreError> {
        let fault = self.next.lock().take();
        if fault == Some(Fault::Fails) {
            return Err(Self::down());
        }
        let done = self.inner.remove(id, fence, version).await;
        if fault.is_some() {
            Err(Self::down())
        } else {
            done
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, StoreError> {
        self.inner.list(prefix, after, limit).await
    }
}
