//! Certificates of writers' keys: DSSE envelopes signed by the deployment's signer.
//!
//! The bytes are canonical: reading one writes it again and compares, so nothing in a certificate
//! can be changed without being noticed, the parts outside the signature included.

use data_encoding::BASE64;
use gatehouse_envelope::sign::{self, SignError, Signer};
use serde::Deserialize;

use crate::{
    clock,
    event::write_string,
    names,
    note::{Key, NoteError},
};

const PAYLOAD_TYPE: &str = "application/vnd.gatehouse.writer+json";

/// Whose key signs the checkpoints of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The writer.
    pub writer: String,
    /// The writer's key; its name is the origin of the stream's checkpoints.
    pub key: Key,
    /// The deployment's key, which signs the certificate.
    pub issuer: Key,
    /// When it was issued, RFC 3339 in UTC.
    pub issued: String,
}

impl Certificate {
    /// A certificate for `writer`'s key by the deployment's `signer`, not yet signed.
    ///
    /// # Errors
    /// A name cannot stand in a vkey.
    pub fn new(
        writer: &str,
        key: &dyn Signer,
        signer: &dyn Signer,
        unix_us: u64,
    ) -> Result<Self, NoteError> {
        Ok(Self {
            writer: writer.to_owned(),
            key: Key::of(key)?,
            issuer: Key::of(signer)?,
            issued: clock::rfc3339(unix_us),
        })
    }

    /// The signed envelope.
    ///
    /// # Errors
    /// The signer gave no signature.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, SignError> {
        let payload = self.payload();
        let signature = signer.sign(&pre_authentication(PAYLOAD_TYPE, &payload))?;
        Ok(self.envelope(&payload, &signature))
    }

    /// Reads an envelope and checks that the issuer it names has signed it. Whether that issuer is
    /// to be trusted is for the caller to say.
    ///
    /// # Errors
    /// It is not such an envelope, byte for byte, or the signature does not hold.
    pub fn open(bytes: &[u8]) -> Result<Self, CertificateError> {
        let malformed = CertificateError::Malformed;
        let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(|_| malformed)?;
        let [signature] = envelope.signatures;
        let payload = BASE64
            .decode(envelope.payload.as_bytes())
            .map_err(|_| malformed)?;
        let signed = BASE64
            .decode(signature.sig.as_bytes())
            .map_err(|_| malformed)?;
        let body: Payload<'_> = serde_json::from_slice(&payload).map_err(|_| malformed)?;
        let certificate = Self {
            writer: body.w.to_owned(),
            key: Key::parse(body.key).map_err(|_| malformed)?,
            issuer: Key::parse(body.issuer).map_err(|_| malformed)?,
            issued: body.ts.to_owned(),
        };
        // Only what is signed is believed, the version included.
        let message = pre_authentication(envelope.payload_type, &payload);
        if !sign::verify(certificate.issuer.public(), &message, &signed) {
            return Err(CertificateError::Signature);
        }
        if body.gatehouse > 1 {
            return Err(CertificateError::Newer);
        }
        let deployment = names::deployment_of(&certificate.writer).ok_or(malformed)?;
        let exact = certificate.key.name() == names::origin(deployment, &certificate.writer)
            && certificate.payload() == payload
            && certificate.envelope(&payload, &signed) == bytes;
        if exact {
            Ok(certificate)
        } else {
            Err(malformed)
        }
    }

    fn payload(&self) -> Vec<u8> {
        let mut out = b"{\"gatehouse\":1,\"w\":".to_vec();
        write_string(&mut out, &self.writer);
        for (key, value) in [
            (",\"key\":", self.key.to_string()),
            (",\"issuer\":", self.issuer.to_string()),
            (",\"ts\":", self.issued.clone()),
        ] {
            out.extend_from_slice(key.as_bytes());
            write_string(&mut out, &value);
        }
        out.push(b'}');
        out
    }

    fn envelope(&self, payload: &[u8], signature: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() * 2 + 512);
        for (key, value) in [
            ("{\"payloadType\":", PAYLOAD_TYPE.to_owned()),
            (",\"payload\":", BASE64.encode(payload)),
            (",\"signatures\":[{\"keyid\":", self.issuer.reference()),
            (",\"sig\":", BASE64.encode(signature)),
        ] {
            out.extend_from_slice(key.as_bytes());
            write_string(&mut out, &value);
        }
        out.extend_from_slice(b"}]}");
        out
    }
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not a certificate in the one form that there is.
    #[error("not a writer's certificate")]
    Malformed,
    /// Of a version that this program does not know.
    #[error("a certificate of a newer version")]
    Newer,
    /// Not signed by the issuer it names.
    #[error("the certificate's signature does not hold")]
    Signature,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'e> {
    #[serde(rename = "payloadType")]
    payload_type: &'e str,
    payload: &'e str,
    #[serde(borrow)]
    signatures: [EnvelopeSignature<'e>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature<'e> {
    #[serde(rename = "keyid")]
    _keyid: &'e str,
    sig: &'e str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload<'p> {
    gatehouse: u64,
    w: &'p str,
    key: &'p str,
    issuer: &'p str,
    ts: &'p str,
}

/// DSSE's pre-authentication encoding: type and payload with their lengths, so that neither can
/// take over bytes of the other.
fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use gatehouse_envelope::sign::MemorySigner;

    use super::*;

    fn issue() -> (Certificate, Vec<u8>) {
        let deployment = MemorySigner::generate("prod").unwrap();
        let writer = names::new_writer("prod", 1_795_961_100_123_456).unwrap();
        let key = MemorySigner::generate(&names::origin("prod", &writer)).unwrap();
        let cert = Certificate::new(&writer, &key, &deployment, 1_795_961_100_123_456).unwrap();
        let bytes = cert.sign(&deployment).unwrap();
        (cert, bytes)
    }

    #[test]
    fn certificates_come_back() {
        let (cert, bytes) = issue();
        assert_eq!(Certificate::open(&bytes), Ok(cert));
    }

    #[test]
    fn every_bit_counts() {
        let (_, bytes) = issue();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                assert!(
                    Certificate::open(&changed).is_err(),
                    "byte {index} bit {bit}"
                );
            }
            assert!(Certificate::open(&bytes[..index]).is_err());
        }
    }

    #[test]
    fn the_pre_authentication_encoding_of_the_dsse_specification() {
        let encoded = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(
            encoded,
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn a_key_of_another_stream_is_refused() {
        let deployment = MemorySigner::generate("prod").unwrap();
        let writer = names::new_writer("prod", 0).unwrap();
        let key = MemorySigner::generate("prod/other").unwrap();
        let bytes = Certificate::new(&writer, &key, &deployment, 0)
            .unwrap()
            .sign(&deployment)
            .unwrap();
        assert_eq!(Certificate::open(&bytes), Err(CertificateError::Malformed));
    }
}
