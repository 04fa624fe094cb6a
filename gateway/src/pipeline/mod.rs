//! The life of a request, top to bottom: authenticate, receive, bind, screen, reserve, admit,
//! forward, relay. Each step returns a type that only its own module can build, so that nothing unscreened
//! or unlogged reaches a provider is a matter of types.

mod admit;
mod authenticate;
mod bind;
mod evidence;
mod forward;
mod inbound;
mod kept;
mod prompt;
mod receive;
mod refuse;
mod reserve;
mod screen;
mod unsent;

use std::sync::Arc;

use gatehouse_redactor::json::{Document, Limits};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use authenticate::Authenticated;
pub use inbound::Inbound;
pub use refuse::{Cause, Refusal};

pub use crate::relay::ReplySlot;

use crate::audit::Book;
use crate::auth::{Authenticator, Denials};
use crate::clock::Clock;
use crate::config::Config;
use crate::limit::Budget;
use crate::model::Verdicts;
use crate::payloads::Payloads;
use crate::protocol::Protocol;
use crate::provider::Upstream;
use crate::reject::{Code, Rejection};
use crate::relay::{self, Relay};
use crate::session::Sessions;
use crate::telemetry::{Counted, Metrics, Outcome};

/// Everything that requests share.
pub struct Gateway {
    /// The configuration, parsed.
    pub config: Config,
    /// Who is calling.
    pub authenticator: Authenticator,
    /// Refusals before anyone is known.
    pub denials: Arc<Denials>,
    /// The sessions.
    pub sessions: Sessions,
    /// What may be spent, and what has been.
    pub budget: Budget,
    /// The audit log.
    pub book: Book,
    /// The way to the providers.
    pub upstream: Upstream,
    /// The search of texts: rules, model, and what they said before.
    pub verdicts: Arc<Verdicts>,
    /// Where sealed payloads are put; `None`: none are kept.
    pub payloads: Option<Arc<Payloads>>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The one clock.
    pub clock: Arc<dyn Clock>,
    /// Every task of an exchange, for the drain.
    pub tracker: TaskTracker,
    /// Ends the exchanges that the drain does not wait for any longer.
    pub cut: CancellationToken,
    /// Drops the exchanges that do not end even then: the disk hangs, for instance.
    pub abandoned: CancellationToken,
    /// Digests that stand in every record.
    pub digests: Digests,
}

/// Digests of what was in force.
#[derive(Clone, Copy)]
pub struct Digests {
    /// Of the running program.
    pub build: [u8; 32],
    /// Of the configuration.
    pub config: [u8; 32],
    /// Of the redaction policy.
    pub policy: [u8; 32],
    /// Of the compiled rules.
    pub rules: [u8; 32],
}

impl Gateway {
    /// One exchange from its head to its settled record. Runs as a task of its own: a caller that
    /// hangs up loses its reply, not the record of it.
    pub async fn exchange(
        self: Arc<Self>,
        protocol: &'static dyn Protocol,
        inbound: Inbound,
        mut slot: ReplySlot,
    ) {
        let _active = Counted::in_gauge(&self.metrics.exchanges);
        let (id, started) = (inbound.id().clone(), inbound.started());
        match self.handle(protocol, inbound, &mut slot).await {
            Ok(relay) => Box::pin(relay.run(slot)).await,
            Err(mut refusal) => {
                self.metrics
                    .ended(protocol.api(), Outcome::Refused, started.elapsed());
                let unsent = refusal.unsent.take();
                let (rejection, session) = self.conclude(*refusal).await;
                slot.answer(rejection.response(protocol.shape(), id.as_str()), session);
                if let Some(unsent) = unsent {
                    Box::pin(unsent.settle()).await;
                }
            }
        }
    }

    /// The life of a request up to the head of the provider's answer.
    async fn handle(
        &self,
        protocol: &'static dyn Protocol,
        inbound: Inbound,
        slot: &mut ReplySlot,
    ) -> Result<Relay, Box<Refusal>> {
        let request = self.authenticate(inbound).await?; // token → caller; anonymous ends here
        let request = self.receive(request).await?; // the whole body, within its limits
        let body = request.body().clone();
        let document = match Document::parse(&body, &self.json_limits()) {
            Ok(document) => document,
            Err(error) => return Err(request.refuse(json_invalid(&error))),
        };
        let request = self.bind(protocol, request, &document, slot).await?; // caller → session
        let request = self.screen(protocol, request, &document)?; // no text left that may not leave
        let request = self.reserve(request).await?; // what it may cost at the worst
        let request = self.admit(protocol, request).await?; // set aside; the log took it
        slot.warn(request.warning());
        let request = self.forward(protocol, request, slot).await; // only now a provider sees it
        Ok(self.relay(protocol, request)) // restore; then settle, persist, record
    }

    /// How deep and how wide JSON may be.
    pub fn json_limits(&self) -> Limits {
        Limits {
            depth: self.config.limits.depth,
            leaves: self.config.limits.leaves,
        }
    }

    /// The relay that answers, settles and records.
    fn relay(&self, protocol: &'static dyn Protocol, request: forward::Forwarded) -> Relay {
        let redaction = &self.config.redaction;
        let tenant = &request.caller().tenant;
        let shared = relay::Shared {
            metrics: Arc::clone(&self.metrics),
            engine: Arc::clone(&redaction.engine),
            policy: Arc::clone(redaction.policies.of(tenant)),
            verdicts: Arc::clone(&self.verdicts),
            tenant: tenant.clone(),
            timeouts: self.config.timeouts,
            limits: self.config.limits,
            renewal: self.config.sessions.renewal(),
            phases: Arc::clone(&self.config.phases),
            cut: self.cut.clone(),
            protocol,
        };
        request.into_relay(shared)
    }
}

/// Names the place and the kind of the fault, never the text.
fn json_invalid(error: &gatehouse_redactor::json::JsonError) -> Rejection {
    let rejection = Rejection::new(Code::JsonInvalid)
        .detail(format!("{} at byte {}", error.fault, error.offset));
    if error.path.is_empty() {
        rejection
    } else {
        rejection.parameter(error.path.clone())
    }
}
