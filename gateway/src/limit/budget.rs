//! What is counted under which name, what the caps are, and what one exchange has set aside.
//!
//! Each exchange is counted three times: for its session, and for its caller's key and its tenant on the
//! day (UTC) on which it was admitted, by the clock of the meter's store: replicas agree about the day
//! whatever their own clocks show.

use std::sync::Arc;

use gatehouse_envelope::{keys::TenantKey, random};

use super::{Account, Claim, Meter, MeterError, Reserved, Standing, Worst, memory::Memory};
use crate::{
    config::Caps,
    registry::{Keyring, KeyringError},
};

const DAY_US: i64 = 86_400_000_000;
/// What the names of accounts begin with.
const NAME: &str = "m_";

/// Whose spending is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// That of the caller's key, on one day.
    Key,
    /// That of the session, in all.
    Session,
    /// That of the tenant, on one day.
    Tenant,
}

impl Scope {
    /// The order in which all exchanges set something aside.
    const ALL: [Self; 3] = [Self::Tenant, Self::Key, Self::Session];

    /// As replies, records and metrics spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Session => "session",
            Self::Tenant => "tenant",
        }
    }

    fn cap(self, caps: &Caps) -> Option<u64> {
        match self {
            Self::Key => caps.key_tokens_per_day,
            Self::Session => caps.session_tokens,
            Self::Tenant => caps.tenant_tokens_per_day,
        }
    }
}

/// An exchange that is about to be admitted.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The request's id.
    pub request: &'a str,
    /// Whose it is.
    pub tenant: &'a str,
    /// The id of the caller's key.
    pub key: &'a str,
    /// The session's reference.
    pub session: &'a str,
    /// When the session ends at the latest, in microseconds since 1970 (UTC).
    pub session_until_us: i64,
    /// What its own state says that it has spent.
    pub session_spent: u64,
    /// What the exchange may cost.
    pub worst: Worst,
}

/// Why nothing was set aside.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// A cap does not allow it.
    #[error("the tokens of this {} are used up", .scope.word())]
    Capped {
        /// Whose.
        scope: Scope,
        /// What it may spend.
        cap: u64,
        /// What is spent or set aside.
        used: u64,
    },
    /// The meter did not answer, or cannot be read.
    #[error("the meter is not available")]
    Unavailable(#[source] MeterError),
}

/// A cap that is nearly reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Whose.
    pub scope: Scope,
    /// What it may spend.
    pub cap: u64,
    /// What is spent or set aside.
    pub used: u64,
}

/// The meter, and what is kept to with it.
#[derive(Clone)]
pub struct Budget {
    shared: Arc<Shared>,
}

struct Shared {
    meter: Arc<dyn Meter>,
    keyring: Arc<Keyring>,
    caps: Caps,
    memory: Memory,
}

impl Budget {
    /// Caps over a meter.
    pub fn new(meter: Arc<dyn Meter>, keyring: Arc<Keyring>, caps: Caps) -> Self {
        Self {
            shared: Arc::new(Shared {
                meter,
                keyring,
                caps,
                memory: Memory::default(),
            }),
        }
    }

    /// What an exchange is to set aside. Nothing has happened yet when this returns.
    ///
    /// # Errors
    /// There is no key to name the accounts with.
    pub async fn plan(&self, ask: Ask<'_>) -> Result<Hold, KeyringError> {
        let shared = &self.shared;
        let keys = shared.keyring.tenant(ask.tenant).await?;
        let day = shared.meter.now_us().div_euclid(DAY_US);
        let key = keys.of_day(day);
        let claims = Scope::ALL.map(|scope| {
            let account = account(key, scope, day, ask);
            let remembered = shared.memory.known(&account.name);
            let known = match scope {
                Scope::Session => remembered.max(ask.session_spent),
                Scope::Key | Scope::Tenant => remembered,
            };
            Claim {
                account,
                amount: ask.worst.total(),
                cap: scope.cap(&shared.caps),
                known,
            }
        });
        Ok(Hold {
            shared: Arc::clone(shared),
            request: ask.request.to_owned(),
            claims,
            worst: ask.worst,
            missing: 0,
            warning: None,
        })
    }

    /// How many tokens an answer is taken to have where nothing says how many it may.
    pub fn assumed_answer(&self) -> u64 {
        self.shared.caps.assumed_answer_tokens
    }

    /// Forgets what is over.
    ///
    /// # Errors
    /// The meter is not available.
    pub async fn sweep(&self) -> Result<(), MeterError> {
        self.shared.meter.sweep().await
    }
}

/// The account of a scope. A session's reference is a keyed digest already.
fn account(key: &TenantKey, scope: Scope, day: i64, ask: Ask<'_>) -> Account {
    let day_bytes = day.to_be_bytes();
    let daily = |whose: &str| {
        let parts: [&[u8]; 3] = [scope.word().as_bytes(), whose.as_bytes(), &day_bytes];
        Account {
            name: random::name_of(NAME, &key.lookup().mac("meter", &parts)),
            until_us: day.saturating_add(1).saturating_mul(DAY_US),
        }
    };
    match scope {
        Scope::Key => daily(ask.key),
        Scope::Session => Account {
            name: ask.session.to_owned(),
            until_us: ask.session_until_us,
        },
        Scope::Tenant => daily(ask.tenant),
    }
}

/// What one exchange sets aside, from its admission to its settlement. One that is merely dropped
/// stands until its windows end.
pub struct Hold {
    shared: Arc<Shared>,
    request: String,
    claims: [Claim; 3],
    worst: Worst,
    missing: u64,
    warning: Option<Warning>,
}

impl Hold {
    /// Whether the meter could refuse it: where there are no caps, it only counts.
    pub fn may_be_refused(&self) -> bool {
        self.claims.iter().any(|claim| claim.cap.is_some())
    }

    /// The tokens that it sets aside.
    pub fn amount(&self) -> u64 {
        self.worst.total()
    }

    /// What the exchange may cost.
    pub fn worst(&self) -> Worst {
        self.worst
    }

    /// How many tokens that had been spent the meter had lost when it was asked. They count again.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// A cap that this exchange comes near to.
    pub fn warning(&self) -> Option<Warning> {
        self.warning
    }

    /// Sets it aside.
    ///
    /// # Errors
    /// [`Denied`]; nothing is to be sent then.
    pub async fn reserve(&mut self) -> Result<(), Denied> {
        let reserved = self.shared.meter.reserve(&self.request, &self.claims).await;
        match reserved.map_err(Denied::Unavailable)? {
            Reserved::Held(standing) => {
                self.note(&standing);
                Ok(())
            }
            Reserved::Refused { at, total } => {
                let scope = Scope::ALL.get(at).copied().unwrap_or(Scope::Tenant);
                let cap = scope.cap(&self.shared.caps).unwrap_or(0);
                let used = total.all();
                Err(Denied::Capped { scope, cap, used })
            }
        }
    }

    fn note(&mut self, standing: &[Standing]) {
        let Caps { warn_percent, .. } = self.shared.caps;
        for ((claim, scope), standing) in self.claims.iter().zip(Scope::ALL).zip(standing) {
            let (name, total) = (claim.account.name.as_str(), standing.total);
            self.shared.memory.saw(name, total.spent);
            if standing.missing > 0 {
                let (scope, missing) = (scope.word(), standing.missing);
                tracing::error!(
                    account = name,
                    scope,
                    missing,
                    "the meter has less than was spent: it has lost something, or a process died \
                     before it settled; it counts again"
                );
                self.missing = self.missing.max(standing.missing);
            }
            let Some(cap) = claim.cap else { continue };
            let used = total.all();
            let near = u128::from(used) * 100 >= u128::from(cap) * u128::from(warn_percent);
            let nearer = |it: &Warning| {
                u128::from(it.used) * u128::from(cap) >= u128::from(used) * u128::from(it.cap)
            };
            if near && !self.warning.as_ref().is_some_and(nearer) {
                self.warning = Some(Warning { scope, cap, used });
            }
        }
    }

    /// Puts what was spent in the place of what was set aside. If the meter does not answer the
    /// reservation stands, which counts no less.
    pub async fn settle(&self, spent: u64) {
        let (meter, accounts) = (&self.shared.meter, self.accounts());
        let settled = meter.settle(&self.request, spent, &accounts);
        match settled.await {
            Ok(totals) => {
                for (claim, total) in self.claims.iter().zip(totals) {
                    self.shared.memory.saw(&claim.account.name, total.spent);
                }
            }
            Err(error) => {
                let request = self.request.as_str();
                tracing::warn!(request, %error, "not settled: what was set aside counts as spent");
            }
        }
    }

    /// Takes it back: no provider was asked.
    pub async fn release(&self) {
        let (meter, accounts) = (&self.shared.meter, self.accounts());
        let released = meter.release(&self.request, &accounts);
        if let Err(error) = released.await {
            let request = self.request.as_str();
            tracing::warn!(request, %error, "not released: what was set aside counts as spent");
        }
    }

    fn accounts(&self) -> Vec<Account> {
        self.claims.iter().map(|it| it.account.clone()).collect()
    }
}
