//! Where `--out` writes: one new file for each source, and nothing that is there already is lost.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use gatehouse_envelope::random;

use super::Failure;
use super::sources::Source;

/// The file that each source becomes, in the order of the sources.
///
/// # Errors
/// Before anything is written: if a target is there already, a source above all, or if two sources
/// would need one path.
pub(super) fn of(sources: &[Source], folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let targets: Vec<PathBuf> = sources.iter().map(|s| folder.join(&s.name)).collect();
    let mut owners = HashMap::with_capacity(targets.len());
    for (source, target) in sources.iter().zip(&targets) {
        if let Some(other) = owners.insert(target.as_path(), source) {
            return Err(both(other, source, target));
        }
    }
    for (source, target) in sources.iter().zip(&targets) {
        // A folder of one source's target may be another's target itself.
        let above = target.ancestors().skip(1);
        if let Some(other) = above.into_iter().find_map(|path| owners.get(path)) {
            return Err(both(other, source, target));
        }
        vacant(target, sources)?;
    }
    Ok(targets)
}

fn both(one: &Source, other: &Source, target: &Path) -> Failure {
    let (one, other) = (one.path.display(), other.path.display());
    let target = target.display();
    Failure::Usage(format!(
        "{one} and {other} would both be written to {target}"
    ))
}

fn vacant(target: &Path, sources: &[Source]) -> Result<(), Failure> {
    let named = |error: io::Error| Failure::Usage(format!("{}: {error}", target.display()));
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(named(error)),
        Ok(_) => {}
    }
    // Through links: a link to a source would be the source.
    let there = fs::metadata(target).ok().map(|data| identity(&data));
    let is_source = |source: &&Source| {
        let data = fs::metadata(&source.path).ok();
        there.is_some() && data.map(|data| identity(&data)) == there
    };
    let what = match sources.iter().find(is_source) {
        Some(source) => format!("is the source {}", source.path.display()),
        None => "exists already".to_owned(),
    };
    let message = format!("{} {what}; nothing was written", target.display());
    Err(Failure::Usage(message))
}

/// What makes two paths one file.
fn identity(data: &fs::Metadata) -> (u64, u64) {
    (data.dev(), data.ino())
}

/// Writes a file whole or not at all: it appears under its name only when all of it is written,
/// and never in the place of another. Nobody may read it who may not read the `source`.
pub(super) fn write(
    target: &Path,
    source: &File,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = target.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let name = random::name("").map_err(|error| Failure::of("random name", error))?;
    let draft = folder.join(format!(".{name}.part"));
    let file = private_as(&draft, &source.metadata()?)?;
    let mut out = BufWriter::new(file);
    let done = content(&mut out)
        .and_then(|()| Ok(out.flush()?))
        .and_then(|()| Ok(publish(&draft, target)?));
    // Under its own name it stays; the draft goes whatever happened.
    let removed = fs::remove_file(&draft);
    done?;
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// A new file with the permissions of another, less what the process's mask takes away.
fn private_as(path: &Path, other: &fs::Metadata) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(other.mode() & 0o777)
        .open(path)?;
    let made = file.metadata()?;
    if made.gid() != other.gid() {
        // Another group than the one that may read the source.
        file.set_permissions(Permissions::from_mode(made.mode() & 0o707))?;
    }
    Ok(file)
}

/// A link, unlike a new name, never replaces what came there in the meantime.
fn publish(draft: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(draft, target) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // A file system without links.
        Err(_) if fs::symlink_metadata(target).is_err() => fs::rename(draft, target),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["n1", "n2"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            fs::write(folder.path().join(name).join("a.txt"), name).expect("written");
        }
        folder
    }

    fn refused(paths: &[PathBuf], out: &Path) -> String {
        let sources = crate::cli::sources::under(paths).expect("sources").files;
        match of(&sources, out) {
            Err(Failure::Usage(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_source_is_never_a_target() {
        let folder = folder();
        let here = folder.path();
        let source = here.join("n1");
        std::os::unix::fs::symlink(&source, here.join("link")).expect("a link");
        fs::create_dir(here.join("hard")).expect("a folder");
        fs::hard_link(source.join("a.txt"), here.join("hard/a.txt")).expect("a link");
        fs::create_dir(here.join("soft")).expect("a folder");
        std::os::unix::fs::symlink(source.join("a.txt"), here.join("soft/a.txt")).expect("a link");
        for out in ["n1", "link", "n2/../n1", "hard", "soft"] {
            let message = refused(std::slice::from_ref(&source), &here.join(out));
            assert!(message.contains(" is the source "), "{out}: {message}");
        }
    }

    #[test]
    fn what_is_there_is_not_replaced() {
        let folder = folder();
        let here = folder.path();
        let message = refused(&[here.join("n1")], &here.join("n2"));
        assert!(message.contains("exists already"), "{message}");
        fs::create_dir(here.join("dangling")).expect("a folder");
        std::os::unix::fs::symlink("nowhere", here.join("dangling/a.txt")).expect("a link");
        let message = refused(&[here.join("n1")], &here.join("dangling"));
        assert!(message.contains("exists already"), "{message}");
        // A file where a folder is needed.
        refused(&[here.join("n1")], &here.join("n2/a.txt"));
    }

    #[test]
    fn two_sources_need_two_targets() {
        let folder = folder();
        let here = folder.path();
        fs::write(here.join("file"), "").expect("written");
        let out = here.join("out");
        for paths in [["n1", "n2"], ["n1/a.txt", "n2/a.txt"], ["n1", "n1"]] {
            let message = refused(&paths.map(|path| here.join(path)), &out);
            assert!(message.contains("would both be written"), "{message}");
        }
        fs::create_dir_all(here.join("n3/a.txt")).expect("folders");
        fs::write(here.join("n3/a.txt/b"), "").expect("written");
        let message = refused(&[here.join("n1"), here.join("n3")], &out);
        assert!(message.contains("would both be written"), "{message}");
        assert!(!out.exists());
    }

    #[test]
    fn a_file_appears_whole_with_its_source_s_permissions_or_not_at_all() {
        let folder = folder();
        let path = folder.path().join("n1/a.txt");
        let target = folder.path().join("out/sub/a.txt");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        let source = File::open(&path).expect("opened");
        let failed = write(&target, &source, |out| {
            out.write_all(b"half").expect("written");
            Err(Failure::Failed("no".to_owned()))
        });
        assert!(failed.is_err());
        let parent = target.parent().expect("a folder");
        assert_eq!(fs::read_dir(parent).expect("read").count(), 0);
        write(&target, &source, |out| Ok(out.write_all(b"all")?)).expect("written");
        assert_eq!(fs::read(&target).expect("read"), b"all");
        let mode = fs::metadata(&target).expect("there").mode();
        assert_eq!(mode & 0o777, 0o600);
        // What came there in the meantime stays.
        assert!(write(&target, &source, |out| Ok(out.write_all(b"new")?)).is_err());
        assert_eq!(fs::read(&target).expect("read"), b"all");
        assert_eq!(fs::read_dir(parent).expect("read").count(), 1);
    }
}
