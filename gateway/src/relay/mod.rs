//! The last step: the provider's answer is searched, restored and delivered, and the exchange is
//! settled. The end of a request is the code after its loop, in every ending; nothing async hides
//! in a destructor.

mod finish;
mod seen;
mod settle;
mod slot;
mod stream;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_redactor::{Engine, Policy, Vault};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

pub use slot::{Answered, ReplySlot};

use self::settle::Settlement;
use crate::audit::Pledge;
use crate::config::{Limits, Phases, Timeouts};
use crate::limit::Hold;
use crate::model::Verdicts;
use crate::payloads::Keeping;
use crate::protocol::{Facts, Protocol};
use crate::provider::Answer;
use crate::reject::{Code, Rejection};
use crate::screen::ReplySearch;
use crate::session::{Reporting, Turn};
use crate::telemetry::{Metrics, RequestId};

/// An admitted exchange that a provider was sent.
pub struct Exchange {
    /// What was admitted.
    pub admitted: Admitted,
    /// The head of the answer.
    pub answer: Result<Answer, Unreplied>,
}

/// What a relay needs of an admitted request.
pub struct Admitted {
    /// The request's id.
    pub request: RequestId,
    /// Its W3C trace id.
    pub trace: Option<[u8; 16]>,
    /// What the gateway knows of it.
    pub facts: Facts,
    /// The session's turn.
    pub turn: Turn,
    /// The session's values.
    pub vault: Vault,
    /// When its head arrived.
    pub started: Instant,
    /// When it must be over.
    pub deadline: Instant,
    /// That it will be settled.
    pub pledge: Pledge,
    /// What is set aside for it.
    pub hold: Hold,
    /// What is kept of the reply, if anything is.
    pub keeping: Option<Keeping>,
    /// How far it is, for those who ask.
    pub progress: Arc<Reporting>,
}

/// What a relay reads an answer with.
struct Rest {
    facts: Facts,
    vault: Vault,
    deadline: Instant,
    /// The session's reference, for the reply's head.
    session: Option<String>,
    /// Whether the conversation's next request is to be recognised by the reply.
    listens: bool,
}

impl Admitted {
    /// What settles the exchange, and the rest.
    fn split(mut self) -> (Settlement, Rest) {
        let brought = std::mem::take(&mut self.facts.brought);
        let session = Some(self.turn.reference().to_owned());
        let listens = self.turn.follows();
        let settlement = Settlement {
            request: self.request,
            trace: self.trace,
            turn: self.turn,
            started: self.started,
            pledge: self.pledge,
            hold: self.hold,
            keeping: self.keeping,
            progress: self.progress,
            brought,
        };
        let rest = Rest {
            facts: self.facts,
            vault: self.vault,
            deadline: self.deadline,
            session,
            listens,
        };
        (settlement, rest)
    }
}

/// Why there is no answer, or no rest of one.
pub enum Unreplied {
    /// The caller hung up.
    CallerGone,
    /// The provider or we failed.
    Failed {
        /// What the caller is told.
        rejection: Rejection,
        /// How often a connection was tried.
        attempts: u64,
    },
}

impl Unreplied {
    /// A failure with a plain code.
    pub fn failed(code: Code, attempts: u64) -> Self {
        Self::Failed {
            rejection: code.into(),
            attempts,
        }
    }
}

/// What all relays share.
#[derive(Clone)]
pub struct Shared {
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The rules.
    pub engine: Arc<Engine>,
    /// What to do with findings.
    pub policy: Arc<Policy>,
    /// Rules and model, where the policy holds replies for it.
    pub verdicts: Arc<Verdicts>,
    /// The caller's tenant.
    pub tenant: String,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How large things may be.
    pub limits: Limits,
    /// How often a turn renews its lease.
    pub renewal: Duration,
    /// The phases of sessions.
    pub phases: Arc<Phases>,
    /// Ends every exchange: the gateway stops.
    pub cut: CancellationToken,
    /// The caller's protocol.
    pub protocol: &'static dyn Protocol,
}

impl Shared {
    /// A search of one reply, with the values of its session.
    fn search<'s>(&'s self, rest: &'s Rest) -> ReplySearch<'s> {
        let limits = gatehouse_redactor::json::Limits {
            depth: self.limits.depth,
            leaves: self.limits.leaves,
        };
        let rules = (self.engine.as_ref(), self.policy.as_ref());
        let mut search = ReplySearch::new(self.protocol, &rest.facts, rules, &rest.vault, limits);
        if rest.listens {
            search.listen();
        }
        match self.is_read() {
            true => search.with_model(self.verdicts.finder(&self.tenant)),
            false => search,
        }
    }

    /// Whether the local model reads replies.
    fn is_read(&self) -> bool {
        self.policy.reply_model && self.verdicts.model().is_some()
    }
}

/// An exchange on its way back.
pub struct Relay {
    exchange: Exchange,
    shared: Shared,
}

impl Relay {
    /// Takes over an exchange.
    pub fn new(exchange: Exchange, shared: Shared) -> Self {
        Self { exchange, shared }
    }

    /// Answers the caller and settles the exchange, whatever happens.
    pub async fn run(self, slot: ReplySlot) {
        let Self { exchange, shared } = self;
        let asked = exchange.admitted.facts.stream;
        match exchange.answer {
            Ok(answer) if asked && answer.is_stream && answer.status.is_success() => {
                stream::run(exchange.admitted, answer, &shared, slot).await;
            }
            answer => whole::run(exchange.admitted, answer, &shared, slot).await,
        }
    }
}

/// What cuts every wait of an exchange short.
pub struct Guard {
    renewal: Interval,
    deadline: Instant,
    cut: CancellationToken,
}

impl Guard {
    /// A guard for a turn that renews its lease every `period`, in an exchange that ends at
    /// `deadline`, or when the gateway cannot wait for it any longer.
    pub fn new(period: Duration, deadline: Instant, cut: CancellationToken) -> Self {
        let mut renewal = interval_at(Instant::now() + period, period);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            renewal,
            deadline,
            cut,
        }
    }

    /// Waits for `work`, but no longer than `patience`, than the caller stays, than the turn is
    /// ours, and than the exchange may last.
    ///
    /// # Errors
    /// [`Unreplied`], which says what came first.
    pub async fn wait<T>(
        &mut self,
        work: impl Future<Output = T>,
        gone: impl Future<Output = ()>,
        turn: &mut Turn,
        patience: Duration,
    ) -> Result<T, Unreplied> {
        let until = (Instant::now() + patience).min(self.deadline);
        let (mut work, mut gone) = (std::pin::pin!(work), std::pin::pin!(gone));
        let interrupted = turn.interruption();
        loop {
            tokio::select! {
                biased;
                () = interrupted.cancelled() => {
                    return Err(Unreplied::failed(Code::SessionInterrupted, 1));
                }
                done = &mut work => return Ok(done),
                () = &mut gone => return Err(Unreplied::CallerGone),
                () = self.cut.cancelled() => {
                    return Err(Unreplied::failed(Code::ShuttingDown, 1));
                }
                () = sleep_until(until) => {
                    let whole = until == self.deadline;
                    let late = if whole { Code::ExchangeTimeout } else { Code::ProviderTimeout };
                    return Err(Unreplied::failed(late, 1));
                }
                _ = self.renewal.tick() => if let Some(code) = turn.lost().await {
                    return Err(Unreplied::failed(code, 1));
                },
            }
        }
    }
}
