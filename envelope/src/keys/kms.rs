//! Root keys that AWS KMS holds.
//!
//! KMS makes every tenant's key (`GenerateDataKey`) and opens it again (`Decrypt`) under an encryption
//! context that says what the key is for; the context stands in CloudTrail in the clear. What KMS says
//! in the clear comes over TLS into [`Secret`]; the SDK's own buffers on the way there are not wiped.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_kms::{
    Client,
    primitives::Blob,
    types::{DataKeySpec, KeySpec},
};
use zeroize::Zeroizing;

use super::{GeneratedKey, KeyContext, KeyError, KeyProvider};
use crate::{aws::kms::failure, secret::Secret};

/// The first byte of every key that is wrapped here.
const VERSION: u8 = 1;

/// What KMS can be asked to do with a root key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KmsCall {
    /// To open a tenant's key.
    Decrypt,
    /// To wrap one that was made elsewhere.
    Encrypt,
    /// To make one.
    GenerateDataKey,
    /// To wrap one anew that is under an earlier root key.
    ReEncrypt,
}

/// Is told of every call to KMS about a tenant's key, when it has ended, or when nobody waits for its end
/// any more.
pub trait KmsWatch: Send + Sync {
    /// KMS was asked this about the key of `context`, with the root key `root` (an ARN), and failed so if
    /// it did. Waits for nothing.
    fn called(
        &self,
        call: KmsCall,
        root: &str,
        context: &KeyContext<'_>,
        failed: Option<&KeyError>,
    );
}

/// A root key in AWS KMS, and those before it that wrapped keys may still be under.
///
/// A wrapped key is the version byte, the length of the KMS key's ARN (16 bits, big-endian), the ARN,
/// and KMS's ciphertext. Only a key that the configuration lists is ever named to KMS, and it always
/// is: a ciphertext under somebody else's key, which KMS might open for us all the same, opens nothing.
/// KMS's own rotation of a key changes neither its ARN nor what it opens.
pub struct KmsKeys {
    client: Client,
    current: String,
    previous: Vec<String>,
    watch: Option<Arc<dyn KmsWatch>>,
}

impl KmsKeys {
    /// Asks KMS what the keys are: `key_id` (a key's id or ARN, or an alias) wraps from now on, those of
    /// `previous` only unwrap.
    ///
    /// # Errors
    /// KMS does not answer, does not have one of them, does not let us look at it (`kms:DescribeKey`),
    /// or it is no symmetric key for encryption. Whether it is switched off shows when it is used.
    pub async fn open(
        config: &SdkConfig,
        key_id: &str,
        previous: &[String],
    ) -> Result<Self, KeyError> {
        let client = Client::new(config);
        let current = describe(&client, key_id).await?;
        let mut older = Vec::with_capacity(previous.len());
        for id in previous {
            older.push(describe(&client, id).await?);
        }
        Ok(Self {
            client,
            current,
            previous: older,
            watch: None,
        })
    }

    /// The same, with somebody who is told of every call.
    #[must_use]
    pub fn watched(self, watch: Arc<dyn KmsWatch>) -> Self {
        Self {
            watch: Some(watch),
            ..self
        }
    }

    /// What has to be told of a call that is about to be made.
    fn asks<'a>(&'a self, call: KmsCall, root: &'a str, context: &'a KeyContext<'a>) -> Asked<'a> {
        Asked {
            watch: self.watch.as_deref(),
            call,
            root,
            context,
        }
    }

    /// Whether it says of itself that it is wrapped under one of these keys. Nobody is asked.
    pub(super) fn knows(&self, wrapped: &[u8]) -> bool {
        self.parse(wrapped).is_ok()
    }

    /// Wraps a key that was made elsewhere (`Encrypt`).
    pub(super) async fn wrap(
        &self,
        context: &KeyContext<'_>,
        key: &Secret<[u8; 32]>,
    ) -> Result<Vec<u8>, KeyError> {
        let asked = self
            .client
            .encrypt()
            .key_id(&self.current)
            .plaintext(Blob::new(key.expose().as_slice()))
            .set_encryption_context(Some(encryption_context(context)));
        let call = self.asks(KmsCall::Encrypt, &self.current, context);
        let done = call.told(asked.send().await.map_err(|error| failure(&error)))?;
        self.stored(done.ciphertext_blob, done.key_id.as_deref())
    }

    /// The key's ARN and what KMS made of it. The ARN is one of ours.
    fn parse<'w>(&self, wrapped: &'w [u8]) -> Result<(&str, &'w [u8]), KeyError> {
        let (&version, rest) = wrapped.split_first().ok_or(KeyError::Damaged)?;
        match version {
            VERSION => {}
            0 => return Err(KeyError::Damaged),
            _ => return Err(KeyError::Newer),
        }
        let (length, rest) = rest.split_first_chunk().ok_or(KeyError::Damaged)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (arn, blob) = rest.split_at_checked(length).ok_or(KeyError::Damaged)?;
        let mut ours = std::iter::once(&self.current).chain(&self.previous);
        let ours = ours.find(|key| key.as_bytes() == arn);
        Ok((ours.ok_or(KeyError::Damaged)?, blob))
    }

    /// What is stored of a key that KMS has wrapped under the current one.
    fn stored(&self, blob: Option<Blob>, under: Option<&str>) -> Result<Vec<u8>, KeyError> {
        // An answer about another key than the one that was named is no answer.
        if under != Some(&self.current) {
            return Err(KeyError::Damaged);
        }
        let blob = blob.ok_or(KeyError::Damaged)?;
        let length = u16::try_from(self.current.len()).map_err(|_| KeyError::Damaged)?;
        let mut stored = vec![VERSION];
        stored.extend_from_slice(&length.to_be_bytes());
        stored.extend_from_slice(self.current.as_bytes());
        stored.extend_from_slice(blob.as_ref());
        Ok(stored)
    }
}

/// A call to KMS that is under way. Dropped before its answer came, it is told of as one that nobody
/// waited for: KMS may have done it.
struct Asked<'a> {
    watch: Option<&'a dyn KmsWatch>,
    call: KmsCall,
    root: &'a str,
    context: &'a KeyContext<'a>,
}

impl Asked<'_> {
    /// Tells what came of it.
    fn told<T>(mut self, came: Result<T, KeyError>) -> Result<T, KeyError> {
        self.tell(came.as_ref().err());
        came
    }

    fn tell(&mut self, failed: Option<&KeyError>) {
        if let Some(watch) = self.watch.take() {
            watch.called(self.call, self.root, self.context, failed);
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.tell(Some(&KeyError::Unheard));
    }
}

#[async_trait]
impl KeyProvider for KmsKeys {
    /// The ARN.
    fn id(&self) -> &str {
        &self.current
    }

    async fn generate(&self, context: &KeyContext<'_>) -> Result<GeneratedKey, KeyError> {
        let asked = self
            .client
            .generate_data_key()
            .key_id(&self.current)
            .key_spec(DataKeySpec::Aes256)
            .set_encryption_context(Some(encryption_context(context)));
        let call = self.asks(KmsCall::GenerateDataKey, &self.current, context);
        let made = call.told(asked.send().await.map_err(|error| failure(&error)))?;
        Ok(GeneratedKey {
            key: secret(made.plaintext)?,
            wrapped: self.stored(made.ciphertext_blob, made.key_id.as_deref())?,
        })
    }

    async fn unwrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Secret<[u8; 32]>, KeyError> {
        let (key, blob) = self.parse(wrapped)?;
        let asked = self
            .client
            .decrypt()
            .key_id(key)
            .ciphertext_blob(Blob::new(blob))
            .set_encryption_context(Some(encryption_context(context)));
        let call = self.asks(KmsCall::Decrypt, key, context);
        let opened = call.told(asked.send().await.map_err(|error| failure(&error)))?;
        let opened_key = secret(opened.plaintext)?;
        if opened.key_id.as_deref() != Some(key) {
            return Err(KeyError::Damaged);
        }
        Ok(opened_key)
    }

    /// By `ReEncrypt`: the key itself stays within KMS.
    async fn rewrap(
        &self,
        context: &KeyContext<'_>,
        wrapped: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError> {
        let (key, blob) = self.parse(wrapped)?;
        if key == self.current {
            return Ok(None);
        }
        let asked = self
            .client
            .re_encrypt()
            .source_key_id(key)
            .ciphertext_blob(Blob::new(blob))
            .set_source_encryption_context(Some(encryption_context(context)))
            .destination_key_id(&self.current)
            .set_destination_encryption_context(Some(encryption_context(context)));
        let call = self.asks(KmsCall::ReEncrypt, key, context);
        let done = call.told(asked.send().await.map_err(|error| failure(&error)))?;
        let stored = self.stored(done.ciphertext_blob, done.key_id.as_deref())?;
        Ok(Some(stored))
    }
}

/// The ARN of a key that can wrap others.
async fn describe(client: &Client, id: &str) -> Result<String, KeyError> {
    let asked = client.describe_key().key_id(id).send().await;
    let described = asked.map_err(|error| failure(&error))?.key_metadata;
    let key = described.ok_or(KeyError::Missing)?;
    // Of this kind there are keys for encryption only.
    if key.key_spec != Some(KeySpec::SymmetricDefault) {
        return Err(KeyError::Unfit("a symmetric key for encryption"));
    }
    key.arn.ok_or(KeyError::Missing)
}

/// What the key is for, in words that stand in CloudTrail and may stand in key policies and grants.
fn encryption_context(context: &KeyContext<'_>) -> HashMap<String, String> {
    let words = [
        ("gatehouse:purpose", context.purpose.to_owned()),
        ("gatehouse:tenant", context.tenant.to_owned()),
        ("gatehouse:epoch", context.epoch.to_string()),
    ];
    words.map(|(name, value)| (name.to_owned(), value)).into()
}

fn secret(plain: Option<Blob>) -> Result<Secret<[u8; 32]>, KeyError> {
    let plain = Zeroizing::new(plain.ok_or(KeyError::Damaged)?.into_inner());
    let key = plain.as_slice().try_into().map_err(|_| KeyError::Damaged)?;
    Ok(Secret::new(key))
}
