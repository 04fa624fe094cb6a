//! Sealing: AES-256-GCM (NIST SP 800-38D) with everything that says where a ciphertext belongs in
//! its associated data.

use std::sync::atomic::{AtomicU64, Ordering};

use aes_gcm::{
    Aes256Gcm, KeyInit,
    aead::{Aead, Payload},
};
use zeroize::Zeroizing;

use crate::{
    digest::length,
    random::{self, RandomError},
    secret::Secret,
};

/// The first byte of every sealed byte string of this version.
pub const FORMAT: u8 = 1;
/// How many messages a key may seal unless told otherwise. With random 96-bit nonces, 2^32
/// messages keep the chance of a repeated nonce under 2^-32 (SP 800-38D §8.3).
pub const USE_LIMIT: u64 = 1 << 32;

const NONCE: usize = 12;
const TAG: usize = 16;

/// Where a sealed byte string belongs. It opens nowhere else.
///
/// With the format version and the key's id before them, these fields are the associated data, in
/// this order, each preceded by its length.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What the content is, such as `session-state`.
    pub purpose: &'a str,
    /// Whose it is.
    pub tenant: &'a str,
    /// The record it belongs to, such as a session's reference.
    pub subject: &'a [u8],
    /// The version of that record, so that an older content can't be put back under a newer one.
    pub version: u64,
}

/// Why something was not sealed or not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The bytes were changed, or belong to another key, place or version.
    #[error("sealed bytes are damaged or belong elsewhere")]
    Damaged,
    /// The key has sealed as many messages as is safe.
    #[error("the key has reached its use limit")]
    Exhausted,
    /// The bytes were sealed by a later version of this program.
    #[error("sealed in a newer format")]
    Newer,
    /// No randomness for a nonce.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A key that seals and opens, and counts how often it sealed.
pub struct SealKey {
    id: String,
    cipher: Aes256Gcm,
    used: AtomicU64,
    limit: u64,
}

impl SealKey {
    /// A key under its public id, with [`USE_LIMIT`].
    pub fn new(id: &str, key: &Secret<[u8; 32]>) -> Self {
        Self {
            id: id.to_owned(),
            cipher: Aes256Gcm::new(key.expose().into()),
            used: AtomicU64::new(0),
            limit: USE_LIMIT,
        }
    }

    /// Lowers the use limit; it can't be raised over [`USE_LIMIT`].
    #[must_use]
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit.min(USE_LIMIT);
        self
    }

    /// Says how often the key was used before it was loaded, where that is known.
    #[must_use]
    pub fn used_before(self, times: u64) -> Self {
        self.used.fetch_max(times, Ordering::Relaxed);
        self
    }

    /// The key's public id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seals `plain` for one place: format byte ‖ nonce (12) ‖ ciphertext ‖ tag (16).
    ///
    /// # Errors
    /// [`SealError::Exhausted`] past the use limit; the key still opens.
    pub fn seal(&self, context: &Context<'_>, plain: &[u8]) -> Result<Sealed, SealError> {
        // Counted before the use, and never uncounted: an attempt that fails may have used a nonce.
        let uses = self.used.fetch_add(1, Ordering::Relaxed);
        if uses >= self.limit {
            self.used.store(self.limit, Ordering::Relaxed);
            return Err(SealError::Exhausted);
        }
        let nonce: [u8; NONCE] = random::bytes()?;
        let aad = self.associated_data(FORMAT, context);
        let sealed = self
            .cipher
            .encrypt(
                &nonce.into(),
                Payload {
                    msg: plain,
                    aad: &aad,
                },
            )
            // Only a plaintext over 64 GiB fails here.
            .map_err(|_| SealError::Exhausted)?;
        let mut out = Vec::with_capacity(1 + NONCE + sealed.len());
        out.push(FORMAT);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(Sealed(out))
    }

    /// Opens what was sealed for this very place. The plaintext is wiped when dropped.
    pub fn open(
        &self,
        context: &Context<'_>,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (&format, rest) = sealed.split_first().ok_or(SealError::Damaged)?;
        match format {
            FORMAT => {}
            0 => return Err(SealError::Damaged),
            _ => return Err(SealError::Newer),
        }
        let (nonce, ciphertext) = rest
            .split_first_chunk::<NONCE>()
            .ok_or(SealError::Damaged)?;
        if ciphertext.len() < TAG {
            return Err(SealError::Damaged);
        }
        let aad = self.associated_data(format, context);
        self.cipher
            .decrypt(
                nonce.into(),
                Payload {
                    msg: ciphertext,
                    aad: &aad,
                },
            )
            .map(Zeroizing::new)
            .map_err(|_| SealError::Damaged)
    }

    fn associated_data(&self, format: u8, context: &Context<'_>) -> Vec<u8> {
        let version = context.version.to_be_bytes();
        let fields: [&[u8]; 6] = [
            &[format],
            self.id.as_bytes(),
            context.purpose.as_bytes(),
            context.tenant.as_bytes(),
            context.subject,
            &version,
        ];
        let mut aad = Vec::with_capacity(fields.iter().map(|field| 8 + field.len()).sum());
        for field in fields {
            aad.extend_from_slice(&length(field));
            aad.extend_from_slice(field);
        }
        aad
    }
}

/// Bytes that [`SealKey::seal`] made: the only thing of a session that a store is given.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Takes bytes that a store gave back. Whether they are what they should be shows when they
    /// are opened.
    pub fn from_store(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes to keep, given away.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The bytes to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HERE: Context<'_> = Context {
        purpose: "session-state",
        tenant: "t",
        subject: b"s",
        version: 3,
    };

    fn key(id: &str, byte: u8) -> SealKey {
        SealKey::new(id, &Secret::new([byte; 32]))
    }

    #[test]
    fn opens_only_where_it_was_sealed() {
        let sealed = key("k", 1).seal(&HERE, b"text").unwrap();
        let open =
            |key: SealKey, context| key.open(&context, sealed.as_bytes()).map(|p| p.to_vec());
        assert_eq!(open(key("k", 1), HERE).unwrap(), b"text");

        let moved = [
            open(key("k", 2), HERE),
            open(key("l", 1), HERE),
            open(
                key("k", 1),
                Context {
                    purpose: "notes",
                    ..HERE
                },
            ),
            open(
                key("k", 1),
                Context {
                    tenant: "u",
                    ..HERE
                },
            ),
            open(
                key("k", 1),
                Context {
                    subject: b"other",
                    ..HERE
                },
            ),
            open(key("k", 1), Context { version: 4, ..HERE }),
            open(key("k", 1), Context { version: 2, ..HERE }),
            // The same bytes, cut into fields at another place.
            open(
                key("k", 1),
                Context {
                    tenant: "ts",
                    subject: b"",
                    ..HERE
                },
            ),
        ];
        for refused in moved {
            assert_eq!(refused.unwrap_err(), SealError::Damaged);
        }
    }

    #[test]
    fn a_newer_format_is_told_apart_from_damage() {
        let mut bytes = key("k", 1)
            .seal(&HERE, b"text")
            .unwrap()
            .as_bytes()
            .to_vec();
        bytes[0] = FORMAT + 1;
        assert_eq!(
            key("k", 1).open(&HERE, &bytes).unwrap_err(),
            SealError::Newer
        );
        bytes[0] = 0;
        assert_eq!(
            key("k", 1).open(&HERE, &bytes).unwrap_err(),
            SealError::Damaged
        );
    }

    #[test]
    fn refused_past_the_limit_and_still_opens() {
        let key = key("k", 1).with_limit(1000);
        let first = key.seal(&HERE, b"x").unwrap();
        for _ in 1..1000 {
            key.seal(&HERE, b"x").unwrap();
        }
        for _ in 0..3 {
            assert_eq!(key.seal(&HERE, b"x").map(|_| ()), Err(SealError::Exhausted));
        }
        assert_eq!(key.open(&HERE, first.as_bytes()).unwrap().as_slice(), b"x");
        let loaded = self::key("k", 1).used_before(USE_LIMIT);
        assert_eq!(
            loaded.seal(&HERE, b"x").map(|_| ()),
            Err(SealError::Exhausted)
        );
    }

    #[test]
    fn the_same_text_never_looks_the_same() {
        let key = key("k", 1);
        let (a, b) = (
            key.seal(&HERE, b"x").unwrap(),
            key.seal(&HERE, b"x").unwrap(),
        );
        assert_ne!(a.as_bytes()[1..13], b.as_bytes()[1..13]);
        assert_ne!(a.as_bytes()[13..], b.as_bytes()[13..]);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_any_change_is_found(
            plain in proptest::collection::vec(any::<u8>(), 0..300),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let key = key("k", 9);
            let sealed = key.seal(&HERE, &plain).unwrap();
            let opened = key.open(&HERE, sealed.as_bytes()).unwrap();
            prop_assert_eq!(opened.as_slice(), plain.as_slice());
            let mut changed = sealed.as_bytes().to_vec();
            let at = at.index(changed.len());
            changed[at] ^= 1 << bit;
            prop_assert!(key.open(&HERE, &changed).is_err());
            prop_assert!(key.open(&HERE, &sealed.as_bytes()[..at]).is_err());
        }
    }
}
