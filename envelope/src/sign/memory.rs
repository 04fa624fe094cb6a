//! A signing key that lives as long as the process.

use ring::signature::{Ed25519KeyPair, KeyPair};

use super::{SignError, Signer};
use crate::{random, secret::Secret};

/// An Ed25519 key held in memory: one for each stream of the log, certified by the deployment's.
///
/// `ring` does not wipe its key pairs when they are dropped; the seed given to it is wiped here.
pub struct MemorySigner {
    name: String,
    pair: Ed25519KeyPair,
}

impl MemorySigner {
    /// Makes a new key.
    pub fn generate(name: &str) -> Result<Self, SignError> {
        Self::from_seed(name, &random::secret()?)
    }

    /// The key whose private part (RFC 8032 §5.1.5) is `seed`.
    pub fn from_seed(name: &str, seed: &Secret<[u8; 32]>) -> Result<Self, SignError> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| SignError::Damaged)?;
        Ok(Self {
            name: name.to_owned(),
            pair,
        })
    }
}

impl Signer for MemorySigner {
    fn name(&self) -> &str {
        &self.name
    }

    fn public(&self) -> [u8; 32] {
        let mut out = [0; 32];
        for (to, from) in out.iter_mut().zip(self.pair.public_key().as_ref()) {
            *to = *from;
        }
        out
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        self.pair
            .sign(message)
            .as_ref()
            .try_into()
            .map_err(|_| SignError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;
    use crate::sign::verify;

    #[test]
    fn known_answer() {
        // RFC 8032 §7.1, test 2.
        let seed = HEXLOWER
            .decode(b"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
            .unwrap();
        let signer = MemorySigner::from_seed("k", &Secret::new(seed.try_into().unwrap())).unwrap();
        let public = HEXLOWER.encode(&signer.public());
        assert_eq!(
            public,
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        );
        let signature = signer.sign(&[0x72]).unwrap();
        assert!(
            HEXLOWER
                .encode(&signature)
                .starts_with("92a009a9f0d4cab8720e820b5f642540")
        );
        assert!(verify(&signer.public(), &[0x72], &signature));
    }

    #[test]
    fn anything_else_does_not_verify() {
        let signer = MemorySigner::generate("k").unwrap();
        let mut signature = signer.sign(b"message").unwrap();
        assert!(verify(&signer.public(), b"message", &signature));
        assert!(!verify(&signer.public(), b"massage", &signature));
        assert!(!verify(&signer.public()[..31], b"message", &signature));
        assert!(!verify(&signer.public(), b"message", &signature[..63]));
        assert!(!verify(
            &MemorySigner::generate("k").unwrap().public(),
            b"message",
            &signature
        ));
        signature[0] ^= 1;
        assert!(!verify(&signer.public(), b"message", &signature));
    }
}
