//! Whose time stamps count: certificates of authorities, and the way to them.

use std::time::Duration;

use rustls_pki_types::{
    CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime, pem::PemObject as _,
};
use webpki::{
    ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as algorithms,
};

use super::{
    Stamp, StampError,
    der::{BOOLEAN, INTEGER, OCTETS, OID, Reader, SEQUENCE, context},
};

/// The extended key usage of time stamps (RFC 3161 §2.3), without tag and length.
const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];

/// Certificates that are trusted to lead to those of time stamp authorities.
#[derive(Clone, Debug)]
pub struct Authorities(Vec<TrustAnchor<'static>>);

/// A file does not hold certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a file of X.509 certificates in PEM")]
pub struct NoAuthorities;

impl Authorities {
    /// Reads certificates in PEM: of authorities that issue certificates for time stamps, or
    /// self-signed ones of time stamp authorities.
    ///
    /// # Errors
    /// There is none, or something else than certificates.
    pub fn parse(pem: &str) -> Result<Self, NoAuthorities> {
        let anchors = CertificateDer::pem_slice_iter(pem.as_bytes()).map(|certificate| {
            let certificate = certificate.map_err(|_| NoAuthorities)?;
            let anchor = anchor_from_trusted_cert(&certificate).map_err(|_| NoAuthorities)?;
            Ok(anchor.to_owned())
        });
        let anchors = anchors.collect::<Result<Vec<_>, _>>()?;
        match anchors.is_empty() {
            true => Err(NoAuthorities),
            false => Ok(Self(anchors)),
        }
    }
}

impl Stamp<'_> {
    /// Whether one of `authorities` has signed, itself or through the certificates in the token: each
    /// valid at the token's time, and the last for time stamps.
    ///
    /// # Errors
    /// [`StampError::Untrusted`].
    pub fn is_by(&self, authorities: &Authorities) -> Result<(), StampError> {
        let certificates: Vec<_> = self
            .certificates
            .iter()
            .map(|certificate| CertificateDer::from(*certificate))
            .collect();
        let Some((signer, between)) = certificates.split_first() else {
            return Err(StampError::Untrusted);
        };
        if is_for_stamps(signer) != Some(true) {
            return Err(StampError::Untrusted);
        }
        let at = UnixTime::since_unix_epoch(Duration::from_micros(self.unix_us()));
        // Those that issue certificates may leave it open.
        let usage = KeyUsage::required_if_present(TIME_STAMPING);
        let signer = EndEntityCert::try_from(signer).map_err(|_| StampError::Untrusted)?;
        signer
            .verify_for_usage(
                ALL_VERIFICATION_ALGS,
                &authorities.0,
                between,
                at,
                usage,
                None,
                None,
            )
            .map(|_| ())
            .map_err(|_| StampError::Untrusted)
    }
}

/// Whether a certificate is for time stamps and nothing else, and says so in a way that nobody may pass
/// over (RFC 3161 §2.3).
fn is_for_stamps(certificate: &[u8]) -> Option<bool> {
    /// 2.5.29.37, without tag and length.
    const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
    let mut body = Reader::new(Reader::new(certificate).only(SEQUENCE)?).enter(SEQUENCE)?;
    body.expect(context(0))?;
    body.expect(INTEGER)?;
    // Algorithm, issuer, validity, subject, key.
    for _ in 0..5 {
        body.expect(SEQUENCE)?;
    }
    let mut extensions = Reader::new(Reader::new(body.expect(context(3))?).only(SEQUENCE)?);
    while let Some(extension) = extensions.optional(SEQUENCE) {
        let mut extension = Reader::new(extension.content);
        if extension.expect(OID)? == EXTENDED_KEY_USAGE {
            let critical = extension.optional(BOOLEAN)?.content == [0xff];
            let usages = Reader::new(extension.expect(OCTETS)?).only(SEQUENCE)?;
            return Some(critical && Reader::new(usages).only(OID)? == TIME_STAMPING);
        }
    }
    None
}

type Verifiers = Vec<&'static dyn SignatureVerificationAlgorithm>;

/// What verifies signatures of an algorithm, by its object identifier and that of the digest.
pub(super) fn algorithm(signature: &[u8], digest: &[u8]) -> Option<Verifiers> {
    /// Under 1.2.840.113549.1.1: RSA by PKCS #1, with the digest named here or elsewhere.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    /// Under 1.2.840.10045.4.3: ECDSA with SHA-2.
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
    if signature == ED25519 {
        return Some(vec![algorithms::ED25519]);
    }
    let size = match digest.last()? {
        1 => 256,
        2 => 384,
        3 => 512,
        _ => return None,
    };
    let named = |last: &u8, of: [u8; 3]| of.iter().position(|own| own == last);
    if let Some([last]) = signature.strip_prefix(RSA) {
        let sizes = [256, 384, 512];
        let agrees =
            *last == 1 || named(last, [11, 12, 13]).and_then(|at| sizes.get(at)) == Some(&size);
        let verifier = match size {
            256 => algorithms::RSA_PKCS1_2048_8192_SHA256,
            384 => algorithms::RSA_PKCS1_2048_8192_SHA384,
            _ => algorithms::RSA_PKCS1_2048_8192_SHA512,
        };
        return agrees.then_some(vec![verifier]);
    }
    match (signature.strip_prefix(ECDSA)?, size) {
        ([2], 256) => Some(vec![
            algorithms::ECDSA_P256_SHA256,
            algorithms::ECDSA_P384_SHA256,
        ]),
        ([3], 384) => Some(vec![
            algorithms::ECDSA_P256_SHA384,
            algorithms::ECDSA_P384_SHA384,
        ]),
        _ => None,
    }
}
