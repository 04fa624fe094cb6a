//! `gatehouse key`: callers' API keys.

use std::path::PathBuf;

use super::{
    Failure, Output, configuration,
    listing::{json, table},
};
use crate::{
    admin::{self, Answer, KeyView, Request},
    auth::NewCaller,
    clock::rfc3339,
    config::Overrides,
};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Make a key. It goes to standard output, alone, and is never shown again.
    Create(Create),
    /// Show all keys.
    List(List),
    /// Revoke a key: it opens nothing from then on.
    Revoke(Revoke),
}

/// Where the gateway's data is.
#[derive(clap::Args)]
pub(super) struct Place {
    /// The configuration of the gateway.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Its data directory, instead of what the configuration says.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(super) struct Create {
    /// What to call the key.
    #[arg(long)]
    name: String,
    /// Whose it is.
    #[arg(long, default_value = "default")]
    tenant: String,
    /// The agent profile it selects.
    #[arg(long)]
    agent: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
pub(super) struct List {
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
pub(super) struct Revoke {
    /// The key's id (k_…), or its name if only one living key has it.
    key: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(command: Command, output: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Create(it) => create(it, output),
        Command::List(it) => list(&it, output),
        Command::Revoke(it) => revoke(it, output),
    }
}

fn create(it: Create, output: &mut Output) -> Result<(), Failure> {
    let new = NewCaller {
        name: it.name,
        tenant: it.tenant,
        agent: it.agent,
    };
    // Before anything is opened, or made.
    let fit = new.check();
    fit.map_err(|error| Failure::Usage(error.to_string()))?;
    match it.place.ask(Request::KeyCreate(new))? {
        Answer::Created { token, key } => {
            output.note(&format!("key {} for tenant {}", key.id, key.tenant));
            Ok(output.line(&token)?)
        }
        other => Err(unexpected(other)),
    }
}

fn list(it: &List, output: &mut Output) -> Result<(), Failure> {
    match it.place.ask(Request::KeyList {})? {
        Answer::Keys(keys) if it.json => json(&keys, output),
        Answer::Keys(keys) => {
            let head = ["ID", "NAME", "TENANT", "AGENT", "CREATED", "REVOKED"];
            table(&head, keys.iter().map(row), output)
        }
        other => Err(unexpected(other)),
    }
}

fn row(key: &KeyView) -> Vec<String> {
    vec![
        key.id.clone(),
        key.name.clone(),
        key.tenant.clone(),
        key.agent.clone().unwrap_or_else(|| "-".to_owned()),
        rfc3339(key.created_us),
        key.revoked_us.map_or_else(|| "-".to_owned(), rfc3339),
    ]
}

fn revoke(it: Revoke, output: &mut Output) -> Result<(), Failure> {
    match it.place.ask(Request::KeyRevoke { key: it.key })? {
        Answer::Key(key) => {
            output.note(&format!("key {} is revoked", key.id));
            Ok(())
        }
        other => Err(unexpected(other)),
    }
}

impl Place {
    /// Asks the gateway there, or opens its files.
    pub(super) fn ask(&self, request: Request) -> Result<Answer, Failure> {
        let overrides = Overrides {
            data_dir: self.data.clone(),
            ..Overrides::default()
        };
        let config = configuration(self.config.as_deref(), &overrides)?;
        match admin::ask(&config, self.config.is_some(), request) {
            Ok(Answer::Failed { why }) => Err(Failure::Failed(why)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(Failure::Failed(error.to_string())),
        }
    }
}

pub(super) fn unexpected(_: Answer) -> Failure {
    Failure::Failed("the running gateway answered something else".to_owned())
}
