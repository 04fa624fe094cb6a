//! How replaced values are spelled: `<PERSON_k7q2mz>` can be restored, `<PERSON>` is a mask,
//! `<PERSON#…>` is a keyed digest that cannot be restored.

use data_encoding::BASE32_NOPAD;

use crate::label::Label;

/// Digits of the shortest token: 30 bits.
pub(crate) const SHORTEST: usize = 6;
/// Digits of a hash: 130 bits.
const HASH: usize = 26;
/// No token, escaped in whatever way, is longer than this many bytes.
pub(crate) const LONGEST: usize = 192;

/// The base32 digits (RFC 4648 alphabet in lower case) of a digest.
pub(crate) fn digits(digest: &[u8; 32]) -> String {
    BASE32_NOPAD.encode(digest).to_ascii_lowercase()
}

/// The token of a label and so many digits.
pub(crate) fn spelled(label: Label, digits: &str) -> String {
    format!("<{label}_{digits}>")
}

/// What stands in the place of a masked value.
#[must_use]
pub(crate) fn mask(label: Label) -> String {
    format!("<{label}>")
}

/// What stands in the place of a hashed value.
pub(crate) fn hash(label: Label, digest: &[u8; 32]) -> String {
    let digits = digits(digest);
    format!("<{label}#{}>", digits.get(..HASH).unwrap_or(&digits))
}

/// The length of the mask or hash at the start of `text`, if one stands there. Both are ours, so
/// they are not searched again.
pub(crate) fn sealed(text: &str) -> Option<usize> {
    let end = text.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    let inside = text.get(1..end)?;
    let (name, digest) = inside.split_once('#').unwrap_or((inside, ""));
    let hashed = inside.len() > name.len();
    let shaped = !hashed || (digest.len() == HASH && digest.bytes().all(is_digit));
    (shaped && Label::known(name).is_some()).then_some(end + 1)
}

/// Whether `text` is spelled exactly as a token, known or not.
pub(crate) fn is_token(text: &str) -> bool {
    let inside = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    let Some((name, digits)) = inside.and_then(|inside| inside.rsplit_once('_')) else {
        return false;
    };
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && digits.len() >= SHORTEST
        && digits.bytes().all(is_digit)
}

/// A digit of the base32 alphabet in lower case.
fn is_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_apart() {
        let digest = [7; 32];
        let hash = hash(Label::EMAIL, &digest);
        assert_eq!(sealed(&format!("{hash} x")), Some(hash.len()));
        assert_eq!(sealed("<EMAIL> x"), Some(7));
        assert_eq!(sealed("<NO_SUCH_LABEL>"), None);
        assert_eq!(sealed("<EMAIL#abc>"), None);
        assert_eq!(sealed("<EMAIL"), None);
        assert!(is_token(&spelled(
            Label::EMAIL,
            &digits(&digest)[..SHORTEST]
        )));
        assert!(is_token("<US_SSN_zzzzzz>"));
        for no in [
            "<EMAIL_zzzzz>",
            "<EMAIL_zzzz1z>",
            "<email_zzzzzz>",
            "EMAIL_zzzzzz",
            "<EMAIL>",
        ] {
            assert!(!is_token(no), "{no}");
        }
    }
}
