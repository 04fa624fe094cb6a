//! Files that somebody names to a program and that are read whole: settings, policies, certificates, keys.
//!
//! Whatever stands at such a path, a device that never ends among it, no more than [`LARGEST`] is read.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The most that is read of one file, in bytes.
pub const LARGEST: u64 = 8 << 20;

/// The bytes of a file.
///
/// # Errors
/// As for any file, and [`io::ErrorKind::FileTooLarge`] for one of more than [`LARGEST`] bytes. None
/// names the file.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    bytes_within(path, LARGEST)
}

/// The same of a file that may have another size, in bytes.
///
/// # Errors
/// As of [`bytes`], but for that size.
pub fn bytes_within(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    within(most, File::open(path)?, &mut content)?;
    Ok(content)
}

/// The text of a file.
///
/// # Errors
/// As of [`bytes`], and [`io::ErrorKind::InvalidData`] for one that is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(bytes(path)?).map_err(not_text)
}

/// Adds what an open file holds to `content`.
///
/// # Errors
/// As of [`bytes`].
pub fn read(file: impl Read, content: &mut Vec<u8>) -> io::Result<()> {
    within(LARGEST, file, content)
}

fn within(most: u64, file: impl Read, content: &mut Vec<u8>) -> io::Result<()> {
    let read = file.take(most.saturating_add(1)).read_to_end(content)?;
    match u64::try_from(read) {
        Ok(read) if read <= most => Ok(()),
        _ => {
            let why = format!("it holds more than {most} bytes, the most that is read of it");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        file.set_len(LARGEST).unwrap();
        assert_eq!(bytes(&path).unwrap().len() as u64, LARGEST);
        file.set_len(LARGEST + 1).unwrap();
        let endless = Path::new("/dev/zero");
        for path in [&path, endless] {
            let refused = bytes(path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
            assert!(refused.to_string().contains("8388608"), "{refused}");
            assert_eq!(text(path).unwrap_err().kind(), refused.kind());
        }
    }

    #[test]
    fn text_is_utf_8() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "é").unwrap();
        assert_eq!(text(&path).unwrap(), "é");
        std::fs::write(&path, [0xff]).unwrap();
        let refused = text(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }
}
