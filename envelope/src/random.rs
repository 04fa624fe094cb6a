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

/// Whether `text` has the form that [`credential`] gives with this prefix.
pub fn is_credential(prefix: &str, text: &[u8]) -> bool {
    text.strip_prefix(prefix.as_bytes())
        .is_some_and(|rest| rest.len() == 43 && BASE64URL_NOPAD.decode(rest).is_ok())
}

/// `prefix` followed by 128 random bits in lower-case base32 without padding (26 characters): a
/// public name, such as a request id `r_…`. Lower case and without `-` or `_`, so that one double
/// click selects it and no tool mistakes it for an option.
pub fn name(prefix: &str) -> Result<String, RandomError> {
    let raw: [u8; 16] = bytes()?;
    let mut text = String::with_capacity(prefix.len() + 26);
    push_name(&mut text, prefix, &raw);
    Ok(text)
}

/// A public name in the form of [`name`] for the first 128 bits of a digest.
pub fn name_of(prefix: &str, digest: &[u8; 32]) -> String {
    let mut text = String::with_capacity(prefix.len() + 26);
    let (short, _) = digest.split_at(16);
    push_name(&mut text, prefix, short);
    text
}

fn push_name(text: &mut String, prefix: &str, raw: &[u8]) {
    text.push_str(prefix);
    text.push_str(&BASE32_NOPAD.encode(raw).to_ascii_lowercase());
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

        assert!(is_credential("gk_", credential.expose().as_bytes()));
        for bad in [
            "",
            "gk_",
            "gs_",
            credential.expose().trim_start_matches("gk_"),
            &format!("{}A", credential.expose()),
        ] {
            assert!(!is_credential("gk_", bad.as_bytes()));
        }
        // 43 characters hold 258 bits: the last two must be zero, or one token had two spellings.
        assert!(!is_credential(
            "gk_",
            format!("gk_{}B", "A".repeat(42)).as_bytes()
        ));

        let id = name("r_").unwrap();
        assert_eq!(id.len(), 2 + 26);
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        );
        assert_ne!(id, name("r_").unwrap());
        assert_ne!(bytes::<32>().unwrap(), bytes::<32>().unwrap());
    }
}
