//! What is said over the admin socket: one line of JSON each way, then the connection closes.

use gatehouse_ledger::export::Export;
use serde::{Deserialize, Serialize};

use crate::{
    auth::{CallerRecord, NewCaller},
    session::{Hold, SessionView},
};

/// The longest line either side accepts of a request.
pub(super) const MAX_REQUEST: u64 = 64 * 1024;

/// What an operator asks for.
#[derive(Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Record that something was given out of the log.
    ExportRecord {
        /// What.
        export: Export,
    },
    /// Make a caller's key.
    KeyCreate(NewCaller),
    /// Show all callers' keys.
    KeyList {},
    /// Revoke a key, by id or by name.
    KeyRevoke {
        /// The id or the name.
        key: String,
    },
    /// Wrap under the current keys what is under earlier ones, for as long as an answer may take.
    KeysRewrap {
        /// Where the answer before this one left off; `None`: from the beginning.
        from: Option<String>,
    },
    /// Make a new key for a tenant.
    KeysRotate {
        /// The tenant.
        tenant: String,
    },
    /// Give out what opens the payloads of sessions, and nothing else of them.
    PayloadKeys {
        /// The sessions' references.
        sessions: Vec<String>,
        /// Who says to ask: a word.
        #[serde(default)]
        name: Option<String>,
        /// What for: a word.
        #[serde(default)]
        purpose: Option<String>,
    },
    /// Destroy a session's key and state.
    SessionErase {
        /// The session's reference.
        reference: String,
    },
    /// Put a session on hold: its key is not destroyed.
    SessionHold {
        /// The session's reference.
        reference: String,
        /// Why: a word, such as the number of a case.
        reason: String,
    },
    /// Show all sessions on hold.
    SessionHolds {},
    /// Show all sessions, or those of one tenant.
    SessionList {
        /// The tenant.
        tenant: Option<String>,
    },
    /// End the hold that is on a session.
    SessionRelease {
        /// The session's reference.
        reference: String,
    },
    /// End a session.
    SessionRevoke {
        /// The session's reference.
        reference: String,
    },
    /// Show one session.
    SessionShow {
        /// The session's reference.
        reference: String,
    },
}

impl Request {
    /// Whether it makes sense where no gateway has run: a data directory is made then.
    pub fn begins(&self) -> bool {
        matches!(self, Self::KeyCreate(_))
    }

    /// Whether keys of ended sessions get their end by it, as the configuration says.
    pub fn retires(&self) -> bool {
        matches!(
            self,
            Self::SessionRelease { .. } | Self::SessionRevoke { .. }
        )
    }

    /// Whether it changes anything, and so must be recorded.
    pub fn changes(&self) -> bool {
        match self {
            Self::ExportRecord { .. }
            | Self::KeyCreate(_)
            | Self::KeyRevoke { .. }
            | Self::KeysRewrap { .. }
            | Self::KeysRotate { .. }
            | Self::PayloadKeys { .. }
            | Self::SessionErase { .. }
            | Self::SessionHold { .. }
            | Self::SessionRelease { .. }
            | Self::SessionRevoke { .. } => true,
            Self::KeyList {}
            | Self::SessionHolds {}
            | Self::SessionList { .. }
            | Self::SessionShow { .. } => false,
        }
    }
}

/// The answer.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A key was made. The token is given out here and never again.
    Created {
        /// The token. Taken from here to standard output and nowhere else.
        token: String,
        /// The key.
        key: KeyView,
    },
    /// It was done.
    Done {},
    /// It was not done, and why.
    Failed {
        /// For the operator.
        why: String,
    },
    /// Sessions on hold, in the order of their references.
    Holds(Vec<Hold>),
    /// A key.
    Key(KeyView),
    /// Keys, the oldest first.
    Keys(Vec<KeyView>),
    /// What opens the payloads of sessions. Those whose keys are destroyed are not among them.
    PayloadKeys(Vec<GivenKey>),
    /// What was wrapped anew.
    Rewrapped(Rewrap),
    /// A tenant's newest key.
    Rotated(RotatedKey),
    /// A session.
    Session(SessionView),
    /// Sessions, in the order of their references.
    Sessions(Vec<SessionView>),
}

/// What opens the payloads of one session. Has no `Debug`.
#[derive(Deserialize, Serialize)]
pub struct GivenKey {
    /// The session's reference.
    pub session: String,
    /// Whose it is.
    pub tenant: String,
    /// The public id of its key.
    pub kid: String,
    /// The key. Taken from here to the one who asked and nowhere else.
    pub key: String,
}

/// A tenant's newest key as operators see it.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct RotatedKey {
    /// Whose it is.
    pub tenant: String,
    /// Which of the tenant's keys it is, counted from 1.
    pub epoch: u32,
    /// Its public id, `tk_…`.
    pub id: String,
    /// When it begins to be used for new sessions, in microseconds since 1970 (UTC).
    pub from_us: i64,
    /// Whether it was made now. Otherwise it was waiting for its time already.
    pub made: bool,
}

/// How many keys were wrapped anew.
#[derive(Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Rewrap {
    /// Tenants' keys, under the root key.
    pub tenant_keys: u64,
    /// Keys of names in the log, under their tenant's.
    pub log_keys: u64,
    /// Sessions' keys, under their tenant's.
    pub sessions: u64,
    /// Sessions' keys that could not be.
    pub failed: u64,
    /// Where to go on; `None`: all is done.
    pub next: Option<String>,
}

impl Rewrap {
    /// Takes what was done next to what was done before.
    pub fn add(&mut self, more: Self) {
        self.tenant_keys += more.tenant_keys;
        self.log_keys += more.log_keys;
        self.sessions += more.sessions;
        self.failed += more.failed;
        self.next = more.next;
    }
}

/// A caller's key as operators see it.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct KeyView {
    /// Its public id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// The agent profile it selects.
    pub agent: Option<String>,
    /// When it was made, in microseconds since 1970 (UTC).
    pub created_us: i64,
    /// When it was revoked.
    pub revoked_us: Option<i64>,
}

impl From<&CallerRecord> for KeyView {
    fn from(record: &CallerRecord) -> Self {
        Self {
            id: record.caller.key_id.clone(),
            name: record.caller.name.clone(),
            tenant: record.caller.tenant.clone(),
            agent: record.caller.agent.clone(),
            created_us: record.created_us,
            revoked_us: record.revoked_us,
        }
    }
}
