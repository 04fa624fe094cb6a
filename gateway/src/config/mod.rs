//! What the gateway was told to do, parsed and checked: once a [`Config`] exists, nothing in it
//! needs another look.
//!
//! `raw` is the file as written, `check` turns it into what it means and lists every fault, and
//! `load` is the one place where the environment and other files are read, but for those of `tls`,
//! which are read again while the gateway runs.

mod anchor;
mod caps;
mod check;
mod fault;
mod issuers;
mod keys;
mod ledger;
mod load;
mod model;
mod payloads;
mod phases;
mod pins;
mod provider;
mod raw;
mod redaction;
mod secret_file;
mod store;
mod tls;
mod tree;
mod value;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::secret::Secret;
use gatehouse_redactor::{Engine, Policies};
use http::Uri;

pub use anchor::{Timestamp, Witness};
pub use caps::Caps;
pub use fault::{Fault, Faults};
pub use keys::{Keys, Kms, RootKey};
pub use ledger::{Ledger, LedgerMode, LogBucket, LogStore};
pub use load::{Environment, Overrides};
pub(crate) use model::needs as needs_model;
pub use payloads::{KeptReply, PayloadPlace, Payloads};
pub use phases::Phases;
pub use pins::{Pin, pinned};
pub use store::{DynamoDb, Redis, RedisNode, Store};
pub use tls::{Contents, Identity, Tls, TlsFiles};
pub use value::{Glob, valid_tenant};

/// The whole configuration. Has no `Debug`: it holds provider credentials.
#[derive(Clone)]
pub struct Config {
    /// Where callers connect. Without `tls` a loopback address, unless the file says otherwise.
    pub listen: SocketAddr,
    /// TLS there; `None` for plain HTTP.
    pub tls: Option<Tls>,
    /// Health and metrics; always loopback.
    pub admin_listen: SocketAddr,
    /// `sessions.redb`, `keys/`, `ledger/`, `wal/`, `trust.policy` and `admin.sock` live here.
    pub data_dir: PathBuf,
    /// What is searched for, and what happens to it.
    pub redaction: Redaction,
    /// The local model; `None` where none takes part.
    pub model: Option<LocalModel>,
    /// In the file's order, which decides between globs. Never empty.
    pub providers: Vec<Arc<Provider>>,
    /// Parameters that requests for some models get; the first entry for a model decides.
    pub pins: Vec<Pin>,
    /// How long anything may take.
    pub timeouts: Timeouts,
    /// How large anything may be.
    pub limits: Limits,
    /// What may be spent.
    pub caps: Caps,
    /// How long sessions live, and how their turns wait for each other.
    pub sessions: Sessions,
    /// The phases that sessions go through.
    pub phases: Arc<Phases>,
    /// Where they are kept.
    pub store: Store,
    /// Who holds the keys, and how long unwrapped ones are kept.
    pub keys: Keys,
    /// The audit log.
    pub ledger: Ledger,
    /// The operator's log.
    pub log: Log,
}

/// The redaction policy and the rules compiled from it.
#[derive(Clone)]
pub struct Redaction {
    /// Actions, dictionaries, custom rules, for each tenant.
    pub policies: Arc<Policies>,
    /// Compiled once, here, so that a rule that does not compile is a fault of the file.
    pub engine: Arc<Engine>,
}

/// How the local model is run.
#[derive(Clone, Debug)]
pub struct LocalModel {
    /// The directory whose `model/` holds it: the data directory.
    pub home: PathBuf,
    /// Threads that run it; 0 for one a core.
    pub workers: usize,
    /// How long a request waits for it.
    pub deadline: Duration,
    /// Bytes of new text that one request may bring, about.
    pub text: usize,
}

/// A model provider. Has no `Debug`: it holds a credential.
pub struct Provider {
    /// The name that the audit log gives it.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// The models that go to it.
    pub models: Vec<Glob>,
    /// Scheme, authority and path prefix as the provider's own SDK takes them: with `/v1` for
    /// OpenAI, without for Anthropic. `None` for the built-in echo.
    pub base_url: Option<Uri>,
    /// Sent in the protocol's own header; `None` for local servers that want none.
    pub api_key: Option<Secret<String>>,
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `POST /v1/messages`.
    Anthropic,
    /// The built-in provider, which speaks both and leaves the process never.
    Echo,
    /// `POST /v1/chat/completions`.
    OpenAi,
}

/// How long anything may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the accept on until the whole head of a request is there.
    pub headers: Duration,
    /// Between two bytes, either side.
    pub idle: Duration,
    /// A whole exchange.
    pub exchange: Duration,
    /// Until a provider's connection stands.
    pub connect: Duration,
    /// From the last byte sent to a provider until the head of its reply. Longer than `idle`:
    /// a whole reply is computed before its first byte comes.
    pub first_byte: Duration,
    /// How long a stopping gateway waits for running exchanges.
    pub drain: Duration,
}

/// How large anything may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request's head.
    pub headers: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Levels of JSON nesting.
    pub depth: usize,
    /// JSON leaves of one body.
    pub leaves: usize,
    /// Bytes of a provider's whole reply, which is held until it has been searched.
    pub reply: usize,
    /// Bytes of one event of a provider's stream.
    pub event: usize,
    /// Connections of callers at one time.
    pub connections: usize,
    /// Connections from one address at one time.
    pub connections_per_ip: usize,
}

/// What becomes of a second turn of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBusy {
    /// The first one ends, and the second goes on.
    Interrupt,
    /// It waits, first come, first served, for a bounded time.
    Queue,
    /// It gets a 409 at once.
    Reject,
}

/// In a deployment where turns interrupt each other, how often at least one asks whether it still has
/// its session.
const SOON: Duration = Duration::from_secs(2);

impl Sessions {
    /// How often a turn renews its lease: a few times within it, so that a slow provider does not lose
    /// the session's turn; and soon enough to notice that it has been interrupted.
    pub fn renewal(&self) -> Duration {
        let period = (self.lease / 3).max(Duration::from_millis(10));
        match self.on_busy {
            OnBusy::Interrupt => period.min(SOON),
            OnBusy::Queue | OnBusy::Reject => period,
        }
    }
}

/// How long sessions live, and how their turns wait for each other.
#[derive(Clone, Copy, Debug)]
pub struct Sessions {
    /// Without a turn, a session ends after this.
    pub idle: Duration,
    /// Every session ends after this.
    pub absolute: Duration,
    /// How long a turn holds its session without renewing.
    pub lease: Duration,
    /// What a second turn does while the first is under way.
    pub on_busy: OnBusy,
    /// How long a second turn waits for the first, before it gets a 409.
    pub wait: Duration,
    /// Whether a request without an id is given the session that its conversation belongs to.
    pub continuity: bool,
    /// Whether a request without an id is refused.
    pub require_session: bool,
    /// How many days back the store can be put: an erasure is final after as many.
    pub recovery_days: u32,
}

/// The operator's log, on standard error. Never holds payload.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The least important level that is written.
    pub level: tracing::level_filters::LevelFilter,
    /// One JSON object a line instead of text.
    pub json: bool,
}

impl Config {
    /// The provider for a model, for a caller that speaks `protocol` (never `Echo`): the first
    /// with a fitting glob, else the first of the protocol. The echo provider speaks both.
    #[must_use]
    pub fn provider(&self, protocol: Protocol, model: &str) -> Option<&Arc<Provider>> {
        let mut speaking = self
            .providers
            .iter()
            .filter(|provider| provider.speaks(protocol));
        let first = speaking.clone().next();
        speaking
            .find(|provider| provider.models.iter().any(|glob| glob.matches(model)))
            .or(first)
    }
}

impl Provider {
    fn speaks(&self, protocol: Protocol) -> bool {
        self.protocol == protocol || self.protocol == Protocol::Echo
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            headers: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            exchange: Duration::from_secs(600),
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(300),
            drain: Duration::from_secs(30),
        }
    }
}

impl Default for LocalModel {
    fn default() -> LocalModel {
        LocalModel {
            home: PathBuf::new(),
            workers: 0,
            deadline: Duration::from_secs(20),
            text: 256 << 10,
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            headers: 64 << 10,
            body: 32 << 20,
            depth: 128,
            leaves: 200_000,
            reply: 32 << 20,
            event: 1 << 20,
            connections: 4096,
            connections_per_ip: 1024,
        }
    }
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions {
            idle: Duration::from_secs(3600),
            absolute: Duration::from_secs(24 * 3600),
            lease: Duration::from_secs(60),
            on_busy: OnBusy::Queue,
            wait: Duration::from_secs(10),
            continuity: true,
            require_session: false,
            // The most that DynamoDB's recovery to a point in time has.
            recovery_days: 35,
        }
    }
}

impl Default for Log {
    fn default() -> Log {
        Log {
            level: tracing::level_filters::LevelFilter::INFO,
            json: false,
        }
    }
}

#[cfg(test)]
mod tests;
