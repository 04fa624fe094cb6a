//! A signing key that AWS KMS holds.

use std::{sync::mpsc, time::Duration};

use aws_config::SdkConfig;
use aws_sdk_kms::{
    Client,
    primitives::Blob,
    types::{KeySpec, MessageType, SigningAlgorithmSpec},
};
use tokio::sync::mpsc as to_thread;

use super::{SignError, Signer, verify};
use crate::{aws::kms::failure, keys::KeyError};

/// The most bytes that KMS signs as they are.
const MOST: usize = 4096;
/// The head of an Ed25519 public key in X.509's form (RFC 8410 §4): the algorithm, then 32 bytes.
const SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// Past the SDK's own bounds: only a thread that is gone takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// An Ed25519 key (`ECC_NIST_EDWARDS25519`) in AWS KMS: the deployment's signer.
///
/// Signs with `ED25519_SHA_512` over the message as it is (`MessageType` `RAW`), which is plain Ed25519
/// by RFC 8032. It talks to KMS on a thread of its own, so that a caller may block wherever it is.
pub struct KmsSigner {
    name: String,
    public: [u8; 32],
    asked: to_thread::UnboundedSender<Asked>,
}

/// A message to be signed, and whom to tell.
struct Asked {
    message: Vec<u8>,
    answer: mpsc::SyncSender<Result<Vec<u8>, KeyError>>,
}

impl KmsSigner {
    /// Asks KMS for the public key of `key_id` (a key's id or ARN, or an alias). Blocks.
    ///
    /// `config` is for this alone: its connections live on the thread that is started here.
    ///
    /// # Errors
    /// KMS does not answer, refuses (`kms:GetPublicKey`), does not have it, or it is no Ed25519 key.
    pub fn open(config: &SdkConfig, key_id: &str, name: &str) -> Result<Self, SignError> {
        let (client, key_id) = (Client::new(config), key_id.to_owned());
        let (asked, mut asks) = to_thread::unbounded_channel::<Asked>();
        let (opened, opening) = mpsc::sync_channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SignError::File)?;
        let serve = async move {
            let public = public_key(&client, &key_id).await;
            // Who asked waits for it; if not, nobody asks for a signature either.
            let _told = opened.send(public);
            while let Some(Asked { message, answer }) = asks.recv().await {
                let _told = answer.send(signature(&client, &key_id, message).await);
            }
        };
        std::thread::Builder::new()
            .name("kms-signer".to_owned())
            .spawn(move || runtime.block_on(serve))
            .map_err(SignError::File)?;
        let public = opening.recv_timeout(PATIENCE);
        Ok(Self {
            name: name.to_owned(),
            public: public.map_err(|_| SignError::Unavailable)??,
            asked,
        })
    }
}

impl Signer for KmsSigner {
    fn name(&self) -> &str {
        &self.name
    }

    fn public(&self) -> [u8; 32] {
        self.public
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        if message.len() > MOST {
            return Err(SignError::TooLong);
        }
        let (answer, answered) = mpsc::sync_channel(1);
        let asked = self.asked.send(Asked {
            message: message.to_vec(),
            answer,
        });
        asked.map_err(|_| SignError::Unavailable)?;
        let signature = answered.recv_timeout(PATIENCE);
        let signature = signature.map_err(|_| SignError::Unavailable)??;
        // By another key, or over something else: no signature of ours.
        if !verify(&self.public, message, &signature) {
            return Err(SignError::Damaged);
        }
        signature.try_into().map_err(|_| SignError::Damaged)
    }
}

async fn public_key(client: &Client, key_id: &str) -> Result<[u8; 32], KeyError> {
    let asked = client.get_public_key().key_id(key_id).send().await;
    let key = asked.map_err(|error| failure(&error))?;
    // Of this kind there are keys for signing only.
    if key.key_spec != Some(KeySpec::EccNistEdwards25519) {
        return Err(KeyError::Unfit("an Ed25519 key for signing"));
    }
    let der = key.public_key.unwrap_or_else(|| Blob::new(Vec::new()));
    let point = der.as_ref().strip_prefix(&SPKI).unwrap_or_default();
    point.try_into().map_err(|_| KeyError::Damaged)
}

async fn signature(client: &Client, key_id: &str, message: Vec<u8>) -> Result<Vec<u8>, KeyError> {
    let asked = client
        .sign()
        .key_id(key_id)
        .message(Blob::new(message))
        .message_type(MessageType::Raw)
        .signing_algorithm(SigningAlgorithmSpec::Ed25519Sha512);
    let signed = asked.send().await.map_err(|error| failure(&error))?;
    Ok(signed.signature.ok_or(KeyError::Damaged)?.into_inner())
}
