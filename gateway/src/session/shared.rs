//! A store that other processes share: it is asked before the log, and what became of an event that
//! it did not answer for is found out from what it says later.

use std::sync::Arc;

use super::{
    Durable, Fate, Lease, Offer, SessionError, Sessions, Unadmitted,
    outbox::{Entry, Phase},
    outbox_file::Written,
    turn::{Location, Turn},
};
use crate::audit::Event;

impl Turn {
    /// [`Turn::admit`] on a shared store.
    pub(super) async fn admit_shared(
        &mut self,
        offer: Offer,
        set_aside: impl Future<Output = Result<(), SessionError>> + Send,
        logged: impl FnOnce() + Send,
    ) -> Result<(), Unadmitted> {
        let (link, event) = (self.state.link, offer.event.clone());
        let absent = |error, noted| Unadmitted {
            error,
            fate: Fate::Absent,
            noted,
        };
        // What could not even be written down leaves no record behind.
        let entry = self.begin(offer).map_err(|error| absent(error, false))?;
        let (recorded, set_aside) = tokio::join!(self.record(event.bytes()), set_aside);
        if let Err(error) = recorded {
            let is_overtaken = matches!(error, SessionError::Conflict);
            if is_overtaken {
                // The number is another's. The request is refused in a record of its own.
                self.shared.outbox.end(&self.location.name, entry);
            }
            return Err(absent(error, !is_overtaken));
        }
        self.shared.outbox.handed(&self.location.name, entry);
        if let Err(error) = set_aside {
            // The store has the event, and takes it back with the next write: the log is not asked.
            let _absent = self.concluded(link, Some(false));
            return Err(absent(error, false));
        }
        match self.shared.journal.append(event).await {
            Ok(()) => {
                logged();
                self.logged_shared(entry);
                Ok(())
            }
            Err(unconfirmed) => Err(Unadmitted {
                error: SessionError::Log,
                fate: self.fate(link, Some(entry), unconfirmed),
                noted: true,
            }),
        }
    }

    /// Notes that the log has an event that the store has too.
    pub(super) fn logged_shared(&mut self, entry: u64) {
        if self.shared.outbox.logged(&self.location.name, entry) {
            self.exchange = Some(entry);
        }
    }

    /// [`Turn::settle`] on a shared store.
    pub(super) async fn settle_shared(mut self, offer: Offer) -> Result<(), SessionError> {
        let (event, otherwise) = (offer.event.clone(), offer.otherwise.clone());
        let indexing = self.indexing();
        let entry = match self.begin(offer) {
            Ok(entry) => entry,
            Err(error) => return Err(self.settle_unnoted(otherwise, error).await),
        };
        // What closes it stands in the entry behind it now.
        self.end_exchange();
        let (stored, ()) = tokio::join!(self.finish(event.bytes()), indexing);
        let (outbox, name) = (&self.shared.outbox, self.location.name.as_str());
        match stored {
            Ok(()) => {
                outbox.handed(name, entry);
                let logged = log_or_owe(&self, event).await;
                if logged.is_ok() {
                    outbox.end(name, entry);
                }
                // Otherwise it stands in memory at best: the session's next turn declares that it
                // may be missing, and the next start logs it if it is.
                logged
            }
            Err(SessionError::Conflict) => {
                let logged = match otherwise {
                    Some(otherwise) => log_or_owe(&self, otherwise).await,
                    None => Ok(()),
                };
                outbox.end(name, entry);
                logged.and(Err(SessionError::Conflict))
            }
            // What the store says of the session later tells what is to be logged.
            Err(error) => Err(error),
        }
    }

    /// Ends a turn whose last event cannot be written down, so that the store must not be told of it:
    /// what stands for it outside of the chain is logged all the same.
    async fn settle_unnoted(
        &mut self,
        otherwise: Option<Event>,
        error: SessionError,
    ) -> SessionError {
        if let Some(otherwise) = otherwise {
            let _owed = log_or_owe(self, otherwise).await;
            self.end_exchange();
        }
        let _freed = self.commit(None, Lease::Free, Durable::Soon).await;
        error
    }

    /// Notes that the end of the turn's exchange is with the log, or stands elsewhere: nothing is to
    /// be said of it at the next start.
    pub(super) fn end_exchange(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            self.shared.outbox.end(&self.location.name, exchange);
        }
    }

    /// The same for who may have to say without the turn how its exchange ended.
    pub fn exchange_end(&self) -> Option<Box<dyn FnOnce() + Send + Sync>> {
        let exchange = self.exchange?;
        let (shared, name) = (Arc::clone(&self.shared), self.location.name.clone());
        Some(Box::new(move || shared.outbox.end(&name, exchange)))
    }

    /// Brings the session's events that the store did not answer for to their end: under the lease
    /// it can change its mind no more.
    pub(super) async fn conclude_outbox(&mut self) -> Result<(), SessionError> {
        while let Some(entry) = self.shared.outbox.first(&self.location.name) {
            let stored = entry.is_stored(&self.state);
            match entry.phase {
                Phase::Begun => {
                    for event in owing(&entry.offer, stored) {
                        let taken = self.shared.journal.append(event).await;
                        taken.map_err(|_| SessionError::Log)?;
                    }
                    match stored {
                        // The number is another event's.
                        Some(false) if self.state.link.sseq > entry.sseq => {}
                        Some(_) => self.state.gaps.retain(|gap| *gap != entry.sseq),
                        // It may have been there: the number is then in no log.
                        None => self.may_miss(entry.sseq),
                    }
                }
                // Nobody waited for the log's answer: the next record says that it may be missing.
                Phase::Handed if stored != Some(false) => self.may_miss(entry.sseq),
                // Its own task has said how it ended.
                Phase::Handed | Phase::Logged => {}
            }
            self.shared.outbox.end(&self.location.name, entry.id);
        }
        Ok(())
    }

    fn may_miss(&mut self, sseq: u64) {
        if !self.state.gaps.contains(&sseq) {
            self.state.gaps.push(sseq);
        }
    }

    fn begin(&self, offer: Offer) -> Result<u64, SessionError> {
        let begun = self
            .shared
            .outbox
            .begin(&self.location.name, self.state.link.sseq, offer);
        begun.map_err(|error| SessionError::Store(Box::new(error)))
    }
}

/// What the log is to be given of an event, by whether the store has it.
fn owing(offer: &Offer, stored: Option<bool>) -> Vec<Event> {
    let events = match stored {
        Some(true) => [Some(&offer.event), offer.closing.as_ref()],
        Some(false) | None => [offer.otherwise.as_ref(), None],
    };
    events.into_iter().flatten().cloned().collect()
}

/// Has the log take an event now, or as soon as it can.
async fn log_or_owe(turn: &Turn, event: Event) -> Result<(), SessionError> {
    let journal = &turn.shared.journal;
    match journal.take_outcome(event.clone()).await {
        Ok(()) => Ok(()),
        Err(unconfirmed) => {
            turn.owe(event, unconfirmed);
            Err(SessionError::Log)
        }
    }
}

impl Sessions {
    /// Brings the events that dead processes left in the outbox of this data directory to their end,
    /// before the first request. `logged` says up to which number the log has a session's events.
    ///
    /// # Errors
    /// The store, the keys or the log are not available. Nothing may be served then.
    pub(super) async fn conclude_left(
        &self,
        left: &[Written],
        logged: impl Fn(&str) -> Option<u64>,
    ) -> Result<(), SessionError> {
        for written in left {
            let Some(location) = Location::parse(&written.name) else {
                continue;
            };
            let known = logged(&location.reference);
            let events = if written.logged || known.is_some_and(|last| last >= written.sseq) {
                // Its exchange ended with its process, and nothing else says so, but for the entry
                // behind it if there is one.
                let is_behind =
                    |other: &Written| other.name == written.name && other.sseq > written.sseq;
                let closing = written.offer.closing.iter();
                closing
                    .filter(|_| !left.iter().any(is_behind))
                    .cloned()
                    .collect()
            } else {
                let stored = self.is_stored(&location, written).await?;
                owing(&written.offer, stored)
            };
            for event in events {
                let taken = self.shared.journal.append(event).await;
                taken.map_err(|_| SessionError::Log)?;
            }
        }
        for written in left {
            // All that stands in it is done. What cannot be removed is done once more.
            let _gone = std::fs::remove_file(&written.path);
        }
        Ok(())
    }

    /// Brings the events of a session that is not there any more, or not gone on with, to their end.
    pub(super) async fn conclude_ended(&self, name: &str) -> Result<(), SessionError> {
        while let Some(entry) = self.shared.outbox.first(name) {
            if entry.phase == Phase::Begun {
                for event in owing(&entry.offer, None) {
                    let taken = self.shared.journal.append(event).await;
                    taken.map_err(|_| SessionError::Log)?;
                }
            }
            self.shared.outbox.end(name, entry.id);
        }
        Ok(())
    }

    async fn is_stored(
        &self,
        location: &Location,
        written: &Written,
    ) -> Result<Option<bool>, SessionError> {
        let loaded = match self.peek(location).await {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Ok(None),
            Err(error @ (SessionError::Store(_) | SessionError::Keys(_))) => return Err(error),
            Err(_) => return Ok(None),
        };
        let entry = Entry {
            id: 0,
            sseq: written.sseq,
            offer: written.offer.clone(),
            phase: Phase::Begun,
            since: tokio::time::Instant::now(),
        };
        Ok(entry.is_stored(&loaded.state))
    }
}
