//! `exchange.settled`: one record for every exchange that was admitted, in every ending.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_redactor::Label;
use tokio::time::Instant;

use super::Shared;
use super::seen::proposed;
use crate::audit::{
    self, BuildError, Charged, Destination, Ending, Event, Link, Pledge, Reply, Restored, Settled,
    Subject,
};
use crate::limit::{self, Charge, Hold, Tokens};
use crate::payloads::{Keeping, Kept};
use crate::protocol::{Brought, Usage};
use crate::reject::Code;
use crate::screen::Findings;
use crate::session::typed::PhaseSeen;
use crate::session::{Offer, Reporting, SessionError, Spend, Turn};
use crate::telemetry::{Outcome, RequestId};

/// What all endings of one exchange have in common.
pub(super) struct Settlement {
    pub(super) request: RequestId,
    pub(super) trace: Option<[u8; 16]>,
    pub(super) turn: Turn,
    pub(super) started: Instant,
    pub(super) pledge: Pledge,
    pub(super) hold: Hold,
    pub(super) keeping: Option<Keeping>,
    pub(super) progress: Arc<Reporting>,
    /// The results of tools that the request brought.
    pub(super) brought: Vec<Brought>,
}

/// How it ended.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) status: u16,
    pub(super) upstream_status: Option<u16>,
    pub(super) ending: Ending,
    pub(super) attempts: u64,
    /// Whether the provider may have been sent anything.
    pub(super) sent: bool,
}

impl Settlement {
    /// Writes the record and the session's state, and gives the turn back. The record has been
    /// taken by the log when this returns, though not synced. What is kept of the reply is stored before
    /// the record that names it is written, while the meter is told.
    ///
    /// # Errors
    /// Log and store do not both have it: the caller must not get a complete reply. The provider may
    /// have been reached all the same, so it is not told that nothing was sent.
    pub(super) async fn settle(
        mut self,
        shared: &Shared,
        findings: Findings,
        end: End,
    ) -> Result<(), Code> {
        for text in &findings.signed {
            self.turn.remember_signed(text);
        }
        if let Some(reply) = findings.said.filter(|_| end.ending == Ending::Done) {
            Box::pin(self.turn.heard(reply)).await;
        }
        self.count(shared, &findings, end);
        let charge = charge(shared, &findings.usage, end, &self.hold);
        self.turn.state_mut().settle_spend(spent(charge.tokens));
        let charged = Charged {
            tokens: charge.tokens.total(),
            estimated: charge.estimated,
            missing: self.hold.missing(),
        };
        let phase = self.saw(shared, &findings.calls, end.ending == Ending::Done);
        let (kept, paid) = Box::pin(self.keep(end, charged)).await;
        let (phase, place) = (phase.as_ref(), self.turn.place());
        let end = (end, charged, &kept);
        let Ok(event) = self.event_in_any_case(&findings, phase, end, place) else {
            // The pledge says at least that it ended.
            let _kept = self.turn.release().await;
            return Err(Code::ReplyUnrecorded);
        };
        let shared = self.turn.is_shared();
        let offer = Offer {
            otherwise: shared
                .then(|| self.event(&findings, phase, end, None).ok())
                .flatten(),
            ..event.into()
        };
        // From here on the record is on its way, whatever becomes of this task.
        self.pledge.keep();
        let (end, hold, settling) = (end.0, &self.hold, self.turn.settle(offer));
        let paying = async {
            if !paid {
                pay(hold, end, charged).await;
            }
        };
        let (settled, ()) = tokio::join!(settling, paying);
        match settled {
            Ok(()) if kept.unstored().is_none() => Ok(()),
            // A reply that should be kept and is not is withheld, as one is that is not recorded.
            Ok(()) => Err(Code::ReplyUnrecorded),
            Err(error) => {
                tracing::error!(request = self.request.as_str(), %error, "the reply is withheld");
                Err(withheld(&error, end.ending))
            }
        }
    }

    /// The record; without what was in the reply if that can't be recorded: that it ended is worth more.
    fn event_in_any_case(
        &self,
        findings: &Findings,
        phase: Option<&PhaseSeen>,
        end: (End, Charged, &Kept),
        place: Option<Link>,
    ) -> Result<Event, BuildError> {
        let event = self.event(findings, phase, end, place);
        event.or_else(|error| {
            tracing::error!(request = self.request.as_str(), %error, "settled without counts");
            self.event(&Findings::default(), phase, end, place)
        })
    }

    /// Stores what is kept of the reply, and tells the meter meanwhile. Says whether it did.
    async fn keep(&mut self, end: End, charged: Charged) -> (Kept, bool) {
        let Some(keeping) = self.keeping.take() else {
            return (Kept::Nothing, false);
        };
        let (storing, paying) = (
            Box::pin(keeping.store(self.request.as_str())),
            pay(&self.hold, end, charged),
        );
        let (kept, ()) = tokio::join!(storing, paying);
        (kept, true)
    }

    fn event(
        &self,
        findings: &Findings,
        phase: Option<&PhaseSeen>,
        (end, charged, kept): (End, Charged, &Kept),
        place: Option<Link>,
    ) -> Result<Event, BuildError> {
        let restored = restored(findings);
        Settled {
            request: self.request.as_str(),
            subject: Subject {
                session: self.turn.reference(),
                run: None,
                trace: self.trace,
            },
            status: end.status,
            upstream_status: end.upstream_status,
            ending: end.ending,
            attempts: end.attempts,
            usage: usage(&findings.usage),
            budget: Some(charged),
            reply: Reply {
                visited: findings.visited,
                masked: &findings.receipt.masked,
                restored: &restored,
                unresolved: u64::from(findings.receipt.unresolved),
            },
            phase: phase.map(proposed),
            upstream_digest: None,
            payload: kept.body(),
            unstored: kept.unstored(),
            duration_us: micros(self.pledge.elapsed()),
        }
        .build(place)
    }

    /// Tells the operator, in numbers.
    fn count(&self, shared: &Shared, findings: &Findings, end: End) {
        let (outcome, took) = (outcome(end.ending), self.started.elapsed());
        shared.metrics.ended(shared.protocol.api(), outcome, took);
        for (label, count) in &findings.receipt.masked {
            shared.metrics.redacted(label.as_str(), u64::from(*count));
        }
        for restored in restored(findings) {
            shared
                .metrics
                .restored(restored.label.as_str(), restored.count);
        }
        shared
            .metrics
            .unresolved(u64::from(findings.receipt.unresolved));
        tracing::info!(
            request = self.request.as_str(),
            status = end.status,
            outcome = outcome.word(),
            took_us = micros(took),
            "settled"
        );
    }
}

/// What the caller of a reply that is not recorded is told.
fn withheld(error: &SessionError, ending: Ending) -> Code {
    match error {
        // It was, and is told so; that there is no place for its record is why it is lost.
        SessionError::Conflict if ending == Ending::Interrupted => Code::SessionInterrupted,
        SessionError::Conflict => Code::SessionConflict,
        _ => Code::ReplyUnrecorded,
    }
}

/// What the exchange is charged with.
fn charge(shared: &Shared, counted: &Usage, end: End, hold: &Hold) -> Charge {
    let counted = limit::Counted {
        input: counted.input,
        output: counted.output,
        cache_read: counted.cache_read,
        cache_write: counted.cache_write,
        cached_apart: shared.protocol.counts_cached_apart(),
    };
    let refused = end.upstream_status.is_some_and(|status| status >= 300);
    match (end.sent, refused) {
        (false, _) => Charge::NOTHING,
        (true, true) => Charge::of_error(counted, hold.worst()),
        (true, false) => Charge::of(counted, hold.worst(), end.ending == Ending::Done),
    }
}

/// The same as the session's state has it.
fn spent(tokens: Tokens) -> Spend {
    Spend {
        input: tokens.input,
        cache_read: tokens.cache_read,
        cache_write: tokens.cache_write,
        output: tokens.output,
        ..Spend::default()
    }
}

/// Tells the meter.
async fn pay(hold: &Hold, end: End, charged: Charged) {
    match end.sent {
        true => hold.settle(charged.tokens).await,
        false => hold.release().await,
    }
}

fn outcome(ending: Ending) -> Outcome {
    match ending {
        Ending::CallerGone => Outcome::CallerGone,
        Ending::Done => Outcome::Done,
        Ending::Error => Outcome::Error,
        Ending::Interrupted => Outcome::Interrupted,
        Ending::Timeout => Outcome::Timeout,
        Ending::UpstreamCut => Outcome::UpstreamCut,
    }
}

/// Restorations that a record tells apart; those past them are counted by label alone, so that no
/// reply is too long to be recorded.
const TOLD_APART: usize = 64;

/// The receipt's destinations are `text`, or `tool:` and the tool's name.
fn restored(findings: &Findings) -> Vec<Restored<'_>> {
    let mut counts: BTreeMap<(Destination<'_>, Label), u64> = BTreeMap::new();
    for (place, labels) in &findings.receipt.restored {
        let destination = place
            .strip_prefix("tool:")
            .map_or(Destination::Text, Destination::tool);
        for (label, count) in labels {
            let full = counts.len() >= TOLD_APART && destination != Destination::Text;
            let place = if full {
                Destination::OtherTool
            } else {
                destination
            };
            *counts.entry((place, *label)).or_default() += u64::from(*count);
        }
    }
    let record = |((destination, label), count)| Restored {
        destination,
        label,
        count,
    };
    counts.into_iter().map(record).collect()
}

fn usage(counted: &Usage) -> audit::Usage {
    audit::Usage {
        input: counted.input,
        output: counted.output,
        cache_read: counted.cache_read,
        cache_write: counted.cache_write,
        reasoning: counted.reasoning,
        cost_uusd: None,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restorations_are_recorded_whatever_a_provider_calls_its_tools() {
        let mut findings = Findings::default();
        let once = BTreeMap::from([(Label::EMAIL, 1)]);
        let mut names: Vec<_> = (0..500).map(|n| format!("tool:t{n}")).collect();
        names
            .extend(["tool:two words", "tool:jane@example.org", "tool:", "text"].map(String::from));
        for name in &names {
            findings.receipt.restored.insert(name.clone(), once.clone());
        }
        let records = restored(&findings);
        assert_eq!(
            records.iter().map(|record| record.count).sum::<u64>(),
            names.len() as u64
        );
        assert!(records.len() <= TOLD_APART + 2);
        for destination in [
            Destination::Text,
            Destination::OtherTool,
            Destination::Tool("t0"),
        ] {
            let told = |record: &Restored<'_>| record.destination == destination;
            assert!(records.iter().any(told));
        }
    }
}
