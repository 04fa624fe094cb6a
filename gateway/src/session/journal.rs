//! What sessions have to say in the log.

use std::net::IpAddr;

use async_trait::async_trait;
use gatehouse_envelope::{digest::MacKey, random};

use super::Link;

/// Something that happened to a session outside an exchange. All of them take part in the
/// session's chain.
pub enum Fact<'a> {
    /// Its caller closed it.
    Close,
    /// An operator had its key destroyed.
    Erase,
    /// It was opened.
    Open {
        /// The principal's name in the log.
        principal: &'a str,
        /// The tenant.
        tenant: &'a str,
        /// The agent profile.
        agent: Option<&'a str>,
        /// The public id of the session's key.
        kid: &'a str,
        /// The commitment to that key.
        kc: &'a str,
        /// When it ends, in microseconds since 1970 (UTC).
        expires_us: i64,
    },
    /// It came to its end unused.
    Expire,
    /// An event of it may be missing, in the log or in the store.
    Gap {
        /// That event's number.
        missing: u64,
    },
    /// An operator revoked it.
    Revoke,
}

/// Takes sessions' records; the log does.
#[async_trait]
pub trait Journal: Send + Sync {
    /// The exact bytes of the event for a fact about the session `reference`, at its link.
    fn event(&self, reference: &str, link: Link, fact: &Fact<'_>) -> Result<Vec<u8>, JournalError>;

    /// Writes an event; durable, as far as the log's mode goes, when this returns.
    async fn append(&self, event: Vec<u8>) -> Result<(), JournalError>;

    /// Writes an event without waiting for the disk. It is durable with the next that is appended.
    async fn take(&self, event: Vec<u8>) -> Result<(), JournalError>;
}

/// The log did not take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log did not take the record")]
pub struct JournalError;

/// Makes the names by which principals and addresses stand in the log: keyed digests under a
/// random key of the tenant and year. Once that key is destroyed, nobody can tell whom they mean.
#[derive(Clone)]
pub struct LogNames {
    pub(super) key: std::sync::Arc<MacKey>,
}

impl LogNames {
    /// The name of a principal, `p_…`.
    pub fn principal(&self, principal: &str) -> String {
        self.name("p_", "principal", principal.as_bytes())
    }

    /// The name of a credential, `c_…`, given its digest.
    pub fn credential(&self, digest: &[u8; 32]) -> String {
        self.name("c_", "credential", digest)
    }

    /// The name of a network address, `a_…`. An IPv4 address has one name however it arrived.
    pub fn address(&self, address: IpAddr) -> String {
        match address.to_canonical() {
            IpAddr::V4(v4) => self.name("a_", "address", &v4.octets()),
            IpAddr::V6(v6) => self.name("a_", "address", &v6.octets()),
        }
    }

    fn name(&self, prefix: &str, purpose: &str, text: &[u8]) -> String {
        random::name_of(prefix, &self.key.mac(purpose, &[text]))
    }
}
