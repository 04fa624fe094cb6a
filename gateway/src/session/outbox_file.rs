//! The file in which a process notes the events that it is about to tell a shared store of, so that
//! the next process over the same data directory can bring them to their end.
//!
//! One line each: the first 16 hex digits of the SHA-256 of the rest, then tab-separated `b` (begun),
//! id, row's name, number, event, the event in its place and the closing event (or `-`); `l` (the log
//! has it) and the id; or `e` (ended) and the id. Events are JSON objects without line ends or tabs. The file is written, not
//! synced: it is for a process that dies, while a machine that dies loses what the log would say.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gatehouse_envelope::digest::{hex, sha256};

use super::outbox::{Entry, Offer, Phase};
use crate::audit::Event;

/// Past this the file is written anew with what is still of use.
const LONG: u64 = 4 << 20;
/// What ends a line of which only a part could be written; no line that counts ends so.
const TORN: &[u8; 2] = b"!\n";
/// What files' names end with.
const ENDING: &str = "outbox";

/// An entry that a dead process left.
pub(super) struct Written {
    pub(super) name: String,
    pub(super) sseq: u64,
    pub(super) offer: Offer,
    /// The log has it, and nothing that closes it.
    pub(super) logged: bool,
    /// The file it stands in.
    pub(super) path: PathBuf,
}

pub(super) struct OutboxFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// The length after it was last written anew.
    floor: u64,
    /// The last write failed and may have left the beginning of a line.
    torn: bool,
    /// That something has ended could not be noted: the file says more than is true.
    is_stale: bool,
}

impl OutboxFile {
    /// A file of this process's own, and what is left in the others.
    pub(super) fn open(directory: &Path, holder: u64) -> io::Result<(Self, Vec<Written>)> {
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700).create(directory)?;
        let mut left = Vec::new();
        let mut paths = fs::read_dir(directory)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        for path in paths {
            let entries = read(&path)?;
            if entries.is_empty() {
                fs::remove_file(&path)?;
            }
            left.extend(entries);
        }
        let path = directory.join(format!("{holder:016x}.{ENDING}"));
        let file = create(&path)?;
        let opened = Self {
            path,
            file,
            length: 0,
            floor: 0,
            torn: false,
            is_stale: false,
        };
        Ok((opened, left))
    }

    pub(super) fn begin(
        &mut self,
        id: u64,
        name: &str,
        sseq: u64,
        offer: &Offer,
    ) -> io::Result<()> {
        self.write(begun(id, name, sseq, offer))
    }

    pub(super) fn logged(&mut self, id: u64) {
        self.note('l', id);
    }

    pub(super) fn end(&mut self, id: u64) {
        self.note('e', id);
    }

    /// What is not written here stands in the file when it is next written anew.
    fn note(&mut self, what: char, id: u64) {
        let line = sealed(format!("{what}\t{id}").into_bytes());
        if let Err(error) = self.write(line) {
            self.is_stale = true;
            tracing::warn!(%error, "how far an event has come was not noted");
        }
    }

    /// Writes a line. What an earlier failure left of another is ended first, as none that counts.
    fn write(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        if self.torn {
            line.splice(0..0, *TORN);
        }
        let written = self.file.write_all(&line);
        self.torn = written.is_err();
        if !self.torn {
            self.length += line.len() as u64;
        }
        written
    }

    /// Whether the file is to be written anew.
    pub(super) fn is_done(&self) -> bool {
        self.is_stale || self.length > self.floor.saturating_mul(2).max(LONG)
    }

    /// Has the file take nothing, as on a full disk.
    #[cfg(test)]
    pub(super) fn fill(&mut self) -> File {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        std::mem::replace(&mut self.file, full)
    }

    /// Writes the file anew, with these entries alone.
    pub(super) fn rewrite<'e>(
        &mut self,
        open: impl Iterator<Item = (&'e str, &'e Entry)>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (name, entry) in open {
            bytes.extend_from_slice(&begun(entry.id, name, entry.sseq, &entry.offer));
            if entry.phase == Phase::Logged {
                bytes.extend_from_slice(&sealed(format!("l\t{}", entry.id).into_bytes()));
            }
        }
        let beside = self.path.with_extension("new");
        let mut file = create(&beside)?;
        file.write_all(&bytes)?;
        fs::rename(&beside, &self.path)?;
        self.file = file;
        self.length = bytes.len() as u64;
        self.floor = self.length;
        self.torn = false;
        self.is_stale = false;
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

fn sealed(mut rest: Vec<u8>) -> Vec<u8> {
    let mut line = check(&rest).into_bytes();
    line.push(b'\t');
    line.append(&mut rest);
    line.push(b'\n');
    line
}

fn check(rest: &[u8]) -> String {
    let mut digits = hex(&sha256(&[rest]));
    digits.truncate(16);
    digits
}

fn begun(id: u64, name: &str, sseq: u64, offer: &Offer) -> Vec<u8> {
    let mut rest = format!("b\t{id}\t{name}\t{sseq}\t").into_bytes();
    rest.extend_from_slice(offer.event.bytes());
    for event in [&offer.otherwise, &offer.closing] {
        rest.push(b'\t');
        rest.extend_from_slice(event.as_ref().map_or(b"-", Event::bytes));
    }
    sealed(rest)
}

/// The entries of a file that have begun and not ended. A last line without an end was cut off with
/// its process, before the store was told; any other that is not whole was not written, or changed.
fn read(path: &Path) -> io::Result<Vec<Written>> {
    let text = fs::read(path)?;
    let mut open: BTreeMap<u64, Written> = BTreeMap::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else {
            continue;
        };
        match parse(line, path) {
            Some((id, Line::Begun(entry))) => _ = open.insert(id, *entry),
            Some((id, Line::Logged)) => {
                if let Some(entry) = open.get_mut(&id) {
                    entry.logged = true;
                }
            }
            Some((id, Line::Ended)) => _ = open.remove(&id),
            None => tracing::warn!(
                file = %path.display(),
                "a line of the outbox is broken: what it said is not known"
            ),
        }
    }
    Ok(open.into_values().collect())
}

/// What a line says of an entry.
enum Line {
    Begun(Box<Written>),
    Ended,
    Logged,
}

fn parse(line: &[u8], path: &Path) -> Option<(u64, Line)> {
    let line = std::str::from_utf8(line).ok()?;
    let (digits, rest) = line.split_once('\t')?;
    if check(rest.as_bytes()) != digits {
        return None;
    }
    let mut fields = rest.split('\t');
    let what = fields.next()?;
    let id = fields.next()?.parse().ok()?;
    match what {
        "b" => {}
        "e" => return Some((id, Line::Ended)),
        "l" => return Some((id, Line::Logged)),
        _ => return None,
    }
    let name = fields.next()?.to_owned();
    let sseq = fields.next()?.parse().ok()?;
    let event = |field: &str| Event::from_bytes(field.as_bytes().to_vec()).ok();
    let entry = Written {
        name,
        sseq,
        offer: Offer {
            event: event(fields.next()?)?,
            otherwise: event(fields.next()?),
            closing: event(fields.next()?),
        },
        logged: false,
        path: path.to_owned(),
    };
    Some((id, Line::Begun(Box::new(entry))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: u64) -> Event {
        Event::from_bytes(format!(r#"{{"kind":"x","n":{n},"t":"a\tb"}}"#).into_bytes()).unwrap()
    }

    fn offer(n: u64) -> Offer {
        Offer {
            otherwise: n.is_multiple_of(2).then(|| event(n + 100)),
            ..event(n).into()
        }
    }

    fn entry(id: u64, phase: Phase) -> Entry {
        Entry {
            id,
            sseq: id + 7,
            offer: offer(id),
            phase,
            since: tokio::time::Instant::now(),
        }
    }

    #[test]
    fn what_has_not_ended_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, left) = OutboxFile::open(dir.path(), 1).unwrap();
        assert!(left.is_empty());
        for n in 0..5 {
            file.begin(n, "s_a/t/1", n + 7, &offer(n)).unwrap();
        }
        file.end(1);
        file.end(4);
        file.logged(3);
        let path = dir.path().join("0000000000000001.outbox");
        let found = |expected: &[(u64, bool)]| {
            let (_, left) = OutboxFile::open(dir.path(), 2).unwrap();
            let found: Vec<_> = left
                .iter()
                .map(|entry| (entry.sseq, entry.logged))
                .collect();
            assert_eq!(found, expected);
            assert!(left[0].name == "s_a/t/1" && left[0].offer.closing.is_none());
            assert!(left[0].offer.event == event(0));
            assert!(left[0].offer.otherwise == Some(event(100)));
        };
        found(&[(7, false), (9, false), (10, true)]);
        let (first, second) = (entry(0, Phase::Handed), entry(3, Phase::Logged));
        let kept = [("s_a/t/1", &first), ("s_b/t/1", &second)];
        file.rewrite(kept.into_iter()).unwrap();
        found(&[(7, false), (10, true)]);
        // A line that was cut off says nothing.
        file.begin(9, "s_c/t/1", 1, &offer(9)).unwrap();
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 2]).unwrap();
        found(&[(7, false), (10, true)]);
        fs::write(&path, b"").unwrap();
        assert!(OutboxFile::open(dir.path(), 3).unwrap().1.is_empty());
        assert!(!path.exists());
    }

    /// The disk is full in the midst of a line, at every byte of it, and has room again later.
    #[test]
    fn a_line_that_was_not_written_whole_costs_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (mut file, _) = OutboxFile::open(dir.path(), 1).unwrap();
        file.begin(1, "s_a/t/1", 1, &offer(1)).unwrap();
        let line = begun(2, "s_a/t/1", 2, &offer(2));
        for cut in 0..line.len() {
            file.file.write_all(&line[..cut]).unwrap();
            let real = file.fill();
            assert!(file.begin(2, "s_a/t/1", 2, &offer(2)).is_err());
            file.file = real;
            // The process may die here.
            let (_, left) = OutboxFile::open(dir.path(), 2).unwrap();
            assert_eq!(left.len(), 1, "{cut}");
            file.begin(3, "s_a/t/1", 3, &offer(3)).unwrap();
            let (_, left) = OutboxFile::open(dir.path(), 2).unwrap();
            let left: Vec<_> = left.iter().map(|entry| entry.sseq).collect();
            assert_eq!(left, [1, 3], "{cut}");
            file.end(3);
        }
    }
}
