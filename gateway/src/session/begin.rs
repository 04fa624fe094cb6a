//! Opening a session: its id, its key, its first event.

use std::{sync::Arc, time::Duration};

use gatehouse_envelope::{
    keys::{KeyError, TenantKey},
    random,
    secret::Secret,
};
use tokio::time::Instant;

use super::{
    Continuity, SessionError, SessionState, Sessions,
    turn::{Location, Turn},
};
use crate::{
    audit::{Event, SessionOpen, StateKey, Subject, Who},
    auth::Caller,
    clock::later,
};

/// What a session id begins with.
pub(super) const ID: &str = "gs_";
/// What a session's reference begins with.
pub(super) const REFERENCE: &str = "s_";
impl Sessions {
    /// A new session, in memory only, and its first event, which carries its link.
    pub(super) async fn begin(
        &self,
        caller: &Caller,
    ) -> Result<(Turn, Secret<String>, Event), SessionError> {
        // What is kept of a tenant's key for longer is for sessions that are there already.
        let tenant_keys = self.shared.keyring.tenant_for_new(&caller.tenant).await?;
        let tenant_key = tenant_keys.current();
        let id = random::credential(ID).map_err(KeyError::from)?;
        let digest = id_digest(tenant_key, id.expose());
        let location = locate(tenant_key, &digest);
        let (keys, wrapped) = tenant_key.new_session(&location.reference)?;
        let created_us = self.shared.clock.utc_us();
        let absolute_us = later(created_us, self.shared.limits.absolute);
        let state = SessionState::new(digest, caller.principal(), created_us, absolute_us);
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
        // Nobody else stands in line for it; but who looks after sessions must see it taken.
        let place = self.shared.queue.wait(&location.name, Duration::ZERO);
        let turn = Turn {
            shared: Arc::clone(&self.shared),
            place: place.await,
            location,
            keys: keys.with_uses(0, self.shared.limits.seals),
            state,
            head: None,
            wrapped: Some(wrapped),
            fresh: true,
            unsure: None,
            freed: None,
            broken: false,
            overtaken: false,
            expires_us: None,
            continuity: Continuity::New,
            followed: None,
            named: None,
            exchange: None,
            leased: Instant::now(),
        };
        Ok((turn, id, event))
    }
}

/// A session as events that belong to no exchange name it.
pub(super) fn subject(reference: &str) -> Subject<'_> {
    Subject {
        session: reference,
        run: None,
        trace: None,
    }
}

pub(super) fn id_digest(key: &TenantKey, id: &str) -> [u8; 32] {
    key.lookup().mac("session-id", &[id.as_bytes()])
}

/// The reference is made of the id's digest, so that neither tells the other without the key.
pub(super) fn locate(key: &TenantKey, id_digest: &[u8; 32]) -> Location {
    let digest = key.lookup().mac("session-reference", &[id_digest]);
    Location::new(
        &random::name_of(REFERENCE, &digest),
        key.tenant(),
        key.epoch(),
    )
}

/// Whether a text has the form of a reference: `s_` and 26 characters of lower-case base32.
pub fn is_reference(text: &str) -> bool {
    text.strip_prefix(REFERENCE).is_some_and(|rest| {
        rest.len() == 26
            && rest
                .bytes()
                .all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
    })
}
