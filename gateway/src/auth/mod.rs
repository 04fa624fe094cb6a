//! Who is calling: a key in the request's head becomes a [`Caller`], or the request is refused.

mod denials;
mod keys;
mod token;

use std::sync::Arc;

use http::HeaderMap;

pub use denials::{Denial, DenialLog, DenialSink, Denials};
pub use keys::{CallerKeys, CallerKeysError, CallerRecord, NewCaller};

/// A caller, as its key says. Shared by all requests with that key, and never changed.
#[derive(Clone, PartialEq, Eq)]
pub struct Caller {
    /// The key's public id, `k_…`.
    pub key_id: String,
    /// What the operator calls the key.
    pub name: String,
    /// Whose key it is.
    pub tenant: String,
    /// The agent profile that the key selects.
    pub agent: Option<String>,
    /// The keyed digest of the token.
    pub token_digest: [u8; 32],
}

impl Caller {
    /// The principal that sessions are bound to: it stays the same for as long as the key lives.
    pub fn principal(&self) -> String {
        format!("key:{}", self.key_id)
    }
}

/// Why a request is nobody's. Callers get one and the same answer for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
pub enum AuthError {
    /// Two different credentials.
    #[error("conflicting credentials")]
    Conflicting,
    /// A credential that is not in a form we ever issued.
    #[error("malformed credential")]
    Malformed,
    /// No credential.
    #[error("no credential")]
    Missing,
    /// A key that was revoked.
    #[error("revoked key")]
    Revoked,
    /// The keys could not be read again for too long: this one may have been revoked.
    #[error("keys cannot be checked")]
    Unavailable,
    /// A well-formed key that we did not issue.
    #[error("unknown key")]
    Unknown,
}

impl AuthError {
    /// The reason as it stands in `auth.deny` records; callers never see it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Conflicting => "conflicting",
            Self::Malformed => "malformed",
            Self::Missing => "missing",
            Self::Revoked => "revoked",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        }
    }
}

/// Turns the head of a request into its caller.
#[derive(Clone)]
pub struct Authenticator {
    keys: Arc<CallerKeys>,
}

impl Authenticator {
    /// An authenticator for the caller keys that `keys` holds at the moment of each request.
    pub fn new(keys: Arc<CallerKeys>) -> Self {
        Self { keys }
    }

    /// Reads the keys again and again while others may change them, until it is dropped.
    pub async fn keep_fresh(&self) {
        self.keys.keep_fresh().await;
    }

    /// Whether somebody who was let in would be let in still: the key is not revoked meanwhile.
    pub fn still_lets_in(&self, caller: &Caller) -> bool {
        !self.keys.are_stale() && self.keys.are_good(&caller.token_digest)
    }

    /// The caller whose key stands in `Authorization: Bearer` or `x-api-key`. Both may be there if
    /// they are the same.
    ///
    /// No branch depends on the content of a token: a keyed digest of it is looked up, which tells
    /// nothing of how close a guess was.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Caller>, AuthError> {
        let token = token::presented(headers)?;
        if self.keys.are_stale() {
            return Err(AuthError::Unavailable);
        }
        let found = self.keys.find(token);
        if !token::well_formed(token) {
            return Err(AuthError::Malformed);
        }
        match found {
            None => Err(AuthError::Unknown),
            Some(record) if record.revoked_us.is_some() => Err(AuthError::Revoked),
            Some(record) => Ok(Arc::clone(&record.caller)),
        }
    }
}

#[cfg(test)]
mod tests;
