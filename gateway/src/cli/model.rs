//! `gatehouse model`: says that there is none yet, rather than pretend.

use std::path::PathBuf;

use super::Failure;

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Install the local model from a file.
    Install {
        /// The file that holds it.
        file: Option<PathBuf>,
    },
    /// Check the installed model against its digest.
    Verify,
}

pub(super) fn run(_command: &Command) -> Result<(), Failure> {
    let message = "this version has no local model; rules and dictionaries do all the finding";
    Err(Failure::Usage(message.to_owned()))
}
