//! Values by name that die of age or use, fetched once however many wait for them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

use super::{CachePolicy, KeyringError};
use crate::clock::Clock;

/// The values that are kept, and the fetches that are under way.
pub(super) struct Cache<T> {
    policy: CachePolicy,
    clock: Arc<dyn Clock>,
    kept: Mutex<HashMap<String, Kept<T>>>,
    flights: Mutex<HashMap<String, Arc<Flight>>>,
}

struct Kept<T> {
    value: Arc<T>,
    since_us: u64,
    uses: u64,
}

/// The fetches of one value, one at a time.
#[derive(Default)]
struct Flight {
    alone: tokio::sync::Mutex<()>,
    landed: Mutex<Landed>,
}

#[derive(Default)]
struct Landed {
    /// How many have ended.
    count: u64,
    /// How the last one failed, if it did.
    failure: Option<KeyringError>,
}

impl<T> Cache<T> {
    pub(super) fn new(policy: CachePolicy, clock: Arc<dyn Clock>) -> Self {
        Self {
            policy,
            clock,
            kept: Mutex::default(),
            flights: Mutex::default(),
        }
    }

    /// The value that was fetched at most `within` ago, or else what `fetch` brings, together with the
    /// time from which its age counts. One fetch of a name is under way at a time: whoever comes while it is waits
    /// for it and has what it brings, a failure too. Failures are not kept: who comes after it has ended
    /// fetches anew.
    pub(super) async fn get(
        &self,
        name: &str,
        within: Duration,
        fetch: impl Future<Output = Result<(T, u64), KeyringError>>,
    ) -> Result<Arc<T>, KeyringError> {
        if let Some(value) = self.fresh(name, within) {
            return Ok(value);
        }
        let flight = self.flight(name);
        let landed = flight.landed.lock().count;
        let _alone = flight.alone.lock().await;
        if let Some(value) = self.fresh(name, within) {
            return Ok(value);
        }
        if let Some(failure) = flight.failure_since(landed) {
            return Err(failure);
        }
        let fetched = fetch.await;
        flight.land(name, fetched.as_ref().err());
        let (value, since_us) = fetched?;
        Ok(self.keep(name, since_us, value))
    }

    /// Lets a value go: the next use fetches it.
    pub(super) fn forget(&self, name: &str) {
        self.kept.lock().remove(name);
    }

    /// A value that may still be used; this use is counted.
    fn fresh(&self, name: &str, within: Duration) -> Option<Arc<T>> {
        let now_us = self.clock.mono_us();
        let mut kept = self.kept.lock();
        let entry = kept.get_mut(name)?;
        let age = Duration::from_micros(now_us.saturating_sub(entry.since_us));
        if age >= self.policy.max_age || entry.uses >= self.policy.max_uses {
            kept.remove(name);
            return None;
        }
        if age >= within {
            return None;
        }
        entry.uses += 1;
        Some(Arc::clone(&entry.value))
    }

    fn keep(&self, name: &str, since_us: u64, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let entry = Kept {
            value: Arc::clone(&value),
            since_us,
            uses: 1,
        };
        self.kept.lock().insert(name.to_owned(), entry);
        value
    }

    fn flight(&self, name: &str) -> Arc<Flight> {
        Arc::clone(self.flights.lock().entry(name.to_owned()).or_default())
    }
}

impl Flight {
    /// How the last fetch failed, if one has ended since so many had.
    fn failure_since(&self, count: u64) -> Option<KeyringError> {
        let landed = self.landed.lock();
        let failure = landed.failure.as_ref().filter(|_| landed.count != count);
        failure.map(KeyringError::again)
    }

    /// Tells the operator when it begins to fail, and when it works again.
    fn land(&self, name: &str, failure: Option<&KeyringError>) {
        let mut landed = self.landed.lock();
        match failure {
            Some(error) if landed.failure.is_none() => {
                tracing::error!(key = name, %error, "no key: requests that need it get 503");
            }
            None if landed.failure.is_some() => {
                tracing::info!(key = name, "the key is there again")
            }
            _ => {}
        }
        landed.count += 1;
        landed.failure = failure.map(KeyringError::again);
    }
}
