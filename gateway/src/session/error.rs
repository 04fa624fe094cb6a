//! Why a session cannot be used.

use gatehouse_envelope::{keys::KeyError, seal::SealError};

use super::{hold::Hold, store::StoreError};
use crate::registry::{KeyringError, RegistryError};

/// Why a session was not opened, used or ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Another turn has it, and went on longer than a second one may wait.
    #[error("another turn of this session is under way")]
    Busy,
    /// This turn was overtaken: its lease ran out and another turn took it. Nothing of it is kept.
    #[error("another turn has taken this session over")]
    Conflict,
    /// What the store gave back is not what was stored: changed, moved or put back. The session is
    /// not used, and not started anew either.
    #[error("the session's stored state is damaged")]
    Damaged,
    /// Its erasure was asked for, and is gone on with.
    #[error("the session is being erased")]
    Erasing,
    /// A newer turn of the session came before this one began.
    #[error("a newer turn of this session came first")]
    Interrupted,
    /// There is no key to open or seal it with.
    #[error("the session's key is not available")]
    Keys(#[source] KeyError),
    /// The log did not take the record of what was to be done, so it was not done.
    #[error("the log did not take the session's record")]
    Log,
    /// A later release wrote it. A replica of that release can use it.
    #[error("the session's stored state is of a later release")]
    Newer,
    /// There is no such session for this caller. Why is for the log alone.
    #[error("no such session")]
    NotFound(Absence),
    /// No legal hold is on it.
    #[error("the session is not on hold")]
    NotOnHold,
    /// A legal hold is on it, so its key is not destroyed.
    #[error("the session is on hold: {}", .0.reason)]
    OnHold(Hold),
    /// The store has lost a part of this session, whose reference this is. It is not gone on with.
    #[error("the store has lost a part of this session")]
    RolledBack(String),
    /// The log may have the record of what was to be done, or not. It is gone on with.
    #[error("whether the log has the record is not known yet; it is gone on with")]
    Unconfirmed,
    /// What was to be done beside a turn's admission was not: nothing was set aside for it.
    #[error("nothing was set aside for the exchange")]
    Unfunded,
    /// The store failed or did not answer.
    #[error("the session store is not available")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a session is not there for a caller. Callers see no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Closed by its caller.
    Closed,
    /// Its key was destroyed.
    Erased,
    /// Past its end.
    Expired,
    /// It belongs to another principal, whose name in the log this is.
    Foreign {
        /// The session's reference.
        reference: String,
        /// The owner's name in the log, `p_…`.
        owner: String,
    },
    /// Not in the form of an id that we issue.
    Malformed,
    /// Revoked by an operator.
    Revoked,
    /// The store has lost a part of it.
    RolledBack {
        /// The session's reference.
        reference: String,
    },
    /// There never was one, or not for long enough.
    Unknown,
}

impl Absence {
    /// The reason as it stands in records.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Erased => "erased",
            Self::Expired => "expired",
            Self::Foreign { .. } => "session_owner_mismatch",
            Self::Malformed => "malformed",
            Self::Revoked => "revoked",
            Self::RolledBack { .. } => "rolled_back",
            Self::Unknown => "unknown",
        }
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict | StoreError::Exists => Self::Conflict,
            StoreError::Damaged => Self::Damaged,
            StoreError::Newer => Self::Newer,
            StoreError::Unavailable(source) => Self::Store(source),
        }
    }
}

impl From<RegistryError> for SessionError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Damaged => Self::Damaged,
            RegistryError::Newer => Self::Newer,
            RegistryError::Unavailable(source) => Self::Store(source),
        }
    }
}

impl From<KeyringError> for SessionError {
    fn from(error: KeyringError) -> Self {
        match error {
            KeyringError::Key(error) => Self::Keys(error),
            KeyringError::Registry(error) => error.into(),
        }
    }
}

impl From<KeyError> for SessionError {
    fn from(error: KeyError) -> Self {
        match error {
            // A session's wrapped key that does not open under its tenant's key was moved or changed.
            KeyError::Damaged => Self::Damaged,
            KeyError::Newer => Self::Newer,
            error => Self::Keys(error),
        }
    }
}

impl From<SealError> for SessionError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Damaged => Self::Damaged,
            SealError::Newer => Self::Newer,
            SealError::Exhausted => Self::Keys(KeyError::Exhausted),
            SealError::Random(error) => Self::Keys(KeyError::Random(error)),
        }
    }
}
