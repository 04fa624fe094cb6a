//! The seventh stage: a provider sees the request. From here on every ending is a settled record, so
//! a failure is an outcome, not an error.

use std::sync::Arc;

use super::Gateway;
use super::admit::{Admitted, Ready};
use crate::auth::Caller;
use crate::protocol::Protocol;
use crate::provider::{Outgoing, Unanswered};
use crate::relay::{self, Exchange, Guard, Relay, ReplySlot, Shared, Unreplied};
use http::Method;

/// A request that a provider was sent, with the head of its answer if there is one.
pub(super) struct Forwarded {
    exchange: Exchange,
    caller: Arc<Caller>,
}

impl Gateway {
    /// Sends the request, unless its caller hangs up first.
    pub(super) async fn forward(
        &self,
        protocol: &'static dyn Protocol,
        request: Admitted,
        slot: &mut ReplySlot,
    ) -> Forwarded {
        let Ready {
            head,
            caller,
            facts,
            mut turn,
            vault,
            body,
            provider,
            pledge,
            hold,
            keeping,
        } = request.into_parts();
        let (timeouts, traced) = (self.config.timeouts, head.trace.as_ref());
        let deadline = head.started + timeouts.exchange;
        let trace = traced.and_then(|trace| trace.upstream());
        let outgoing = Outgoing {
            provider: &provider,
            shape: protocol.shape(),
            method: Method::POST,
            path: protocol.upstream_path(),
            incoming: &head.headers,
            trace: trace.as_deref(),
            body,
        };
        let progress = self.sessions.report(turn.reference(), head.id.as_str());
        let mut guard = Guard::new(self.config.sessions.renewal(), deadline, self.cut.clone());
        let (sending, patience) = (self.upstream.send(outgoing), timeouts.first_byte);
        let sent = match turn.still_holds().await {
            None => guard.wait(sending, slot.gone(), &mut turn, patience).await,
            // This process stood still for so long that another may be at it.
            Some(code) => Err(Unreplied::failed(code, 0)),
        };
        let answer = sent.and_then(|sent| sent.map_err(unreplied));
        if answer.is_ok() {
            self.metrics.first_byte(protocol.api(), pledge.elapsed());
            progress.replying();
        }
        let admitted = relay::Admitted {
            trace: head.trace.as_ref().and_then(|trace| trace.bytes()),
            request: head.id,
            facts,
            turn,
            vault,
            started: head.started,
            deadline,
            pledge,
            hold,
            keeping,
            progress: Arc::new(progress),
        };
        let exchange = Exchange { admitted, answer };
        Forwarded { exchange, caller }
    }
}

impl Forwarded {
    /// Whose request it is.
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Hands the exchange over to the relay.
    pub(super) fn into_relay(self, shared: Shared) -> Relay {
        Relay::new(self.exchange, shared)
    }
}

fn unreplied(unanswered: Unanswered) -> Unreplied {
    let Unanswered {
        rejection,
        attempts,
    } = unanswered;
    Unreplied::Failed {
        rejection,
        attempts,
    }
}
