//! A tenant's key: what names its sessions, and what wraps the keys of those.

use super::{KeyError, SessionKeys};
use crate::{
    derive::{derive, derive_for},
    digest::MacKey,
    random,
    seal::{Context, SealKey},
    secret::Secret,
};

/// One tenant's key of one epoch.
///
/// Names that are looked up (session ids, references, cache entries) are keyed digests under it,
/// kept together with the epoch, so that a new tenant key does not orphan what the old one named.
pub struct TenantKey {
    tenant: String,
    epoch: u32,
    id: String,
    lookup: MacKey,
    wrap: Secret<[u8; 32]>,
}

impl TenantKey {
    /// Derives what is used from the unwrapped key; the key itself is wiped.
    pub fn new(tenant: &str, epoch: u32, key: Secret<[u8; 32]>) -> Self {
        Self {
            tenant: tenant.to_owned(),
            epoch,
            id: super::session::public_id("tk_", &key),
            lookup: MacKey::new(derive(&key, "lookup")),
            wrap: derive(&key, "wrap"),
        }
    }

    /// Whose key this is.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Which of the tenant's keys this is, counted from 1.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The key for digests of names that are looked up.
    pub fn lookup(&self) -> &MacKey {
        &self.lookup
    }

    /// Makes the random key of a new session, and its wrapped form for the key table.
    pub fn new_session(&self, reference: &str) -> Result<(SessionKeys, Vec<u8>), KeyError> {
        let (key, wrapped) = self.generate("session", reference)?;
        Ok((SessionKeys::new(&key), wrapped))
    }

    /// Unwraps a session's key.
    ///
    /// # Errors
    /// [`KeyError::Damaged`] if it was wrapped for another session, tenant or epoch.
    pub fn session(&self, reference: &str, wrapped: &[u8]) -> Result<SessionKeys, KeyError> {
        Ok(SessionKeys::new(&self.open("session", reference, wrapped)?))
    }

    /// Makes a random key for the keyed digests of principals and addresses in the log, for one
    /// year; once its wrapped form is destroyed, nobody can tell whom those digests mean.
    pub fn new_log_key(&self, year: &str) -> Result<(MacKey, Vec<u8>), KeyError> {
        let (key, wrapped) = self.generate("log", year)?;
        Ok((MacKey::new(key), wrapped))
    }

    /// Unwraps such a key.
    pub fn log_key(&self, year: &str, wrapped: &[u8]) -> Result<MacKey, KeyError> {
        Ok(MacKey::new(self.open("log", year, wrapped)?))
    }

    fn generate(&self, role: &str, name: &str) -> Result<(Secret<[u8; 32]>, Vec<u8>), KeyError> {
        let key: Secret<[u8; 32]> = random::secret()?;
        let wrapped = self
            .wrapping(role, name)
            .seal(&self.place(role, name), key.expose())?;
        Ok((key, wrapped.into_bytes()))
    }

    fn open(&self, role: &str, name: &str, wrapped: &[u8]) -> Result<Secret<[u8; 32]>, KeyError> {
        let plain = self
            .wrapping(role, name)
            .open(&self.place(role, name), wrapped)?;
        Ok(Secret::new(
            plain.as_slice().try_into().map_err(|_| KeyError::Damaged)?,
        ))
    }

    /// One wrapping key for each wrapped key, so that the use limit is never near.
    fn wrapping(&self, role: &str, name: &str) -> SealKey {
        SealKey::new(&self.id, &derive_for(&self.wrap, role, &[name.as_bytes()]))
    }

    fn place<'a>(&'a self, role: &'a str, name: &'a str) -> Context<'a> {
        Context {
            purpose: role,
            tenant: &self.tenant,
            subject: name.as_bytes(),
            version: self.epoch.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str, epoch: u32, byte: u8) -> TenantKey {
        TenantKey::new(name, epoch, Secret::new([byte; 32]))
    }

    #[test]
    fn a_session_key_unwraps_for_its_session_only() {
        let (made, wrapped) = tenant("t", 1, 1).new_session("s_a").unwrap();
        assert_eq!(
            tenant("t", 1, 1).session("s_a", &wrapped).unwrap().kid(),
            made.kid()
        );
        for refused in [
            tenant("t", 1, 1).session("s_b", &wrapped).map(|_| ()),
            tenant("u", 1, 1).session("s_a", &wrapped).map(|_| ()),
            tenant("t", 2, 1).session("s_a", &wrapped).map(|_| ()),
            tenant("t", 1, 2).session("s_a", &wrapped).map(|_| ()),
            tenant("t", 1, 1).log_key("s_a", &wrapped).map(|_| ()),
        ] {
            assert!(matches!(refused, Err(KeyError::Damaged)));
        }
    }

    #[test]
    fn log_keys_are_random_a_year() {
        let tenant = tenant("t", 1, 1);
        let (key, wrapped) = tenant.new_log_key("2026").unwrap();
        let digest = key.mac("principal", &[b"k_1"]);
        assert_eq!(
            tenant
                .log_key("2026", &wrapped)
                .unwrap()
                .mac("principal", &[b"k_1"]),
            digest
        );
        assert!(tenant.log_key("2027", &wrapped).is_err());
        let (other, _) = tenant.new_log_key("2026").unwrap();
        assert_ne!(other.mac("principal", &[b"k_1"]), digest);
    }
}
