//! The fifth stage: the log and the session's store take the request before a provider sees it,
//! both at once.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_redactor::Vault;

use super::Gateway;
use super::inbound::Head;
use super::refuse::{Refusal, book_refusal, held_refusal, session_refusal};
use super::screen::{Parts, Screened};
use super::unsent::{Unsent, unsent_refusal};
use crate::audit::{Admitted as Record, Event, Pledge, Redaction, StateKey, Upstream};
use crate::auth::Caller;
use crate::clock;
use crate::config::Provider;
use crate::protocol::{Facts, Protocol};
use crate::provider;
use crate::reject::Rejection;
use crate::relay;
use crate::session::{Continuity, Turn};

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
}

impl Gateway {
    /// Writes `exchange.admitted`, durable when this returns, and the session's new state.
    pub(super) async fn admit(
        &self,
        protocol: &dyn Protocol,
        request: Screened,
    ) -> Result<Admitted, Box<Refusal>> {
        let mut parts = request.into_parts();
        let event = self.event(protocol, &parts).await;
        let (provider, event) = match event.and_then(|found| brought(&mut parts).map(|()| found)) {
            Ok(found) => found,
            Err(rejection) => {
                return Err(held_refusal(
                    parts.head,
                    parts.caller,
                    parts.turn,
                    rejection,
                ));
            }
        };
        for (label, count) in &parts.receipt.found {
            self.metrics.redacted(label.as_str(), u64::from(*count));
        }
        let state = parts.turn.state_mut();
        state.vault = parts.vault.to_bytes().into();
        state.steps += 1;
        let subject = parts.head.subject(parts.turn.reference());
        let id = parts.head.id.as_str();
        let mut pledge = Pledge::new(self.book.clone(), id, subject.session, subject.trace);
        // Both at once: the store and the log.
        let admitted = parts.turn.admit(event, || pledge.begins()).await;
        let Parts {
            head,
            caller,
            facts,
            turn,
            vault,
            body,
            ..
        } = parts;
        match admitted {
            Ok(()) => Ok(Admitted {
                head,
                caller,
                facts,
                vault: restorable(vault, &turn, &body),
                turn,
                body,
                provider,
                pledge,
            }),
            // Nothing is sent. What the log has of it is settled once the caller has been told.
            Err(unadmitted) => {
                let rejection = session_refusal(&unadmitted.error);
                let unsent = Unsent::new(turn, pledge, unadmitted.fate, rejection.status());
                Err(unsent_refusal(head, caller, unsent, rejection))
            }
        }
    }

    /// Where the request goes, and the record of it.
    async fn event(
        &self,
        protocol: &dyn Protocol,
        parts: &Parts,
    ) -> Result<(Arc<Provider>, Event), Rejection> {
        let Parts {
            head,
            caller,
            facts,
            turn,
            body,
            receipt,
            ..
        } = parts;
        let provider = provider::route(&self.config, protocol.shape(), &facts.model)?;
        let people = self
            .people(head, caller)
            .await
            .map_err(|error| session_refusal(&error))?;
        let keys = turn.keys();
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
            redaction: Redaction {
                visited: u64::from(receipt.visited),
                checked: u64::from(receipt.checked),
                skipped: u64::from(receipt.skipped),
                unvisited: u64::from(receipt.unvisited),
                rules: self.digests.rules,
                model: self.verdicts.model(),
                found: &receipt.found,
                input: parts.input_digest,
                output: keys.commit().mac("gatehouse body sent", &[body]),
            },
            reserved_uusd: None,
            upstream: Upstream {
                provider: &provider.name,
                api: protocol.api(),
                model: &facts.model,
                region: None,
                key_id: None,
            },
            state: Some(StateKey {
                id: keys.kid(),
                commitment: keys.kc(),
            }),
        }
        .build(turn.link())
        .map_err(|error| book_refusal(&error.into()))?;
        Ok((Arc::clone(provider), event))
    }
}

/// Notes the results of tools that the request brings.
fn brought(parts: &mut Parts) -> Result<(), Rejection> {
    let seen = relay::results_seen(&parts.facts.brought);
    let noted = parts.turn.saw_results(&seen);
    noted.map_err(|error| session_refusal(&error))
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
}

impl Admitted {
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
        }
    }
}
