//! The two writes that frame an exchange: store and log at once, and what is true when only one of
//! them took its part. A store that others share is asked first (`shared`).

use std::{pin::pin, sync::Arc};

use super::{Durable, Lease, Offer, SessionError, turn::Turn};
use crate::audit::{Event, Later, Link, Unconfirmed};

/// A turn's event that store and log do not both have.
pub struct Unadmitted {
    /// What failed; the store's failure before the log's.
    pub error: SessionError,
    /// What the log has of it.
    pub fate: Fate,
    /// Whether something is on its way to the log that tells of the request. If not, its refusal has
    /// to have a record of its own.
    pub noted: bool,
}

impl Unadmitted {
    fn framed(error: SessionError, fate: Fate) -> Self {
        let is_overtaken = matches!(
            (&error, &fate),
            (
                SessionError::Conflict | SessionError::Unfunded,
                Fate::Absent
            )
        );
        Self {
            error,
            fate,
            noted: !is_overtaken,
        }
    }
}

/// What an exchange needs besides its record and its session's turn.
pub struct Funds<F> {
    /// Whether the log is not asked before they are set aside. A store that others share is asked before
    /// the log in any case, and beside it they are set aside.
    pub first: bool,
    /// Sets them aside.
    pub set_aside: F,
}

/// What the log has of an event that was not admitted.
pub enum Fate {
    /// It does not have it and never will. The event's number is free again.
    Absent,
    /// It has it, durably.
    Logged,
    /// It has not said yet; [`Turn::learn`] waits until it does.
    Pending(Late),
    /// Nobody knows before the next start's recovery. Nothing more can be logged either.
    Unknown,
}

/// An event that the log may still take.
pub struct Late {
    pub(super) later: Later,
    /// Where the event stands in its session's chain.
    pub(super) link: Link,
    /// Its entry in the outbox, if it has one.
    pub(super) entry: Option<u64>,
}

impl Turn {
    /// Where the turn's next event stands in the session's chain. `None` once another turn has
    /// taken the session over: the chain is the other's, and what is still to be said of this turn
    /// stands outside of it.
    pub fn place(&self) -> Option<Link> {
        (!self.overtaken).then_some(self.state.link)
    }

    /// Writes an event, which carried [`Turn::link`], into the store and the log: keeps the state as
    /// it is now, and advances the chain. Both have it, durably, when this returns. The lease is kept
    /// and lasts anew. `logged` is called as soon as the log has it, whatever becomes of the store's
    /// part, or of this future.
    ///
    /// Both are written at once, but for a store that others share: it is written first, so that the
    /// log never gets an event whose number is another's.
    ///
    /// # Errors
    /// [`Unadmitted`]. If the log has the event, or may, it is still to be followed by another with
    /// [`Turn::settle`]; otherwise [`Turn::release`] the turn. What only one of the two has, the
    /// session's next turn declares.
    pub async fn admit(
        &mut self,
        offer: impl Into<Offer> + Send,
        logged: impl FnOnce() + Send,
    ) -> Result<(), Unadmitted> {
        let funds = Funds {
            first: false,
            set_aside: std::future::ready(Ok(())),
        };
        self.admit_with(offer, funds, logged).await
    }

    /// The same, for what needs funds: they are set aside beside the other writes, so that they cost no
    /// time of their own, and the event does not count as admitted without them. Where the log could not
    /// take the event back it waits for them, if they may be refused.
    ///
    /// # Errors
    /// As for [`Turn::admit`]; [`SessionError::Unfunded`] if that is all that failed.
    pub async fn admit_with(
        &mut self,
        offer: impl Into<Offer> + Send,
        funds: Funds<impl Future<Output = Result<(), SessionError>> + Send>,
        logged: impl FnOnce() + Send,
    ) -> Result<(), Unadmitted> {
        let (offer, mut set_aside) = (offer.into(), pin!(funds.set_aside));
        if self.shared.is_shared() {
            return Box::pin(self.admit_shared(offer, set_aside, logged)).await;
        }
        let mut known = None;
        if funds.first {
            set_aside.as_mut().await.map_err(|error| Unadmitted {
                error,
                fate: Fate::Absent,
                noted: false,
            })?;
            known = Some(Ok(()));
        }
        let set_aside = async {
            match known {
                Some(done) => done,
                None => set_aside.await,
            }
        };
        let event = offer.event;
        let (link, bytes) = (self.state.link, event.bytes().to_vec());
        let journal = Arc::clone(&self.shared.journal);
        let appending = async {
            let appended = journal.append(event).await;
            if appended.is_ok() {
                logged();
            }
            appended
        };
        let (set_aside, appended, stored) = tokio::join!(set_aside, appending, self.record(&bytes));
        let fate = match appended {
            Ok(()) => {
                self.logged(link.sseq);
                Fate::Logged
            }
            Err(unconfirmed) => self.fate(link, None, unconfirmed),
        };
        match (stored.and(set_aside), fate) {
            (Ok(()), Fate::Logged) => Ok(()),
            (Ok(()), fate) => Err(Unadmitted::framed(SessionError::Log, fate)),
            (Err(error), fate) => Err(Unadmitted::framed(error, fate)),
        }
    }

    /// Waits until the log has said what became of an event that was not admitted, however long that
    /// takes. Says whether the log has it.
    pub async fn learn(&mut self, fate: Fate) -> bool {
        matches!(self.learned(fate).await, Fate::Logged)
    }

    /// The same, and tells what is certainly absent from what is not known: never [`Fate::Pending`].
    pub(super) async fn learned(&mut self, fate: Fate) -> Fate {
        match fate {
            Fate::Absent | Fate::Unknown | Fate::Logged => fate,
            Fate::Pending(Late { later, link, entry }) => {
                let written = match later.await {
                    Ok(()) => Some(true),
                    Err(error) => error.written(),
                };
                if let Some(entry) = entry.filter(|_| written == Some(true)) {
                    self.logged_shared(entry);
                }
                self.concluded(link, written)
            }
        }
    }

    /// Writes the turn's last event, which carried [`Turn::place`], into the store and the log, and
    /// ends the turn. Both have it when this returns, neither synced.
    ///
    /// Where the store takes nothing any more, the log alone gets it; where the log does not take it
    /// now, it is offered to it until it does.
    ///
    /// # Errors
    /// Not both have it. The turn is over in any case.
    pub async fn settle(mut self, offer: impl Into<Offer>) -> Result<(), SessionError> {
        let offer = offer.into();
        if self.shared.is_shared() && !self.overtaken {
            return Box::pin(self.settle_shared(offer)).await;
        }
        let event = offer.event;
        let (number, bytes) = (self.state.link.sseq, event.bytes().to_vec());
        let journal = Arc::clone(&self.shared.journal);
        let indexing = self.indexing();
        let storing = async {
            if self.overtaken {
                return Err(SessionError::Conflict);
            }
            self.finish(&bytes).await
        };
        // The log first: what it is handed stands even if the store's part breaks off.
        let (logged, stored, ()) =
            tokio::join!(journal.take_outcome(event.clone()), storing, indexing);
        let chained = self.state.link.sseq > number;
        match logged {
            Ok(()) => {
                if chained {
                    self.logged(number);
                }
                self.end_exchange();
            }
            Err(unconfirmed) => {
                if chained {
                    self.unlogged();
                }
                if self.owe(event, unconfirmed) {
                    self.end_exchange();
                }
                stored?;
                return Err(SessionError::Log);
            }
        }
        stored
    }

    /// Leaves an event that the log did not confirm to be offered anew, unless the log has it. Says
    /// whether it has it in the end; if not, nobody knows before the next start's recovery.
    pub(super) fn owe(&self, event: Event, unconfirmed: Unconfirmed) -> bool {
        let Unconfirmed { error, later } = unconfirmed;
        let written = error.written();
        let is_owed = later.is_some() || written == Some(false);
        if is_owed {
            self.shared.journal.owe(event, later);
        }
        is_owed || written == Some(true)
    }

    /// Tells the index of the conversation. What the session itself does not say in the end is not
    /// believed, so this may go on beside the other writes.
    pub(super) fn indexing(&mut self) -> impl Future<Output = ()> + use<> {
        let (index, named) = (Arc::clone(&self.shared.index), self.named.take());
        async move {
            if let Some(named) = named
                && let Err(error) = index.add(named).await
            {
                tracing::warn!(%error, "a conversation will not be recognised");
            }
        }
    }

    /// The store's part of [`Turn::admit`].
    pub(super) async fn record(&mut self, event: &[u8]) -> Result<(), SessionError> {
        let lease = Lease::Keep(self.shared.limits.lease);
        self.commit(Some(event), lease, Durable::Now).await
    }

    /// The store's part of [`Turn::settle`].
    pub(super) async fn finish(&mut self, event: &[u8]) -> Result<(), SessionError> {
        self.commit(Some(event), Lease::Free, Durable::Soon).await
    }

    pub(super) fn fate(
        &mut self,
        link: Link,
        entry: Option<u64>,
        unconfirmed: Unconfirmed,
    ) -> Fate {
        match unconfirmed.later {
            Some(later) => Fate::Pending(Late { later, link, entry }),
            None => self.concluded(link, unconfirmed.error.written()),
        }
    }

    /// Notes what the log has in the end of the event at `link`, the last that was recorded.
    pub(super) fn concluded(&mut self, link: Link, written: Option<bool>) -> Fate {
        match written {
            Some(true) => {
                self.logged(link.sseq);
                Fate::Logged
            }
            Some(false) => {
                self.state.go_back(link);
                self.shared.chains.may_take_back(&self.location.name);
                self.unsure = None;
                self.freed = Some(link.sseq);
                Fate::Absent
            }
            None => {
                self.unlogged();
                Fate::Unknown
            }
        }
    }

    /// Notes that the log has an event of this turn: it is missing nowhere. The store may still be
    /// behind.
    pub(super) fn logged(&mut self, number: u64) {
        let chains = &self.shared.chains;
        if self.unsure.take_if(|unsure| *unsure == number).is_some() {
            chains.sure(&self.location.name, number);
        } else {
            chains.logged(&self.location.name, number);
        }
    }

    /// Notes that the log did not take the last event that was recorded. The session's next turn
    /// then writes `audit.gap` with its number.
    pub(super) fn unlogged(&mut self) {
        let missing = self.state.link.sseq.saturating_sub(1);
        if !self.state.gaps.contains(&missing) {
            self.state.gaps.push(missing);
        }
        // In case that this turn can't write the gap down.
        self.doubt(missing);
        self.unsure = None;
    }
}
