//! What is derived from a session's key.

use crate::{
    derive::derive, digest::MacKey, payload::PayloadKey, random, seal::SealKey, secret::Secret,
};

/// The keys of one session, derived from its random key by HKDF-SHA-256 with an empty salt and the
/// purpose as info: `seal`, `pseudonyms`, `commit`, `payload`, and `id` for the public id.
pub struct SessionKeys {
    kid: String,
    payload: PayloadKey,
    seal: SealKey,
    pseudonyms: MacKey,
    commit: MacKey,
}

impl SessionKeys {
    /// Derives the keys.
    pub fn new(key: &Secret<[u8; 32]>) -> Self {
        let kid = public_id("sk_", key);
        Self {
            payload: PayloadKey::derive(&kid, key),
            seal: SealKey::new(&kid, &derive(key, "seal")),
            pseudonyms: MacKey::new(derive(key, "pseudonyms")),
            commit: MacKey::new(derive(key, "commit")),
            kid,
        }
    }

    /// The key's public id, `sk_…`.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The commitment to the key that records carry, in hexadecimal:
    /// `SHA-256("gatehouse-kc-v1" ‖ HKDF(key, "commit"))`. AES-GCM does not commit to its key, so
    /// without it one ciphertext could be made to open two ways.
    pub fn kc(&self) -> &str {
        self.payload.kc()
    }

    /// Seals the session's state.
    pub fn seal(&self) -> &SealKey {
        &self.seal
    }

    /// Seals and opens what the session sent and got.
    pub fn payload(&self) -> &PayloadKey {
        &self.payload
    }

    /// Seals with knowledge of what this key sealed before, and with a lower limit.
    #[must_use]
    pub fn with_uses(mut self, before: u64, limit: u64) -> Self {
        self.seal = self.seal.used_before(before).with_limit(limit);
        self
    }

    /// Makes pseudonyms: the same value gets the same one in this session, and no other.
    pub fn pseudonyms(&self) -> &MacKey {
        &self.pseudonyms
    }

    /// Makes the keyed digests of texts that stand in records.
    pub fn commit(&self) -> &MacKey {
        &self.commit
    }
}

/// A public name of a secret key: 128 bits derived from it.
pub(super) fn public_id(prefix: &str, key: &Secret<[u8; 32]>) -> String {
    random::name_of(prefix, derive(key, "id").expose())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{Context, SealError};

    #[test]
    fn purposes_do_not_mix() {
        let keys = SessionKeys::new(&Secret::new([8; 32]));
        let same = |key: &MacKey| key.mac("p", &[b"x"]);
        assert_ne!(same(keys.pseudonyms()), same(keys.commit()));
        assert_ne!(keys.kid(), SessionKeys::new(&Secret::new([9; 32])).kid());
        assert_eq!(keys.kc().len(), 64);
        assert_eq!(keys.kid().len(), 3 + 26);
    }

    #[test]
    fn earlier_uses_count() {
        let here = Context {
            purpose: "p",
            tenant: "t",
            subject: b"s",
            version: 0,
        };
        let keys = SessionKeys::new(&Secret::new([8; 32])).with_uses(4, 5);
        assert!(keys.seal().seal(&here, b"").is_ok());
        assert_eq!(
            keys.seal().seal(&here, b"").map(|_| ()),
            Err(SealError::Exhausted)
        );
    }
}
