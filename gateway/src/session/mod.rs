//! Sessions: one conversation each, opened by a caller, used by that caller alone.
//!
//! An id is a credential of 256 random bits and is kept nowhere; its keyed digest under the
//! tenant's key is the session's public reference, by which rows and records know it. Everything a
//! session knows is sealed under a random key of its own, whose wrapped form has its own row:
//! without that row the session is unreadable, wherever copies of it are.

mod chain;
mod end;
mod error;
mod journal;
mod queue;
mod replay;
mod state;
pub mod store;
mod turn;

use std::{sync::Arc, time::Duration};

use gatehouse_envelope::{
    keys::{SessionKeys, TenantKey},
    random,
    seal::USE_LIMIT,
    secret::{Secret, equal},
};
use tokio::time::Instant;
use zeroize::Zeroizing;

pub use crate::audit::{Link, SessionEnding};
pub use end::Swept;
pub use error::{Absence, SessionError};
pub use journal::Journal;
pub use replay::Logged;
pub use state::{SessionState, SignedBlocks};
pub use turn::Turn;

use self::{
    chain::Chains,
    queue::Queue,
    store::{Acquired, Lease, Row, SharedStore, Sync},
    turn::{Head, Location},
};
use crate::{
    audit::{AuditGap, Event, SessionOpen, StateKey, Subject, Who},
    auth::Caller,
    clock::{Clock, later},
    registry::{Keyring, LogNames, Registry, Table},
};

/// What a session id begins with.
const ID: &str = "gs_";
/// What a session's reference begins with.
const REFERENCE: &str = "s_";
/// How long to wait before asking again for a lease that another process holds.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// How long things last.
#[derive(Clone, Copy)]
pub struct Limits {
    /// A session without a turn ends after this.
    pub idle: Duration,
    /// Any session ends after this.
    pub absolute: Duration,
    /// A turn that says nothing for this long may be taken over.
    pub lease: Duration,
    /// A turn waits at most this long for the one before it.
    pub wait: Duration,
    /// How often one session's key may seal; at most 2^32.
    pub seals: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(3600),
            absolute: Duration::from_secs(24 * 3600),
            lease: Duration::from_secs(60),
            wait: Duration::from_secs(30),
            seals: USE_LIMIT,
        }
    }
}

/// What sessions need of the rest of the gateway.
pub struct Parts {
    /// Where the state is kept.
    pub store: SharedStore,
    /// Where wrapped keys are kept.
    pub registry: Arc<dyn Registry>,
    /// The tenants' keys.
    pub keyring: Arc<Keyring>,
    /// The log.
    pub journal: Arc<dyn Journal>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How long things last.
    pub limits: Limits,
}

struct Shared {
    store: SharedStore,
    registry: Arc<dyn Registry>,
    keyring: Arc<Keyring>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    /// This process, as the store knows it. Never 0.
    holder: u64,
    chains: Chains,
    queue: Queue,
}

/// All sessions.
#[derive(Clone)]
pub struct Sessions {
    shared: Arc<Shared>,
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

/// What a session shows of itself. No values, no keys.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SessionView {
    /// The public reference.
    pub reference: String,
    /// Whose it is.
    pub tenant: String,
    /// The principal that opened it.
    pub principal: String,
    /// When it was opened, in microseconds since 1970 (UTC).
    pub created_us: i64,
    /// When it ends if no turn comes before.
    pub expires_us: i64,
    /// When it ends at the latest.
    pub absolute_us: i64,
    /// Turns that reached a provider.
    pub steps: u64,
    /// Records in its chain.
    pub records: u64,
    /// The public id of its key.
    pub kid: String,
}

/// A session as it was read, opened.
struct Loaded {
    keys: SessionKeys,
    state: SessionState,
    version: u64,
    expires_us: i64,
}

impl Sessions {
    /// Sessions over a store, a registry and a log.
    pub fn new(parts: Parts) -> Result<Self, SessionError> {
        let holder =
            u64::from_be_bytes(random::bytes().map_err(gatehouse_envelope::keys::KeyError::from)?);
        let shared = Shared {
            store: parts.store,
            registry: parts.registry,
            keyring: parts.keyring,
            journal: parts.journal,
            clock: parts.clock,
            limits: parts.limits,
            holder: holder.max(1),
            chains: Chains::default(),
            queue: Queue::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Opens a session for a caller. It is in the store and in the log when this returns.
    pub async fn open(&self, caller: &Caller) -> Result<Opened, SessionError> {
        let (mut turn, id, event) = self.begin(caller).await?;
        let (stored, logged) = tokio::join!(
            turn.commit(Some(event.bytes()), Lease::Free, Sync::Now),
            self.shared.journal.append(event.clone()),
        );
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
            turn.state.link = turn.state.link.after(&event);
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
        for tenant_key in keys.newest_first() {
            let digest = id_digest(tenant_key, id);
            let location = locate(tenant_key, &digest);
            // Whose it is comes before anything that its owner could notice.
            if let Some(loaded) = self.peek(&location).await? {
                if !equal(&loaded.state.id_digest, &digest) {
                    return Err(SessionError::Damaged);
                }
                self.check_owner(caller, &location, &loaded).await?;
                return self.take(location, loaded).await;
            }
        }
        let newest = locate(keys.current(), &id_digest(keys.current(), id));
        Err(SessionError::NotFound(self.absence(&newest).await?))
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

    /// Closes a caller's session: `session.close` is in the log, and state and key are gone, when
    /// this returns. Nothing sealed under the key is kept beyond a session's end, so nothing is lost
    /// with it that should stay readable.
    pub async fn close(&self, caller: &Caller, reference: &str) -> Result<(), SessionError> {
        let (location, _) = self.find_own(caller, reference).await?;
        self.end(location, SessionEnding::Closed).await
    }

    /// The names by which a tenant's callers stand in the log this year.
    pub async fn log_names(&self, tenant: &str) -> Result<LogNames, SessionError> {
        Ok(self.shared.keyring.log_names(tenant).await?)
    }

    /// A new session, in memory only, and its first event, which carries its link.
    async fn begin(&self, caller: &Caller) -> Result<(Turn, Secret<String>, Event), SessionError> {
        let tenant_keys = self.shared.keyring.tenant(&caller.tenant).await?;
        let tenant_key = tenant_keys.current();
        let id = random::credential(ID).map_err(gatehouse_envelope::keys::KeyError::from)?;
        let digest = id_digest(tenant_key, id.expose());
        let location = locate(tenant_key, &digest);
        let (keys, wrapped) = tenant_key.new_session(&location.reference)?;
        let created_us = self.shared.clock.utc_us();
        let state = SessionState {
            id_digest: digest,
            principal: caller.principal(),
            created_us,
            absolute_us: later(created_us, self.shared.limits.absolute),
            link: Link::START,
            gaps: Vec::new(),
            steps: 0,
            vault: Zeroizing::default(),
            signed: SignedBlocks::default(),
        };
        let names = self.log_names(&caller.tenant).await?;
        let event = SessionOpen {
            subject: subject(&location.reference),
            who: Who {
                principal: &names.principal(&state.principal),
                credential: Some(&names.credential(&caller.token_digest)),
                tenant: &caller.tenant,
                agent: caller.agent.as_deref(),
            },
            expires_us: state.absolute_us.unsigned_abs(),
            state: Some(StateKey {
                id: keys.kid(),
                commitment: keys.kc(),
            }),
        };
        let event = event.build().map_err(|_| SessionError::Log)?;
        let turn = Turn {
            shared: Arc::clone(&self.shared),
            location,
            keys: keys.with_uses(0, self.shared.limits.seals),
            state,
            head: None,
            wrapped: Some(wrapped),
            fresh: true,
            broken: false,
            expires_us: None,
            _place: None,
        };
        Ok((turn, id, event))
    }

    /// Takes the lease of a session that is there and the caller's, as soon as it is free.
    async fn take(&self, location: Location, peeked: Loaded) -> Result<Turn, SessionError> {
        let shared = &self.shared;
        let deadline = Instant::now() + shared.limits.wait;
        let place = shared.queue.wait(&location.name, shared.limits.wait).await;
        let place = place.ok_or(SessionError::Busy)?;
        let (fence, row) = loop {
            match shared
                .store
                .acquire(&location.name, shared.holder, shared.limits.lease)
                .await?
            {
                Acquired::Held { fence, row } => break (fence, row),
                Acquired::Missing => {
                    return Err(SessionError::NotFound(self.absence(&location).await?));
                }
                Acquired::Expired { fence, .. } => {
                    shared.store.free(&location.name, fence).await?;
                    return Err(SessionError::NotFound(Absence::Expired));
                }
                Acquired::Busy if Instant::now() + ASK_AGAIN < deadline => {
                    tokio::time::sleep(ASK_AGAIN).await;
                }
                Acquired::Busy => return Err(SessionError::Busy),
            }
        };
        let opened = self.under_lease(&location, peeked, &row);
        let (keys, state) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                shared.store.free(&location.name, fence).await?;
                return Err(error);
            }
        };
        let mut turn = Turn {
            shared: Arc::clone(shared),
            keys: keys.with_uses(row.version, shared.limits.seals),
            state,
            head: Some(Head {
                fence,
                version: row.version,
            }),
            wrapped: None,
            fresh: false,
            broken: false,
            expires_us: None,
            _place: Some(place),
            location,
        };
        self.declare_gaps(&mut turn).await?;
        Ok(turn)
    }

    /// The state as it is under the lease: what was peeked at, if nobody has written since.
    fn under_lease(
        &self,
        location: &Location,
        peeked: Loaded,
        row: &Row,
    ) -> Result<(SessionKeys, SessionState), SessionError> {
        let chains = &self.shared.chains;
        if chains.put_back(&location.name, row.version) || row.version < peeked.version {
            return Err(SessionError::Damaged);
        }
        let Loaded {
            keys,
            mut state,
            version,
            ..
        } = peeked;
        if row.version != version {
            state = unseal(location, &keys, row)?;
        }
        // A holder that is not this process and did not say goodbye was cut short, maybe between
        // the store and the log.
        if row.holder != 0 && row.holder != self.shared.holder {
            state.gaps.push(state.link.sseq.saturating_sub(1));
        }
        chains.settle(&location.name, &mut state);
        Ok((keys, state))
    }

    /// Writes `audit.gap` for every event that may be missing, before anything else happens in the
    /// session. A gap is forgotten only with the write after its record: declared twice is better
    /// than never.
    async fn declare_gaps(&self, turn: &mut Turn) -> Result<(), SessionError> {
        for missing in turn.state.gaps.clone() {
            let gap = AuditGap {
                subject: subject(turn.reference()),
                missing,
            };
            let event = gap.build(turn.link()).map_err(|_| SessionError::Log)?;
            let append = self.shared.journal.append(event.clone());
            let (stored, logged) = tokio::join!(turn.record(event.bytes()), append);
            stored?;
            if logged.is_err() {
                turn.unlogged();
                return Err(SessionError::Log);
            }
            turn.state.gaps.retain(|gap| *gap != missing);
        }
        Ok(())
    }

    /// Reads and opens a session without taking its lease. `None`: there is none, or no more.
    async fn peek(&self, location: &Location) -> Result<Option<Loaded>, SessionError> {
        let Some(row) = self.shared.store.read(&location.name).await? else {
            return Ok(None);
        };
        if self.shared.chains.put_back(&location.name, row.version) {
            return Err(SessionError::Damaged);
        }
        let Some(wrapped) = self
            .shared
            .registry
            .get(Table::SessionKeys, &location.name)
            .await?
        else {
            return Ok(None);
        };
        let tenant_keys = self.shared.keyring.tenant(&location.tenant).await?;
        let tenant_key = tenant_keys
            .epoch(location.epoch)
            .ok_or(SessionError::Damaged)?;
        let keys = tenant_key.session(&location.reference, &wrapped)?;
        let state = unseal(location, &keys, &row)?;
        Ok(Some(Loaded {
            keys,
            state,
            version: row.version,
            expires_us: row.expires_us,
        }))
    }

    async fn check_owner(
        &self,
        caller: &Caller,
        location: &Location,
        loaded: &Loaded,
    ) -> Result<(), SessionError> {
        if !equal(
            loaded.state.principal.as_bytes(),
            caller.principal().as_bytes(),
        ) {
            let owner = self
                .log_names(&location.tenant)
                .await?
                .principal(&loaded.state.principal);
            let reference = location.reference.clone();
            return Err(SessionError::NotFound(Absence::Foreign {
                reference,
                owner,
            }));
        }
        if loaded.expires_us <= self.shared.clock.utc_us() {
            return Err(SessionError::NotFound(Absence::Expired));
        }
        Ok(())
    }

    async fn find_own(
        &self,
        caller: &Caller,
        reference: &str,
    ) -> Result<(Location, Loaded), SessionError> {
        if !is_reference(reference) {
            return Err(SessionError::NotFound(Absence::Malformed));
        }
        let keys = self.shared.keyring.tenant(&caller.tenant).await?;
        for tenant_key in keys.newest_first() {
            let location = Location::new(reference, &caller.tenant, tenant_key.epoch());
            if let Some(loaded) = self.peek(&location).await? {
                self.check_owner(caller, &location, &loaded).await?;
                return Ok((location, loaded));
            }
        }
        let newest = Location::new(reference, &caller.tenant, keys.current().epoch());
        Err(SessionError::NotFound(self.absence(&newest).await?))
    }
}

/// A session as events that belong to no exchange name it.
fn subject(reference: &str) -> Subject<'_> {
    Subject {
        session: reference,
        run: None,
        trace: None,
    }
}

/// What the store has sealed, opened and read.
fn unseal(
    location: &Location,
    keys: &SessionKeys,
    row: &Row,
) -> Result<SessionState, SessionError> {
    let plain = keys
        .seal()
        .open(&location.context(row.version), row.sealed.as_bytes())?;
    SessionState::decode(&plain).map_err(|_| SessionError::Damaged)
}

fn id_digest(key: &TenantKey, id: &str) -> [u8; 32] {
    key.lookup().mac("session-id", &[id.as_bytes()])
}

/// The reference is made of the id's digest, so that neither tells the other without the key.
fn locate(key: &TenantKey, id_digest: &[u8; 32]) -> Location {
    let digest = key.lookup().mac("session-reference", &[id_digest]);
    Location::new(
        &random::name_of(REFERENCE, &digest),
        key.tenant(),
        key.epoch(),
    )
}

/// Whether a text has the form of a reference: `s_` and 26 characters of lower-case base32.
fn is_reference(text: &str) -> bool {
    text.strip_prefix(REFERENCE).is_some_and(|rest| {
        rest.len() == 26
            && rest
                .bytes()
                .all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
    })
}

fn view(location: &Location, loaded: &Loaded) -> SessionView {
    SessionView {
        reference: location.reference.clone(),
        tenant: location.tenant.clone(),
        principal: loaded.state.principal.clone(),
        created_us: loaded.state.created_us,
        expires_us: loaded.expires_us,
        absolute_us: loaded.state.absolute_us,
        steps: loaded.state.steps,
        records: loaded.state.link.sseq,
        kid: loaded.keys.kid().to_owned(),
    }
}

#[cfg(test)]
mod tests;
