//! The key of a session's payloads, and the form in which an auditor is given it.

use data_encoding::BASE64URL_NOPAD;
use zeroize::Zeroizing;

use crate::{
    derive::{derive, derive_for},
    digest::{Mac, MacKey, hex, sha256},
    secret::Secret,
};

/// What opens the payloads of one session, and shows that they are what the log says. It opens nothing
/// else of the session: neither its state nor its pseudonyms.
pub struct PayloadKey {
    kid: String,
    kc: String,
    seal: Secret<[u8; 32]>,
    commit: Secret<[u8; 32]>,
}

impl PayloadKey {
    /// Derives it from a session's key, `kid` being that key's public id.
    pub(crate) fn derive(kid: &str, key: &Secret<[u8; 32]>) -> Self {
        Self::of(kid, derive(key, "payload"), derive(key, "commit"))
    }

    fn of(kid: &str, seal: Secret<[u8; 32]>, commit: Secret<[u8; 32]>) -> Self {
        Self {
            kid: kid.to_owned(),
            kc: hex(&sha256(&[b"gatehouse-kc-v1", commit.expose()])),
            seal,
            commit,
        }
    }

    /// The public id of the session's key, `sk_…`.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The commitment to the session's key that records carry, in hexadecimal.
    #[must_use]
    pub fn kc(&self) -> &str {
        &self.kc
    }

    /// What an auditor is given: 64 bytes in base64url, the key that seals payloads and the one that
    /// commitments are made with.
    #[must_use]
    pub fn grant(&self) -> Secret<String> {
        let mut both = Zeroizing::new([0; 64]);
        let (seal, commit) = both.split_at_mut(32);
        seal.copy_from_slice(self.seal.expose());
        commit.copy_from_slice(self.commit.expose());
        Secret::new(BASE64URL_NOPAD.encode(&*both))
    }

    /// The key that [`PayloadKey::grant`] wrote.
    #[must_use]
    pub fn from_grant(kid: &str, grant: &str) -> Option<Self> {
        let both = Zeroizing::new(BASE64URL_NOPAD.decode(grant.as_bytes()).ok()?);
        let (seal, rest) = both.split_first_chunk::<32>()?;
        let commit: [u8; 32] = rest.try_into().ok()?;
        Some(Self::of(kid, Secret::new(*seal), Secret::new(commit)))
    }

    /// The key of the object with this salt.
    pub(super) fn of_object(&self, salt: &[u8]) -> Secret<[u8; 32]> {
        derive_for(&self.seal, "payload object", &[salt])
    }

    /// Begins the keyed digest of a text.
    pub(super) fn begin_mac(&self) -> Mac {
        MacKey::new(Secret::new(*self.commit.expose())).begin("gatehouse payload")
    }
}
