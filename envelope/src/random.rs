//! Randomness from the operating system, and the identifiers made of it.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroize;

use crate::secret::Secret;

/// The operating system gave no random bytes. Nothing may go on without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random source failed")]
pub struct RandomError;

/// Fills a buffer with random bytes.
pub fn fill(buffer: &mut [u8]) -> Result<(), RandomError> {
    SystemRandom::new().fill(buffer).map_err(|_| RandomError)
}

/// `N` random bytes that are not secret: nonces, identifiers.
pub fn bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut buffer = [0; N];
    fill(&mut buffer)?;
    Ok(buffer)
}

/// `N` random bytes that are a key.
pub fn secret<const N: usize>() -> Result<Secret<[u8; N]>, RandomError> {
    Ok(Secret::new(bytes()?))
}

/// `prefix` followed by 256 random bits in base64url without padding (43 characters): a
/// credential, such as `gk_…` or `gs_…`.
pub fn credential(prefix: &str) -> Result<Secret<String>, RandomError> {
    let mut raw: [u8; 32] = bytes()?;
    let mut text = String::with_capacity(prefix.len() + 43);
    text.push_str(prefix);
    BASE64URL_NOPAD.encode_append(&raw, &mut text);
    raw.zeroize();
    Ok(Secret::new(text))
}

/// `prefix` followed by 128 random bits in lower-case base32 without padding (26 characters): a
/// public name, such as a request id `r_…`. Lower case and without `-` or `_`, so that one double
/// click selects it and no tool mistakes it for an option.
pub fn name(prefix: &str) -> Result<String, RandomError> {
    let raw: [u8; 16] = bytes()?;
    let mut text = String::with_capacity(prefix.len() + 26);
    text.push_str(prefix);
    text.push_str(&BASE32_NOPAD.encode(&raw).to_ascii_lowercase());
    Ok(text)
}

/// A new request id: `r_` and 128 random bits.
pub fn request_id() -> Result<String, RandomError> {
    name("r_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_their_size_and_do_not_repeat() {
        let credential = credential("gk_").unwrap();
        let raw =
            BASE64URL_NOPAD.decode(credential.expose().strip_prefix("gk_").unwrap().as_bytes());
        assert_eq!(raw.unwrap().len(), 32);

        let id = request_id().unwrap();
        assert_eq!(id.len(), 2 + 26);
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        );
        assert_ne!(id, request_id().unwrap());
        assert_ne!(bytes::<32>().unwrap(), bytes::<32>().unwrap());
    }
}
