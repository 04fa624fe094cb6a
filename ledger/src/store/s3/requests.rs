//! The requests, one function each. What they carry is what keeps an object.

use aws_sdk_s3::{
    Client,
    config::{Builder, retry::RetryConfig},
    operation::put_object::PutObjectOutput,
    primitives::{ByteStream, DateTime},
    types::{BucketVersioningStatus, ObjectLockEnabled, ObjectLockMode, ServerSideEncryption},
};
use data_encoding::BASE64;
use gatehouse_envelope::digest::sha256;

use super::{
    fault::{Operation, S3Error, meaning, refusal},
    settings::{Bucket, Keeping},
    versions::Version,
};
use crate::store::{Kept, StoreError, Stored};

/// Refuses a bucket without versions or Object Lock.
pub(super) async fn check(client: Client, bucket: Bucket) -> Result<(), StoreError> {
    let versioning = client
        .get_bucket_versioning()
        .bucket(&bucket.name)
        .set_expected_bucket_owner(bucket.expected_owner.clone())
        .send()
        .await
        .map_err(|error| meaning(Operation::GetVersioning, &error))?;
    if versioning.status() != Some(&BucketVersioningStatus::Enabled) {
        return Err(S3Error::NoVersions.into());
    }
    let asked = client
        .get_object_lock_configuration()
        .bucket(&bucket.name)
        .set_expected_bucket_owner(bucket.expected_owner)
        .send()
        .await;
    let enabled = match asked {
        Ok(answer) => answer
            .object_lock_configuration
            .and_then(|it| it.object_lock_enabled),
        Err(error)
            if refusal(&error).is_some_and(|(status, code)| {
                status == 404 && code == "ObjectLockConfigurationNotFoundError"
            }) =>
        {
            None
        }
        Err(error) => return Err(meaning(Operation::GetLock, &error)),
    };
    match enabled {
        Some(ObjectLockEnabled::Enabled) => Ok(()),
        _ => Err(S3Error::NoLock.into()),
    }
}

/// What came of a put.
pub(super) enum Put {
    /// A version was made, of this id.
    Made(Option<String>),
    /// The name is taken.
    Taken,
}

/// Puts an object, with all that keeps it, if its name is free.
pub(super) async fn put(
    client: Client,
    bucket: Bucket,
    keeping: Keeping,
    until: i64,
    key: String,
    bytes: Vec<u8>,
) -> Result<Put, StoreError> {
    let encryption = keeping.kms_key_id.as_ref();
    let sent = client
        .put_object()
        .bucket(&bucket.name)
        .key(key)
        .set_expected_bucket_owner(bucket.expected_owner)
        .if_none_match("*")
        .checksum_sha256(BASE64.encode(&sha256(&[&bytes])))
        .object_lock_mode(ObjectLockMode::Compliance)
        .object_lock_retain_until_date(DateTime::from_secs(until))
        .set_server_side_encryption(encryption.map(|_| ServerSideEncryption::AwsKms))
        .set_bucket_key_enabled(encryption.map(|_| true))
        .set_ssekms_key_id(keeping.kms_key_id)
        .body(ByteStream::from(bytes))
        .customize()
        // A second try by the SDK would not look first whether the first one arrived.
        .config_override(Builder::new().retry_config(RetryConfig::disabled()))
        .send()
        .await;
    match sent {
        Ok(PutObjectOutput { version_id, .. }) => Ok(Put::Made(version_id)),
        Err(error) if refusal(&error).is_some_and(|(status, _)| status == 412) => Ok(Put::Taken),
        Err(error) => Err(meaning(Operation::Put, &error)),
    }
}

/// Whether the lock that was asked for is there: some servers take an object and leave the lock away.
pub(super) async fn is_locked(
    client: Client,
    bucket: Bucket,
    key: String,
    version: Version,
    until: i64,
) -> Result<(), StoreError> {
    let head = client
        .head_object()
        .bucket(&bucket.name)
        .key(key)
        .version_id(version.id)
        .set_expected_bucket_owner(bucket.expected_owner)
        .send()
        .await
        .map_err(|error| meaning(Operation::Head, &error))?;
    let mode = head.object_lock_mode() == Some(&ObjectLockMode::Compliance);
    let long = head
        .object_lock_retain_until_date()
        // Midnight may have passed since; it was not asked for more then.
        .is_some_and(|date| date.secs() >= until.saturating_sub(86_400));
    match mode && long {
        true => Ok(()),
        false => Err(S3Error::NotLocked.into()),
    }
}

/// Reads one version of an object; none if it is not there.
pub(super) async fn read(
    client: Client,
    bucket: Bucket,
    key: String,
    version: Version,
    limit: usize,
) -> Result<Option<Stored>, StoreError> {
    let answer = client
        .get_object()
        .bucket(&bucket.name)
        .key(key)
        .version_id(version.id)
        .set_expected_bucket_owner(bucket.expected_owner)
        .send()
        .await;
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) if refusal(&error).is_some_and(|(status, _)| status == 404) => {
            return Ok(None);
        }
        Err(error) => return Err(meaning(Operation::Get, &error)),
    };
    let unclear = || {
        StoreError::from(S3Error::Unclear {
            operation: Operation::Get,
        })
    };
    let kept = Kept {
        written_us: answer
            .last_modified()
            .and_then(micros)
            .ok_or_else(unclear)?,
        locked_until_us: match answer.object_lock_mode() {
            Some(ObjectLockMode::Compliance) => {
                answer.object_lock_retain_until_date().and_then(micros)
            }
            _ => None,
        },
    };
    let mut bytes = Vec::new();
    while let Some(part) = answer.body.try_next().await.map_err(|_| unclear())? {
        if bytes.len() + part.len() > limit {
            return Err(StoreError::TooLarge);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(Some(Stored {
        bytes,
        kept: Some(kept),
    }))
}

/// Microseconds since 1970; none before.
fn micros(time: &DateTime) -> Option<u64> {
    let seconds = u64::try_from(time.secs()).ok()?;
    Some(seconds.saturating_mul(1_000_000) + u64::from(time.subsec_nanos() / 1_000))
}
