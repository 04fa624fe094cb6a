//! The spool: files of the write-ahead log that are complete and wait for the store.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::store::StoreError;

/// How long the last batch before the limit is held back. Well below what a request waits for.
const LONGEST_BRAKE: Duration = Duration::from_millis(100);

/// What waits, and whether the store takes any of it.
pub(super) struct Spool {
    segments: AtomicU64,
    bytes: AtomicU64,
    limit: u64,
    /// Why the store took nothing when it was last tried; none while it does.
    trouble: Mutex<Option<String>>,
}

impl Spool {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            segments: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            limit,
            trouble: Mutex::new(None),
        }
    }

    pub(super) fn sealed(&self, bytes: u64) {
        self.segments.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes off what [`Spool::sealed`] put on: the same bytes.
    pub(super) fn shipped(&self, bytes: u64) {
        self.segments.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn segments(&self) -> u64 {
        self.segments.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes() >= self.limit
    }

    /// How long to hold back a batch: nothing up to half the limit, then more and more.
    pub(super) fn brake(&self) -> Duration {
        let half = self.limit / 2;
        let past = self.bytes().saturating_sub(half).min(half);
        let share = u128::from(past) * LONGEST_BRAKE.as_micros();
        let micros = share.checked_div(u128::from(half)).unwrap_or(0);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    pub(super) fn stalls(&self, error: &StoreError) {
        *self.lock() = Some(error.to_string());
    }

    pub(super) fn goes_on(&self) {
        *self.lock() = None;
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.lock().is_some()
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        // One field, whole whatever panicked.
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_slows_down_from_half_on_and_is_full_at_its_limit() {
        let spool = Spool::new(1000);
        let mut brakes = Vec::new();
        for _ in 0..4 {
            brakes.push(spool.brake().as_millis());
            spool.sealed(250);
        }
        brakes.push(spool.brake().as_millis());
        assert_eq!(brakes, [0, 0, 0, 50, 100]);
        assert!(spool.is_full());
        spool.shipped(250);
        assert!(!spool.is_full());
        assert_eq!((spool.segments(), spool.bytes()), (3, 750));
        assert_eq!(Spool::new(0).brake(), Duration::ZERO);
    }
}
