//! The package's files: each is written once, and its digest remembered for the manifest.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use gatehouse_envelope::digest::{Sha256, hex};

use crate::{cli::Failure, export::Staged};

/// A package that is being written.
pub(super) struct Package {
    root: Staged,
    /// Name and SHA-256 in hex of every file so far.
    files: Vec<(String, String)>,
}

impl Package {
    /// A package in a folder that is new or empty, so that nothing in it is left from before. It is there
    /// only when the package is finished.
    pub(super) fn create(out: &Path) -> Result<Self, Failure> {
        let wrong = |error: io::Error| Failure::Usage(format!("{}: {error}", out.display()));
        let root = Staged::new(out)?;
        for folder in ["charts", "controls", "exceptions", "policies", "population"] {
            fs::create_dir(root.path().join(folder)).map_err(wrong)?;
        }
        Ok(Self {
            root,
            files: Vec::new(),
        })
    }

    /// Writes a file; `name` is ours or a control's id.
    pub(super) fn file(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Where it is to be: what stands beside that goes away with an error.
        let place = self.root.out().join(name);
        let wrong = |error: io::Error| Failure::Read(format!("{}: {error}", place.display()));
        let file = File::create_new(self.root.path().join(name)).map_err(wrong)?;
        let mut out = Hashed {
            file: BufWriter::new(file),
            digest: Sha256::new(),
        };
        fill(&mut out).map_err(|failure| match failure {
            Failure::Write(error) => wrong(error),
            other => other,
        })?;
        let Hashed { file, digest } = out;
        let file = file
            .into_inner()
            .map_err(|error| wrong(error.into_error()))?;
        file.sync_all().map_err(wrong)?;
        self.files.push((name.to_owned(), hex(&digest.finish())));
        Ok(())
    }

    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        self.file(name, |out| Ok(out.write_all(text.as_bytes())?))
    }

    /// Name and digest of every file so far.
    pub(super) fn files(&self) -> &[(String, String)] {
        &self.files
    }

    /// Puts the package in its place, durably.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let root = self.root.path();
        let synced = File::open(root).and_then(|folder| folder.sync_all());
        synced.map_err(|error| Failure::Read(format!("{}: {error}", root.display())))?;
        self.root.keep()
    }
}

struct Hashed {
    file: BufWriter<File>,
    digest: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_the_file_that_it_is_about() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("report");
        let mut package = Package::create(&out).unwrap();
        let full = package.file("charts/values.csv", |_| {
            Err(io::Error::from(io::ErrorKind::StorageFull).into())
        });
        let why = full.unwrap_err().to_string();
        let file = out.join("charts/values.csv");
        assert!(why.starts_with(&format!("{}: ", file.display())), "{why}");
        assert!(!why.contains("standard output"), "{why}");
        drop(package);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
