//! Key files: one line, readable by their owner only, made whole or not at all.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use data_encoding::{BASE64, HEXLOWER};
use zeroize::Zeroizing;

use crate::{random, secret::Secret};

/// A key file holds a short head, 44 characters of base64 and a line feed.
const MAX_LEN: u64 = 256;

/// Why a key file gave no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyFileError {
    /// The content is not what this version writes.
    #[error("the key file is damaged or of a newer version")]
    Damaged,
    /// The file could not be read, or others may read it.
    #[error("the key file")]
    File(#[source] io::Error),
}

/// Reads the key in `path`, a line of `head` and the key in base64.
pub(crate) fn read_key(path: &Path, head: &str) -> Result<Secret<[u8; 32]>, KeyFileError> {
    let text = read(path).map_err(KeyFileError::File)?;
    let encoded = text
        .strip_prefix(head.as_bytes())
        .and_then(|rest| rest.strip_suffix(b"\n"))
        .ok_or(KeyFileError::Damaged)?;
    let decoded = Zeroizing::new(BASE64.decode(encoded).map_err(|_| KeyFileError::Damaged)?);
    let key = <[u8; 32]>::try_from(decoded.as_slice()).map_err(|_| KeyFileError::Damaged)?;
    Ok(Secret::new(key))
}

/// Writes a key file that [`read_key`] reads. If the file came into being meanwhile, that one
/// stays and this is a success: the caller reads whatever is there.
pub(crate) fn create_key(path: &Path, head: &str, key: &Secret<[u8; 32]>) -> io::Result<()> {
    let mut line = Zeroizing::new(String::with_capacity(head.len() + 45));
    line.push_str(head);
    BASE64.encode_append(key.expose(), &mut line);
    line.push('\n');

    // The parent of a bare name is the empty path, which no call takes.
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)?;
    let suffix: [u8; 8] = random::bytes().map_err(io::Error::other)?;
    let draft = parent.join(format!(".new-{}", HEXLOWER.encode(&suffix)));
    let linked = write_draft(&draft, line.as_bytes()).and_then(|()| fs::hard_link(&draft, path));
    // The draft is ours alone and holds the key: it goes whatever happened.
    let removed = fs::remove_file(&draft);
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => removed?,
    }
    File::open(parent)?.sync_all()
}

fn write_draft(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// The permissions are those of the open file, so that nothing can be swapped in between.
fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may read or write it; its mode must be 0600",
        ));
    }
    let mut content = Zeroizing::new(Vec::with_capacity(MAX_LEN as usize));
    file.take(MAX_LEN).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        create_key(&path, "h ", &Secret::new([1; 32])).unwrap();
        create_key(&path, "h ", &Secret::new([2; 32])).unwrap();
        assert!(read_key(&path, "h ").unwrap().matches(&[1; 32]));
    }

    /// In the folder where tests run, since nothing may change the folder of a whole process.
    #[test]
    fn a_bare_name_is_a_file_in_this_folder() {
        struct Gone(String);
        impl Drop for Gone {
            fn drop(&mut self) {
                let _ = fs::remove_file(&self.0);
            }
        }
        let suffix: [u8; 8] = random::bytes().unwrap();
        let name = Gone(format!("bare-{}.key", HEXLOWER.encode(&suffix)));
        create_key(Path::new(&name.0), "h ", &Secret::new([7; 32])).unwrap();
        assert!(
            read_key(Path::new(&name.0), "h ")
                .unwrap()
                .matches(&[7; 32])
        );
    }

    #[test]
    fn many_makers_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = &dir.path().join("key");
        let read: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8u8)
                .map(|n| {
                    scope.spawn(move || {
                        create_key(path, "h ", &Secret::new([n; 32])).unwrap();
                        *read_key(path, "h ").unwrap().expose()
                    })
                })
                .collect();
            makers
                .into_iter()
                .map(|maker| maker.join().unwrap())
                .collect()
        });
        assert!(read.iter().all(|key| key == &read[0]));
    }

    #[test]
    fn a_directory_or_a_head_too_many_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(
            read_key(dir.path(), "h "),
            Err(KeyFileError::File(_))
        ));
        let path = dir.path().join("key");
        create_key(&path, "h 1 ", &Secret::new([1; 32])).unwrap();
        assert!(matches!(
            read_key(&path, "h 2 "),
            Err(KeyFileError::Damaged)
        ));
    }
}
