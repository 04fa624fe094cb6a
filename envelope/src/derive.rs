//! Keys made from keys: HKDF-SHA-256 (RFC 5869) with an empty salt and one block of output.
//!
//! The keys that go in are random and uniform, so the extraction step needs no salt.

use ring::hmac;
use zeroize::Zeroizing;

use crate::{
    digest::{array, length},
    secret::Secret,
};

/// `HKDF-SHA-256(salt = "", key, info = purpose)`, 32 bytes. For derivations that others must be
/// able to repeat from a document: the info is the bare purpose.
pub(crate) fn derive(key: &Secret<[u8; 32]>, purpose: &str) -> Secret<[u8; 32]> {
    expand(key.expose(), &[purpose.as_bytes()])
}

/// The same with the purpose and each part preceded by its length (64 bits, big-endian). Such an
/// info begins with a zero byte, so it can't be the bare purpose of another derivation.
pub(crate) fn derive_for(
    key: &Secret<[u8; 32]>,
    purpose: &str,
    parts: &[&[u8]],
) -> Secret<[u8; 32]> {
    let mut info = Vec::new();
    for part in std::iter::once(&purpose.as_bytes()).chain(parts) {
        info.extend_from_slice(&length(part));
        info.extend_from_slice(part);
    }
    expand(key.expose(), &[&info])
}

/// RFC 5869 §2.2 and §2.3 for 32 bytes of output, which is the first block alone. Written out
/// because the library's own can fail, and there is nothing sensible to do with such a failure.
fn expand(key: &[u8], info: &[&[u8]]) -> Secret<[u8; 32]> {
    let pseudorandom = Zeroizing::new(hmac_sha256(&[0; 32], &[key]));
    let counted: Vec<&[u8]> = info.iter().copied().chain([&[1u8][..]]).collect();
    Secret::new(hmac_sha256(&*pseudorandom, &counted))
}

fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    for part in parts {
        mac.update(part);
    }
    array(mac.sign().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::hex;

    #[test]
    fn known_answer() {
        // RFC 5869, test case 3: no salt, no info; its output's first 32 bytes.
        let okm = expand(&[0x0b; 22], &[]);
        let want = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d";
        assert_eq!(hex(okm.expose()), want);
    }

    #[test]
    fn every_purpose_and_part_gives_another_key() {
        let key = Secret::new([5; 32]);
        let keys = [
            derive(&key, "a"),
            derive(&key, "ab"),
            derive_for(&key, "a", &[]),
            derive_for(&key, "a", &[b"b"]),
            derive_for(&key, "a", &[b"b", b""]),
            derive_for(&key, "ab", &[]),
            derive_for(&key, "a", &[b"", b"b"]),
        ];
        for (n, one) in keys.iter().enumerate() {
            for other in &keys[..n] {
                assert!(!one.matches(other.expose()));
            }
        }
    }
}
