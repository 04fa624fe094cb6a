//! The book: hands events to the ledger and waits, but not for long.

use std::{sync::Arc, time::Duration};

use gatehouse_ledger::{
    AppendError, Durability, Ledger, Ticket,
    clock::{Clock as LedgerTime, Stamp},
    event::Event,
};

use super::{
    degraded::{Degraded, Fate},
    owed::{Later, Owed},
    parts::BuildError,
};
use crate::clock::Clock;

/// How long the log is given for events that no request waits for.
const AT_LEISURE: Duration = Duration::from_secs(30);
/// So many times as long as for other events the log is given for the outcome of an exchange: to hold the end
/// of an answer back costs its caller less than to lose it.
const PATIENCE: u32 = 8;

/// The log as the rest of the gateway sees it. Cheap to clone.
#[derive(Clone)]
pub struct Book {
    ledger: Arc<Ledger>,
    bound: Duration,
    owed: Arc<Owed>,
    degraded: Arc<Degraded>,
}

/// The log did not take an event. The request that it belongs to must fail (503,
/// `audit_unavailable`); the event itself may still be written later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// The ledger refused it.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// It holds something that no record may hold.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It was not confirmed in time.
    #[error("the log did not confirm in time")]
    Late,
}

impl BookError {
    /// Whether the log has the event all the same; `None` if nobody knows, or not yet.
    pub fn written(self) -> Option<bool> {
        match self {
            Self::Append(error) => error.written(),
            Self::Build(_) => Some(false),
            Self::Late => None,
        }
    }
}

/// An event that the log did not confirm.
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct Unconfirmed {
    /// Why not.
    pub error: BookError,
    /// With [`BookError::Late`]: what becomes of it in the end.
    pub later: Option<Later>,
}

impl std::fmt::Debug for Unconfirmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Unconfirmed").field(&self.error).finish()
    }
}

impl From<BookError> for Unconfirmed {
    fn from(error: BookError) -> Self {
        Self { error, later: None }
    }
}

impl Book {
    /// A book that writes into `ledger`. Past `bound` an event counts as not written, and the
    /// request that it belongs to fails.
    pub fn new(ledger: Arc<Ledger>, bound: Duration) -> Self {
        Self {
            ledger,
            bound,
            owed: Arc::default(),
            degraded: Arc::default(),
        }
    }

    /// Allows requests to go on for so long while the log does not take their records, which it
    /// gets later, with a record of that. `None` allows none.
    #[must_use]
    pub fn allow_degraded(self, limit: Option<Duration>) -> Self {
        Self {
            degraded: Arc::new(Degraded::allowing(limit)),
            ..self
        }
    }

    /// Whether requests go on without the log now.
    pub fn is_degraded(&self) -> bool {
        self.degraded.is_on()
    }

    /// Writes `event`; it is durable, as the ledger's mode has it, when this returns.
    ///
    /// # Errors
    /// It is not known to be durable.
    pub async fn append(&self, event: Event) -> Result<(), BookError> {
        confirmed(self.ledger.append(event, Durability::Durable), self.bound).await
    }

    /// The same for an event that no request waits for, such as those of the start: a slow disk is
    /// no reason not to start.
    ///
    /// # Errors
    /// It is not known to be durable.
    pub async fn declare(&self, event: Event) -> Result<(), BookError> {
        confirmed(self.ledger.append(event, Durability::Durable), AT_LEISURE).await
    }

    /// Writes the record of a request that no provider saw; it is in the write-ahead log, not yet
    /// synced, when this returns. What the log does not take now it is offered again.
    ///
    /// # Errors
    /// It is not known to have been written.
    pub async fn refused(&self, event: Event) -> Result<(), BookError> {
        let Err(Unconfirmed { error, later }) = self.offer(event.clone(), Durability::Taken).await
        else {
            return Ok(());
        };
        if later.is_some() || error.written() == Some(false) {
            self.owed.add_refusal(event, later);
        }
        Err(error)
    }

    /// As [`Book::append`] does, and gives what is late to whoever has to know.
    pub(crate) async fn offer(
        &self,
        event: Event,
        durability: Durability,
    ) -> Result<(), Unconfirmed> {
        self.offer_for(self.bound, event, durability).await
    }

    /// Offers the outcome of something that cannot be taken back.
    pub(crate) async fn offer_outcome(&self, event: Event) -> Result<(), Unconfirmed> {
        let bound = self.bound.saturating_mul(PATIENCE);
        self.offer_for(bound, event, Durability::Taken).await
    }

    async fn offer_for(
        &self,
        bound: Duration,
        event: Event,
        durability: Durability,
    ) -> Result<(), Unconfirmed> {
        let mut ticket = self.ledger.append(event.clone(), durability);
        let unconfirmed = match tokio::time::timeout(bound, &mut ticket).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => BookError::from(error).into(),
            Err(_) => Unconfirmed {
                error: BookError::Late,
                later: Some(Box::pin(async { Ok(ticket.await.map(|_| ())?) })),
            },
        };
        self.go_on(event, unconfirmed)
    }

    /// Whether the request of an unconfirmed event may go on all the same.
    fn go_on(&self, event: Event, unconfirmed: Unconfirmed) -> Result<(), Unconfirmed> {
        if !self.owed.has_room() {
            return Err(unconfirmed);
        }
        let Fate::GoesOn(first) = self.degraded.judge(unconfirmed.error) else {
            return Err(unconfirmed);
        };
        if let Some(enter) = first {
            tracing::error!(error = %unconfirmed.error, "requests go on without the log");
            self.owed.add(enter, None);
        }
        // What is in the log already is not offered again.
        if unconfirmed.error.written() != Some(true) {
            self.owed.add(event, unconfirmed.later);
        }
        Ok(())
    }

    /// Leaves an event that the log must have, whatever is wrong with it now: it is offered by every
    /// [`Book::pay`] until it is taken. `attempt` is one that is under way. Waits for nothing, so a
    /// destructor may call it.
    pub fn owe(&self, event: Event, attempt: Option<Later>) {
        self.owed.add(event, attempt);
    }

    /// Offers what is owed. Says how many events the log does not have yet.
    pub fn pay(&self) -> usize {
        let owed = self.owed.pay(&self.ledger);
        if let Some(again) = self.degraded.end(owed, &self.ledger) {
            self.owed.add(again, None);
        }
        owed
    }

    /// The ledger, for shutting it down and for its health.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// The gateway's clock as the ledger reads it.
pub struct LedgerClock(pub Arc<dyn Clock>);

impl LedgerTime for LedgerClock {
    fn now(&self) -> Stamp {
        Stamp {
            unix_us: u64::try_from(self.0.utc_us()).unwrap_or(0),
            mono_us: self.0.mono_us(),
        }
    }
}

async fn confirmed(ticket: Ticket, bound: Duration) -> Result<(), BookError> {
    match tokio::time::timeout(bound, ticket).await {
        Ok(outcome) => Ok(outcome.map(|_| ())?),
        Err(_) => Err(BookError::Late),
    }
}
