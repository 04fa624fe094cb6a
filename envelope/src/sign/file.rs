//! A signing key in a file that only its owner may read.

use std::path::Path;

use super::{MemorySigner, SignError, Signer};
use crate::{private_file, random, secret::Secret};

/// What the file's one line begins with: what it is, its version, its algorithm.
const HEAD: &str = "gatehouse-signing-key 1 ed25519 ";

/// An Ed25519 key kept in a file of mode 0600: the deployment's signer unless a KMS holds it.
pub struct FileSigner(MemorySigner);

impl FileSigner {
    /// Opens the key at `path`.
    ///
    /// # Errors
    /// The file is missing, is not a regular file, may be read by others, or is damaged.
    pub fn open(path: &Path, name: &str) -> Result<Self, SignError> {
        let seed = private_file::read_key(path, HEAD).map_err(|error| match error {
            private_file::KeyFileError::Damaged => SignError::Damaged,
            private_file::KeyFileError::File(error) => SignError::File(error),
        })?;
        Ok(Self(MemorySigner::from_seed(name, &seed)?))
    }

    /// Opens the key at `path`, and makes it first if there is none. Whoever makes the file first
    /// wins: a second process that does the same at the same time opens the first one's key.
    ///
    /// # Errors
    /// As for [`FileSigner::open`]; a file that exists but cannot be used is never replaced.
    pub fn open_or_create(path: &Path, name: &str) -> Result<Self, SignError> {
        if !path.try_exists().map_err(SignError::File)? {
            let seed: Secret<[u8; 32]> = random::secret()?;
            private_file::create_key(path, HEAD, &seed).map_err(SignError::File)?;
        }
        Self::open(path, name)
    }
}

impl Signer for FileSigner {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn public(&self) -> [u8; 32] {
        self.0.public()
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        self.0.sign(message)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn the_same_key_after_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys/signer");
        let first = FileSigner::open_or_create(&path, "example.org/log").unwrap();
        let again = FileSigner::open_or_create(&path, "example.org/log").unwrap();
        assert_eq!(first.public(), again.public());
        assert_eq!(again.name(), "example.org/log");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(dir.path().join("keys")).unwrap().count(),
            1,
            "nothing left over"
        );
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("signer");
        let public = FileSigner::open_or_create(&path, "k").unwrap().public();
        for mode in [0o640, 0o604, 0o660, 0o700 | 0o010] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(
                FileSigner::open_or_create(&path, "k"),
                Err(SignError::File(_))
            ));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(FileSigner::open(&path, "k").unwrap().public(), public);
    }

    #[test]
    fn damaged_newer_and_missing_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("signer");
        assert!(matches!(
            FileSigner::open(&path, "k"),
            Err(SignError::File(_))
        ));
        FileSigner::open_or_create(&path, "k").unwrap();
        let good = fs::read_to_string(&path).unwrap();
        for bad in [
            String::new(),
            good.replace("key 1 ", "key 2 "),
            good.replace("ed25519", "ml-dsa"),
            good.trim_end().trim_end_matches(|c| c != ' ').to_owned(),
            format!("{good}{good}"),
        ] {
            fs::write(&path, &bad).unwrap();
            assert!(matches!(
                FileSigner::open_or_create(&path, "k"),
                Err(SignError::Damaged)
            ));
            assert_eq!(fs::read_to_string(&path).unwrap(), bad, "never replaced");
        }
    }
}
