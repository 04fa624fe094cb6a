//! A stream: its name, key, certificate and tree, and the file that it is being written to.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_envelope::sign::{MemorySigner, Signer};

use super::OpenError;
use crate::{
    cert::Certificate,
    clock::{Stamp, day, day_number},
    leaf::write_leaf,
    names,
    tree::{Tree, leaf_hash},
    wal::{AppendFault, Header, WalError, WalFile, push_frame, sync_dir},
};

/// What stays the same for a stream's whole life.
pub(super) struct Identity {
    pub(super) writer: String,
    pub(super) key: MemorySigner,
    /// As it is stored.
    pub(super) certificate: String,
    pub(super) dir: PathBuf,
    /// The one UTC day in which it lies.
    day: String,
    day_number: u64,
}

/// A stream that is being written.
pub(super) struct Stream {
    pub(super) identity: Arc<Identity>,
    pub(super) file: WalFile,
    tree: Tree,
    /// Where the open file begins.
    first_seq: u64,
    last: Stamp,
}

/// A file that is complete and waits to become a segment.
pub(super) struct Sealed {
    pub(super) identity: Arc<Identity>,
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// The tree after the file's last line.
    pub(super) tree: Tree,
    /// The file's bytes.
    pub(super) length: u64,
}

/// The name, key and certificate of a stream that has not begun.
pub(super) struct Certified {
    writer: String,
    key: MemorySigner,
    certificate: String,
    day: String,
    day_number: u64,
}

impl Certified {
    /// For the day in which `begins_us` (microseconds since 1970, UTC) lies. Waits for the signer.
    pub(super) fn new(
        deployment: &str,
        signer: &dyn Signer,
        begins_us: u64,
        now: Stamp,
    ) -> Result<Self, OpenError> {
        let writer = names::new_writer(deployment, begins_us)?;
        let key = MemorySigner::generate(&names::origin(deployment, &writer))?;
        let certificate = Certificate::new(&writer, &key, signer, now.unix_us)?.sign(signer)?;
        Ok(Self {
            writer,
            key,
            certificate: String::from_utf8(certificate).map_err(|_| WalError::Header)?,
            day: day(begins_us),
            day_number: day_number(begins_us),
        })
    }

    /// Whether it is for the day with this number.
    pub(super) fn is_for(&self, day_number: u64) -> bool {
        self.day_number == day_number
    }
}

impl Stream {
    /// Opens a new stream, with an empty file.
    pub(super) fn open(wal: &Path, certified: Certified, now: Stamp) -> Result<Self, OpenError> {
        let dir = wal.join(&certified.writer);
        fs::create_dir(&dir)?;
        sync_dir(&dir)?;
        let identity = Arc::new(Identity {
            writer: certified.writer,
            key: certified.key,
            certificate: certified.certificate,
            dir,
            day: certified.day,
            day_number: certified.day_number,
        });
        let tree = Tree::new();
        let file = new_file(&identity, &tree, None)?;
        Ok(Self {
            identity,
            file,
            tree,
            first_seq: 0,
            last: now,
        })
    }

    /// Whether `now` still lies in the stream's day. A clock that went back does not matter: times
    /// in a stream never do.
    pub(super) fn covers(&self, now: Stamp) -> bool {
        day_number(now.unix_us) <= self.identity.day_number
    }

    /// The number of the next leaf.
    pub(super) fn next_seq(&self) -> u64 {
        self.tree.size()
    }

    /// The time of the last leaf.
    pub(super) fn last(&self) -> Stamp {
        self.last
    }

    /// Appends a frame with the leaf of `event` to `frames`.
    pub(super) fn push(&mut self, frames: &mut Vec<u8>, now: Stamp, event: &[u8]) {
        let seq = self.tree.size();
        self.last = Stamp {
            unix_us: now.unix_us.max(self.last.unix_us),
            mono_us: now.mono_us.max(self.last.mono_us),
        };
        let start = frames.len() + 8;
        push_frame(frames, |out| {
            write_leaf(out, &self.identity.writer, seq, self.last, event)
        });
        self.tree
            .push(leaf_hash(frames.get(start..).unwrap_or_default()));
    }

    /// Writes frames made by [`Stream::push`]; if that fails, the stream is what `before` was.
    pub(super) fn write(&mut self, frames: &[u8], before: Mark) -> Result<(), AppendFault> {
        self.file.append(frames).inspect_err(|_| {
            self.tree = before.tree;
            self.last = before.last;
        })
    }

    /// What [`Stream::write`] goes back to.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            tree: self.tree.clone(),
            last: self.last,
        }
    }

    /// Whether the open file holds nothing yet.
    pub(super) fn is_empty(&self) -> bool {
        self.tree.size() == self.first_seq
    }

    /// Ends the open file, which is not empty, and opens the next one.
    pub(super) fn seal(&mut self) -> Result<Sealed, WalError> {
        self.file.sync()?;
        let sealed = self.sealed();
        self.file = new_file(&self.identity, &self.tree, Some(&sealed.name))?;
        self.first_seq = self.tree.size();
        Ok(sealed)
    }

    /// Ends the stream's last file, which is not empty.
    pub(super) fn end(mut self) -> Result<Sealed, WalError> {
        self.file.sync()?;
        Ok(self.sealed())
    }

    fn sealed(&self) -> Sealed {
        Sealed {
            identity: self.identity.clone(),
            path: self.file.path().to_owned(),
            name: names::segment(&self.identity.day, &self.identity.writer, self.first_seq),
            tree: self.tree.clone(),
            length: self.file.length(),
        }
    }
}

/// A state of a stream.
pub(super) struct Mark {
    tree: Tree,
    last: Stamp,
}

fn new_file(identity: &Identity, tree: &Tree, previous: Option<&str>) -> Result<WalFile, WalError> {
    let header = Header {
        writer: identity.writer.clone(),
        tree: tree.clone(),
        previous: previous.map(str::to_owned),
        certificate: identity.certificate.clone(),
    };
    WalFile::create(&identity.dir, &header)
}
