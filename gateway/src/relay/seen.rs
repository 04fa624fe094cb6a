//! What an exchange shows of the session's tools, told to the session.

use super::Shared;
use super::settle::Settlement;
use crate::audit::Proposed;
use crate::protocol::{Brought, Called};
use crate::session::typed::{CallSeen, PhaseSeen, ResultSeen, Seen, is_call_id};

impl Settlement {
    /// Notes what the exchange showed. Says what the model proposed.
    pub(super) fn saw(
        &mut self,
        shared: &Shared,
        calls: &[Called],
        whole: bool,
    ) -> Option<PhaseSeen> {
        if calls.is_empty() && self.brought.is_empty() {
            return None;
        }
        let seen = Seen {
            results: results_seen(&self.brought),
            calls: calls_seen(calls),
            whole,
        };
        let noted = self.turn.saw(&seen, shared.phases.as_ref());
        noted.unwrap_or_else(|error| {
            // It was readable when the turn began. The exchange is over all the same.
            tracing::error!(request = self.request.as_str(), %error, "tool calls are not noted");
            None
        })
    }
}

/// Results with ids that can be told from text.
fn results_seen(brought: &[Brought]) -> Vec<ResultSeen> {
    let known = brought.iter().filter(|it| is_call_id(&it.call));
    let seen = |it: &Brought| ResultSeen {
        call: it.call.clone(),
        failed: it.failed,
        bytes: it.bytes,
    };
    known.map(seen).collect()
}

fn calls_seen(calls: &[Called]) -> Vec<CallSeen> {
    let known = calls.iter().filter(|it| is_call_id(&it.id));
    let seen = |it: &Called| CallSeen {
        call: it.id.clone(),
        tool: it.tool.clone(),
        arguments: it.arguments.clone(),
    };
    known.map(seen).collect()
}

/// A proposal as the record has it.
pub(super) fn proposed(seen: &PhaseSeen) -> Proposed<'_> {
    Proposed {
        from: &seen.from,
        to: seen.to.as_deref(),
    }
}
