//! Recovery: what dead processes left in the write-ahead log goes into the store, under the names
//! it would have had.
//!
//! A dead stream's key died with its process, so segments made here are signed by the deployment's
//! signer, and the stream ends with `writer.close` in state `recovered`, which says so. That record
//! is first written to the dead stream's own log: every step can be repeated after another crash
//! and gives the same bytes.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use gatehouse_envelope::sign::Signer;

use super::{OpenError, ship};
use crate::{
    clock::{Clock, day},
    event::{Event, event_digest},
    leaf::{LeafReader, write_leaf},
    names,
    segment::{MAX_STORED, stored_digest, unpack},
    store::{LedgerStore, StoreError},
    tree::{Hash, Tree},
    verify::{
        Fault,
        segment::{End, Memory, Position, Record},
        session::Sessions,
    },
    wal::{self, Contents, Header, WalError, WalFile, push_frame},
};

/// Where the remains of a damaged log are kept for somebody to look at.
const DAMAGED: &str = "damaged";

/// What recovery found and did.
pub struct Recovery {
    /// The last record of every session that stands in the write-ahead log, so that the session
    /// store can be brought up to it. Records older than the log's files are not here: a session
    /// store must make its changes durable within half of [`super::Pace::keep`].
    pub links: Vec<SessionLink>,
    /// The writers whose streams were ended.
    pub writers: Vec<String>,
    /// Those of them whose log had a torn end: at most what was never confirmed.
    pub cut: Vec<String>,
    /// Writers whose log or segments do not fit together. Their files are kept in `wal/damaged/`.
    pub damaged: Vec<String>,
    dirs: Vec<PathBuf>,
}

/// The last record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLink {
    /// The session's public reference.
    pub session: String,
    /// The record's number in the session.
    pub sseq: u64,
    /// The digest of its event: the `sprev` of the next.
    pub digest: Hash,
}

impl Recovery {
    /// Removes the recovered files. Call it when [`Recovery::links`] are durable in the session
    /// store; without it the next start recovers the same once more.
    ///
    /// # Errors
    /// The file system refused.
    pub fn complete(self) -> io::Result<()> {
        self.dirs.iter().try_for_each(|dir| ship::remove(dir))
    }
}

/// Recovers every stream in `wal` but those recovered before.
pub(super) fn recover(
    wal: &Path,
    store: &dyn LedgerStore,
    signer: &dyn Signer,
    clock: &dyn Clock,
) -> Result<Recovery, OpenError> {
    let mut recovery = Recovery {
        links: Vec::new(),
        writers: Vec::new(),
        cut: Vec::new(),
        damaged: Vec::new(),
        dirs: Vec::new(),
    };
    let mut links = BTreeMap::new();
    for (writer, dir) in writers(wal)? {
        let mut log = Log::read(&dir)?;
        merge(&mut links, std::mem::take(&mut log.links));
        let Some(certificate) = log.certificate.clone() else {
            // Died before its first record: nobody was ever told of this stream.
            ship::remove(&dir)?;
            continue;
        };
        if log.cut {
            recovery.cut.push(writer.clone());
        }
        let fits = log.fits && log.end(&dir, &writer, &certificate, clock)?;
        put_certificate(store, &writer, &certificate)?;
        let stored = fits && ship_all(&log, &writer, store, signer)?;
        if stored {
            recovery.writers.push(writer);
            recovery.dirs.push(dir);
        } else {
            set_aside(wal, &dir, &writer)?;
            recovery.damaged.push(writer);
        }
    }
    recovery.links = links.into_values().collect();
    Ok(recovery)
}

/// Stores a certificate if it is not there: most streams died after that.
fn put_certificate(store: &dyn LedgerStore, writer: &str, text: &str) -> Result<(), StoreError> {
    let name = names::certificate(writer);
    match store.get(&name, text.len())? {
        Some(there) if there == text.as_bytes() => Ok(()),
        Some(_) => Err(StoreError::Conflict),
        None => store.put_once(&name, text.as_bytes()),
    }
}

/// The directories of streams, by writer.
fn writers(wal: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(wal)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && names::deployment_of(&name).is_some() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// What a stream left behind.
struct Log {
    /// The files that hold records, in order.
    files: Vec<PathBuf>,
    /// None if the stream never had a record.
    certificate: Option<String>,
    /// The tree after all records.
    tree: Tree,
    /// The name of the last segment.
    last_name: Option<String>,
    last_us: u64,
    end: End,
    cut: bool,
    /// The files follow one another, and their records too.
    fits: bool,
    sessions: Sessions,
    links: BTreeMap<String, SessionLink>,
}

impl Log {
    fn read(dir: &Path) -> Result<Self, OpenError> {
        let mut log = Self {
            files: Vec::new(),
            certificate: None,
            tree: Tree::new(),
            last_name: None,
            last_us: 0,
            end: End::None,
            cut: false,
            fits: true,
            sessions: Sessions::default(),
            links: BTreeMap::new(),
        };
        let mut paths = fs::read_dir(dir)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "wal"));
        paths.sort();
        for path in paths {
            match wal::read(&path)? {
                Some(contents) => log.add(path, &contents),
                // The file was begun and never synced, so nothing in it was ever confirmed.
                None => fs::remove_file(&path)?,
            }
        }
        Ok(log)
    }

    fn add(&mut self, path: PathBuf, contents: &Contents) {
        let header = &contents.header;
        let first = self.certificate.is_none();
        self.fits &= !self.is_recovered() && (first || self.tree == header.tree);
        if first {
            self.tree = header.tree.clone();
            self.last_name = header.previous.clone();
        }
        if first && contents.lines.is_empty() && header.tree.size() == 0 {
            self.cut |= contents.cut;
            return;
        }
        self.certificate = Some(header.certificate.clone());
        self.cut |= contents.cut;
        if contents.lines.is_empty() {
            return;
        }
        self.fits &= self.add_lines(contents).is_some();
        self.last_name = segment_name(contents);
        self.files.push(path);
    }

    /// Follows the lines of a file by the rules of verification, so that nothing is signed that would
    /// not hold; none if a line breaks one.
    fn add_lines(&mut self, contents: &Contents) -> Option<()> {
        let mut lines = contents.lines.split_inclusive(|b| *b == b'\n').peekable();
        let writer = contents.header.writer.as_str();
        let filed = lines.peek().and_then(|line| line.strip_suffix(b"\n"));
        let filed = LeafReader::default().read(filed?, writer, self.tree.size())?;
        let filed = day(filed.stamp.unix_us);
        let mut position = Position {
            writer,
            tree: std::mem::take(&mut self.tree),
            previous: None,
            last_us: self.last_us,
            end: self.end,
            day: None,
            by_deployment: false,
            memory: Memory::default(),
        };
        let held = lines.try_for_each(|line| {
            let line = line.strip_suffix(b"\n").ok_or(Fault::Leaf)?;
            let (sessions, links) = (&mut self.sessions, &mut self.links);
            position.leaf(line, &filed, &mut |record| {
                sessions.add(record);
                note(links, record);
            })?;
            Ok::<_, Fault>(())
        });
        self.end = position.end;
        self.last_us = position.last_us;
        self.tree = position.tree;
        (held.is_ok() && !self.sessions.contradict()).then_some(())
    }

    /// Adds the record that ends the stream, in a file of its own; false if it cannot be.
    fn end(
        &mut self,
        dir: &Path,
        writer: &str,
        certificate: &str,
        clock: &dyn Clock,
    ) -> Result<bool, OpenError> {
        if self.is_recovered() {
            return Ok(true);
        }
        let mut event = Event::kind("writer.close");
        event.text("state", "recovered").flag("cut", self.cut);
        let event = event.finish()?;
        let header = Header {
            writer: writer.to_owned(),
            tree: self.tree.clone(),
            previous: self.last_name.clone(),
            certificate: certificate.to_owned(),
        };
        // The file that the dead process would have gone on with holds no record.
        let path = dir.join(format!("{:020}.wal", self.tree.size()));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut now = clock.now();
        now.unix_us = now.unix_us.max(self.last_us);
        let mut frames = Vec::new();
        push_frame(&mut frames, |out| {
            write_leaf(out, writer, self.tree.size(), now, event.bytes());
        });
        let mut file = WalFile::create(dir, &header)?;
        file.append(&frames)
            .map_err(|_| io::Error::other("not written"))?;
        file.sync()?;
        self.files.push(path);
        self.end = End::Recovered { cut: self.cut };
        Ok(true)
    }

    /// Ends already with its recovery.
    fn is_recovered(&self) -> bool {
        matches!(self.end, End::Recovered { .. })
    }
}

/// Keeps the link of a session's record with the highest number: a record that was late comes behind
/// others that follow it.
fn note(links: &mut BTreeMap<String, SessionLink>, record: &Record<'_>) {
    let (Some(session), Some(sseq)) = (record.session, record.sseq) else {
        return;
    };
    if links.get(session).is_some_and(|link| link.sseq > sseq) {
        return;
    }
    let digest = event_digest(record.event);
    let link = SessionLink {
        session: session.to_owned(),
        sseq,
        digest,
    };
    links.insert(session.to_owned(), link);
}

/// Stores every file as a segment; false if the store holds something that does not fit.
fn ship_all(
    log: &Log,
    writer: &str,
    store: &dyn LedgerStore,
    signer: &dyn Signer,
) -> Result<bool, OpenError> {
    let mut previous: Option<Hash> = None;
    for (index, path) in log.files.iter().enumerate() {
        let contents = wal::read(path)?.ok_or(WalError::Header)?;
        if index == 0
            && let Some(name) = &contents.header.previous
        {
            match store.get(name, MAX_STORED)? {
                Some(stored) => previous = Some(stored_digest(&stored)),
                None => return Ok(false),
            }
        }
        let (Some(name), Some(draft)) = (segment_name(&contents), ship::draft(&contents, previous))
        else {
            return Ok(false);
        };
        previous = match store.get(&name, MAX_STORED)? {
            Some(stored) if holds(&stored, &draft.lines) => Some(stored_digest(&stored)),
            Some(_) => return Ok(false),
            None => {
                let Some(segment) = ship::finish(draft, writer, signer) else {
                    return Err(OpenError::Sign(
                        gatehouse_envelope::sign::SignError::Unavailable,
                    ));
                };
                match store.put_once(&name, &segment.stored) {
                    Err(StoreError::Conflict) => return Ok(false),
                    other => other?,
                }
                Some(stored_digest(&segment.stored))
            }
        };
    }
    Ok(true)
}

/// Whether a stored segment holds these lines and nothing more than its footer.
fn holds(stored: &[u8], lines: &[u8]) -> bool {
    unpack(stored).is_ok_and(|unpacked| {
        unpacked.strip_prefix(lines).is_some_and(|footer| {
            footer.iter().filter(|b| **b == b'\n').count() == 1 && footer.ends_with(b"\n")
        })
    })
}

/// The name of the segment that a file becomes.
fn segment_name(contents: &Contents) -> Option<String> {
    let line = contents.lines.split(|b| *b == b'\n').next()?;
    let (writer, first_seq) = (&contents.header.writer, contents.header.tree.size());
    let leaf = LeafReader::default().read(line, writer, first_seq)?;
    Some(names::segment(&day(leaf.stamp.unix_us), writer, first_seq))
}

/// Keeps the links with the highest numbers.
fn merge(links: &mut BTreeMap<String, SessionLink>, more: BTreeMap<String, SessionLink>) {
    for (session, link) in more {
        let newest = links.entry(session).or_insert_with(|| link.clone());
        if link.sseq >= newest.sseq {
            *newest = link;
        }
    }
}

fn set_aside(wal: &Path, dir: &Path, writer: &str) -> io::Result<()> {
    let damaged = wal.join(DAMAGED);
    fs::create_dir_all(&damaged)?;
    fs::rename(dir, damaged.join(writer))?;
    crate::wal::sync_dir(dir)
}
