//! Files that are replaced whole: after a crash there is the old one or the new one.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// How far a replacement came.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nothing has changed.
    Before(io::Error),
    /// The new file may be there after a crash, or the old one.
    Unsure(io::Error),
}

/// Replaces `path`. The new file is durable when this returns.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let new = path.with_added_extension("new");
    write(&new, bytes).map_err(Failed::Before)?;
    // Before the renaming: that there are too many open files must not leave anything unsure.
    let folder = folder_of(path).map_err(Failed::Before)?;
    fs::rename(&new, path)
        .and_then(|()| folder.sync_all())
        .map_err(Failed::Unsure)
}

/// Writes a file that only its owner can read, durable but for its name.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The folder of a file, whose names become durable with it.
fn folder_of(path: &Path) -> io::Result<File> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder),
        _ => File::open("."),
    }
}
