//! Tokens in the head of a request.

use gatehouse_envelope::{random::is_credential, secret::equal};
use http::{HeaderMap, HeaderName, header::AUTHORIZATION};

use super::AuthError;

/// What a caller's key begins with.
pub(super) const PREFIX: &str = "gk_";

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The one token that a request presents.
pub(super) fn presented(headers: &HeaderMap) -> Result<&[u8], AuthError> {
    let bearer = single(headers, &AUTHORIZATION)?.map(bearer).transpose()?;
    let api_key = single(headers, &API_KEY)?;
    match (bearer, api_key) {
        (None, None) => Err(AuthError::Missing),
        (Some(token), None) | (None, Some(token)) => Ok(token),
        (Some(one), Some(other)) if equal(one, other) => Ok(one),
        (Some(_), Some(_)) => Err(AuthError::Conflicting),
    }
}

/// Whether a token looks like one that we issue: the prefix and exactly 256 bits of base64url.
pub(super) fn well_formed(token: &[u8]) -> bool {
    is_credential(PREFIX, token)
}

/// A header's only value. A header that is there twice could be read two ways.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h [u8]>, AuthError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => Ok(Some(value.as_bytes())),
        (Some(_), Some(_)) => Err(AuthError::Conflicting),
    }
}

/// RFC 6750 §2.1: the scheme in any case, one space, the token.
fn bearer(value: &[u8]) -> Result<&[u8], AuthError> {
    let (scheme, token) = value.split_at_checked(7).ok_or(AuthError::Malformed)?;
    if scheme.eq_ignore_ascii_case(b"bearer ") {
        Ok(token)
    } else {
        Err(AuthError::Malformed)
    }
}
