//! Sessions: one conversation each, opened by a caller, used by that caller alone.
//!
//! An id is a credential of 256 random bits and is kept nowhere; its keyed digest under the
//! tenant's key is the session's public reference, by which rows and records know it. Everything a
//! session knows is sealed under a random key of its own, whose wrapped form has its own row:
//! without that row the session is unreadable, wherever copies of it are.

mod asking;
mod begin;
mod begun;
pub mod blobs;
mod chain;
mod continuity;
mod end;
mod erasure;
mod error;
mod find;
mod framing;
mod hold;
mod in_line;
pub mod index;
mod journal;
mod kept_key;
mod key_row;
mod listed;
mod mend;
mod outbox;
mod outbox_file;
mod outlived;
mod owners;
mod progress;
mod queue;
mod replay;
mod rewrap;
mod sections;
mod set_aside;
mod shared;
mod spend;
mod state;
pub mod store;
mod tail;
mod take;
mod turn;
pub mod typed;

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

use gatehouse_envelope::{
    keys::KeyError,
    random,
    seal::USE_LIMIT,
    secret::{Secret, equal},
};
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use crate::audit::{Link, SessionEnding};
pub use begin::is_reference;
pub use continuity::{Continuity, Conversation, Evidence, Message, Witness};
pub use end::Swept;
pub use error::{Absence, SessionError};
pub use find::SessionView;
pub use framing::{Fate, Funds, Late, Unadmitted};
pub use hold::Hold;
pub use journal::Journal;
pub use kept_key::PayloadGrant;
pub use outbox::Offer;
pub use progress::{Doing, Progress, Reporting, STREAMS, TurnProgress, Watching};
pub use replay::Logged;
pub use rewrap::RewrappedSessions;
pub use spend::Spend;
pub use state::{SessionState, SignedBlocks};
pub use turn::Turn;

use self::{
    begin::{ID, id_digest, locate},
    chain::Chains,
    find::view,
    outbox::Outbox,
    outbox_file::Written,
    owners::Owners,
    queue::Queue,
    store::{Durable, Lease, SharedStore},
};
use crate::{
    auth::Caller,
    clock::Clock,
    config::OnBusy,
    registry::{Keyring, LogNames, Registry},
};

/// How long things last.
#[derive(Clone, Copy)]
pub struct Limits {
    /// A session without a turn ends after this.
    pub idle: Duration,
    /// Any session ends after this.
    pub absolute: Duration,
    /// A turn that says nothing for this long may be taken over.
    pub lease: Duration,
    /// What a turn does while another is under way.
    pub on_busy: OnBusy,
    /// A turn waits at most this long for the one before it.
    pub wait: Duration,
    /// How often one session's key may seal; at most 2^32.
    pub seals: u64,
    /// How long the key of a session is kept after its end, for what is sealed under it and stays; `None`:
    /// it is destroyed with the session. One that is erased is destroyed in any case.
    pub keep_keys: Option<Duration>,
    /// How far back the store's rows can be put: by recovery to a point in time, or from backups.
    pub recovery: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(3600),
            absolute: Duration::from_secs(24 * 3600),
            lease: Duration::from_secs(60),
            on_busy: OnBusy::Queue,
            wait: Duration::from_secs(30),
            seals: USE_LIMIT,
            keep_keys: None,
            recovery: Duration::from_secs(35 * 86_400),
        }
    }
}

/// What sessions need of the rest of the gateway.
pub struct Parts {
    /// Where the state is kept.
    pub store: SharedStore,
    /// Where wrapped keys are kept.
    pub registry: Arc<dyn Registry>,
    /// Where the large parts of the state are kept.
    pub blobs: Arc<dyn blobs::Blobs>,
    /// Where sessions are found by their conversations.
    pub index: Arc<dyn index::Index>,
    /// The tenants' keys.
    pub keyring: Arc<Keyring>,
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long things last.
    pub limits: Limits,
    /// A directory of this process's own, where others share the store: for the events that are on
    /// their way from it to the log. Without one a process that dies may leave holes in the log.
    pub outbox: Option<PathBuf>,
}

struct Shared {
    store: SharedStore,
    registry: Arc<dyn Registry>,
    blobs: Arc<dyn blobs::Blobs>,
    index: Arc<dyn index::Index>,
    keyring: Arc<Keyring>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    /// This process, as the store knows it. Never 0.
    holder: u64,
    board: progress::Board,
    chains: Chains,
    queue: Queue,
    owners: Owners,
    outbox: Outbox,
    /// What is still to be said to the store for turns that are gone.
    errands: TaskTracker,
    /// Sessions whose leases this process may hold without knowing, by name.
    doubted: Mutex<HashSet<String>>,
    /// When this process began, in microseconds since 1970 (UTC).
    opened_us: i64,
    /// What dead processes left in the outbox, until it has been looked at.
    left: Mutex<Vec<Written>>,
}

impl Shared {
    /// Whether other processes work on the same store.
    fn is_shared(&self) -> bool {
        self.store.shared()
    }
}

/// All sessions.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
    /// Ends the waiting for other turns.
    gone: CancellationToken,
}

/// A session that was just opened.
pub struct Opened {
    /// The id, given out here and never again.
    pub id: Secret<String>,
    /// The public reference.
    pub reference: String,
    /// When it ends at the latest, in microseconds since 1970 (UTC).
    pub expires_us: i64,
}

impl Sessions {
    /// Sessions over a store, a registry and a log.
    pub fn new(parts: Parts) -> Result<Self, SessionError> {
        let holder = u64::from_be_bytes(random::bytes().map_err(KeyError::from)?).max(1);
        let is_shared = parts.store.shared();
        let (outbox, left) = match &parts.outbox {
            Some(directory) if is_shared => Outbox::open(directory, holder)
                .map_err(|error| SessionError::Store(Box::new(error)))?,
            _ => Default::default(),
        };
        let shared = Shared {
            chains: Chains::new(is_shared),
            owners: Owners::default(),
            outbox,
            errands: TaskTracker::new(),
            doubted: Mutex::default(),
            opened_us: parts.clock.utc_us(),
            left: Mutex::new(left),
            store: parts.store,
            registry: parts.registry,
            blobs: parts.blobs,
            index: parts.index,
            keyring: parts.keyring,
            journal: parts.journal,
            clock: parts.clock,
            limits: Limits {
                // Parts of the state are sealed under the same key.
                seals: parts.limits.seals.min(USE_LIMIT - typed::parts::MOST),
                ..parts.limits
            },
            holder,
            board: progress::Board::default(),
            queue: Queue::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            gone: CancellationToken::new(),
        })
    }

    /// The same sessions for one caller, whose turns do not wait for others any more once it is `gone`.
    #[must_use]
    pub fn until(&self, gone: CancellationToken) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            gone,
        }
    }

    /// Opens a session for a caller. It is in the store and in the log when this returns.
    ///
    /// A row that is there already is never written over: the new session then gets another id.
    pub async fn open(&self, caller: &Caller) -> Result<Opened, SessionError> {
        match self.try_open(caller).await {
            Err(SessionError::Conflict) => self.try_open(caller).await,
            done => done,
        }
    }

    async fn try_open(&self, caller: &Caller) -> Result<Opened, SessionError> {
        let (mut turn, id, event) = self.begin(caller).await?;
        let journal = Arc::clone(&self.shared.journal);
        let mut logging = journal.append(event.clone());
        if self.shared.is_shared() {
            // Nobody else can know of the session yet, so the log may be first: what it has is never
            // behind what the store has.
            let logged = (&mut logging).await;
            logged.map_err(|_| SessionError::Log)?;
            logging = Box::pin(async { Ok(()) });
        }
        let storing = turn.commit(Some(event.bytes()), Lease::Free, Durable::Now);
        let (stored, logged) = tokio::join!(storing, logging);
        stored?;
        logged.map_err(|_| SessionError::Log)?;
        let expires_us = turn.state.absolute_us;
        Ok(Opened {
            id,
            reference: turn.location.reference,
            expires_us,
        })
    }

    /// Begins a turn: of the session with this id, or of a new one.
    ///
    /// Waits its turn for a bounded time. A new session has its rows with the first thing that the
    /// turn records, and its `session.open` is durable with the first record that the log syncs.
    pub async fn turn(&self, caller: &Caller, id: Option<&str>) -> Result<Turn, SessionError> {
        let Some(id) = id else {
            let (mut turn, _id, event) = self.begin(caller).await?;
            let next = turn.state.link.after(&event);
            turn.state.advance(next, self.shared.is_shared());
            self.shared
                .journal
                .take(event)
                .await
                .map_err(|_| SessionError::Log)?;
            return Ok(turn);
        };
        if !random::is_credential(ID, id.as_bytes()) {
            return Err(SessionError::NotFound(Absence::Malformed));
        }
        let keys = self.shared.keyring.tenant(&caller.tenant).await?;
        let mut places = Vec::new();
        for tenant_key in keys.all() {
            let digest = id_digest(tenant_key, id);
            let location = locate(tenant_key, &digest);
            if let Some(turn) = self.take_known(caller, &location, &digest).await? {
                return Ok(turn);
            }
            places.push(location);
        }
        // Whose it is comes before anything that its owner could notice.
        let (location, loaded) = self.look(&places).await?;
        let key = keys.epoch(location.epoch).ok_or(SessionError::Damaged)?;
        if !equal(&loaded.state.id_digest, &id_digest(key, id)) {
            return Err(SessionError::Damaged);
        }
        self.check_owner(caller, location, &loaded).await?;
        let owners = &self.shared.owners;
        owners.note(&location.name, &loaded.state.principal);
        self.take(location.clone(), loaded).await
    }

    /// Shows a caller one of its sessions.
    pub async fn show(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<SessionView, SessionError> {
        let (location, loaded) = self.find_own(caller, reference).await?;
        Ok(view(&location, &loaded))
    }

    /// Closes a caller's session: `session.close` is in the log, and its state is gone, when this
    /// returns; its key too, unless payloads that are sealed under it stay ([`Limits::keep_keys`]).
    pub async fn close(&self, caller: &Caller, reference: &str) -> Result<(), SessionError> {
        let (location, _) = self.find_own(caller, reference).await?;
        let wait = self.shared.limits.wait;
        self.end(location, SessionEnding::Closed, wait).await
    }

    /// The names by which a tenant's callers stand in the log this year.
    pub async fn log_names(&self, tenant: &str) -> Result<LogNames, SessionError> {
        Ok(self.shared.keyring.log_names(tenant).await?)
    }
}

#[cfg(test)]
mod tests;
