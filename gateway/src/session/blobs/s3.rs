//! Parts in S3: an object for each, in an ordinary bucket.
//!
//! Not in DynamoDB: a part of 2 MiB would be six items, and cost as much as 2,048 small writes of a
//! partition that takes 1,000 a second. An object is put once by `If-None-Match`, read as it was put,
//! and has no limit that matters here.

use async_trait::async_trait;
use aws_sdk_s3::{
    Client,
    config::Builder,
    error::{ProvideErrorMetadata, SdkError},
    operation::get_object::GetObjectError,
    primitives::ByteStream,
    types::{BucketVersioningStatus, Delete, ObjectIdentifier},
};
use gatehouse_envelope::{aws, seal::Sealed};

use super::{Blobs, StoreError};
use crate::{
    config::DynamoDb,
    registry::{AwsError, Fault, Sender, access},
};

/// The first byte of every part of this version. After it: the sealed part.
const FORMAT: u8 = b'1';
/// What the objects' names begin with. Behind it: the part's name.
const PREFIX: &str = "parts/";
/// Objects that are deleted by one call, at most: as many as S3 lists by one.
const BATCH: usize = 1000;

/// Parts in a bucket.
pub struct S3Blobs {
    client: Client,
    bucket: String,
    sender: Sender,
}

/// Why a bucket is not fit for parts.
#[derive(Debug, thiserror::Error)]
pub enum UnfitError {
    /// S3 gives no answer that counts.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// There is none of that name, or it may not be looked at.
    #[error(
        "{0}; is the bucket there, in this region, and may the gateway's role s3:ListBucket it?"
    )]
    Closed(AwsError),
}

impl S3Blobs {
    /// Says how S3 is reached. Connects at first use.
    pub async fn open(settings: &DynamoDb) -> Self {
        let sdk = aws::config(&access(settings, settings.parts_endpoint.clone())).await;
        Self::with(Builder::from(&sdk), settings)
    }

    pub(super) fn with(builder: Builder, settings: &DynamoDb) -> Self {
        // Another endpoint than S3's own has no name for each bucket.
        let config = builder.force_path_style(settings.parts_endpoint.is_some());
        Self {
            client: Client::from_conf(config.build()),
            bucket: settings.parts_bucket.clone(),
            sender: Sender::new("s3", settings.timeout),
        }
    }

    /// Looks at the bucket, as far as the gateway's role may.
    ///
    /// # Errors
    /// It is not there or may not be used, or S3 does not answer.
    pub async fn check(&self) -> Result<(), UnfitError> {
        let call = self.client.list_objects_v2().bucket(&self.bucket);
        let call = call.prefix(PREFIX).max_keys(1);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map(drop).map_err(|error| Fault::of(&error))
        };
        match self.sender.send(true, once).await {
            Ok(_) => {}
            Err(error) if error.refused("NoSuchBucket") || error.refused("AccessDenied") => {
                return Err(UnfitError::Closed(error));
            }
            Err(error) => return Err(error.into()),
        }
        let call = self.client.get_bucket_versioning().bucket(&self.bucket);
        let once = || async {
            let answer = call.clone().send().await;
            answer.map_err(|error| Fault::of(&error))
        };
        match self.sender.send(true, once).await {
            Ok(sent) if sent.answer.status() == Some(&BucketVersioningStatus::Enabled) => {
                tracing::warn!(
                    "s3: the bucket of sessions' parts keeps versions: what is removed stays there, \
                     sealed under a key that is destroyed; use a bucket without"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "whether the bucket keeps versions is not known"),
        }
        Ok(())
    }

    /// What lies under a name, with its format.
    async fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, AwsError> {
        let call = self.client.get_object().bucket(&self.bucket);
        let call = call.key(object(name));
        let once = || async {
            match call.clone().send().await {
                Ok(answer) => {
                    let body = answer.body.collect().await;
                    // The connection broke in the middle, or the checksum is another.
                    let body = body.map_err(|error| Fault::Lost(error.to_string()))?;
                    Ok(Some(body.to_vec()))
                }
                Err(error) if is_missing(&error) => Ok(None),
                Err(error) => Err(Fault::of(&error)),
            }
        };
        Ok(self.sender.send(true, once).await?.answer)
    }

    /// Puts an object where none is, and says whether it did.
    async fn put_once(&self, name: &str, bytes: &[u8]) -> Result<bool, AwsError> {
        let once = || async {
            let call = self.client.put_object().bucket(&self.bucket);
            let call = call
                .key(object(name))
                .content_type("application/octet-stream")
                .if_none_match("*")
                .body(ByteStream::from(bytes.to_vec()));
            match call.send().await {
                Ok(_) => Ok(true),
                Err(error) if code(&error) == Some("PreconditionFailed") => Ok(false),
                Err(error) => Err(Fault::of(&error)),
            }
        };
        Ok(self.sender.send(true, once).await?.answer)
    }

    /// The first objects whose names begin so.
    async fn first(&self, prefix: &str) -> Result<Vec<ObjectIdentifier>, AwsError> {
        let call = self.client.list_objects_v2().bucket(&self.bucket);
        let call = call
            .prefix(object(prefix))
            .max_keys(i32::try_from(BATCH).unwrap_or(i32::MAX));
        let once = || async {
            let answer = call.clone().send().await;
            let listed = answer.map_err(|error| Fault::of(&error))?;
            let names = listed.contents.unwrap_or_default().into_iter();
            let named = names.map(|object| ObjectIdentifier::builder().set_key(object.key).build());
            let named: Result<Vec<_>, _> = named.collect();
            named.map_err(|_| Fault::Unexpected)
        };
        Ok(self.sender.send(true, once).await?.answer)
    }

    async fn delete(&self, objects: Vec<ObjectIdentifier>) -> Result<(), AwsError> {
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true);
        let delete = delete.build();
        let delete = delete.map_err(|_| self.sender.error(Fault::Unexpected))?;
        let call = self.client.delete_objects().bucket(&self.bucket);
        let call = call.delete(delete);
        let once = || async {
            let answer = call.clone().send().await;
            let deleted = answer.map_err(|error| Fault::of(&error))?;
            match deleted.errors().first() {
                None => Ok(()),
                Some(error) => Err(Fault::Refused(error.code().unwrap_or("no code").to_owned())),
            }
        };
        self.sender.send(true, once).await.map(drop)
    }
}

fn object(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn code<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Option<&str> {
    error
        .as_service_error()
        .and_then(ProvideErrorMetadata::code)
}

fn is_missing(error: &SdkError<GetObjectError>) -> bool {
    error
        .as_service_error()
        .is_some_and(GetObjectError::is_no_such_key)
}

fn decode(object: &[u8]) -> Result<Sealed, StoreError> {
    match object.split_first() {
        Some((&FORMAT, part)) => Ok(Sealed::from_store(part.to_vec())),
        Some((later, _)) if *later > FORMAT => Err(StoreError::Newer),
        _ => Err(StoreError::Damaged),
    }
}

#[async_trait]
impl Blobs for S3Blobs {
    /// The bucket lets go of nothing by itself, unless a lifecycle rule of its operator's says so.
    async fn put(&self, name: &str, part: Sealed, _: i64) -> Result<(), StoreError> {
        let mut bytes = vec![FORMAT];
        bytes.extend_from_slice(part.as_bytes());
        if self.put_once(name, &bytes).await? {
            return Ok(());
        }
        match self.bytes(name).await? {
            Some(there) if there == bytes => Ok(()),
            _ => Err(StoreError::Exists),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        self.bytes(name).await?.as_deref().map(decode).transpose()
    }

    async fn remove(&self, prefix: &str) -> Result<(), StoreError> {
        loop {
            let objects = self.first(prefix).await?;
            let is_all = objects.len() < BATCH;
            if !objects.is_empty() {
                self.delete(objects).await?;
            }
            if is_all {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
