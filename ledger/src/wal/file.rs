//! Files of the write-ahead log: appending to one, reading one back.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Header, VERSION, WalError, push_frame, split_frame};

/// The file that is being written.
pub(crate) struct WalFile {
    file: File,
    path: PathBuf,
    length: u64,
    /// Something was written that is not yet known to be on the disk.
    dirty: bool,
    /// The file's own directory entry is on the disk.
    named: bool,
}

impl WalFile {
    /// Makes `<first number>.wal` in `dir`. Nothing is on the disk before [`WalFile::sync`].
    pub(crate) fn create(dir: &Path, header: &Header) -> Result<Self, WalError> {
        let path = dir.join(format!("{:020}.wal", header.tree.size()));
        let mut bytes = vec![VERSION];
        let header = header.to_bytes()?;
        push_frame(&mut bytes, |out| out.extend_from_slice(&header));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        // A file that is only begun would stand in the way of the next try.
        file.write_all(&bytes)
            .inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok(Self {
            file,
            path,
            length: bytes.len() as u64,
            dirty: true,
            named: false,
        })
    }

    /// Appends whole frames. If that fails, the file is cut back to what it was.
    ///
    /// # Errors
    /// Not written. [`AppendFault::Broken`] if the file could not be cut back either: then nobody
    /// knows what it holds, and nothing more may be written to it.
    pub(crate) fn append(&mut self, frames: &[u8]) -> Result<(), AppendFault> {
        self.dirty = true;
        match self.file.write_all(frames) {
            Ok(()) => {
                self.length += frames.len() as u64;
                Ok(())
            }
            Err(_) => match self.cut_back() {
                Ok(()) => Err(AppendFault::Refused),
                Err(_) => Err(AppendFault::Broken),
            },
        }
    }

    /// Brings everything written so far onto the disk. After an error nobody knows what is there
    /// (the kernel may have dropped the pages), so it must not be tried again.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.sync_data()?;
            self.dirty = false;
        }
        if !self.named {
            sync_dir(&self.path)?;
            self.named = true;
        }
        Ok(())
    }

    /// Bytes written.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn cut_back(&mut self) -> io::Result<()> {
        use std::io::Seek;
        self.file.set_len(self.length)?;
        self.file.seek(io::SeekFrom::Start(self.length)).map(|_| ())
    }
}

/// Why frames were not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendFault {
    /// The file's state is unknown.
    Broken,
    /// The file is as it was before; there may be no space.
    Refused,
}

/// A file read back.
pub(crate) struct Contents {
    pub(crate) header: Header,
    /// The leaves, each with a newline behind it.
    pub(crate) lines: Vec<u8>,
    /// Whether the file goes on after the last frame that checks.
    pub(crate) cut: bool,
}

/// Reads a file back; none if its first frame is torn, so that it never held anything.
pub(crate) fn read(path: &Path) -> Result<Option<Contents>, WalError> {
    let bytes = fs::read(path)?;
    let Some((version, frames)) = bytes.split_first() else {
        return Ok(None);
    };
    if *version != VERSION {
        return Err(WalError::Newer);
    }
    let Some((header, mut rest)) = split_frame(frames) else {
        return Ok(None);
    };
    let header = Header::from_bytes(header)?;
    let mut lines = Vec::with_capacity(rest.len());
    while let Some((line, behind)) = split_frame(rest) {
        lines.extend_from_slice(line);
        lines.push(b'\n');
        rest = behind;
    }
    Ok(Some(Contents {
        header,
        lines,
        cut: !rest.is_empty(),
    }))
}

/// Brings the directory entry of `path` onto the disk.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
