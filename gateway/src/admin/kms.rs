//! Keys that AWS KMS holds: the root key, and the log's signing key.

use std::sync::Arc;

use gatehouse_envelope::{
    aws::{self, Access},
    keys::{FileKeys, KeyProvider, KmsKeys, KmsWatch, MovedKeys},
    sign::KmsSigner,
};

use super::office::OfficeError;
use crate::config::Kms;

fn access(kms: &Kms) -> Access {
    Access {
        region: kms.region.clone(),
        endpoint: kms.endpoint.clone(),
        connect_timeout: kms.connect_timeout,
        timeout: kms.timeout,
        attempts: kms.attempts,
    }
}

/// The root key. It is never made here, so there is nothing to be careful about at the first start.
/// What it is asked is told to `watch`.
pub(super) async fn root(
    kms: &Kms,
    watch: Arc<dyn KmsWatch>,
) -> Result<Arc<dyn KeyProvider>, OfficeError> {
    let config = aws::config(&access(kms)).await;
    let keys = KmsKeys::open(&config, &kms.key_id, &kms.previous).await;
    let keys = keys.map_err(OfficeError::of("keys.key_id"))?;
    let keys = keys.watched(watch);
    let mut files: Option<FileKeys> = None;
    for path in &kms.previous_files {
        let file = FileKeys::open(path);
        let file = file.map_err(OfficeError::of("keys.previous_files"))?;
        files = Some(match files {
            Some(files) => files.after(file),
            None => file,
        });
    }
    Ok(match files {
        Some(files) => Arc::new(MovedKeys::new(files, keys)),
        None => Arc::new(keys),
    })
}

/// The log's signing key, if KMS holds it.
pub(super) async fn signer(kms: &Kms, deployment: &str) -> Result<Option<KmsSigner>, OfficeError> {
    let Some(key) = kms.signing_key_id.clone() else {
        return Ok(None);
    };
    // Not the root key's: this one's connections live on a thread of their own.
    let (config, name) = (aws::config(&access(kms)).await, deployment.to_owned());
    let opening = tokio::task::spawn_blocking(move || KmsSigner::open(&config, &key, &name));
    let opened = opening
        .await
        .map_err(OfficeError::of("keys.signing_key_id"))?;
    let opened = opened.map_err(OfficeError::of("keys.signing_key_id"))?;
    Ok(Some(opened))
}
