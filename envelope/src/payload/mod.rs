//! Sealed payloads: what a session sent and got, under a key of that session.
//!
//! An object is `01 ‖ salt (16 bytes) ‖ chunks`. Its key is derived from the session's payload key and
//! the salt, so no two objects share one. Each chunk is 65,536 bytes of text, but for the last, which has
//! what is left, sealed by AES-256-GCM and followed by its tag. The nonce of a chunk is
//! `000000 ‖ its number (64 bits, big-endian) ‖ 01 if it is the last, else 00`: chunks cannot be left
//! out, repeated or put elsewhere (the STREAM construction). A text of no bytes is one empty chunk.
//!
//! AES-GCM does not commit to its key: one ciphertext can be made that opens to two texts under two
//! keys. So a record of the log carries a [`Commitment`] to key and text, and nothing is given out
//! that does not fit both.

mod key;
#[cfg(test)]
mod two_keys;

use aes_gcm::{
    Aes256Gcm, KeyInit,
    aead::{Aead, Payload},
};
pub use key::PayloadKey;
use zeroize::Zeroizing;

use crate::{
    digest::{Mac, Sha256, length, sha256},
    random::{self, RandomError},
    secret::{Secret, equal},
};

/// The first byte of every object of this version.
pub const FORMAT: u8 = 1;
/// Bytes of text in a chunk.
pub const CHUNK: usize = 64 << 10;
const SALT: usize = 16;
const TAG: usize = 16;
const HEAD: usize = 1 + SALT;

/// Where a payload belongs. It opens nowhere else.
///
/// With the format and the key's id before them, and the word `payload` behind that, these fields are
/// the associated data of each chunk, in this order, each preceded by its length (64 bits, big-endian).
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Which of an exchange's bodies it is.
    pub part: &'a str,
    /// Whose it is.
    pub tenant: &'a str,
    /// The session's public reference.
    pub session: &'a str,
    /// The number of the exchange in its session.
    pub number: u64,
}

/// What a record says of a payload.
#[derive(Clone, Copy)]
pub struct Commitment<'a> {
    /// SHA-256 of the object.
    pub ct: &'a [u8; 32],
    /// Bytes of the text.
    pub len: u64,
    /// The commitment to the key, in hexadecimal.
    pub kc: &'a str,
    /// The keyed digest of the text.
    pub pm: &'a [u8; 32],
}

/// Why a payload is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// The object is not the one that the record names.
    #[error("the object is not the one in the record")]
    Altered,
    /// The object does not open with this key at this place.
    #[error("the object does not open here")]
    Damaged,
    /// The object was sealed by a later version of this program.
    #[error("sealed in a newer format")]
    Newer,
    /// The key is not the one that the record commits to.
    #[error("not the key that the record commits to")]
    OtherKey,
    /// What it opens to is not the text that the record commits to.
    #[error("not the text that the record commits to")]
    OtherText,
}

/// A text that was sealed.
pub struct SealedPayload {
    /// The object.
    pub object: Vec<u8>,
    /// Its SHA-256.
    pub ct: [u8; 32],
    /// Bytes of the text.
    pub len: u64,
    /// The keyed digest of the text: HMAC under the session's key for commitments, over the text's
    /// SHA-256.
    pub pm: [u8; 32],
}

/// How many bytes an object has whose text has `len`.
#[must_use]
pub fn sealed_len(len: u64) -> u64 {
    let chunks = len.div_ceil(CHUNK as u64).max(1);
    (HEAD as u64)
        .saturating_add(len)
        .saturating_add(chunks.saturating_mul(TAG as u64))
}

/// A text being sealed as it comes. Of the text itself no more is held than a chunk.
pub struct Sealing {
    cipher: Aes256Gcm,
    aad: Vec<u8>,
    object: Vec<u8>,
    /// Text that makes no chunk yet, or may be the last.
    open: Zeroizing<Vec<u8>>,
    chunks: u64,
    len: u64,
    plain: Sha256,
    mac: Mac,
}

impl Sealing {
    fn begin(key: &PayloadKey, place: &Place<'_>) -> Result<Self, RandomError> {
        let salt: [u8; SALT] = random::bytes()?;
        let mut object = vec![FORMAT];
        object.extend_from_slice(&salt);
        Ok(Self {
            cipher: cipher(&key.of_object(&salt)),
            aad: associated_data(key.kid(), place),
            object,
            open: Zeroizing::new(Vec::new()),
            chunks: 0,
            len: 0,
            plain: Sha256::new(),
            mac: key.begin_mac(),
        })
    }

    /// Bytes of text so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no text yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds text.
    ///
    /// # Errors
    /// [`PayloadError::Damaged`]: the cipher failed, which it does not.
    pub fn push(&mut self, mut text: &[u8]) -> Result<(), PayloadError> {
        self.plain.update(text);
        self.len = self.len.saturating_add(text.len() as u64);
        while !text.is_empty() {
            // A full chunk is sealed only when more follows it: the last one is marked.
            if self.open.len() == CHUNK {
                self.close_chunk(false)?;
            }
            let room = CHUNK.saturating_sub(self.open.len()).min(text.len());
            let (now, later) = text.split_at_checked(room).unwrap_or((text, &[]));
            if self.open.capacity() < CHUNK {
                self.make_room(now.len());
            }
            self.open.extend_from_slice(now);
            text = later;
        }
        Ok(())
    }

    /// Grows by hand, so that no copy of the text is left behind unwiped.
    fn make_room(&mut self, more: usize) {
        let wanted = self.open.len().saturating_add(more);
        if wanted > self.open.capacity() {
            let mut grown = Zeroizing::new(Vec::with_capacity(wanted.saturating_mul(2).min(CHUNK)));
            grown.extend_from_slice(&self.open);
            self.open = grown;
        }
    }

    /// The object and what is to be recorded of it.
    ///
    /// # Errors
    /// As [`Sealing::push`].
    pub fn finish(mut self) -> Result<SealedPayload, PayloadError> {
        self.close_chunk(true)?;
        self.mac.part(&self.plain.finish());
        Ok(SealedPayload {
            ct: sha256(&[&self.object]),
            object: self.object,
            len: self.len,
            pm: self.mac.finish(),
        })
    }

    fn close_chunk(&mut self, last: bool) -> Result<(), PayloadError> {
        let payload = Payload {
            msg: &self.open,
            aad: &self.aad,
        };
        let sealed = self
            .cipher
            .encrypt(&nonce(self.chunks, last).into(), payload);
        self.object
            .extend_from_slice(&sealed.map_err(|_| PayloadError::Damaged)?);
        self.chunks = self.chunks.saturating_add(1);
        self.open.clear();
        Ok(())
    }
}

impl PayloadKey {
    /// Begins to seal a text for one place.
    ///
    /// # Errors
    /// No randomness.
    pub fn seal(&self, place: &Place<'_>) -> Result<Sealing, RandomError> {
        Sealing::begin(self, place)
    }

    /// Opens an object of which a record says `commitment`. The text is wiped when dropped.
    ///
    /// # Errors
    /// Object, key and text are not all those of the record.
    pub fn open(
        &self,
        place: &Place<'_>,
        commitment: &Commitment<'_>,
        object: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, PayloadError> {
        if sha256(&[object]) != *commitment.ct {
            return Err(PayloadError::Altered);
        }
        if !equal(self.kc().as_bytes(), commitment.kc.as_bytes()) {
            return Err(PayloadError::OtherKey);
        }
        match object.first() {
            Some(&FORMAT) => {}
            None | Some(0) => return Err(PayloadError::Damaged),
            Some(_) => return Err(PayloadError::Newer),
        }
        if object.len() as u64 != sealed_len(commitment.len) {
            return Err(PayloadError::OtherText);
        }
        let text = self.chunks(place, object)?;
        let mut mac = self.begin_mac();
        mac.part(&sha256(&[&text]));
        match equal(&mac.finish(), commitment.pm) {
            true => Ok(text),
            false => Err(PayloadError::OtherText),
        }
    }

    /// The text, which nobody has vouched for yet.
    fn chunks(&self, place: &Place<'_>, object: &[u8]) -> Result<Zeroizing<Vec<u8>>, PayloadError> {
        let (salt, sealed) = object
            .get(1..)
            .and_then(<[u8]>::split_first_chunk::<SALT>)
            .ok_or(PayloadError::Damaged)?;
        let (cipher, aad) = (
            cipher(&self.of_object(salt)),
            associated_data(self.kid(), place),
        );
        // Large enough from the beginning, so that no part of it is copied and left behind.
        let mut text = Zeroizing::new(Vec::with_capacity(sealed.len()));
        let count = sealed.len().div_ceil(CHUNK + TAG);
        for (number, chunk) in sealed.chunks(CHUNK + TAG).enumerate() {
            let (last, number) = (number + 1 == count, number as u64);
            let payload = Payload {
                msg: chunk,
                aad: &aad,
            };
            let opened = cipher.decrypt(&nonce(number, last).into(), payload);
            let opened = Zeroizing::new(opened.map_err(|_| PayloadError::Damaged)?);
            text.extend_from_slice(&opened);
        }
        Ok(text)
    }
}

fn cipher(key: &Secret<[u8; 32]>) -> Aes256Gcm {
    Aes256Gcm::new(key.expose().into())
}

fn nonce(number: u64, last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    for (to, from) in nonce.iter_mut().skip(3).zip(number.to_be_bytes()) {
        *to = from;
    }
    if let Some(mark) = nonce.last_mut() {
        *mark = u8::from(last);
    }
    nonce
}

fn associated_data(kid: &str, place: &Place<'_>) -> Vec<u8> {
    let number = place.number.to_be_bytes();
    let fields: [&[u8]; 7] = [
        &[FORMAT],
        kid.as_bytes(),
        b"payload",
        place.part.as_bytes(),
        place.tenant.as_bytes(),
        place.session.as_bytes(),
        &number,
    ];
    let mut aad = Vec::with_capacity(fields.iter().map(|field| 8 + field.len()).sum());
    for field in fields {
        aad.extend_from_slice(&length(field));
        aad.extend_from_slice(field);
    }
    aad
}

#[cfg(test)]
mod tests;
