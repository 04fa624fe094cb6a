//! A store that is a directory: what a bucket would hold, one file an object.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use gatehouse_envelope::digest::{hex, sha256};

use super::{Fetcher, LedgerStore, Object, StoreError, Stored, Survey, is_name};

/// Where files are made before they get their names. Begins with a dot, so it is no object.
const NEW: &str = ".new";
/// Objects stand three directories deep; deeper ones are not ours.
const MAX_DEPTH: usize = 8;

/// A directory. Nothing in it is changed before the first put, so it may be read-only.
///
/// A file is written and synced under a temporary name and then linked to its own, which fails if
/// that name is taken: so an object is there whole or not at all, and never replaced.
pub struct Dir {
    root: PathBuf,
    /// One put at a time: they share temporary names and gain nothing from running together.
    putting: Mutex<()>,
}

impl Dir {
    /// The store in the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            putting: Mutex::new(()),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        if is_name(name) {
            Ok(self.root.join(name))
        } else {
            Err(StoreError::Name)
        }
    }

    /// Collects what is in a folder, and in those below it; those that cannot be read are noted.
    fn collect(&self, dir: &Path, depth: usize, found: &mut Survey) -> io::Result<()> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
        for entry in fs::read_dir(dir).map_err(named)? {
            let entry = entry.map_err(named)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(named)?);
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Ok(name) = path.strip_prefix(&self.root) else {
                continue;
            };
            let name = name.to_string_lossy().into_owned();
            if kind.is_symlink() && fs::metadata(&path).is_ok_and(|there| there.is_dir()) {
                // Not followed, since it may lead anywhere; what lies behind it was not read, and if
                // it stands for an object, that cannot be read either.
                let link = format!("{}: a link to a folder", path.display());
                found.objects.push(Object::once(name.clone()));
                found.unread.push((name, io::Error::other(link)));
            } else if !kind.is_dir() || depth >= MAX_DEPTH {
                // Also what is no plain file: it is listed, and whoever reads it will fail.
                found.objects.push(Object::once(name));
            } else if let Err(error) = self.collect(&path, depth + 1, found) {
                found.unread.push((name, error));
            }
        }
        Ok(())
    }
}

impl Fetcher for Dir {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let Survey { objects, unread } = self.survey(prefix)?;
        match unread.into_iter().next() {
            Some((_, error)) => Err(error.into()),
            None => Ok(objects),
        }
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        let mut found = Survey::default();
        // Only the directory that the prefix names for certain has to be walked.
        let (folder, start) = match prefix.rsplit_once('/') {
            Some((dir, _)) if !is_name(dir) => return Ok(found),
            Some((dir, _)) => (Some(dir), self.root.join(dir)),
            None => (None, self.root.clone()),
        };
        match (self.collect(&start, 0, &mut found), folder) {
            (Ok(()), _) => {}
            (Err(error), None) => return Err(error.into()),
            (Err(error), Some(_)) if error.kind() == ErrorKind::NotFound => {}
            (Err(error), Some(folder)) => found.unread.push((folder.to_owned(), error)),
        }
        found
            .objects
            .retain(|object| object.name.starts_with(prefix));
        Ok(found)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let path = self.path(name)?;
        // Looked at before it is opened: opening a pipe would wait for somebody to write.
        match fs::metadata(&path) {
            Ok(there) if there.is_file() => {}
            Ok(_) => return Err(StoreError::Name),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let file = File::open(path)?;
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() > limit {
            Err(StoreError::TooLarge)
        } else {
            Ok(Some(bytes.into()))
        }
    }
}

impl LedgerStore for Dir {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(name)?;
        let _one = self.putting.lock().unwrap_or_else(PoisonError::into_inner);
        let parent = path.parent().ok_or(StoreError::Name)?;
        make_dirs(&self.root.join(NEW))?;
        make_dirs(parent)?;
        // The same name for every try at one object, so that crashes do not fill the disk; and of
        // one process, so that two of them do not write into one file.
        let digest = hex(&sha256(&[name.as_bytes()]));
        let new = self
            .root
            .join(NEW)
            .join(format!("{digest}.{}", std::process::id()));
        if let Err(error) = write(&new, bytes) {
            // A full disk must not stay full for what could not be stored.
            let _removed = fs::remove_file(&new);
            return Err(error.into());
        }
        let linked = fs::hard_link(&new, &path);
        fs::remove_file(&new)?;
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !holds(&path, bytes)? {
                    return Err(StoreError::Conflict);
                }
                // It may be there only since the put of a process that died before its sync.
                File::open(&path)?.sync_all()?;
            }
            other => other?,
        }
        File::open(parent)?.sync_all()?;
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Whether the file at `path` holds exactly `bytes`.
fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    if fs::metadata(path)?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    Ok(fs::read(path)? == bytes)
}

/// Makes a directory with its parents, each of them on the disk when this returns.
fn make_dirs(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent)?;
    }
    match fs::create_dir(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => {
            other?;
            match dir.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
                _ => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_nothing_behind_and_ignores_hidden_files() {
        let dir = tempfile::tempdir().unwrap();
        let store = Dir::new(dir.path().join("not/yet/there"));
        store.put_once("log/a", b"x").unwrap();
        let _ = store.put_once("log/a", b"y");
        assert_eq!(
            fs::read_dir(dir.path().join("not/yet/there/.new"))
                .unwrap()
                .count(),
            0
        );
        fs::write(dir.path().join("not/yet/there/log/.hidden"), b"").unwrap();
        assert_eq!(store.list("").unwrap().len(), 1);
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_and_not_an_empty_log() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Dir::new(dir.path().join("nowhere")).list("").is_err());
    }

    #[test]
    fn what_is_no_plain_file_is_listed_and_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = Dir::new(dir.path());
        std::os::unix::fs::symlink("/dev/null", dir.path().join("link")).unwrap();
        assert_eq!(store.list("").unwrap().len(), 1);
        assert!(store.get("link", 9).is_err());
    }

    /// Whoever moved a folder away and left a link to it must not be told that nothing is missing,
    /// nor that what was in it is.
    #[test]
    fn a_link_to_a_folder_is_one_that_was_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = Dir::new(dir.path().join("log"));
        store.put_once("outside/a", b"x").unwrap();
        let (there, away) = (dir.path().join("log/outside"), dir.path().join("away"));
        fs::rename(&there, &away).unwrap();
        std::os::unix::fs::symlink(&away, &there).unwrap();
        let found = store.survey("").unwrap();
        assert_eq!(found.objects, [Object::once("outside".to_owned())]);
        let unread: Vec<_> = found.unread.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(unread, ["outside"]);
        assert!(store.list("").is_err());
    }
}
