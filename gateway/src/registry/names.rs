//! The names by which callers stand in the log.

use std::{net::IpAddr, sync::Arc};

use gatehouse_envelope::{digest::MacKey, random};

/// Makes the names by which principals and addresses stand in the log: keyed digests under a
/// random key of the tenant and year. Once that key is destroyed, nobody can tell whom they mean.
#[derive(Clone)]
pub struct LogNames {
    key: Arc<MacKey>,
}

impl LogNames {
    pub(super) fn new(key: Arc<MacKey>) -> Self {
        Self { key }
    }

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

#[cfg(test)]
mod tests {
    use gatehouse_envelope::secret::Secret;

    use super::*;

    #[test]
    fn names_tell_nothing_without_the_key() {
        let names = |byte| LogNames {
            key: Arc::new(MacKey::new(Secret::new([byte; 32]))),
        };
        let v4: IpAddr = "192.0.2.7".parse().unwrap();
        assert_eq!(
            names(1).address(v4),
            names(1).address("::ffff:192.0.2.7".parse().unwrap())
        );
        assert_ne!(names(1).address(v4), names(2).address(v4));
        assert_ne!(
            names(1).address(v4),
            names(1).address("192.0.2.8".parse().unwrap())
        );
        assert!(names(1).principal("key:k_1").starts_with("p_"));
        assert_eq!(names(1).credential(&[0; 32]).len(), 2 + 26);
    }
}
