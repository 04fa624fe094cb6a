//! A store that fails when told to: before the write, or after it (failed, but persisted).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::{Acquired, Page, Row, SessionStore, StoreError, Write};

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
    /// The lease is renewed by code that has a defect.
    Panics,
}

pub(crate) struct Faulty {
    inner: Arc<dyn SessionStore>,
    next: Mutex<Option<Fault>>,
    /// Writes that still succeed before that.
    before: AtomicUsize,
    always: AtomicBool,
    shared: AtomicBool,
    /// Whether what asks for leases and places is on its way.
    slow: watch::Sender<bool>,
    under_way: TaskTracker,
    /// How many turns that leave the line the store does not hear.
    deaf: AtomicUsize,
    /// How many answers are lost to who asks for a lease.
    lost: AtomicUsize,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn SessionStore>) -> Self {
        Self {
            shared: AtomicBool::new(inner.shared()),
            inner,
            next: Mutex::default(),
            before: AtomicUsize::new(0),
            always: AtomicBool::new(false),
            slow: watch::Sender::new(false),
            under_way: TaskTracker::new(),
            deaf: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
        }
    }

    /// One write succeeds, and the one after it fails so.
    pub(crate) fn break_second(&self, fault: Fault) {
        self.before.store(1, Ordering::SeqCst);
        self.break_next(fault);
    }

    /// No write succeeds any more.
    pub(crate) fn break_always(&self) {
        self.always.store(true, Ordering::SeqCst);
    }

    /// Says of itself that other processes work on it.
    pub(crate) fn share(&self) {
        self.shared.store(true, Ordering::SeqCst);
    }

    /// What asks for leases and places is on its way until told otherwise, and arrives though nobody
    /// waits for the answer any more.
    pub(crate) fn slow(&self, is_slow: bool) {
        self.slow.send_replace(is_slow);
    }

    /// The store does not hear of the next so many turns that leave the line.
    pub(crate) fn break_leaving(&self, turns: usize) {
        self.deaf.store(turns, Ordering::SeqCst);
    }

    /// Whoever asks for a lease next does not get the answer, so many times.
    pub(crate) fn lose_answers(&self, answers: usize) {
        self.lost.store(answers, Ordering::SeqCst);
    }

    /// How many such questions have not been answered.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    async fn arrives<T: Send + 'static>(
        &self,
        asking: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut slow = self.slow.subscribe();
        let arrives = async move {
            slow.wait_for(|is_slow| !is_slow).await.unwrap();
            asking.await
        };
        let answer = self.under_way.spawn(arrives).await.unwrap();
        if self.lost.load(Ordering::SeqCst) > 0 {
            self.lost.fetch_sub(1, Ordering::SeqCst);
            return Err(Self::down());
        }
        answer
    }

    /// What is wrong with the write at hand.
    fn fault(&self) -> Option<Fault> {
        if self.always.load(Ordering::SeqCst) {
            return Some(Fault::Fails);
        }
        let spared = self.before.load(Ordering::SeqCst) > 0;
        if spared {
            self.before.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        self.next.lock().take()
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
        let fault = self.fault();
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
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        let asking = async move { inner.acquire(&id, holder, ttl).await };
        self.arrives(asking).await
    }

    async fn seize(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        let asking = async move { inner.seize(&id, holder, ttl).await };
        self.arrives(asking).await
    }

    async fn acquire_in_line(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        turns: usize,
    ) -> Result<Acquired, StoreError> {
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        let asking = async move { inner.acquire_in_line(&id, holder, ttl, turns).await };
        self.arrives(asking).await
    }

    async fn stand_in_line(&self, id: &str, holder: u64, turns: usize) -> Result<bool, StoreError> {
        let (inner, id) = (Arc::clone(&self.inner), id.to_owned());
        let asking = async move { inner.stand_in_line(&id, holder, turns).await };
        self.arrives(asking).await
    }

    async fn leave_line(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError> {
        if self.deaf.load(Ordering::SeqCst) > 0 {
            self.deaf.fetch_sub(1, Ordering::SeqCst);
            return Err(Self::down());
        }
        self.inner.leave_line(id, holder, nth, turns).await
    }

    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError> {
        let renews = |next: &mut Fault| matches!(next, Fault::Overtaken | Fault::Panics);
        match self.next.lock().take_if(renews) {
            Some(Fault::Panics) => panic!("injected"),
            Some(_) => return Err(StoreError::Conflict),
            None => {}
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
        let fault = self.fault();
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
        let fault = self.fault();
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
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.inner.list(prefix, from, limit).await
    }

    async fn ended(&self, from: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        self.inner.ended(from, limit).await
    }

    async fn forget(&self, id: &str) -> Result<(), StoreError> {
        self.inner.forget(id).await
    }

    fn shared(&self) -> bool {
        self.shared.load(Ordering::SeqCst)
    }
}
