//! The shipping thread: makes segments of completed files and puts them into the store, in order.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use gatehouse_envelope::sign::Signer;

use super::{
    Shared,
    stream::{Identity, Sealed},
    ticket::{AppendError, Completer, Position},
};
use crate::{
    leaf::LeafReader,
    names,
    note::{checkpoint, sign},
    segment::{Foot, Head, pack, stored_digest},
    store::{LedgerStore, StoreError},
    tree::{Hash, Tree, leaf_hash},
    wal::{self, Contents},
};

/// The first and the longest wait before a put is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How long a store that does not answer holds up the end of the process.
const LAST_TRIES: Duration = Duration::from_secs(10);

/// What the committer hands over.
pub(super) enum Shipment {
    /// A stream was opened: its certificate goes first, unless the store has it.
    Opened(Arc<Identity>, bool),
    /// Everything up to a leaf was handed over before this; whoever waits for that is told.
    Reached(Option<u64>, Completer),
    /// A file is complete; those who wait for it to be stored are told.
    Sealed(Sealed, Vec<(u64, Completer)>),
}

pub(super) struct Shipper {
    store: Arc<dyn LedgerStore>,
    shared: Arc<Shared>,
    /// How long files are kept after they were stored.
    keep: Duration,
    kept: VecDeque<(Instant, PathBuf)>,
    /// The stream at hand and the digest of its last segment.
    previous: Option<(String, Hash)>,
    /// The directories of all streams of this process.
    dirs: Vec<PathBuf>,
}

impl Shipper {
    pub(super) fn new(store: Arc<dyn LedgerStore>, keep: Duration, shared: Arc<Shared>) -> Self {
        let (kept, dirs) = (VecDeque::new(), Vec::new());
        Self {
            store,
            shared,
            keep,
            kept,
            previous: None,
            dirs,
        }
    }

    /// Runs until the committer is gone and everything is stored; false if something is not.
    pub(super) fn run(mut self, shipments: &Receiver<Shipment>) -> bool {
        loop {
            match shipments.recv_timeout(self.keep.max(Duration::from_secs(1))) {
                Ok(shipment) => {
                    if !self.ship(shipment) {
                        return false;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.forget();
        }
        if !self.shared.has_failed() && !self.shared.is_held() {
            // A directory that stays is recovered at the next start, which finds all of it stored.
            self.dirs
                .iter()
                .for_each(|dir| drop(fs::remove_dir_all(dir)));
        }
        true
    }

    /// Ships one thing; false if that is impossible and the ledger has failed or ends.
    fn ship(&mut self, shipment: Shipment) -> bool {
        match shipment {
            Shipment::Opened(identity, stored) => {
                self.dirs.push(identity.dir.clone());
                let name = names::certificate(&identity.writer);
                stored || self.put(&name, identity.certificate.as_bytes())
            }
            Shipment::Reached(seq, completer) => {
                completer.complete(Ok(Position { seq }));
                true
            }
            Shipment::Sealed(sealed, waiting) => {
                let stored = self.store_segment(&sealed);
                self.shared.spool.shipped(sealed.length);
                for (seq, completer) in waiting {
                    let outcome = Ok(Position { seq: Some(seq) });
                    completer.complete(if stored {
                        outcome
                    } else {
                        Err(AppendError::Failed)
                    });
                }
                if stored {
                    self.kept.push_back((Instant::now(), sealed.path));
                }
                stored
            }
        }
    }

    fn store_segment(&mut self, sealed: &Sealed) -> bool {
        let writer = &sealed.identity.writer;
        let previous = self
            .previous
            .take()
            .filter(|(of, _)| of == writer)
            .map(|(_, digest)| digest);
        let segment = wal::read(&sealed.path)
            .ok()
            .flatten()
            .and_then(|contents| build(&contents, previous, &sealed.identity.key))
            .filter(|segment| segment.tree == sealed.tree);
        let Some(segment) = segment else {
            // The disk does not hold what was written to it. Nothing may be signed.
            self.shared.fail();
            return false;
        };
        self.previous = Some((writer.clone(), stored_digest(&segment.stored)));
        self.put(&sealed.name, &segment.stored)
    }

    /// Puts an object, again and again if need be.
    fn put(&self, name: &str, bytes: &[u8]) -> bool {
        let mut wait = RETRY.0;
        let mut ending = None;
        loop {
            match self.store.put_once(name, bytes) {
                Ok(()) => {
                    self.shared.spool.goes_on();
                    return true;
                }
                Err(error @ (StoreError::Conflict | StoreError::Name)) => {
                    self.shared.spool.stalls(&error);
                    self.shared.fail();
                    return false;
                }
                Err(error) => self.shared.spool.stalls(&error),
            }
            if self.shared.is_closing() {
                let since = *ending.get_or_insert_with(Instant::now);
                if since.elapsed() >= LAST_TRIES {
                    return false;
                }
                wait = RETRY.0;
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(RETRY.1);
        }
    }

    /// Removes files that were stored long enough ago.
    fn forget(&mut self) {
        if self.shared.is_held() {
            return;
        }
        while let Some((_, path)) = self.kept.pop_front_if(|(at, _)| at.elapsed() >= self.keep) {
            // One that stays is met again by recovery, which finds it stored.
            let _ = fs::remove_file(path);
        }
    }
}

/// A segment ready to be stored.
pub(super) struct Segment {
    pub(super) stored: Vec<u8>,
    /// The stream's tree after it.
    pub(super) tree: Tree,
}

/// Header and lines of the segment that a file becomes, with what its footer will say.
pub(super) struct Draft {
    /// The header line and the leaf lines.
    pub(super) lines: Vec<u8>,
    pub(super) tree: Tree,
    pub(super) first_us: u64,
    pub(super) last_us: u64,
}

/// Reads what a file holds as a segment without its footer; none if it holds anything but leaves of
/// its stream in order, or none at all.
pub(super) fn draft(contents: &Contents, previous: Option<Hash>) -> Option<Draft> {
    let header = &contents.header;
    let head = Head {
        writer: &header.writer,
        first_seq: header.tree.size(),
        previous,
        root_before: header.tree.root(),
    };
    let mut lines = Vec::with_capacity(contents.lines.len() + 1024);
    head.write(&mut lines);
    lines.extend_from_slice(&contents.lines);
    let (mut tree, mut reader, mut times) = (header.tree.clone(), LeafReader::default(), None);
    for line in contents.lines.split_inclusive(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\n")?;
        let us = reader
            .read(line, &header.writer, tree.size())?
            .stamp
            .unix_us;
        times = Some((times.map_or(us, |(first, _)| first), us));
        tree.push(leaf_hash(line));
    }
    let (first_us, last_us) = times?;
    Some(Draft {
        lines,
        tree,
        first_us,
        last_us,
    })
}

/// Makes a segment of what a file holds. The checkpoint's origin is the stream's whoever signs it.
pub(super) fn build(
    contents: &Contents,
    previous: Option<Hash>,
    signer: &dyn Signer,
) -> Option<Segment> {
    let draft = draft(contents, previous)?;
    finish(draft, &contents.header.writer, signer)
}

/// Adds the footer, signed by `signer`, and packs.
pub(super) fn finish(draft: Draft, writer: &str, signer: &dyn Signer) -> Option<Segment> {
    let Draft {
        mut lines,
        tree,
        first_us,
        last_us,
    } = draft;
    let origin = names::origin(names::deployment_of(writer)?, writer);
    let root = tree.root();
    let note = sign(&checkpoint(&origin, tree.size(), &root), signer).ok()?;
    Foot {
        size: tree.size(),
        root,
        first_us,
        last_us,
        note: &note,
    }
    .write(&mut lines);
    Some(Segment {
        stored: pack(&lines).ok()?,
        tree,
    })
}

/// Removes a directory of the write-ahead log.
pub(super) fn remove(dir: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(dir)?;
    wal::sync_dir(dir)
}
