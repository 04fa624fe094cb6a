//! The reply of an authority, its token, and the signature in it.

use ring::digest;
use rustls_pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::{
    SHA_256, StampError,
    authority::algorithm,
    der::{GENERALIZED_TIME, INTEGER, OCTETS, OID, Reader, SEQUENCE, SET, context},
    time,
};

/// The most bytes of a reply that is read.
pub const MAX_REPLY: usize = 1 << 16;
/// The most certificates and attributes of a token that are looked at.
const MOST: usize = 16;

// Object identifiers, without tag and length.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[
    0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04,
];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// With a SHA-1 digest of the certificate (RFC 2634).
const SIGNING_CERTIFICATE: &[u8] = &[
    0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x0c,
];
/// With a digest of any kind, SHA-256 if none is named (RFC 5035).
const SIGNING_CERTIFICATE_V2: &[u8] = &[
    0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x2f,
];

/// A time stamp whose signature by its own certificate holds. Whether that certificate's is one to be
/// believed, [`Stamp::is_by`] says.
#[derive(Debug)]
pub struct Stamp<'r> {
    imprint: [u8; 32],
    unix_us: u64,
    nonce: Option<&'r [u8]>,
    /// The signer's certificate first.
    pub(super) certificates: Vec<&'r [u8]>,
}

impl<'r> Stamp<'r> {
    /// Opens a reply (`TimeStampResp`), as authorities send it and the log keeps it.
    ///
    /// # Errors
    /// It is none, not granted, or its signature does not hold.
    pub fn open(reply: &'r [u8]) -> Result<Self, StampError> {
        if reply.len() > MAX_REPLY {
            return Err(StampError::Malformed);
        }
        let mut reply = Reader::new(
            Reader::new(reply)
                .only(SEQUENCE)
                .ok_or(StampError::Malformed)?,
        );
        let mut status = reply.enter(SEQUENCE).ok_or(StampError::Malformed)?;
        match status.expect(INTEGER) {
            Some([0 | 1]) => {}
            Some([status]) => return Err(StampError::Refused(*status)),
            _ => return Err(StampError::Malformed),
        }
        let content = reply.enter(SEQUENCE).filter(|_| reply.is_empty());
        let signed = content.and_then(Signed::of).ok_or(StampError::Malformed)?;
        let info = Info::of(signed.info).ok_or(StampError::Malformed)?;
        if info.algorithm != SHA_256 {
            return Err(StampError::Imprint);
        }
        let imprint = info.imprint.try_into().map_err(|_| StampError::Malformed)?;
        Ok(Self {
            imprint,
            unix_us: info.unix_us,
            nonce: info.nonce,
            certificates: signed.check()?,
        })
    }

    /// The SHA-256 digest that was shown to the authority.
    #[must_use]
    pub fn imprint(&self) -> &[u8; 32] {
        &self.imprint
    }

    /// When, in microseconds since 1970, by the authority's clock.
    #[must_use]
    pub fn unix_us(&self) -> u64 {
        self.unix_us
    }

    pub(super) fn nonce(&self) -> Option<&[u8]> {
        self.nonce
    }
}

/// A `SignedData` around a `TSTInfo`, taken apart.
struct Signed<'r> {
    /// What was signed, indirectly.
    info: &'r [u8],
    certificates: Vec<&'r [u8]>,
    digest: &'r [u8],
    /// With their tag as they stand, `[0]`.
    attributes: &'r [u8],
    algorithm: &'r [u8],
    signature: &'r [u8],
}

impl<'r> Signed<'r> {
    fn of(mut content: Reader<'r>) -> Option<Self> {
        (content.expect(OID)? == SIGNED_DATA).then_some(())?;
        let explicit = content.expect(context(0)).filter(|_| content.is_empty())?;
        let mut data = Reader::new(Reader::new(explicit).only(SEQUENCE)?);
        data.expect(INTEGER)?;
        data.expect(SET)?;
        let mut inner = data.enter(SEQUENCE)?;
        (inner.expect(OID)? == TST_INFO).then_some(())?;
        let explicit = inner.expect(context(0)).filter(|_| inner.is_empty())?;
        let info = Reader::new(explicit).only(OCTETS)?;
        let mut certificates = Vec::new();
        if let Some(set) = data.optional(context(0)) {
            let mut set = Reader::new(set.content);
            while let Some(certificate) = set.optional(SEQUENCE) {
                certificates.push(certificate.whole);
            }
            // Others than of X.509 are none that could have signed.
            (set.is_empty() && certificates.len() <= MOST).then_some(())?;
        }
        data.optional(context(1));
        let signers = data.expect(SET).filter(|_| data.is_empty())?;
        // An authority's one signature, RFC 3161 §2.4.2.
        let mut signer = Reader::new(Reader::new(signers).only(SEQUENCE)?);
        signer.expect(INTEGER)?;
        // Who has signed, the signed attributes say by a digest.
        signer.next()?;
        let digest = signer.enter(SEQUENCE)?.expect(OID)?;
        let attributes = signer.optional(context(0))?.whole;
        let algorithm = signer.enter(SEQUENCE)?.expect(OID)?;
        let signature = signer.expect(OCTETS)?;
        Some(Self {
            info,
            certificates,
            digest,
            attributes,
            algorithm,
            signature,
        })
    }

    /// Checks the signature, and gives the certificates, the signer's first.
    fn check(self) -> Result<Vec<&'r [u8]>, StampError> {
        let hash = hash_of(self.digest).ok_or(StampError::Algorithm)?;
        let verifier = algorithm(self.algorithm, self.digest).ok_or(StampError::Algorithm)?;
        let attributes = Attributes::of(self.attributes).ok_or(StampError::Malformed)?;
        let holds = attributes.content_type == TST_INFO
            && attributes.digest == digest::digest(hash, self.info).as_ref();
        if !holds {
            return Err(StampError::Signature);
        }
        let mut certificates = self.certificates;
        let named = certificates
            .iter()
            .position(|certificate| attributes.signer.names(certificate));
        let signer = certificates.swap_remove(named.ok_or(StampError::Signature)?);
        certificates.insert(0, signer);
        // What is signed is the set itself, under its own tag (RFC 5652 §5.4).
        let mut message = self.attributes.to_vec();
        if let [first, ..] = message.as_mut_slice() {
            *first = SET;
        }
        let signer = CertificateDer::from(signer);
        let signer = EndEntityCert::try_from(&signer).map_err(|_| StampError::Signature)?;
        verifier
            .iter()
            .any(|by| {
                signer
                    .verify_signature(*by, &message, self.signature)
                    .is_ok()
            })
            .then_some(certificates)
            .ok_or(StampError::Signature)
    }
}

/// The signed attributes that matter.
struct Attributes<'r> {
    content_type: &'r [u8],
    digest: &'r [u8],
    signer: Signer<'r>,
}

/// Which certificate has signed: its digest.
struct Signer<'r> {
    hash: &'static digest::Algorithm,
    digest: &'r [u8],
}

impl Signer<'_> {
    fn names(&self, certificate: &[u8]) -> bool {
        digest::digest(self.hash, certificate).as_ref() == self.digest
    }
}

impl<'r> Attributes<'r> {
    fn of(attributes: &'r [u8]) -> Option<Self> {
        let mut reader = Reader::new(Reader::new(attributes).only(context(0))?);
        let (mut content_type, mut digest, mut signer) = (None, None, None);
        for _ in 0..MOST {
            let Some(attribute) = reader.optional(SEQUENCE) else {
                break;
            };
            let mut attribute = Reader::new(attribute.content);
            let (kind, values) = (attribute.expect(OID)?, attribute.expect(SET)?);
            // Each of these has one value, and stands once.
            let once = match kind {
                CONTENT_TYPE => content_type
                    .replace(Reader::new(values).only(OID)?)
                    .is_none(),
                MESSAGE_DIGEST => digest.replace(Reader::new(values).only(OCTETS)?).is_none(),
                SIGNING_CERTIFICATE => signer.replace(signer_v1(values)?).is_none(),
                // The newer one counts where both are there.
                SIGNING_CERTIFICATE_V2 => {
                    signer = Some(signer_v2(values)?);
                    true
                }
                _ => true,
            };
            once.then_some(())?;
        }
        Some(Self {
            content_type: content_type?,
            digest: digest.filter(|_| reader.is_empty())?,
            signer: signer?,
        })
    }
}

/// The first certificate of a `SigningCertificate`.
fn first_certificate(values: &[u8]) -> Option<Reader<'_>> {
    let mut signing = Reader::new(Reader::new(values).only(SEQUENCE)?);
    signing.enter(SEQUENCE)?.enter(SEQUENCE)
}

fn signer_v1(values: &[u8]) -> Option<Signer<'_>> {
    Some(Signer {
        hash: &digest::SHA1_FOR_LEGACY_USE_ONLY,
        digest: first_certificate(values)?.expect(OCTETS)?,
    })
}

fn signer_v2(values: &[u8]) -> Option<Signer<'_>> {
    let mut first = first_certificate(values)?;
    let hash = match first.optional(SEQUENCE) {
        None => &digest::SHA256,
        Some(algorithm) => hash_of(Reader::new(algorithm.content).expect(OID)?)?,
    };
    let digest = first.expect(OCTETS)?;
    Some(Signer { hash, digest })
}

/// What a `TSTInfo` says.
struct Info<'r> {
    algorithm: &'r [u8],
    imprint: &'r [u8],
    unix_us: u64,
    nonce: Option<&'r [u8]>,
}

impl<'r> Info<'r> {
    fn of(info: &'r [u8]) -> Option<Self> {
        let mut info = Reader::new(Reader::new(info).only(SEQUENCE)?);
        (info.expect(INTEGER)? == [1]).then_some(())?;
        info.expect(OID)?;
        let mut imprint = info.enter(SEQUENCE)?;
        let algorithm = imprint.enter(SEQUENCE)?.expect(OID)?;
        let digest = imprint.expect(OCTETS).filter(|_| imprint.is_empty())?;
        info.expect(INTEGER)?;
        let unix_us = time::unix_us(info.expect(GENERALIZED_TIME)?)?;
        // Accuracy, and whether stamps can be ordered by time.
        info.optional(SEQUENCE);
        info.optional(super::der::BOOLEAN);
        let nonce = info.optional(INTEGER).map(|nonce| nonce.content);
        Some(Self {
            algorithm,
            imprint: digest,
            unix_us,
            nonce,
        })
    }
}

/// SHA-2; nothing weaker may be what a signature rests on.
fn hash_of(oid: &[u8]) -> Option<&'static digest::Algorithm> {
    let last = oid.strip_prefix(SHA_256.get(..8)?)?;
    match last {
        [1] => Some(&digest::SHA256),
        [2] => Some(&digest::SHA384),
        [3] => Some(&digest::SHA512),
        _ => None,
    }
}
