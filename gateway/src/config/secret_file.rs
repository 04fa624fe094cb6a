//! Files that hold keys: read only if they are kept from others.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gatehouse_envelope::small_file;
use zeroize::Zeroizing;

/// Reads a file that holds a key.
///
/// Its owner alone may read and write it. If that is root, its group may read it too: secrets are
/// mounted like that for processes that are not root.
///
/// # Errors
/// As for any small file, and if others may read or write it. The permissions are those of the open
/// file, so that nothing can be swapped in between.
pub(super) fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let data = file.metadata()?;
    if data.mode() & others(data.uid()) != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may read or write it; its mode must be 0600, or 0640 if it belongs to root",
        ));
    }
    // Room for all of it at once: a buffer that grows leaves what it held behind.
    let size = usize::try_from(data.len().min(small_file::LARGEST)).unwrap_or_default();
    let mut content = Zeroizing::new(Vec::with_capacity(size + 1));
    small_file::read(file, &mut content)?;
    Ok(content)
}

/// The permissions that the file of such an owner must not give.
fn others(owner: u32) -> u32 {
    if owner == 0 { 0o037 } else { 0o077 }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_may_read_or_write_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        fs::write(&path, "k").expect("written");
        for (mode, good) in [
            (0o600, true),
            (0o400, true),
            (0o604, false),
            (0o602, false),
            (0o644, false),
            (0o620, false),
            (0o666, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
            assert_eq!(read(&path).is_ok(), good, "{mode:o}");
        }
    }

    #[test]
    fn a_group_may_read_what_is_root_s_only() {
        assert_eq!(0o640 & others(0), 0);
        assert_ne!(0o640 & others(1000), 0);
    }
}
