//! `gatehouse up`: runs the gateway until it is told to stop.

use std::path::PathBuf;

use super::{Failure, Output, configuration};
use crate::config::Overrides;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The configuration. Without it: embedded defaults and the providers whose keys stand in the
    /// environment (OPENAI_API_KEY, ANTHROPIC_API_KEY), else the built-in echo provider.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where sessions, keys and the ledger live, instead of what the configuration says.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The address to listen on, instead of what the configuration says.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Run without the local model. This version has none, so it changes nothing.
    #[arg(long)]
    no_model: bool,
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> Result<(), Failure> {
    let overrides = Overrides {
        data_dir: arguments.data,
        listen: arguments.listen,
    };
    let config = configuration(arguments.config.as_ref(), &overrides)?;
    let _ = (config, output, arguments.no_model);
    Err(Failure::Failed("not yet".to_owned()))
}
