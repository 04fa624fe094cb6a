//! Digests: SHA-256, and keyed digests that name their purpose.

use std::io::{self, Read};

use data_encoding::HEXLOWER;
use ring::{digest, hmac};

use crate::secret::{self, Secret};

/// Bytes that are read at a time.
const BLOCK: usize = 64 << 10;

/// SHA-256 (FIPS 180-4) of the concatenation of `parts`.
///
/// The parts are only concatenated: where their borders matter, the caller fixes them.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finish()
}

/// SHA-256 of what a reader gives until its end, of which it holds no more than a block.
///
/// # Errors
/// As the reader's.
pub fn sha256_of(mut reader: impl Read) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(hash.finish()),
            Ok(count) => hash.update(block.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// SHA-256 of bytes that arrive in pieces.
#[derive(Clone)]
pub struct Sha256(digest::Context);

impl Sha256 {
    /// Starts a digest over nothing.
    pub fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(self) -> [u8; 32] {
        array(self.0.finish().as_ref())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The digest that [`hex`] wrote; nothing else, upper case included.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

/// A key for keyed digests (HMAC-SHA-256, RFC 2104).
///
/// The key's bytes are wiped when it is dropped. The expanded HMAC state is therefore made anew for
/// each digest, which costs two SHA-256 blocks; a kept state could not be wiped.
pub struct MacKey(Secret<[u8; 32]>);

impl MacKey {
    /// Makes a key of 32 secret bytes.
    pub fn new(key: Secret<[u8; 32]>) -> Self {
        Self(key)
    }

    /// The keyed digest of `parts` for one purpose.
    ///
    /// The input of the HMAC is the purpose and then each part, every one of them preceded by its
    /// length in bytes as a 64-bit big-endian number. So neither two purposes nor two ways to cut
    /// the same bytes into parts can ever give the same digest.
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.begin(purpose);
        for part in parts {
            mac.part(part);
        }
        mac.finish()
    }

    /// Starts a keyed digest whose parts come one by one; equal to [`MacKey::mac`] with all of them.
    pub fn begin(&self, purpose: &str) -> Mac {
        let mut mac = Mac(hmac::Context::with_key(&hmac::Key::new(
            hmac::HMAC_SHA256,
            self.0.expose(),
        )));
        mac.part(purpose.as_bytes());
        mac
    }

    /// Checks a digest in constant time.
    pub fn verify(&self, purpose: &str, parts: &[&[u8]], digest: &[u8]) -> bool {
        secret::equal(&self.mac(purpose, parts), digest)
    }
}

/// A keyed digest under way; see [`MacKey::begin`].
pub struct Mac(hmac::Context);

impl Mac {
    /// Adds one part, preceded by its length.
    pub fn part(&mut self, part: &[u8]) {
        self.0.update(&length(part));
        self.0.update(part);
    }

    /// The digest.
    pub fn finish(self) -> [u8; 32] {
        array(self.0.sign().as_ref())
    }
}

/// The length of a part as it precedes the part in keyed digests, derivations and associated data.
pub(crate) fn length(part: &[u8]) -> [u8; 8] {
    (part.len() as u64).to_be_bytes()
}

pub(crate) fn array(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    // SHA-256 gives 32 bytes; `zip` only spares a conversion that could not fail.
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> MacKey {
        MacKey::new(Secret::new([byte; 32]))
    }

    #[test]
    fn sha256_known_answer() {
        // FIPS 180-4, example "abc".
        let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&sha256(&[b"a", b"bc"])), want);
        let mut pieces = Sha256::new();
        pieces.update(b"ab");
        pieces.update(b"c");
        assert_eq!(hex(&pieces.finish()), want);
    }

    /// Gives seven bytes at a time, and is interrupted before each.
    struct Slow<'b>(&'b [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(7);
            self.0.read(&mut into[..count])
        }
    }

    #[test]
    fn what_is_read_has_the_digest_of_its_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(BLOCK * 2 + 5).collect();
        assert_eq!(sha256_of(&bytes[..]).unwrap(), sha256(&[&bytes]));
        let few = &bytes[..100];
        assert_eq!(sha256_of(Slow(few, false)).unwrap(), sha256(&[few]));
    }

    #[test]
    fn mac_is_hmac_over_length_prefixed_parts() {
        // An independent HMAC (RFC 2104 from its definition) over the documented input.
        let mut input = Vec::new();
        for part in [&b"purpose"[..], b"one", b""] {
            input.extend_from_slice(&(part.len() as u64).to_be_bytes());
            input.extend_from_slice(part);
        }
        let pad = |x: u8| -> Vec<u8> { (0..64).map(|i| if i < 32 { 7 ^ x } else { x }).collect() };
        let inner = sha256(&[&pad(0x36), &input]);
        let want = sha256(&[&pad(0x5c), &inner]);
        assert_eq!(key(7).mac("purpose", &[b"one", b""]), want);
    }

    #[test]
    fn hexadecimal_comes_back() {
        let digest = sha256(&[b"x"]);
        assert_eq!(unhex(&hex(&digest)), Some(digest));
        assert_eq!(unhex(&hex(&digest).to_uppercase()), None);
        assert_eq!(unhex(&hex(&digest[..31])), None);
    }

    #[test]
    fn purpose_and_key_matter() {
        let digest = key(1).mac("a", &[b"x"]);
        assert_ne!(digest, key(1).mac("b", &[b"x"]));
        assert_ne!(digest, key(2).mac("a", &[b"x"]));
        assert!(key(1).verify("a", &[b"x"], &digest));
        assert!(!key(1).verify("a", &[b"x"], &digest[..31]));
    }

    proptest! {
        #[test]
        fn borders_of_parts_matter(bytes in proptest::collection::vec(any::<u8>(), 2..40), cut in 0usize..40) {
            let cut = cut % bytes.len();
            let (a, b) = bytes.split_at(cut);
            let split = key(3).mac("p", &[a, b]);
            prop_assert_ne!(split, key(3).mac("p", &[&bytes]));
            let mut stepwise = key(3).begin("p");
            stepwise.part(a);
            stepwise.part(b);
            prop_assert_eq!(split, stepwise.finish());
        }
    }
}
