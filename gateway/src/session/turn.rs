//! One turn of a session: the lease, the opened state, and the writes to the store.

use std::sync::Arc;

use gatehouse_envelope::{keys::SessionKeys, seal::Context};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Continuity, OnBusy, SessionError, SessionState, Shared,
    continuity::Followed,
    index::Named,
    queue::Place,
    state::after,
    store::{Durable, Lease, StoreError, Write},
};
use crate::{
    audit::Link,
    clock::later,
    registry::{Expected, Put, Table},
    reject::Code,
};

/// What a session's state is sealed as.
pub(super) const PURPOSE: &str = "session-state";

/// Where a session's rows are, in every store: reference, tenant and the epoch of the tenant key
/// that names it. The reference comes first, since the log knows sessions by nothing else.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) reference: String,
    pub(super) tenant: String,
    pub(super) epoch: u32,
    /// The three, joined: the rows' name.
    pub(super) name: String,
}

impl Location {
    pub(super) fn new(reference: &str, tenant: &str, epoch: u32) -> Self {
        let name = format!("{reference}/{tenant}/{epoch}");
        Self {
            reference: reference.to_owned(),
            tenant: tenant.to_owned(),
            epoch,
            name,
        }
    }

    /// Reads a row's name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let (reference, tenant) = (parts.next()?, parts.next()?);
        let epoch = parts.next()?.parse().ok()?;
        let location = Self::new(reference, tenant, epoch);
        (location.name == name).then_some(location)
    }

    /// Where the state of one version belongs.
    pub(super) fn context(&self, version: u64) -> Context<'_> {
        Context {
            purpose: PURPOSE,
            tenant: &self.tenant,
            subject: self.reference.as_bytes(),
            version,
        }
    }
}

/// The row under the turn's lease.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) fence: u64,
    pub(super) version: u64,
}

/// One turn of a session. Nobody else can write the session while it lasts.
///
/// It ends with [`Turn::settle`] or [`Turn::release`]. One that is merely dropped keeps nothing that
/// was not recorded; the next turn of this process then takes its lease over, that of another
/// process waits until the lease runs out.
pub struct Turn {
    pub(super) shared: Arc<Shared>,
    pub(super) location: Location,
    pub(super) keys: SessionKeys,
    pub(super) state: SessionState,
    /// `None` until a session that this turn opened has its row.
    pub(super) head: Option<Head>,
    /// The wrapped key of such a session, written together with the row.
    pub(super) wrapped: Option<Vec<u8>>,
    pub(super) fresh: bool,
    /// The number of the event that was recorded last, until the turn goes on: whoever drops the
    /// turn before that does not say whether the log has it.
    pub(super) unsure: Option<u64>,
    /// The number of an event that the store was told of and the log refused, until the store has
    /// been told that it is free again.
    pub(super) freed: Option<u64>,
    /// Set when a write failed: what the store has is not known, so nothing more is written.
    pub(super) broken: bool,
    /// Set when another turn has taken the session over.
    pub(super) overtaken: bool,
    /// Set where a write is no use of the session and must not lengthen its life.
    pub(super) expires_us: Option<i64>,
    /// How the turn came to its session.
    pub(super) continuity: Continuity,
    /// The conversation, where the caller sent no id.
    pub(super) followed: Option<Followed>,
    /// What the index is told at the end.
    pub(super) named: Option<Named>,
    /// The entry in the outbox of an exchange that the log holds as admitted.
    pub(super) exchange: Option<u64>,
    /// When the lease was last known to be this turn's, at the latest.
    pub(super) leased: Instant,
    /// The line behind this turn moves on when it is dropped.
    pub(super) place: Option<Place>,
}

impl Turn {
    /// The session's public reference, `s_…`.
    pub fn reference(&self) -> &str {
        &self.location.reference
    }

    /// Whether this turn opened the session.
    pub fn fresh(&self) -> bool {
        self.fresh
    }

    /// The session's keys.
    pub fn keys(&self) -> &SessionKeys {
        &self.keys
    }

    /// The vault's bytes, as the redactor last serialised it; empty in a new session.
    pub fn vault(&self) -> &[u8] {
        &self.state.vault
    }

    /// The session's state.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The session's state, to be changed; kept with the next [`Turn::admit`], [`Turn::settle`] or
    /// [`Turn::release`].
    pub fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// What the session's next event must carry.
    pub fn link(&self) -> Link {
        self.state.link
    }

    /// Whether exactly this text was sent, signed or encrypted, by the provider in this session.
    pub fn signed(&self, text: &str) -> bool {
        self.state.signed.contains(text)
    }

    /// Notes a text that the provider sent signed or encrypted.
    pub fn remember_signed(&mut self, text: &str) {
        self.state.signed.insert(text);
    }

    /// Keeps the state as it is now and ends the turn, with nothing for the log.
    ///
    /// # Errors
    /// The store did not take it, or another turn has taken over. The turn is over in any case.
    pub async fn release(mut self) -> Result<(), SessionError> {
        self.commit(None, Lease::Free, Durable::Soon).await
    }

    /// Makes the lease last anew, while a long reply streams. Call it a few times a lease.
    ///
    /// # Errors
    /// [`SessionError::Conflict`]: another turn has taken over, and this one can keep nothing more.
    pub async fn renew(&mut self) -> Result<(), SessionError> {
        let Some(head) = self.head else { return Ok(()) };
        let now = Instant::now();
        let renewed =
            self.shared
                .store
                .renew(&self.location.name, head.fence, self.shared.limits.lease);
        if let Err(error) = renewed.await {
            self.overtaken |= matches!(error, StoreError::Conflict);
            self.broken |= self.overtaken;
            return Err(error.into());
        }
        self.leased = now;
        Ok(())
    }

    /// Renews the lease, and says why the turn cannot go on, if it cannot. A store that does not answer
    /// is no reason as long as nobody else can have taken the lease.
    pub async fn lost(&mut self) -> Option<Code> {
        let held = self.leased.elapsed() < self.shared.limits.lease / 2;
        match self.renew().await {
            Ok(()) => None,
            Err(SessionError::Conflict) => Some(match self.shared.limits.on_busy {
                OnBusy::Interrupt => Code::SessionInterrupted,
                OnBusy::Queue | OnBusy::Reject => Code::SessionConflict,
            }),
            Err(_) if held => None,
            Err(_) => Some(Code::SessionUnavailable),
        }
    }

    /// The same, where so much time has gone by since the lease was last known to be this turn's that
    /// another may have taken it: this process may have stood still.
    pub async fn still_holds(&mut self) -> Option<Code> {
        match self.leased.elapsed() < self.shared.limits.lease / 3 {
            true => None,
            false => self.lost().await,
        }
    }

    /// Cancelled when a newer turn of this process interrupts this one.
    pub fn interruption(&self) -> CancellationToken {
        let place = self.place.as_ref();
        place.map_or_else(CancellationToken::new, |place| place.interruption().clone())
    }

    /// When the session ends whatever happens, in microseconds since 1970 (UTC).
    pub fn until_us(&self) -> i64 {
        self.state.absolute_us
    }

    /// Whether other processes work on the same store.
    pub fn is_shared(&self) -> bool {
        self.shared.is_shared()
    }

    pub(super) fn doubt(&self, number: u64) {
        let chains = &self.shared.chains;
        chains.doubt(&self.location.name, self.state.link, number);
    }

    pub(super) async fn commit(
        &mut self,
        event: Option<&[u8]>,
        lease: Lease,
        sync: Durable,
    ) -> Result<(), SessionError> {
        let number = self.state.link.sseq;
        if let Some(event) = event {
            self.state
                .advance(after(self.state.link, event), self.shared.is_shared());
            self.freed = None;
            // The log may have the event whatever becomes of the write, or of this future: the
            // chain goes on behind it, and until the turn goes on, nobody knows that both have it.
            self.doubt(number);
        }
        if self.broken {
            return Err(SessionError::Conflict);
        }
        // Cleared below; a future that is dropped on the way leaves the turn broken.
        self.broken = true;
        if let Err(error) = self.write(lease, sync).await {
            self.overtaken = matches!(error, SessionError::Conflict);
            return Err(error);
        }
        self.broken = false;
        let chains = &self.shared.chains;
        if let Some(free) = self.freed.take() {
            chains.freed(&self.location.name, free, self.state.link);
        }
        chains.kept(&self.location.name, &self.state);
        if let Some(earlier) = self.unsure.take() {
            chains.sure(&self.location.name, earlier);
        }
        match lease {
            Lease::Keep(_) => self.unsure = event.map(|_| number),
            Lease::Free if event.is_some() => chains.sure(&self.location.name, number),
            Lease::Free => {}
        }
        Ok(())
    }

    async fn write(&mut self, lease: Lease, sync: Durable) -> Result<(), SessionError> {
        let version = self.head.map_or(0, |head| head.version).saturating_add(1);
        let sealed = self
            .keys
            .seal()
            .seal(&self.location.context(version), &self.state.encode())?;
        // A session that waits for its user is not idle.
        let idle_us = match self.state.is_paused() {
            Ok(true) => self.state.absolute_us,
            _ => later(self.shared.clock.utc_us(), self.shared.limits.idle),
        };
        let expires_us = self
            .expires_us
            .unwrap_or(idle_us)
            .min(self.state.absolute_us);
        let now = Instant::now();
        let write = Write {
            sealed,
            expires_us,
            lease,
            sync,
        };

        let fence = if let Some(head) = self.head {
            self.shared
                .store
                .commit(&self.location.name, head.fence, head.version, write)
                .await?;
            head.fence
        } else {
            self.create(write).await?
        };
        self.head = Some(Head { fence, version });
        self.leased = now;
        let chains = &self.shared.chains;
        chains.saw(&self.location.name, version, self.state.link);
        Ok(())
    }

    /// Writes the key's row and the session's. The key goes first and is not synced on its own, so
    /// it is on the disk no later than the session that needs it, for the price of one sync.
    async fn create(&mut self, write: Write) -> Result<u64, SessionError> {
        let name = &self.location.name;
        let wrapped = self.wrapped.take().unwrap_or_default();
        let registry = &self.shared.registry;
        let key = Put::new(Expected::Absent, wrapped, Durable::Soon);
        let key = registry.put_if(Table::SessionKeys, name, key);
        let row = self.shared.store.create(name, self.shared.holder, write);
        let (key, fence) = tokio::join!(key, row);
        if !key? {
            return Err(SessionError::Conflict);
        }
        Ok(fence?)
    }
}
