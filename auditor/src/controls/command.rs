//! `controls`: the controls themselves.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use super::{load, trial};
use crate::cli::Failure;

/// What was typed.
#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// List the controls.
    List(Which),
    /// Show a control's file.
    Sql {
        /// The control's id.
        id: String,
        #[command(flatten)]
        which: Which,
    },
    /// Run every control on its own fixtures: exit 0 if each says what it should, else 1.
    Test(Which),
}

/// Which controls.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// A folder of controls instead of those built in.
    #[arg(long, value_name = "DIR")]
    controls: Option<PathBuf>,
}

/// Does what was asked, on standard output.
pub(crate) fn run(asked: &Arguments) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    let mut code = ExitCode::SUCCESS;
    match asked {
        Arguments::List(which) => {
            for control in load(which.controls.as_deref())? {
                let (id, severity, title) = (&control.id, control.severity, &control.title);
                writeln!(
                    out,
                    "{id:<6} {severity} {title} [{}; {}]",
                    control.tsc, control.iso
                )?;
            }
        }
        Arguments::Sql { id, which } => {
            let controls = load(which.controls.as_deref())?;
            let control = controls.iter().find(|control| control.id == *id);
            let control =
                control.ok_or_else(|| Failure::Usage(format!("{id}: no such control")))?;
            out.write_all(control.text.as_bytes())?;
        }
        Arguments::Test(which) => {
            for control in load(which.controls.as_deref())? {
                let faults = trial(&control)?;
                let word = if faults.is_empty() { "ok" } else { "refused" };
                writeln!(out, "{:<6} {word}", control.id)?;
                for fault in &faults {
                    code = ExitCode::from(1);
                    writeln!(out, "       {fault}")?;
                }
            }
        }
    }
    out.flush()?;
    Ok(code)
}
