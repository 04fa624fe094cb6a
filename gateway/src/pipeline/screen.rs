//! The fourth stage: what may not leave is taken out. Its output holds the only bytes that a
//! provider can be sent.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_redactor::json::Document;

use super::Gateway;
use super::bind::{Bound, SESSION_ID};
use super::inbound::Head;
use super::refuse::{Refusal, screen_refusal};
use crate::auth::Caller;
use crate::config::pinned;
use crate::protocol::{Facts, Protocol};
use crate::screen::{self, Screening, aside};
use crate::session::Turn;

/// A request whose body has been searched to the end.
pub(super) struct Screened {
    head: Head,
    caller: Arc<Caller>,
    facts: Facts,
    turn: Turn,
    outcome: screen::Outcome,
    input_digest: [u8; 32],
}

impl Gateway {
    /// Searches and rewrites the body. Large bodies take milliseconds, so other tasks of this
    /// thread are moved away first.
    pub(super) fn screen(
        &self,
        protocol: &dyn Protocol,
        request: Bound,
        document: &Document<'_>,
    ) -> Result<Screened, Box<Refusal>> {
        let (head, caller, body, facts, mut turn) = request.into_parts();
        let redaction = &self.config.redaction;
        let key = turn.keys().pseudonyms();
        let known = &turn.state().verdicts;
        let finder = self.verdicts.finder_in_session(&caller.tenant, key, known);
        let screening = Screening {
            protocol,
            engine: &redaction.engine,
            finder: &finder,
            policy: redaction.policies.of(&caller.tenant),
            facts: &facts,
            turn: &turn,
            pinned: pinned(&self.config.pins, &facts.model),
            removed: document.root().get(SESSION_ID),
        };
        let long = body.len() >= WORTH_IT || self.verdicts.model().is_some();
        let outcome = aside(long, || screening.run(document));
        let verdicts = finder.into_kept();
        match outcome {
            Ok(outcome) => {
                turn.state_mut().verdicts = verdicts;
                let input_digest = turn
                    .keys()
                    .commit()
                    .mac("gatehouse body received", &[&body]);
                Ok(Screened {
                    head,
                    caller,
                    facts,
                    turn,
                    outcome,
                    input_digest,
                })
            }
            Err(refused) => Err(screen_refusal(head, caller, turn, refused)),
        }
    }
}

/// Smaller bodies are done sooner than a thread is handed over, unless the model is waited for.
const WORTH_IT: usize = 256 << 10;

/// The parts of a screened request, for the next stage.
pub(super) struct Parts {
    pub(super) head: Head,
    pub(super) caller: Arc<Caller>,
    pub(super) facts: Facts,
    pub(super) turn: Turn,
    pub(super) body: Bytes,
    pub(super) receipt: gatehouse_redactor::body::Receipt,
    pub(super) vault: gatehouse_redactor::Vault,
    pub(super) input_digest: [u8; 32],
}

impl Screened {
    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> Parts {
        let Self {
            head,
            caller,
            facts,
            turn,
            outcome,
            input_digest,
        } = self;
        let screen::Outcome {
            body,
            receipt,
            vault,
        } = outcome;
        Parts {
            head,
            caller,
            facts,
            turn,
            body,
            receipt,
            vault,
            input_digest,
        }
    }
}
