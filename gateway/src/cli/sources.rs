//! The files that a command reads, and how far it is with them.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Failure;

/// What takes less time shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

/// A file to be read.
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Its path below what was named.
    pub(super) name: PathBuf,
    pub(super) bytes: u64,
}

/// What is to be read, and what is passed over.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) files: Vec<Source>,
    /// Symbolic links in folders, which are not followed, and what is neither file nor folder.
    pub(super) skipped: Vec<PathBuf>,
}

/// The files that were named and those in the folders that were named, in order.
pub(super) fn under(paths: &[PathBuf]) -> Result<Sources, Failure> {
    let mut sources = Sources::default();
    for path in paths {
        let named = |error| Failure::of(&path.display().to_string(), error);
        let data = fs::metadata(path).map_err(named)?;
        if data.is_dir() {
            folder(path, Path::new(""), &mut sources).map_err(named)?;
        } else {
            let name = path.file_name().map(PathBuf::from).unwrap_or_default();
            let bytes = data.len();
            sources.files.push(Source {
                path: path.clone(),
                name,
                bytes,
            });
        }
    }
    Ok(sources)
}

fn folder(path: &Path, below: &Path, sources: &mut Sources) -> io::Result<()> {
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, name) = (entry.file_type()?, below.join(entry.file_name()));
        if kind.is_dir() {
            folder(&entry.path(), &name, sources)?;
        } else if kind.is_file() {
            let bytes = entry.metadata()?.len();
            sources.files.push(Source {
                path: entry.path(),
                name,
                bytes,
            });
        } else {
            sources.skipped.push(entry.path());
        }
    }
    Ok(())
}

/// A line on standard error that says how much is done, for work that takes more than a second
/// and that somebody watches.
pub(super) struct Bar {
    all: u64,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    watched: bool,
}

impl Bar {
    pub(super) fn new(all: u64) -> Bar {
        let (started, watched) = (Instant::now(), io::stderr().is_terminal());
        Bar {
            all,
            done: 0,
            started,
            shown: None,
            watched,
        }
    }

    /// Counts what is read.
    pub(super) fn reading<R: Read>(&mut self, input: R) -> Reading<'_, R> {
        Reading { input, bar: self }
    }

    fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        let due = self
            .shown
            .map_or(self.started + PATIENCE, |shown| shown + EVERY);
        if self.watched && Instant::now() >= due {
            self.shown = Some(Instant::now());
            let percent = self.done.saturating_mul(100) / self.all.max(1);
            let (done, all) = (self.done >> 20, self.all >> 20);
            let filled = usize::try_from(percent.min(100) / 5).unwrap_or(0);
            // Nobody is left to be told if this fails.
            let _ = write!(
                io::stderr(),
                "\r[{:<20}] {done} of {all} MiB",
                "#".repeat(filled)
            );
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r{:60}\r", "");
        }
    }
}

/// An input whose bytes a bar counts.
pub(super) struct Reading<'b, R> {
    input: R,
    bar: &'b mut Bar,
}

impl<R: Read> Read for Reading<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.bar.add(read);
        Ok(read)
    }
}
