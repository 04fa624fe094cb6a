//! The command line: what was typed, and what it means.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};

use crate::{
    controls, diff, evidence, payloads,
    place::{Demanded, Places, Reach, open},
    prove, scan, timeline, verify,
};

/// Checks the audit log of Gatehouse, offline.
#[derive(Parser)]
#[command(name = "gatehouse-auditor", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check what prove has made, without the log: exit 0 it holds, 1 it is broken, 2 could not tell.
    CheckProof(prove::CheckProof),
    /// The controls themselves: list them, show their SQL, test them.
    #[command(subcommand)]
    Controls(controls::Arguments),
    /// Say what changed between the prompts of two requests: exit 0 nothing, 1 something, 2 could not
    /// tell. Verifies nothing.
    Diff(Diff),
    /// Run the controls, and write a package of evidence: report, populations, exceptions, manifest.
    Evidence(evidence::Arguments),
    /// Show one session to somebody who gets to see no other: its records, with proofs that the log
    /// holds them. Ends as check-proof does.
    Prove(prove::Prove),
    /// Run the controls: exit 0 all pass, 1 exceptions, 2 could not tell.
    Scan(scan::Arguments),
    /// Open the sealed payloads that a log names, and search them with today's detectors: exit 0 nothing
    /// found, 1 something, 2 could not tell. Says what and where, never the text.
    Rescan(payloads::Arguments),
    /// Say what a log proves: exit 0 it holds, 1 it is broken, 2 could not tell.
    Verify(Verify),
    /// Show the records of one session or request in order. Verifies nothing.
    Timeline(Timeline),
    /// Cosign the checkpoints of logs, so that none can have two histories: a server, and its key.
    #[cfg(feature = "witness")]
    Witness(crate::witness::Arguments),
}

#[derive(Args)]
struct Verify {
    #[command(flatten)]
    at: Places,
    #[command(flatten)]
    demanded: Demanded,
    /// The trust file, from where nobody who runs the gateway can change it. Without one the
    /// signer is unknown, and the exit code 2 at best.
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// Certificates in PEM of those who issue certificates to time stamp authorities. With it, time
    /// stamps by one of these are demanded.
    #[arg(long, value_name = "FILE")]
    tsa: Option<PathBuf>,
    /// Where the sealed payloads are that the log names: a folder, or s3://BUCKET/PREFIX, reached as the
    /// log is. They are compared with the log, too; no key is needed.
    #[arg(long, value_name = "PLACE")]
    payloads: Option<PathBuf>,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Diff {
    /// Where the log is: a folder, or s3://BUCKET/PREFIX.
    place: PathBuf,
    #[command(flatten)]
    reach: Reach,
    /// The earlier request, `r_…`.
    #[arg(value_name = "r_…", value_parser = reference("r_"))]
    before: String,
    /// The later one, of the same session.
    #[arg(value_name = "r_…", value_parser = reference("r_"))]
    after: String,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Timeline {
    #[command(flatten)]
    at: Places,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    given: timeline::Given,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// A session's public reference, `s_…`.
    #[arg(long, value_name = "s_…", value_parser = reference("s_"))]
    session: Option<String>,
    /// A request's id, `r_…`.
    #[arg(long, value_name = "r_…", value_parser = reference("r_"))]
    request: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The log could not be read.
    #[error("{0}")]
    Read(String),
    /// What was typed makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The answer could not be written.
    #[error("standard output: {0}")]
    Write(#[from] io::Error),
}

/// Does what was asked, and says with which code to exit.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::CheckProof(asked) => prove::check_proof(&asked),
        Command::Controls(asked) => controls::run(&asked),
        Command::Diff(asked) => {
            let log = open(&asked.place, &asked.reach)?;
            diff::run(log.as_ref(), (&asked.before, &asked.after), asked.json)
        }
        Command::Evidence(asked) => evidence::run(&asked),
        Command::Prove(asked) => prove::prove(&asked),
        Command::Rescan(asked) => payloads::run(&asked),
        Command::Scan(asked) => scan::run(&asked),
        Command::Verify(asked) => {
            let log = asked.at.open()?;
            let locks = asked.demanded.locks();
            let place = asked.payloads.as_deref();
            let payloads = place
                .map(|place| open(place, &asked.at.reach))
                .transpose()?;
            let by = verify::By {
                trust: asked.trust.as_deref(),
                authorities: asked.tsa.as_deref(),
                locks,
                payloads: payloads.as_deref(),
            };
            verify::run(log.as_ref(), &by, asked.json)
        }
        Command::Timeline(asked) => {
            asked.given.apart(&asked.at)?;
            let log = asked.at.open()?;
            let what = match (asked.what.session, asked.what.request) {
                (Some(session), _) => timeline::What::Session(session),
                (None, Some(request)) => timeline::What::Request(request),
                (None, None) => return Err(Failure::Usage("--session or --request".into())),
            };
            timeline::run(log.as_ref(), &what, &asked.given)
        }
        #[cfg(feature = "witness")]
        Command::Witness(asked) => crate::witness::run(&asked),
    }
}

/// Tells whoever runs the program something beside the answer. A standard error that takes nothing
/// changes no answer.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "gatehouse-auditor: {text}");
}

/// A value that is an id with this prefix.
pub(crate) fn reference(
    prefix: &'static str,
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |text| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        match text.strip_prefix(prefix) {
            Some(rest) if !rest.is_empty() && rest.chars().all(plain) => Ok(text.to_owned()),
            _ => Err(format!(
                "begins with {prefix} and goes on with letters and digits"
            )),
        }
    }
}
