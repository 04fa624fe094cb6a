//! The fifth stage: what the request may cost at the worst is known, and fits what its session may
//! spend. It is set aside with the admission, which does not count without it.

use super::Gateway;
use super::refuse::{Refusal, budget_refusal, held_refusal, session_refusal};
use super::screen::{Parts, Screened};
use crate::limit::{Ask, Denied, Hold, Scope, Wanted, Worst};
use crate::reject::Rejection;
use crate::session::SessionError;

/// A request whose cost is known.
pub(super) struct Funded {
    parts: Parts,
    hold: Hold,
}

impl Gateway {
    /// Works out what is to be set aside. Nobody has been asked for it when this returns.
    pub(super) async fn reserve(&self, request: Screened) -> Result<Funded, Box<Refusal>> {
        let mut parts = request.into_parts();
        match self.hold(&mut parts).await {
            Ok(hold) => Ok(Funded { parts, hold }),
            Err(rejection) => {
                let (head, caller, turn) = (parts.head, parts.caller, parts.turn);
                Err(held_refusal(head, caller, turn, rejection))
            }
        }
    }

    async fn hold(&self, parts: &mut Parts) -> Result<Hold, Rejection> {
        let wanted = Wanted {
            most: parts.facts.most,
            answers: parts.facts.answers,
        };
        let assumed = self.budget.assumed_answer();
        let worst = Worst::of(parts.body.len(), &parts.facts.model, wanted, assumed);
        let spend = parts.turn.state().spend();
        let spend = spend.map_err(|error| session_refusal(&error))?;
        // The state knows what its turns have spent, whatever the meter has lost.
        let used = spend.tokens().saturating_add(spend.reserved);
        let scope = Scope::Session;
        if let Some(cap) = self.config.caps.session_tokens
            && used.saturating_add(worst.total()) > cap
        {
            return Err(budget_refusal(&Denied::Capped { scope, cap, used }));
        }
        let ask = Ask {
            request: parts.head.id.as_str(),
            tenant: &parts.caller.tenant,
            key: &parts.caller.key_id,
            session: parts.turn.reference(),
            session_until_us: parts.turn.until_us(),
            session_spent: spend.settled(),
            worst,
        };
        let hold = self.budget.plan(ask).await;
        let hold = hold.map_err(|error| session_refusal(&SessionError::from(error)))?;
        let state = parts.turn.state_mut();
        let reserved = state.reserve(worst.total());
        reserved.map_err(|error| session_refusal(&error))?;
        Ok(hold)
    }
}

impl Funded {
    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> (Parts, Hold) {
        (self.parts, self.hold)
    }
}
