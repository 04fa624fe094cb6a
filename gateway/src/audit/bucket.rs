//! The bucket that the configuration names, opened for writing: of the log, or of sealed payloads.

use std::sync::Arc;

use gatehouse_ledger::{
    clock::Clock,
    store::{LedgerStore, StoreError},
};

use crate::config::LogBucket;

/// Opens it. Blocks: the bucket is asked whether it can hold what must not be changed.
///
/// # Errors
/// If it cannot, or cannot be reached.
#[cfg(feature = "aws")]
pub(crate) fn open_bucket(
    settings: &LogBucket,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn LedgerStore>, StoreError> {
    use gatehouse_ledger::store::{Bucket, Keeping, S3};

    let bucket = Bucket {
        region: settings.region.clone(),
        endpoint: settings.endpoint.clone(),
        expected_owner: settings.expected_owner.clone(),
        connect_timeout: settings.connect_timeout,
        timeout: settings.timeout,
        ..Bucket::new(&settings.bucket, &settings.prefix)
    };
    let keeping = Keeping {
        retention_days: settings.retention_days,
        kms_key_id: settings.kms_key_id.clone(),
    };
    Ok(Arc::new(S3::writer(bucket, keeping, clock)?))
}

/// The configuration refuses a bucket in such a build.
#[cfg(not(feature = "aws"))]
pub(crate) fn open_bucket(
    _: &LogBucket,
    _: Arc<dyn Clock>,
) -> Result<Arc<dyn LedgerStore>, StoreError> {
    Err(std::io::Error::other("this build has no S3").into())
}
