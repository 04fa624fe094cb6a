//! The package's files: each is written once, and its digest remembered for the manifest.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use gatehouse_envelope::digest::{Sha256, hex};

use crate::cli::Failure;

/// A package that is being written.
pub(super) struct Package {
    root: PathBuf,
    /// Name and SHA-256 in hex of every file so far.
    files: Vec<(String, String)>,
}

impl Package {
    /// A package in a folder that is new or empty, so that nothing in it is left from before.
    pub(super) fn create(root: &Path) -> Result<Self, Failure> {
        let wrong = |error: io::Error| Failure::Usage(format!("{}: {error}", root.display()));
        fs::create_dir_all(root).map_err(wrong)?;
        if fs::read_dir(root).map_err(wrong)?.next().is_some() {
            return Err(Failure::Usage(format!(
                "{}: the folder is not empty",
                root.display()
            )));
        }
        for folder in ["charts", "controls", "exceptions", "population"] {
            fs::create_dir(root.join(folder)).map_err(wrong)?;
        }
        Ok(Self {
            root: root.to_owned(),
            files: Vec::new(),
        })
    }

    /// Writes a file; `name` is ours or a control's id.
    pub(super) fn file(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let path = self.root.join(name);
        let wrong = |error: io::Error| Failure::Read(format!("{}: {error}", path.display()));
        let file = File::create_new(&path).map_err(wrong)?;
        let mut out = Hashed {
            file: BufWriter::new(file),
            digest: Sha256::new(),
        };
        fill(&mut out)?;
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

    /// Makes the names durable too.
    pub(super) fn finish(self) -> Result<(), Failure> {
        let synced = File::open(&self.root).and_then(|folder| folder.sync_all());
        synced.map_err(|error| Failure::Read(format!("{}: {error}", self.root.display())))
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
