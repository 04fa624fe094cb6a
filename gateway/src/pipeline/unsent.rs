//! A request that the log admitted, or may have, and that no provider saw, because the session's
//! store or the log failed on the way. It is settled all the same: every admitted exchange is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::inbound::Head;
use super::refuse::{Refusal, refusal};
use crate::audit::{Charged, Ending, Pledge, Reply, Settled, Usage};
use crate::auth::Caller;
use crate::limit::Hold;
use crate::reject::Rejection;
use crate::session::{Fate, Offer, Spend, Turn};

/// What is left of such a request once its caller has been told.
pub(super) struct Unsent {
    turn: Turn,
    pledge: Pledge,
    hold: Hold,
    fate: Fate,
    status: StatusCode,
}

/// A refusal after the log was asked: its record is that of the exchange, if there is one.
pub(super) fn unsent_refusal(
    head: Head,
    caller: Arc<Caller>,
    unsent: Unsent,
    rejection: Rejection,
) -> Box<Refusal> {
    let mut refusal = refusal(head, Some(caller), rejection);
    refusal.recorded = true;
    refusal.unsent = Some(Box::new(unsent));
    refusal
}

impl Unsent {
    pub(super) fn new(
        turn: Turn,
        pledge: Pledge,
        hold: Hold,
        fate: Fate,
        status: StatusCode,
    ) -> Self {
        Self {
            turn,
            pledge,
            hold,
            fate,
            status,
        }
    }

    /// Writes `exchange.settled` if the log has `exchange.admitted`, for which it waits as long as
    /// the log takes to say so. Otherwise there is no exchange, and the turn is given back.
    pub(super) async fn settle(self) {
        let Self {
            mut turn,
            mut pledge,
            hold,
            fate,
            status,
        } = self;
        let late = matches!(fate, Fate::Pending(_));
        // No provider was asked.
        hold.release().await;
        turn.state_mut().settle_spend(Spend::default());
        if !turn.learn(fate).await {
            pledge.keep();
            // Nothing of this exchange is in the log, and the store need not know more.
            let _kept = turn.release().await;
            return;
        }
        if late {
            pledge.begins();
        }
        pledge.also_ends(turn.exchange_end());
        let is_shared = turn.is_shared();
        let settled = Settled {
            request: pledge.request(),
            subject: pledge.subject(),
            status: status.as_u16(),
            upstream_status: None,
            ending: Ending::Error,
            attempts: 0,
            usage: Usage::default(),
            budget: Some(Charged::default()),
            reply: Reply {
                visited: 0,
                masked: &BTreeMap::new(),
                restored: &[],
                unresolved: 0,
            },
            phase: None,
            upstream_digest: None,
            payload: None,
            unstored: None,
            duration_us: micros(pledge.elapsed()),
        };
        match settled.build(turn.place()) {
            Ok(event) => {
                let offer = Offer {
                    otherwise: is_shared.then(|| settled.build(None).ok()).flatten(),
                    ..event.into()
                };
                tracing::warn!(request = pledge.request(), "admitted, and not sent");
                pledge.keep();
                // What the store does not have, the session's next turn brings up to the log.
                let _kept = turn.settle(offer).await;
            }
            Err(error) => tracing::error!(request = pledge.request(), %error, "not settled"),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
