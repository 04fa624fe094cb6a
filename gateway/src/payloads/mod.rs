//! Sealed payloads: what providers were sent and what they answered, encrypted under the session's key
//! and put, before the record that names them, into a place of their own.

mod keeping;
mod place;
#[cfg(test)]
mod tests;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::keys::SessionKeys;
use gatehouse_envelope::payload::{Place, Sealing};
use gatehouse_envelope::random::RandomError;
use gatehouse_ledger::payload::{Body, Location, Part};
use gatehouse_ledger::store::{LedgerStore, StoreError};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

pub use keeping::{Keeping, Kept};

use self::trouble::Trouble;
use crate::clock::Clock;
use crate::config::{self, KeptReply};

/// Payloads that are being stored at one time; the next one waits.
const AT_ONCE: usize = 64;
/// How often one is offered to the store, and how long to wait before it is offered again.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);
const DAY_US: u64 = 86_400_000_000;

/// Why a payload is not stored. What it belongs to must not be sent, or not be given out.
#[derive(Debug, thiserror::Error)]
pub enum Unstored {
    /// Not within the time that it may take.
    #[error("not stored in time")]
    Late,
    /// It could not be sealed.
    #[error("not sealed")]
    Sealing,
    /// No randomness for a salt.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The store refused it, or did not answer.
    #[error("the store of payloads: {0}")]
    Store(#[from] StoreError),
}

/// Where sealed payloads are put.
pub struct Payloads {
    store: Arc<dyn LedgerStore>,
    gate: Semaphore,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    retention_days: u32,
    reply: KeptReply,
    trouble: Trouble,
}

/// A payload that is sealed and not stored yet.
pub struct Sealed {
    /// What a record says of it.
    pub body: Body,
    object: Arc<Vec<u8>>,
}

/// A payload that is being sealed as it comes.
pub struct Draft {
    sealing: Sealing,
    session: String,
    number: u64,
    part: Part,
    kid: String,
    kc: String,
    until_us: u64,
}

impl Payloads {
    /// Payloads in a store.
    pub fn new(
        store: Arc<dyn LedgerStore>,
        clock: Arc<dyn Clock>,
        settings: &config::Payloads,
    ) -> Self {
        Self {
            store,
            gate: Semaphore::new(AT_ONCE),
            clock,
            timeout: settings.timeout,
            retention_days: settings.retention_days,
            reply: settings.reply,
            trouble: Trouble::default(),
        }
    }

    /// Opens the place that the configuration names. Blocks; a bucket is asked whether it can hold them.
    ///
    /// # Errors
    /// It cannot, or cannot be reached.
    pub fn open(settings: &config::Payloads, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let store = place::open(&settings.place, Arc::clone(&clock))?;
        Ok(Self::new(store, clock, settings))
    }

    /// Which form of a reply is kept.
    pub fn reply(&self) -> KeptReply {
        self.reply
    }

    /// What the last payload was not kept for, if it was not.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.text()
    }

    /// Whether that was so short a time ago that the next one would most likely fail as well.
    pub fn is_away(&self) -> bool {
        self.trouble.is_fresh()
    }

    /// Begins a payload of the exchange that is number `number` of its session.
    ///
    /// # Errors
    /// No randomness.
    pub fn begin(
        &self,
        keys: &SessionKeys,
        (tenant, session): (&str, &str),
        number: u64,
        part: Part,
    ) -> Result<Draft, Unstored> {
        let place = Place {
            part: part.word(),
            tenant,
            session,
            number,
        };
        let now_us = u64::try_from(self.clock.utc_us()).unwrap_or(0);
        let days = u64::from(self.retention_days);
        Ok(Draft {
            sealing: keys.payload().seal(&place)?,
            session: session.to_owned(),
            number,
            part,
            kid: keys.kid().to_owned(),
            kc: keys.kc().to_owned(),
            until_us: now_us.saturating_add(days.saturating_mul(DAY_US)),
        })
    }

    /// Stores a payload; it is durable when this returns. The store is offered it more than once, under
    /// the same name with the same bytes, and within the time that it may take.
    ///
    /// # Errors
    /// It is not known to be stored.
    pub async fn put(&self, sealed: &Sealed) -> Result<(), Unstored> {
        let put = self.put_in_time(sealed).await;
        self.trouble.note(put.as_ref().copied());
        put
    }

    async fn put_in_time(&self, sealed: &Sealed) -> Result<(), Unstored> {
        let deadline = Instant::now() + self.timeout;
        let permit = timeout_at(deadline, self.gate.acquire()).await;
        let _permit = permit.map_err(|_| Unstored::Late)?;
        let mut attempt = 1;
        loop {
            let error = match timeout_at(deadline, self.offer(sealed)).await {
                Err(_) => return Err(Unstored::Late),
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
            };
            let again = attempt < ATTEMPTS && Instant::now() + PAUSE < deadline;
            if !again || matches!(error, StoreError::Conflict | StoreError::Name) {
                return Err(error.into());
            }
            attempt += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn offer(&self, sealed: &Sealed) -> Result<(), StoreError> {
        let (store, object) = (Arc::clone(&self.store), Arc::clone(&sealed.object));
        let name = sealed.body.location.name();
        let put = tokio::task::spawn_blocking(move || store.put_once(&name, &object));
        put.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
    }
}

impl Draft {
    /// Adds bytes.
    ///
    /// # Errors
    /// They could not be sealed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Unstored> {
        self.sealing.push(bytes).map_err(|_| Unstored::Sealing)
    }

    /// Bytes so far.
    pub fn len(&self) -> u64 {
        self.sealing.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.sealing.is_empty()
    }

    /// The sealed payload.
    ///
    /// # Errors
    /// As [`Draft::push`].
    pub fn finish(self) -> Result<Sealed, Unstored> {
        let sealed = self.sealing.finish().map_err(|_| Unstored::Sealing)?;
        let location = Location::new(&self.session, self.number, self.part, &sealed.ct);
        Ok(Sealed {
            body: Body {
                location,
                ct: sealed.ct,
                len: sealed.len,
                kid: self.kid,
                kc: self.kc,
                pm: sealed.pm,
                until_us: self.until_us,
            },
            object: Arc::new(sealed.object),
        })
    }
}
