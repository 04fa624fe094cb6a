//! The sixth stage: the log, the session's store and the meter take the request before a provider sees
//! it.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_redactor::Vault;

use super::Gateway;
use super::inbound::Head;
use super::kept::{Payload, unkept};
use super::prompt;
use super::refuse::{People, Refusal, book_refusal, budget_refusal, held_refusal, session_refusal};
use super::reserve::Funded;
use super::screen::Parts;
use super::unsent::{Unsent, unsent_refusal};
use crate::audit::{
    Admitted as Record, Event, Pledge, Prompt, Redaction, Refused, StateKey, Upstream,
};
use crate::auth::Caller;
use crate::clock;
use crate::config::Provider;
use crate::limit::{Denied, Hold, Warning};
use crate::payloads::{Keeping, Sealed, Unstored};
use crate::protocol::{Facts, Protocol};
use crate::provider;
use crate::reject::{Code, Rejection};
use crate::session::{Continuity, Fate, Funds, Offer, SessionError, Spend, Turn, Unadmitted};

/// A request that the log holds.
pub(super) struct Admitted {
    head: Head,
    caller: Arc<Caller>,
    facts: Facts,
    turn: Turn,
    vault: Vault,
    body: Bytes,
    provider: Arc<Provider>,
    pledge: Pledge,
    hold: Hold,
    keeping: Option<Keeping>,
}

impl Gateway {
    /// Writes `exchange.admitted`, durable when this returns, and the session's new state, and sets aside
    /// what the exchange may cost. Where payloads are kept, the sealed request is stored first.
    pub(super) async fn admit(
        &self,
        protocol: &dyn Protocol,
        request: Funded,
    ) -> Result<Admitted, Box<Refusal>> {
        let (mut parts, hold) = request.into_parts();
        let event = self.event(protocol, &parts, hold.amount()).await;
        let (provider, offer, payload) = match event {
            Ok(found) => found,
            Err(rejection) => {
                parts.turn.state_mut().settle_spend(Spend::default());
                let (head, caller, turn) = (parts.head, parts.caller, parts.turn);
                return Err(held_refusal(head, caller, turn, rejection));
            }
        };
        for (label, count) in &parts.receipt.found {
            self.metrics.redacted(label.as_str(), u64::from(*count));
        }
        let state = parts.turn.state_mut();
        state.vault = parts.vault.to_bytes().into();
        state.steps += 1;
        let (request, keeping) = match payload {
            Some(Payload { request, reply }) => (Some(request), Some(reply)),
            None => (None, None),
        };
        let written = Box::pin(self.write(&mut parts, hold, offer, request)).await;
        let (pledge, hold) = match written.outcome {
            Ok(()) => (written.pledge, written.hold),
            Err(unwritten) => {
                return Err(unwritten.refusal(parts, written.pledge, written.hold));
            }
        };
        let Parts {
            head,
            caller,
            facts,
            turn,
            vault,
            body,
            ..
        } = parts;
        Ok(Admitted {
            head,
            caller,
            facts,
            vault: restorable(vault, &turn, &body),
            turn,
            body,
            provider,
            pledge,
            hold,
            keeping,
        })
    }

    /// The record, the state, what is set aside and what is kept, all of them or an error.
    async fn write(
        &self,
        parts: &mut Parts,
        mut hold: Hold,
        mut offer: Offer,
        kept: Option<Sealed>,
    ) -> Written {
        let subject = parts.head.subject(parts.turn.reference());
        let id = parts.head.id.as_str();
        let mut pledge = Pledge::new(self.book.clone(), id, subject.session, subject.trace);
        // For the next process, if this one dies in between.
        let shared = parts.turn.is_shared();
        offer.closing = shared.then(|| pledge.closing().ok()).flatten();
        let mut lacking = None;
        let funds = Funds {
            // No record names a payload that may not be there, whenever this process dies.
            first: hold.may_be_refused() || kept.is_some(),
            set_aside: async {
                let (reserved, stored) = tokio::join!(hold.reserve(), self.store(kept.as_ref()));
                lacking = match (reserved, stored) {
                    (Ok(()), Ok(())) => return Ok(()),
                    (Err(denied), _) => Some(Lacking::Funds(denied)),
                    (Ok(()), Err(error)) => {
                        hold.release().await;
                        Some(Lacking::Payload(error))
                    }
                };
                Err(SessionError::Unfunded)
            },
        };
        let admitted = parts.turn.admit_with(offer, funds, || pledge.begins());
        let admitted = admitted.await;
        pledge.also_ends(parts.turn.exchange_end());
        Written {
            pledge,
            hold,
            outcome: admitted.map_err(|unadmitted| Unwritten {
                unadmitted,
                lacking,
            }),
        }
    }

    /// Where the request goes, the record of it, and what is kept of it; where others share the store, also
    /// what is recorded if it does not answer.
    async fn event(
        &self,
        protocol: &dyn Protocol,
        parts: &Parts,
        reserved_tokens: u64,
    ) -> Result<(Arc<Provider>, Offer, Option<Payload>), Rejection> {
        let Parts {
            head,
            caller,
            facts,
            turn,
            ..
        } = parts;
        let provider = provider::route(&self.config, protocol.shape(), &facts.model)?;
        let people = self
            .people(head, caller)
            .await
            .map_err(|error| session_refusal(&error))?;
        let keys = turn.keys();
        let payload = self.seal(parts)?;
        let event = Record {
            request: head.id.as_str(),
            subject: head.subject(turn.reference()),
            who: people.who(caller),
            source: people.source(head),
            policy: self.digests.policy,
            build: self.digests.build,
            config: self.digests.config,
            limit_us: clock::micros(self.config.timeouts.exchange),
            continuity: turn.continuity().word(),
            redaction: redaction(self, parts),
            prompt: self.prompt(&parts.body, turn),
            reserved_tokens,
            upstream: Upstream {
                provider: &provider.name,
                api: protocol.api(),
                model: &facts.model,
                region: None,
                key_id: None,
            },
            payload: payload.as_ref().map(|kept| &kept.request.body),
            state: Some(StateKey {
                id: keys.kid(),
                commitment: keys.kc(),
            }),
        }
        .build(turn.link())
        .map_err(|error| book_refusal(&error.into()))?;
        let shared = turn.is_shared();
        let offer = Offer {
            otherwise: shared.then(|| refused(head, caller, &people)).flatten(),
            ..event.into()
        };
        Ok((Arc::clone(provider), offer, payload))
    }
}

/// What came of an admission.
struct Written {
    pledge: Pledge,
    hold: Hold,
    outcome: Result<(), Unwritten>,
}

/// Why it did not come to one.
struct Unwritten {
    unadmitted: Unadmitted,
    /// What could not be had, if that is it.
    lacking: Option<Lacking>,
}

/// What an admission needs and did not get.
enum Lacking {
    /// What the exchange may cost is not set aside.
    Funds(Denied),
    /// The sealed request is not stored.
    Payload(Unstored),
}

impl Unwritten {
    /// Nothing is sent. What the log has of it is settled once the caller has been told.
    fn refusal(self, parts: Parts, pledge: Pledge, hold: Hold) -> Box<Refusal> {
        let Unadmitted { error, fate, noted } = self.unadmitted;
        let (head, caller, mut turn) = (parts.head, parts.caller, parts.turn);
        let rejection = match (&error, &self.lacking) {
            (SessionError::Unfunded, Some(Lacking::Funds(denied))) => budget_refusal(denied),
            (SessionError::Unfunded, Some(Lacking::Payload(error))) => unkept(error),
            (error, _) => session_refusal(error),
        };
        if matches!((&error, &fate), (SessionError::Unfunded, Fate::Absent)) {
            // There is nothing that would have to be settled, and the turn has reached nobody.
            let state = turn.state_mut();
            state.settle_spend(Spend::default());
            state.steps = state.steps.saturating_sub(1);
            return held_refusal(head, caller, turn, rejection);
        }
        let unsent = Unsent::new(turn, pledge, hold, fate, rejection.status());
        let mut refusal = unsent_refusal(head, caller, unsent, rejection);
        // Of a turn that was overtaken, or could not be written down, there is no record yet.
        refusal.recorded = noted;
        refusal
    }
}

/// What is recorded of a request that the session's store did not answer for.
fn refused(head: &Head, caller: &Caller, people: &People) -> Option<Event> {
    let code = Code::SessionUnavailable;
    let refused = Refused {
        request: head.id.as_str(),
        session: None,
        who: Some(people.who(caller)),
        source: people.source(head),
        status: code.status().as_u16(),
        code: code.word(),
        blame: code.blame().word(),
        label: None,
        rule: None,
        absent: None,
    };
    refused.build().ok()
}

/// What the record says of the search.
fn redaction<'p>(gateway: &'p Gateway, parts: &'p Parts) -> Redaction<'p> {
    let receipt = &parts.receipt;
    Redaction {
        visited: u64::from(receipt.visited),
        checked: u64::from(receipt.checked),
        skipped: u64::from(receipt.skipped),
        unvisited: u64::from(receipt.unvisited),
        rules: gateway.digests.rules,
        model: gateway.verdicts.model(),
        found: &receipt.found,
        input: parts.input_digest,
        output: parts
            .turn
            .keys()
            .commit()
            .mac("gatehouse body sent", &[&parts.body]),
    }
}

impl Gateway {
    fn prompt(&self, body: &[u8], turn: &Turn) -> Option<Prompt> {
        let wanted = self.config.ledger.prompt_parts;
        let of = || prompt::digests(body, turn.keys().commit(), &self.json_limits());
        wanted.then(of).flatten()
    }
}

/// The values that the reply may hold again. Where the caller did not send the session's id, those are
/// the values of the request itself: whatever the session holds besides, nobody is shown by it.
fn restorable(vault: Vault, turn: &Turn, body: &[u8]) -> Vault {
    match turn.continuity() {
        Continuity::Matched => vault.within(&String::from_utf8_lossy(body)),
        Continuity::Ambiguous | Continuity::New | Continuity::Sent => vault,
    }
}

/// The parts of an admitted request, for the next stage.
pub(super) struct Ready {
    pub(super) head: Head,
    pub(super) caller: Arc<Caller>,
    pub(super) facts: Facts,
    pub(super) turn: Turn,
    pub(super) vault: Vault,
    pub(super) body: Bytes,
    pub(super) provider: Arc<Provider>,
    pub(super) pledge: Pledge,
    pub(super) hold: Hold,
    pub(super) keeping: Option<Keeping>,
}

impl Admitted {
    /// A cap that the exchange comes near to.
    pub(super) fn warning(&self) -> Option<Warning> {
        self.hold.warning()
    }

    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> Ready {
        let Self {
            head,
            caller,
            facts,
            turn,
            vault,
            body,
            provider,
            pledge,
            hold,
            keeping,
        } = self;
        Ready {
            head,
            caller,
            facts,
            turn,
            vault,
            body,
            provider,
            pledge,
            hold,
            keeping,
        }
    }
}
