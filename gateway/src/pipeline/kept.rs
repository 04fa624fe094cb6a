//! What is kept of a request and its reply, where the configuration asks for it.

use std::sync::Arc;

use gatehouse_ledger::payload::Part;

use super::Gateway;
use super::screen::Parts;
use crate::payloads::{Keeping, Sealed, Unstored};
use crate::reject::{Code, Rejection};
use crate::screen::aside;

/// Larger bodies are sealed without holding up others.
const LONG: usize = 64 << 10;

/// What is kept of an exchange.
pub(super) struct Payload {
    /// The request, sealed. It is stored before the log is asked to take the record that names it.
    pub(super) request: Sealed,
    /// The reply to come.
    pub(super) reply: Keeping,
}

impl Gateway {
    /// Seals the very bytes that will be sent; `None` if nothing is kept.
    pub(super) fn seal(&self, parts: &Parts) -> Result<Option<Payload>, Rejection> {
        let Some(payloads) = &self.payloads else {
            return Ok(None);
        };
        let whose = (parts.caller.tenant.as_str(), parts.turn.reference());
        // Both parts are named by the number of the record that admits the exchange.
        let number = parts.turn.link().sseq;
        let begin = |part| payloads.begin(parts.turn.keys(), whose, number, part);
        let seal = || {
            let mut draft = begin(Part::Request)?;
            draft.push(&parts.body)?;
            let (request, reply) = (draft.finish()?, begin(Part::Reply)?);
            let reply = Keeping::new(Arc::clone(payloads), reply);
            Ok(Payload { request, reply })
        };
        let sealed = aside(parts.body.len() > LONG, seal);
        sealed.map(Some).map_err(|error| unkept(&error))
    }

    /// Stores a sealed request; nothing to do if there is none.
    pub(super) async fn store(&self, request: Option<&Sealed>) -> Result<(), Unstored> {
        match (&self.payloads, request) {
            (Some(payloads), Some(sealed)) => payloads.put(sealed).await,
            (None, _) | (_, None) => Ok(()),
        }
    }
}

/// What cannot be kept is not sent.
pub(super) fn unkept(error: &Unstored) -> Rejection {
    tracing::error!(%error, "a request is not kept, so it is not sent");
    Code::PayloadUnavailable.into()
}
