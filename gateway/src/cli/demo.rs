//! `gatehouse demo`: finds the demo a place to run and tidies up after it.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gatehouse_envelope::random;

use super::{Failure, Output, runtime};
use crate::demo::{self, Stage};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Keep the demo's data in this new folder instead of throwing it away. The report is kept in
    /// any case.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Show it without the local model.
    #[arg(long)]
    no_model: bool,
}

/// Where `up` keeps the model if nobody says otherwise.
const USUAL_HOME: &str = "gatehouse-data";

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let auditor = auditor()?;
    let folder = match &arguments.keep {
        Some(folder) => Folder::kept(folder)?,
        None => Folder::temporary()?,
    };
    let report = folder.report()?;
    let runtime = runtime()?;
    let home = if arguments.no_model {
        None
    } else {
        let usual = Path::new(USUAL_HOME);
        let home = if usual.join("model").is_dir() {
            usual
        } else {
            &folder.path
        };
        match runtime.block_on(super::model::at_hand(home)) {
            Ok(()) => Some(home),
            Err(error) => {
                output.note(&without(&error.to_string()));
                None
            }
        }
    };
    let stage = Stage {
        model: home,
        folder: &folder.path,
        report: &report,
        auditor: &auditor,
        width: Output::width(),
    };
    let result = runtime.block_on(demo::run(&stage, output.stream()));
    output.stream().flush()?;
    if result.is_err() {
        // Without a report nothing is in it, and it goes.
        let _ = std::fs::remove_dir(&report);
    }
    result.map_err(|error| Failure::of("demo", error))
}

/// What is said where the model cannot be had: nobody shall take the demo for all there is.
fn without(why: &str) -> String {
    let frame = "!".repeat(78);
    format!(
        "{frame}\n!! The local model could not be fetched: {why}\n!! THE DEMO GOES ON WITHOUT IT: \
         names and addresses are found by rules alone.\n{frame}"
    )
}

/// The auditor is a program of its own, so it may be missing.
fn auditor() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::of("own path", error))?;
    let auditor = own.with_file_name("gatehouse-auditor");
    if auditor.is_file() {
        return Ok(auditor);
    }
    let message =
        "gatehouse-auditor is not beside this program; `cargo build --release` makes both";
    Err(Failure::Usage(message.to_owned()))
}

/// A folder that only this user can read.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn temporary() -> Result<Folder, Failure> {
        let name = random::name("gatehouse-demo-").map_err(|error| Failure::of("folder", error))?;
        let path = std::env::temp_dir().join(name);
        Folder::make(&path)?;
        Ok(Folder {
            path,
            temporary: true,
        })
    }

    fn kept(path: &Path) -> Result<Folder, Failure> {
        if let Some(parent) = path.parent() {
            let made = std::fs::create_dir_all(parent);
            made.map_err(|error| Failure::of(&parent.display().to_string(), error))?;
        }
        Folder::make(path)?;
        Ok(Folder {
            path: path.to_owned(),
            temporary: false,
        })
    }

    /// A folder for the report: with what is kept, or else one that outlives this one. It holds
    /// pseudonyms and counts only.
    fn report(&self) -> Result<PathBuf, Failure> {
        let path = if self.temporary {
            let name = random::name("gatehouse-demo-report-");
            std::env::temp_dir().join(name.map_err(|error| Failure::of("folder", error))?)
        } else {
            self.path.join("evidence")
        };
        Folder::make(&path)?;
        Ok(path)
    }

    fn make(path: &Path) -> Result<(), Failure> {
        let made = std::fs::DirBuilder::new().mode(0o700).create(path);
        made.map_err(|error| Failure::of(&path.display().to_string(), error))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            // What stays behind is sealed; the system's own cleaning gets it.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
