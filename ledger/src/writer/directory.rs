//! The data directory: its lock and its trust file.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use super::OpenError;
use crate::{note::Key, trust::Trust};

/// Takes the lock that makes this process the directory's only writer. It ends with the process.
pub(super) fn lock(path: &Path) -> Result<File, OpenError> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::Locked),
        Err(fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Writes the trust file at the first start; later it must name the key that signs.
pub(super) fn ensure_trust(path: &Path, key: &Key) -> Result<Trust, OpenError> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let trust = Trust::parse(&text)?;
            let named = trust.logs.contains(key);
            if named {
                Ok(trust)
            } else {
                Err(OpenError::Untrusted)
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let new = path.with_extension("policy.new");
            let (trust, mut file) = (Trust::one(key.clone()), File::create(&new)?);
            io::Write::write_all(&mut file, trust.file().as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            crate::wal::sync_dir(path)?;
            Ok(trust)
        }
        Err(error) => Err(error.into()),
    }
}
