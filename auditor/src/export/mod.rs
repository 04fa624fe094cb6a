//! Exports are recorded: what is given out of a log leaves an `export.created`, in the gateway's log over
//! its admin socket, or in a log of the auditor's own. Without the record there is no export.

mod ledger;
mod socket;
mod staged;

use std::{
    io::{self, BufWriter, Write},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use gatehouse_envelope::digest::{hex, sha256, sha256_of};
pub(crate) use gatehouse_ledger::export::{Export, Exported};
use gatehouse_ledger::{
    export::is_word,
    store::{Dir, Fetcher},
};
use gatehouse_redactor::{Engine, Policy};
pub(crate) use socket::{AT_ONCE, Given, ask_for_keys};
pub(crate) use staged::{Staged, StagedFile};

use crate::cli::Failure;

/// Where exports are recorded, and what is said of them there.
#[derive(clap::Args)]
pub(crate) struct Recording {
    /// Where this export is recorded: the gateway's admin.sock, or a folder for a log of the auditor's
    /// own, which is made if it is not there. If the record cannot be written, nothing is given out.
    #[arg(long, value_name = "SOCKET|FOLDER")]
    pub(crate) record: Option<PathBuf>,
    /// Who makes the export, for the record: letters, digits and - _ . : /
    #[arg(long = "as", value_name = "NAME", value_parser = word)]
    pub(crate) name: Option<String>,
    /// What for, such as the number of a ticket, for the record: letters, digits and - _ . : /
    #[arg(long, value_name = "WORD", value_parser = word)]
    pub(crate) purpose: Option<String>,
}

impl Recording {
    /// Records an export; the record is durable when this returns. Call it when everything that is
    /// given out is written, but not yet in its place. Without `--record` it says that there is none.
    ///
    /// # Errors
    /// There is no record, so there must be no export.
    pub(crate) fn record(&self, export: &Export) -> Result<(), Failure> {
        let Some(place) = &self.record else {
            let what = export.what.word();
            crate::cli::note(&format!(
                "this export ({what}) is recorded nowhere: give --record"
            ));
            return Ok(());
        };
        let export = Export {
            name: self.name.clone(),
            purpose: self.purpose.clone(),
            ..export.clone()
        };
        if is_socket(place) {
            return socket::record(place, &export);
        }
        ledger::record(place, &export)
    }

    /// Where a record is written if it is written here: the folder, and the log in it.
    pub(crate) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folder = self.record.as_deref().filter(|place| !is_socket(place));
        folder
            .into_iter()
            .flat_map(|folder| [folder.to_owned(), ledger::place(folder)])
    }

    /// Writes what `fill` writes: to standard output, or as the new file `out`, recorded as `export` with
    /// its digest.
    ///
    /// # Errors
    /// There is no such file then.
    pub(crate) fn deliver(
        &self,
        out: Option<&Path>,
        export: Export,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(out) = out else {
            if self.record.is_some() {
                return Err(Failure::Usage("--record needs --out".into()));
            }
            let mut stdout = io::stdout().lock();
            fill(&mut stdout)?;
            return Ok(stdout.flush()?);
        };
        let (staged, file) = StagedFile::new(out)?;
        let mut buffered = BufWriter::new(file);
        let written = fill(&mut buffered).and_then(|()| {
            let file = buffered
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.sync_all()
        });
        written.map_err(|error| Failure::Read(format!("{}: {error}", out.display())))?;
        let digest = Some(digest_of(staged.path())?);
        self.record(&Export { digest, ..export })?;
        staged.keep()
    }
}

/// Whether that is a socket, as the gateway's is.
pub(crate) fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// The digest of a file as records have it.
pub(crate) fn digest_of(path: &Path) -> Result<String, Failure> {
    let digest = std::fs::File::open(path).and_then(sha256_of);
    let digest = digest.map_err(|error| Failure::Read(format!("{}: {error}", path.display())))?;
    Ok(format!("sha256:{}", hex(&digest)))
}

/// The digest of a folder as records have it: that of the lines that `sha256sum` would write of its files,
/// in the order of their names.
pub(crate) fn digest_of_folder(folder: &Path) -> Result<String, Failure> {
    let wrong =
        |error: &dyn std::error::Error| Failure::Read(format!("{}: {error}", folder.display()));
    let objects = Dir::new(folder).list("").map_err(|error| wrong(&error))?;
    let mut names: Vec<String> = objects.into_iter().map(|object| object.name).collect();
    names.sort();
    let mut lines = String::new();
    for name in names {
        let digest = digest_of(&folder.join(&name))?;
        let digest = digest.trim_start_matches("sha256:");
        lines.push_str(&format!("{digest}  {name}\n"));
    }
    Ok(format!("sha256:{}", hex(&sha256(&[lines.as_bytes()]))))
}

/// A word for the record: one that holds no value, since the log cannot be mended.
fn word(text: &str) -> Result<String, String> {
    if !is_word(text) {
        return Err("1 to 128 letters, digits and - _ . : /".into());
    }
    let engine = Engine::new(&Policy::default()).map_err(|error| error.to_string())?;
    let found = engine.find_certain(text);
    match found.map_err(|error| error.to_string())?.first() {
        Some(found) => Err(format!("looks like a {}", found.label)),
        None => Ok(text.to_owned()),
    }
}

/// Who runs this program.
fn by() -> String {
    format!("uid:{}", rustix::process::getuid().as_raw())
}
