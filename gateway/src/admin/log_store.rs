//! Where the log is kept, as the configuration says.

use std::{path::Path, sync::Arc};

use gatehouse_ledger::{
    clock::Clock,
    store::{Dir, LedgerStore, StoreError},
};

use crate::audit::open_bucket;
use crate::config::LogStore;

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
