//! What a witness must never forget: of each log, the last checkpoint that it cosigned.
//!
//! One file, replaced whole for every cosignature, before that is given away. A second file beside the
//! key counts the replacements, so that a folder that comes back from a backup is noticed: a witness
//! that has forgotten would cosign another history.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use data_encoding::HEXLOWER;
use gatehouse_ledger::{
    note::Note,
    tree::Hash,
    witness::{Checkpoint, State},
};
use serde_json::{Value, json};

use super::files::{Failed, replace};

/// More logs than this are not begun: a deployment's key can name as many as it likes.
const MAX_LOGS: usize = 4096;
const FILE: &str = "witness.json";
const LOCK: &str = "lock";
/// What the mark's one line begins with.
const MARK: &str = "gatehouse-witness-mark 1 ";

/// What is kept of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The last checkpoint that was cosigned.
    pub(super) state: State,
    /// When, in seconds since 1970.
    pub(super) time: u64,
    /// The checkpoint as the log signed it.
    pub(super) note: String,
    /// The cosignature's line.
    pub(super) line: String,
}

/// Why a witness cannot go on from what it finds.
#[derive(Debug, thiserror::Error)]
pub(super) enum BookError {
    /// The file is not what this version writes.
    #[error("{FILE} is damaged or of a newer version")]
    Damaged,
    /// The folder, or a file in it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another process has it.
    #[error("in use by another witness")]
    Locked,
    /// Written by a witness with another key.
    #[error("the state of a witness with another name or key")]
    Other,
    /// It is older than what was signed.
    #[error(
        "older than what was cosigned ({0} of {1}): restored from a backup, or lost. A witness that has \
         forgotten may cosign another history; retire its key and make a new one"
    )]
    RolledBack(u64, u64),
    /// Without it, nobody knows how much was cosigned.
    #[error(
        "the key's mark is missing: how much it has cosigned is not known. `witness key` makes it with the \
         key, and never again; retire the key and make a new one"
    )]
    Unmarked,
}

/// Why an entry was not kept, so that its cosignature must not be given away.
#[derive(Debug, thiserror::Error)]
pub(super) enum PutError {
    /// There are as many as may be.
    #[error("no more logs can be witnessed here")]
    Full,
    /// The disk; nothing is kept any more if it is not known what it holds.
    #[error("the state could not be written: {0}")]
    Io(#[from] io::Error),
}

/// The book of a witness.
pub(super) struct Book {
    path: PathBuf,
    mark: PathBuf,
    key: String,
    generation: u64,
    logs: BTreeMap<String, Entry>,
    /// It is not known what the disk holds.
    unsure: bool,
    /// When an entry was not kept, if the last one was not.
    failed: Option<Instant>,
    _lock: File,
}

impl Book {
    /// Opens the book in `folder` for the witness `key` (its vkey), or begins one.
    pub(super) fn open(folder: &Path, mark: &Path, key: &str) -> Result<Self, BookError> {
        fs::create_dir_all(folder)?;
        let lock = lock(&folder.join(LOCK))?;
        let path = folder.join(FILE);
        let (generation, logs) = match read_if_there(&path)? {
            None => (0, BTreeMap::new()),
            Some(text) => {
                let (by, generation, logs) = parse(&text).ok_or(BookError::Damaged)?;
                if by != key {
                    return Err(BookError::Other);
                }
                (generation, logs)
            }
        };
        let marked = read_if_there(mark)?.ok_or(BookError::Unmarked)?;
        let marked = read_mark(&marked).ok_or(BookError::Damaged)?;
        if marked > generation {
            return Err(BookError::RolledBack(generation, marked));
        }
        Ok(Self {
            path,
            mark: mark.to_owned(),
            key: key.to_owned(),
            generation,
            logs,
            unsure: false,
            failed: None,
            _lock: lock,
        })
    }

    /// What was cosigned last of a log.
    pub(super) fn get(&self, origin: &str) -> Option<&Entry> {
        self.logs.get(origin)
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.logs
            .iter()
            .map(|(origin, entry)| (origin.as_str(), entry))
    }

    /// When something was cosigned last, in seconds since 1970.
    pub(super) fn last_time(&self) -> u64 {
        self.logs
            .values()
            .map(|entry| entry.time)
            .max()
            .unwrap_or(0)
    }

    /// Whether it still takes entries.
    pub(super) fn is_sound(&self) -> bool {
        !self.unsure
    }

    /// When an entry was not kept, if the last one was not.
    pub(super) fn failed(&self) -> Option<Instant> {
        self.failed
    }

    /// Keeps an entry: it is durable when this returns.
    pub(super) fn put(&mut self, origin: &str, entry: Entry) -> Result<(), PutError> {
        let put = self.try_put(origin, entry);
        self.failed = match &put {
            Err(PutError::Io(_)) => Some(Instant::now()),
            Err(PutError::Full) | Ok(()) => None,
        };
        put
    }

    fn try_put(&mut self, origin: &str, entry: Entry) -> Result<(), PutError> {
        if self.unsure {
            return Err(io::Error::other("not after an earlier failure").into());
        }
        if self.logs.len() >= MAX_LOGS && !self.logs.contains_key(origin) {
            return Err(PutError::Full);
        }
        // Nothing is known by it, and nothing can be given away, before it is durable.
        let mut logs = self.logs.clone();
        logs.insert(origin.to_owned(), entry);
        let generation = self.generation + 1;
        replace(&self.path, &write(&self.key, generation, &logs)).map_err(
            |failed| match failed {
                Failed::Before(error) => error,
                Failed::Unsure(error) => {
                    self.unsure = true;
                    error
                }
            },
        )?;
        // Nothing is given away of which a folder that comes back would not show that it is missing.
        write_mark(&self.mark, generation).inspect_err(|_| self.unsure = true)?;
        (self.logs, self.generation) = (logs, generation);
        Ok(())
    }
}

/// Writes how many cosignatures a key has made.
pub(super) fn write_mark(path: &Path, generation: u64) -> io::Result<()> {
    let mark = format!("{MARK}{generation}\n");
    replace(path, mark.as_bytes()).map_err(|(Failed::Before(error) | Failed::Unsure(error))| error)
}

fn lock(path: &Path) -> Result<File, BookError> {
    let mut options = OpenOptions::new();
    let file = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(BookError::Locked),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_mark(text: &str) -> Option<u64> {
    text.strip_prefix(MARK)?.strip_suffix('\n')?.parse().ok()
}

fn write(key: &str, generation: u64, logs: &BTreeMap<String, Entry>) -> Vec<u8> {
    let logs: serde_json::Map<String, Value> = logs
        .iter()
        .map(|(origin, entry)| {
            let Entry {
                time, note, line, ..
            } = entry;
            (
                origin.clone(),
                json!({"time": time, "note": note, "line": line}),
            )
        })
        .collect();
    let all = json!({"gatehouse_witness": 1, "key": key, "generation": generation, "logs": logs});
    format!("{all}\n").into_bytes()
}

type Parsed = (String, u64, BTreeMap<String, Entry>);

fn parse(text: &str) -> Option<Parsed> {
    let all: Value = serde_json::from_str(text).ok()?;
    if all.get("gatehouse_witness")?.as_u64() != Some(1) {
        return None;
    }
    let key = all.get("key")?.as_str()?.to_owned();
    let generation = all.get("generation")?.as_u64()?;
    let mut logs = BTreeMap::new();
    for (origin, kept) in all.get("logs")?.as_object()? {
        logs.insert(origin.clone(), entry(origin, kept)?);
    }
    Some((key, generation, logs))
}

fn entry(origin: &str, kept: &Value) -> Option<Entry> {
    let text = |name: &str| Some(kept.get(name)?.as_str()?.to_owned());
    let (note, line) = (text("note")?, text("line")?);
    let state = {
        let note = Note::parse(&note).ok()?;
        let checkpoint = Checkpoint::of(&note).ok()?;
        let Checkpoint { size, root, .. } = checkpoint;
        (checkpoint.origin == origin).then_some(State { size, root })?
    };
    Some(Entry {
        state,
        time: kept.get("time")?.as_u64()?,
        note,
        line,
    })
}

/// A root as people compare it.
pub(super) fn shown(root: &Hash) -> String {
    HEXLOWER.encode(root)
}

#[cfg(test)]
mod tests;
