//! `gatehouse demo`: a scripted support conversation through a real listener to a real (if small)
//! provider; then the auditor reads the log that it left and writes a report.
//!
//! Every claim that the demo prints is checked on the bytes first, so a demo that ends well has
//! shown what it says.

mod agent;
mod claims;
mod columns;
mod provider;
mod script;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use bytes::Bytes;

use crate::config::{Config, Environment, Overrides};
use crate::serve;

use agent::Agent;
use provider::Provider;
use script::{NAME, PRIVATE, Turn};

/// Where the demo runs.
pub struct Stage<'p> {
    /// An empty folder, for the gateway's data.
    pub folder: &'p Path,
    /// An empty folder, for the report. It stays, so that it can be read.
    pub report: &'p Path,
    /// The auditor's binary.
    pub auditor: &'p Path,
    /// The directory whose `model/` holds the local model; `None` to go without it.
    pub model: Option<&'p Path>,
    /// The terminal's width in columns; `None` if the output is no terminal.
    pub width: Option<usize>,
}

/// Why the demo did not show what it should.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The auditor found fault with the log, or could not be run.
    #[error("the auditor: {0}")]
    Auditor(String),
    /// A claim of the demo's does not hold.
    #[error("in \"{turn}\": {claim}")]
    Claim {
        /// The turn's title.
        turn: &'static str,
        /// What does not hold.
        claim: String,
    },
    /// The gateway, the provider or the agent did not work.
    #[error("{0}")]
    Failed(String),
    /// The screen or the folder could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs the whole demo.
///
/// # Errors
/// As soon as anything that it shows does not hold.
pub async fn run(stage: &Stage<'_>, out: &mut impl Write) -> Result<(), DemoError> {
    let provider = Provider::start().await?;
    let config = configuration(stage, &provider)?;
    let data = config.data_dir.clone();
    let mut gateway = serve::up(config).await.map_err(failed)?;
    let key = gateway.take_first_key();
    let key = key.ok_or_else(|| DemoError::Failed("no first key was made".to_owned()))?;
    let mut agent = Agent::new(gateway.address(), key);
    let session = agent.open_session().await.map_err(DemoError::Failed)?;
    writeln!(
        out,
        "A gateway on http://{}, session {session}.\n",
        gateway.address()
    )?;
    let turns = script::turns();
    for (number, turn) in turns.iter().enumerate() {
        show(number + 1, turn, &mut agent, &provider, stage.width, out).await?;
    }
    gateway.stop().await;
    provider.stop();
    let (values, requests) = (PRIVATE.len(), turns.len());
    writeln!(
        out,
        "Checked: none of the {values} private values was in any of the {requests} requests that \
         the provider\nsaw, and every one that the model used came back.\n",
    )?;
    audit(stage, &data, &session, out)
}

/// One turn: said, shown, and held to the demo's claims.
async fn show(
    number: usize,
    turn: &Turn,
    agent: &mut Agent,
    provider: &Provider,
    width: Option<usize>,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let reply = agent.say(turn).await.map_err(DemoError::Failed)?;
    let seen = provider.seen().pop().unwrap_or_default();
    let form = if turn.stream { ", streamed" } else { "" };
    writeln!(out, "{number}. {}{form}\n", turn.title)?;
    let columns = [
        ("The agent sent", turn.message.text()),
        ("The provider saw", &last_message(&seen)),
        ("The agent got back", &reply.shown),
    ];
    writeln!(out, "{}", columns::lay_out(&columns, width))?;
    claims::check(turn, &seen, &reply).map_err(|claim| DemoError::Claim {
        turn: turn.title,
        claim,
    })
}

/// The text of the last message in a request, as the provider read it.
fn last_message(seen: &Bytes) -> String {
    let body: serde_json::Value = serde_json::from_slice(seen).unwrap_or_default();
    let messages = body.get("messages").and_then(serde_json::Value::as_array);
    let last = messages.and_then(|messages| messages.last()?.get("content")?.as_str());
    last.unwrap_or_default().to_owned()
}

/// The demo's configuration is a file like any other, with a policy that knows one name.
fn configuration(stage: &Stage<'_>, provider: &Provider) -> Result<Config, DemoError> {
    let folder = stage.folder;
    let policy = format!("[[dictionary]]\nlabel = \"PERSON\"\nterms = [{NAME:?}]\n");
    std::fs::write(folder.join("redaction.toml"), policy)?;
    let text = format!(
        "config_version = 1\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n\
         data_dir = \"data\"\nredaction = \"redaction.toml\"\n\
         [ledger]\nappend_timeout = \"10s\"\n\
         [[provider]]\nname = \"demo\"\nprotocol = \"openai\"\nbase_url = {:?}\n",
        provider.base_url(),
    );
    let surroundings = Environment::new(|_| None, folder);
    let overrides = Overrides {
        no_model: stage.model.is_none(),
        ..Overrides::default()
    };
    let mut config = Config::parse(&text, &overrides, &surroundings).map_err(failed)?;
    if let (Some(model), Some(home)) = (&mut config.model, stage.model) {
        model.home = home.to_owned();
    }
    Ok(config)
}

/// Lets the auditor read the log, beside a gateway that no longer runs: verify it, show a session,
/// run the controls, write the evidence. Each must end well, so no control that is not optional may be without its
/// pass.
fn audit(
    stage: &Stage<'_>,
    data: &Path,
    session: &str,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let trust = ["--trust", "DATA/trust.policy"];
    let auditor = Auditor { stage, data };
    auditor.ask("verify", &trust, out)?;
    let lines = auditor.ask("timeline", &["--session", session], out)?;
    if lines < 2 * script::turns().len() {
        return Err(DemoError::Auditor("the timeline lacks records".to_owned()));
    }
    auditor.ask("scan", &trust, out)?;
    let places = ["--out", "REPORT", "--key", "KEY", "--record", "AUDITOR"];
    let evidence = trust.into_iter().chain(places);
    auditor.ask("evidence", &evidence.collect::<Vec<_>>(), out)?;
    let report = stage.report.join("report.html");
    if !report.is_file() {
        return Err(DemoError::Auditor("there is no report".to_owned()));
    }
    Ok(())
}

/// The auditor's binary, at the demo's log.
struct Auditor<'s> {
    stage: &'s Stage<'s>,
    data: &'s Path,
}

impl Auditor<'_> {
    /// Runs a command as it is shown, shows what it says, and counts the lines. AUDITOR (a log of the
    /// auditor's own, of its exports), DATA, KEY and REPORT stand for places whose names would break the lines.
    fn ask(
        &self,
        verb: &str,
        arguments: &[&str],
        out: &mut impl Write,
    ) -> Result<usize, DemoError> {
        let mut command = Command::new(self.stage.auditor);
        command.arg(verb).arg(self.data.join("ledger"));
        for word in arguments {
            match *word {
                "AUDITOR" => command.arg(self.stage.folder.join("auditor")),
                "DATA/trust.policy" => command.arg(self.data.join("trust.policy")),
                "KEY" => command.arg(self.stage.folder.join("auditor.key")),
                "REPORT" => command.arg(self.stage.report),
                word => command.arg(word),
            };
        }
        let shown = arguments.join(" ");
        writeln!(out, "$ gatehouse-auditor {verb} DATA/ledger {shown}")?;
        let lines = said(&mut command, out)?;
        writeln!(out)?;
        Ok(lines)
    }
}

/// Runs the auditor, shows what it says, and counts the lines.
fn said(command: &mut Command, out: &mut impl Write) -> Result<usize, DemoError> {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output()?;
    out.write_all(&stdout)?;
    out.write_all(&stderr)?;
    if !status.success() {
        return Err(DemoError::Auditor(format!("ended with {status}")));
    }
    Ok(stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count())
}

fn failed(error: impl std::fmt::Display) -> DemoError {
    DemoError::Failed(error.to_string())
}
