//! What is given out is written beside its place, under a name that begins with a dot, and gets its own
//! name when it is whole and recorded. What does not come so far is removed.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use gatehouse_envelope::random;

use crate::cli::Failure;

/// A folder in the making.
pub(crate) struct Staged {
    path: PathBuf,
    out: PathBuf,
    kept: bool,
}

impl Staged {
    /// A new folder beside `out`, which must not be there, or be an empty folder.
    pub(crate) fn new(out: &Path) -> Result<Self, Failure> {
        if out.is_symlink() {
            // A folder cannot take the place of one, which would show only when all is recorded.
            return Err(Failure::Usage(format!("{}: is a link", out.display())));
        }
        if out.exists() && fs::read_dir(out).map_err(usage(out))?.next().is_some() {
            let why = format!("{}: the folder is not empty", out.display());
            return Err(Failure::Usage(why));
        }
        let path = beside(out)?;
        fs::create_dir_all(&path).map_err(usage(out))?;
        // Whoever made the folder has said who may look into it.
        if let Ok(made) = fs::metadata(out) {
            fs::set_permissions(&path, made.permissions()).map_err(usage(out))?;
        }
        Ok(Self {
            path,
            out: out.to_owned(),
            kept: false,
        })
    }

    /// Where it is now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is to be.
    pub(crate) fn out(&self) -> &Path {
        &self.out
    }

    /// Puts it in its place.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        fs::rename(&self.path, &self.out).map_err(read(&self.out))?;
        self.kept = true;
        sync_parent(&self.out)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.kept {
            let _gone = fs::remove_dir_all(&self.path);
        }
    }
}

/// A file in the making.
pub(crate) struct StagedFile {
    path: PathBuf,
    out: PathBuf,
}

impl StagedFile {
    /// A new file beside `out`, which must not be there yet, readable by its owner only.
    pub(crate) fn new(out: &Path) -> Result<(Self, File), Failure> {
        use std::os::unix::fs::OpenOptionsExt;

        if out.exists() || out.is_symlink() {
            return Err(Failure::Usage(format!(
                "{}: is there already",
                out.display()
            )));
        }
        let path = beside(out)?;
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let staged = Self {
            path,
            out: out.to_owned(),
        };
        Ok((staged, file.map_err(usage(out))?))
    }

    /// Where it is now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, if nobody has taken it meanwhile, once what is in it is on the disk.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(read(&self.out))?;
        self.place(|from, to| fs::hard_link(from, to))
            .map_err(read(&self.out))?;
        sync_parent(&self.out)
    }

    /// Unlike a renaming, a link replaces nothing; the first name goes with the drop.
    fn place(&self, link: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        match link(&self.path, &self.out) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has links: the name is taken first, so that what is replaced is ours.
            Err(_) => {
                File::options()
                    .write(true)
                    .create_new(true)
                    .open(&self.out)?;
                fs::rename(&self.path, &self.out).inspect_err(|_| {
                    let _gone = fs::remove_file(&self.out);
                })
            }
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.path);
    }
}

/// A name beside `out` that nobody else has.
fn beside(out: &Path) -> Result<PathBuf, Failure> {
    let name = out.file_name();
    let name = name.ok_or_else(|| Failure::Usage(format!("{}: no name", out.display())))?;
    let random = random::name(".part-");
    let random = random.map_err(|error| Failure::Read(error.to_string()))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(random);
    Ok(out.with_file_name(hidden))
}

fn sync_parent(out: &Path) -> Result<(), Failure> {
    let parent = out.parent().filter(|it| !it.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(read(out))
}

fn usage(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Usage(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Read(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::PermissionsExt};

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// As on exFAT, and on shares of some servers.
    #[test]
    fn a_file_gets_its_name_where_there_are_no_links() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let none = |_: &Path, _: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let staged = |text: &[u8]| {
            let (staged, mut file) = StagedFile::new(&out).unwrap();
            file.write_all(text).unwrap();
            staged
        };
        let (first, second) = (staged(b"first"), staged(b"second"));
        first.place(none).unwrap();
        drop(first);
        assert_eq!(fs::read(&out).unwrap(), b"first");
        let taken = second.place(none).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        drop(second);
        assert_eq!(
            (names(dir.path()), fs::read(&out).unwrap()),
            (vec!["out".to_owned()], b"first".to_vec())
        );
        let mode = fs::metadata(&out).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // What cannot be moved leaves no name without a file.
        fs::remove_file(&out).unwrap();
        let lost = staged(b"third");
        fs::remove_file(lost.path()).unwrap();
        assert!(lost.place(none).is_err() && names(dir.path()).is_empty());
    }

    #[test]
    fn what_is_not_kept_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let staged = Staged::new(&out).unwrap();
        fs::write(staged.path().join("a"), b"x").unwrap();
        let (file, mut handle) = StagedFile::new(&dir.path().join("file")).unwrap();
        handle.write_all(b"x").unwrap();
        assert!(file.path().exists());
        assert_eq!(names(dir.path()).len(), 2);
        drop((staged, file));
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn what_is_kept_has_its_name_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o700)).unwrap();
        let staged = Staged::new(&out).unwrap();
        fs::write(staged.path().join("a"), b"x").unwrap();
        staged.keep().unwrap();
        assert_eq!(names(&out), ["a"]);
        let mode = fs::metadata(&out).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(Staged::new(&out).is_err(), "not empty any more");

        let name = dir.path().join("file");
        let (file, _) = StagedFile::new(&name).unwrap();
        fs::write(&name, b"another's").unwrap();
        assert!(file.keep().is_err());
        assert_eq!(fs::read(&name).unwrap(), b"another's");
        assert_eq!(names(dir.path()), ["file", "out"]);
        assert!(StagedFile::new(&name).is_err());
    }

    #[test]
    fn nothing_is_begun_that_a_link_would_end() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, link) = (dir.path().join("empty"), dir.path().join("link"));
        for target in ["nowhere", "empty"] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(Staged::new(&link).is_err() && StagedFile::new(&link).is_err());
            fs::remove_file(&link).unwrap();
            fs::create_dir_all(&empty).unwrap();
        }
        assert_eq!(names(dir.path()), ["empty"]);
    }
}
