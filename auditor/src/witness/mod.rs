//! `witness`: cosigns the checkpoints of logs (c2sp.org/tlog-witness), so that nobody can show
//! two histories of one log, whoever has its key. It sees sizes and roots, and nothing else.
//!
//! The only part of the auditor that listens on a network.

mod book;
mod evidence;
mod files;
mod serve;
mod service;

use std::{
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_envelope::sign::{FileSigner, Signer as _};
use gatehouse_ledger::{clock::SystemClock, cosign::WitnessKey, names};

use crate::{cli::Failure, verify::read_trust};
use book::{Book, write_mark};
use evidence::Evidence;
use service::{Logs, Witness};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the public key as a line of a trust file; make the key first if there is none.
    Key(Key),
    /// Cosign what is asked for until SIGTERM or SIGINT.
    Serve(Serve),
}

/// The witness's key.
#[derive(Args)]
struct Key {
    /// The witness's name, as trust files and signatures have it: a URL without its scheme that says
    /// who runs it, such as witness.example.org/w1.
    #[arg(long, value_name = "NAME", value_parser = key_name)]
    name: String,
    /// The file of the private key, mode 0600. Beside it, in FILE.mark, stands how much was signed.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

impl Key {
    /// The file beside the key that says how much it has cosigned.
    fn mark(&self) -> PathBuf {
        self.key.with_added_extension("mark")
    }
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    key: Key,
    /// The folder in which the last checkpoints are kept. Only one process can use it.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// A trust file whose `log` lines say which logs are witnessed. What else it says means nothing here.
    #[arg(long, value_name = "FILE")]
    trust: PathBuf,
    /// The log of seals of one data directory, `<deployment>.<16 hex digits>`, besides the one that is
    /// called as the deployment is. Each begins with nothing, so whoever has the deployment's key can
    /// have any history witnessed once under each name: give names that auditors know. Several may be given.
    #[arg(long = "also", value_name = "LOG", value_parser = directory_log)]
    also: Vec<String>,
    /// Where to listen, in plain HTTP: nothing secret is sent, and who asks is known by the log's
    /// signature. Put a proxy before it for TLS.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// How standard error is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Text,
}

pub(crate) fn run(asked: &Arguments) -> Result<ExitCode, Failure> {
    match &asked.command {
        Command::Key(asked) => print_key(asked),
        Command::Serve(asked) => serve(asked),
    }
}

fn print_key(asked: &Key) -> Result<ExitCode, Failure> {
    // With a new key, and never again: nothing was cosigned by it.
    if !asked.key.try_exists()? {
        if let Some(folder) = asked.key.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_mark(&asked.mark(), 0).map_err(|error| failed(&asked.mark(), &error.to_string()))?;
    }
    let signer = FileSigner::open_or_create(&asked.key, &asked.name)
        .map_err(|error| failed(&asked.key, &with_source(&error)))?;
    let key = WitnessKey::of(&signer).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "witness {} {key}", asked.name)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn serve(asked: &Serve) -> Result<ExitCode, Failure> {
    let trust = read_trust(&asked.trust)?;
    let Key { name, key: path } = &asked.key;
    let signer =
        FileSigner::open(path, name).map_err(|error| failed(path, &with_source(&error)))?;
    let key = WitnessKey::of(&signer).map_err(|error| Failure::Usage(error.to_string()))?;
    // A log that witnesses itself has no witness.
    let own = |log: &gatehouse_ledger::note::Key| log.public() == &signer.public();
    if trust.logs.iter().any(own) {
        return Err(Failure::Usage("the witness's key is that of a log".into()));
    }
    let book = Book::open(&asked.state, &asked.key.mark(), &key.to_string())
        .map_err(|error| failed(&asked.state, &error.to_string()))?;
    tell_in(asked.log);
    let evidence = Evidence::new(&asked.state);
    let clock = Arc::new(SystemClock::new());
    if !asked.also.is_empty() {
        tracing::warn!(logs = ?asked.also, "logs of single data directories are witnessed");
    }
    let logs = Logs {
        trust,
        also: asked.also.clone(),
    };
    let witness = Witness::new(logs, Box::new(signer), key, book, evidence, clock);
    serve::run(asked.listen, Arc::new(witness))
        .map_err(|error| Failure::Read(format!("{}: {error}", asked.listen)))?;
    Ok(ExitCode::SUCCESS)
}

/// Structured lines on standard error.
fn tell_in(format: Format) {
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false);
    // Only the first call in a process has an effect, and this is the only one.
    let _set = match format {
        Format::Json => lines.json().try_init(),
        Format::Text => lines.with_ansi(false).try_init(),
    };
}

fn failed(path: &Path, why: &str) -> Failure {
    Failure::Read(format!("{}: {why}", path.display()))
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn directory_log(text: &str) -> Result<String, String> {
    match (names::deployment_of_seals(text), text.contains('.')) {
        (Some(_), true) => Ok(text.to_owned()),
        _ => Err("a deployment, a dot and 16 lower-case hex digits".to_owned()),
    }
}

fn key_name(text: &str) -> Result<String, String> {
    if text.contains("://") || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            "a URL without its scheme, in ASCII, such as witness.example.org/w1".to_owned(),
        );
    }
    WitnessKey::new(text, [0; 32])
        .map(|_| text.to_owned())
        .map_err(|_| "not empty, and without spaces and plus signs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_url_without_its_scheme() {
        for name in ["witness.example.org/w1", "w", "127.0.0.1:8090/a"] {
            assert_eq!(key_name(name).as_deref(), Ok(name));
        }
        for name in [
            "",
            "a b",
            "a+b",
            "https://witness.example.org/w1",
            "wit\u{e9}",
            "a\tb",
        ] {
            assert!(key_name(name).is_err(), "{name}");
        }
    }
}
