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

    /// The key's public id, `tk_…`.
    pub fn id(&self) -> &str {
        &self.id
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

    /// Wraps a session's key under this key that is wrapped under `old`, another of the same tenant.
    ///
    /// # Errors
    /// As for [`TenantKey::session`].
    pub fn adopt_session(
        &self,
        old: &Self,
        reference: &str,
        wrapped: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.seal(
            "session",
            reference,
            &old.open("session", reference, wrapped)?,
        )
    }

    /// The same with the key for one year's digests in the log.
    pub fn adopt_log_key(
        &self,
        old: &Self,
        year: &str,
        wrapped: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.seal("log", year, &old.open("log", year, wrapped)?)
    }

    fn generate(&self, role: &str, name: &str) -> Result<(Secret<[u8; 32]>, Vec<u8>), KeyError> {
        let key: Secret<[u8; 32]> = random::secret()?;
        let wrapped = self.seal(role, name, &key)?;
        Ok((key, wrapped))
    }

    fn seal(&self, role: &str, name: &str, key: &Secret<[u8; 32]>) -> Result<Vec<u8>, KeyError> {
        let place = self.place(role, name);
        let wrapped = self.wrapping(role, name).seal(&place, key.expose())?;
        Ok(wrapped.into_bytes())
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
    fn a_newer_key_takes_over_what_an_older_one_wraps() {
        let (old, new) = (tenant("t", 1, 1), tenant("t", 2, 2));
        let (made, wrapped) = old.new_session("s_a").unwrap();
        let adopted = new.adopt_session(&old, "s_a", &wrapped).unwrap();
        assert_eq!(new.session("s_a", &adopted).unwrap().kid(), made.kid());
        assert!(old.session("s_a", &adopted).is_err());
        assert!(new.adopt_session(&old, "s_b", &wrapped).is_err());
        assert!(
            new.adopt_session(&tenant("t", 1, 3), "s_a", &wrapped)
                .is_err()
        );
        let (key, wrapped) = old.new_log_key("2026").unwrap();
        let adopted = new.adopt_log_key(&old, "2026", &wrapped).unwrap();
        let again = new.log_key("2026", &adopted).unwrap();
        assert_eq!(again.mac("principal", &[]), key.mac("principal", &[]));
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
