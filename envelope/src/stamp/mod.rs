//! Time stamps (RFC 3161): an authority's signature on a digest and the time at which it was shown.
//!
//! Of a token are checked: its structure; that the certificate which it names (RFC 2634 §5.4, RFC 5035)
//! is in it and has signed it (RFC 5652 §5.4); and, by [`Stamp::is_by`], that this certificate leads to
//! one that is trusted, was valid at the token's time, and is for time stamps alone or at least as well.
//! Not checked: revocation, the authority's policy, and its stated accuracy.

mod authority;
mod der;
mod time;
mod token;

pub use authority::{Authorities, NoAuthorities};
pub use token::{MAX_REPLY, Stamp};

use crate::random::{self, RandomError};

/// The media type of requests.
pub const REQUEST_TYPE: &str = "application/timestamp-query";
/// The media type of replies.
pub const REPLY_TYPE: &str = "application/timestamp-reply";

/// The object identifier of SHA-256, without its tag and length.
const SHA_256: [u8; 9] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// Why a reply is no time stamp of what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StampError {
    /// It is signed by an algorithm that is not known here, or too weak.
    #[error("signed with an algorithm that is not accepted")]
    Algorithm,
    /// It is over something else than SHA-256 of what was asked.
    #[error("the time stamp is of something else")]
    Imprint,
    /// It is not a reply in DER, or lacks a part that it must have.
    #[error("not a time stamp reply")]
    Malformed,
    /// It is a reply to another request.
    #[error("the time stamp is an answer to another request")]
    Nonce,
    /// The authority did not grant it; its status (RFC 3161 §2.4.2).
    #[error("the authority did not grant the time stamp: status {0}")]
    Refused(u8),
    /// The signature, or what it is over, does not hold.
    #[error("the time stamp's signature does not hold")]
    Signature,
    /// Its certificate leads to none that is trusted, was not valid, or is not for time stamps.
    #[error("no trusted authority has signed the time stamp")]
    Untrusted,
}

/// A request for a time stamp.
pub struct Request {
    imprint: [u8; 32],
    nonce: [u8; 8],
}

impl Request {
    /// A request for a time stamp on what has the SHA-256 digest `imprint`.
    ///
    /// # Errors
    /// No randomness for its nonce.
    pub fn new(imprint: [u8; 32]) -> Result<Self, RandomError> {
        let mut nonce = random::bytes::<8>()?;
        // A positive integer of exactly eight bytes.
        let [first, ..] = &mut nonce;
        *first = *first & 0x7f | 0x40;
        Ok(Self { imprint, nonce })
    }

    /// The request in DER: with a nonce, and asking for the certificate.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let algorithm = element(
            der::SEQUENCE,
            &[&element(der::OID, &[&SHA_256]), &[0x05, 0x00]],
        );
        let digest = element(der::OCTETS, &[&self.imprint]);
        let imprint = element(der::SEQUENCE, &[&algorithm, &digest]);
        let version = element(der::INTEGER, &[&[1]]);
        let nonce = element(der::INTEGER, &[&self.nonce]);
        let with_certificate = element(der::BOOLEAN, &[&[0xff]]);
        element(
            der::SEQUENCE,
            &[&version, &imprint, &nonce, &with_certificate],
        )
    }

    /// Opens the reply to this request.
    ///
    /// # Errors
    /// It is none, or not to this one.
    pub fn open<'r>(&self, reply: &'r [u8]) -> Result<Stamp<'r>, StampError> {
        let stamp = Stamp::open(reply)?;
        if stamp.imprint() != &self.imprint {
            return Err(StampError::Imprint);
        }
        match stamp.nonce() == Some(&self.nonce) {
            true => Ok(stamp),
            false => Err(StampError::Nonce),
        }
    }
}

/// An element of less than 128 bytes.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
    debug_assert!(length < 0x80, "longer lengths have another form");
    [&[tag, length][..], &content].concat()
}

#[cfg(test)]
mod tests;
