//! The command line: what was typed, and which exit status comes of it.
//!
//! 0: done. 1: it failed, or what was looked at does not hold. 2: could not tell. 64: wrong use,
//! or a configuration with faults.

mod blocks;
mod check;
mod demo;
mod detect;
mod explain;
mod headed;
mod health;
mod key;
mod keys;
mod listing;
mod model;
mod output;
mod redact;
mod search;
mod session;
mod sources;
mod targets;
mod up;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use output::Output;

use crate::config::{Config, Environment, Faults, Overrides, Redaction};

/// Stands between AI agents and the model providers that they call.
#[derive(Parser)]
#[command(name = "gatehouse", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the gateway.
    Up(up::Arguments),
    /// Show a whole conversation: what the agent sent, what the provider saw, what came back.
    Demo(demo::Arguments),
    /// List every fault of a configuration file.
    Check(check::Arguments),
    /// Say where personal data and secrets stand in standard input, files or folders, or in documents
    /// of JSON lines.
    Detect(detect::Arguments),
    /// Ask the gateway that runs here whether it is ready: exit 0 if it is, 1 if not.
    Health(health::Arguments),
    /// Replace what is found in standard input, files or folders, and write the rest as it is.
    Redact(redact::Arguments),
    /// Make, list and revoke callers' keys.
    #[command(subcommand)]
    Key(key::Command),
    /// Change the keys that sessions are sealed under.
    #[command(subcommand)]
    Keys(keys::Command),
    /// Show and end sessions.
    #[command(subcommand)]
    Session(session::Command),
    /// Install or verify the local model.
    #[command(subcommand)]
    Model(model::Command),
}

impl Command {
    /// Whether it failed if nobody reads its output: what is shown once, or is to last.
    fn must_be_read(&self) -> bool {
        matches!(
            self,
            Command::Up(_) | Command::Demo(_) | Command::Key(key::Command::Create(_))
        )
    }
}

/// Why a command ended without doing what it should.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong use: status 64.
    Usage(String),
    /// It failed: status 1.
    Failed(String),
}

impl Failure {
    /// A failure with its cause.
    pub(crate) fn of(what: &str, cause: impl std::fmt::Display) -> Failure {
        Failure::Failed(format!("{what}: {cause}"))
    }

    fn status(&self) -> u8 {
        match self {
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 64,
        }
    }

    fn message(&self) -> &str {
        match self {
            Failure::Failed(message) | Failure::Usage(message) => message,
        }
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Failure {
        Failure::Usage(faults.to_string())
    }
}

/// Writing failed: the reader of a pipe went away, or a disk is full.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Failed(error.to_string())
    }
}

/// Runs the command that the arguments (program name first) ask for.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| panicked(panic.location())));
    let mut output = Output::of_process();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let wrong = error.use_stderr();
            // To a closed terminal nothing more can be said.
            let _ = error.print();
            return ExitCode::from(if wrong { 64 } else { 0 });
        }
    };
    let must_be_read = arguments.command.must_be_read();
    let result = match arguments.command {
        Command::Up(arguments) => up::run(arguments, &mut output),
        Command::Check(arguments) => check::run(&arguments, &mut output),
        Command::Demo(arguments) => demo::run(&arguments, &mut output),
        Command::Detect(arguments) => detect::run(arguments, &mut output),
        Command::Health(arguments) => health::run(&arguments, &mut output),
        Command::Redact(arguments) => redact::run(&arguments, &mut output),
        Command::Key(command) => key::run(command, &mut output),
        Command::Keys(command) => keys::run(command, &mut output),
        Command::Session(command) => session::run(command, &mut output),
        Command::Model(command) => model::run(&command, &mut output),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if output.is_unread() && !must_be_read => ExitCode::SUCCESS,
        Err(failure) => {
            output.complain(failure.message());
            ExitCode::from(failure.status())
        }
    }
}

/// A panic's message may quote the text that caused it, so only its place is told.
fn panicked(place: Option<&std::panic::Location<'_>>) {
    let place = place.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    if tracing::dispatcher::has_been_set() {
        tracing::error!(place, "panicked");
    } else {
        Output::of_process().complain(&format!("panicked at {place}"));
    }
}

/// The configuration of a command that takes `--config FILE`.
fn configuration(file: Option<&Path>, overrides: &Overrides) -> Result<Config, Failure> {
    let environment = Environment::of_process();
    let config = match file {
        Some(file) => Config::load(file, overrides, &environment)?,
        None => Config::from_environment(overrides, &environment)?,
    };
    Ok(config)
}

/// The redaction policy of a command that takes `--config FILE` for it.
fn redaction(file: Option<&Path>) -> Result<Redaction, Failure> {
    let redaction = match file {
        Some(file) => Redaction::load(file, &Environment::of_process())?,
        None => Redaction::built_in()?,
    };
    Ok(redaction)
}

/// The runtime of a command that serves or calls over the network.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Failure::of("the runtime did not start", error))
}
