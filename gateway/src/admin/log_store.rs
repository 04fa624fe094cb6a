//! Where the log is kept, as the configuration says.

use std::{path::Path, sync::Arc};

use gatehouse_ledger::{
    clock::Clock,
    store::{Dir, LedgerStore, StoreError},
};

use crate::config::{LogBucket, LogStore};

/// Opens it. Blocks; a bucket is asked whether it can hold a log.
pub(super) fn open(
    store: &LogStore,
    data_dir: &Path,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn LedgerStore>, StoreError> {
    match store {
        LogStore::Dir => Ok(Arc::new(Dir::new(data_dir.join("ledger")))),
        LogStore::S3(bucket) => open_bucket(bucket, clock),
    }
}

#[cfg(feature = "aws")]
fn open_bucket(
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
fn open_bucket(_: &LogBucket, _: Arc<dyn Clock>) -> Result<Arc<dyn LedgerStore>, StoreError> {
    Err(std::io::Error::other("this build has no S3").into())
}
