//! `gatehouse session`: what sessions there are, and ending them.

use super::{
    Failure, Output,
    key::{Place, unexpected},
    listing::{json, table},
};
use crate::{
    admin::{Answer, Request},
    clock::rfc3339,
    session::{SessionView, Spend, is_reference},
};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Destroy a session's key and state. Whatever is sealed under the key stays unreadable.
    Erase(One),
    /// Show all sessions.
    List(List),
    /// End a session.
    Revoke(One),
    /// Show one session.
    Show(Show),
}

#[derive(clap::Args)]
pub(super) struct One {
    /// The session's reference (s_…).
    reference: String,
    #[command(flatten)]
    place: Place,
}

impl One {
    /// The reference, if it is one, and where to ask.
    fn named(self) -> Result<(String, Place), Failure> {
        let Self { reference, place } = self;
        if is_reference(&reference) {
            Ok((reference, place))
        } else {
            let what = "not a session's reference: s_ and 26 characters";
            Err(Failure::Usage(what.to_owned()))
        }
    }
}

#[derive(clap::Args)]
pub(super) struct List {
    /// Those of one tenant only.
    #[arg(long)]
    tenant: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
pub(super) struct Show {
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    one: One,
}

pub(super) fn run(command: Command, output: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Erase(it) => {
            let (reference, place) = it.named()?;
            done(place.ask(Request::SessionErase { reference })?)
        }
        Command::List(it) => list(it, output),
        Command::Revoke(it) => {
            let (reference, place) = it.named()?;
            done(place.ask(Request::SessionRevoke { reference })?)
        }
        Command::Show(it) => show(it, output),
    }
}

fn list(it: List, output: &mut Output) -> Result<(), Failure> {
    match it.place.ask(Request::SessionList { tenant: it.tenant })? {
        Answer::Sessions(sessions) if it.json => json(&sessions, output),
        Answer::Sessions(sessions) => {
            let head = [
                "REFERENCE",
                "TENANT",
                "PRINCIPAL",
                "CREATED",
                "EXPIRES",
                "STEPS",
            ];
            table(&head, sessions.iter().map(row), output)
        }
        other => Err(unexpected(other)),
    }
}

fn row(session: &SessionView) -> Vec<String> {
    vec![
        session.reference.clone(),
        session.tenant.clone(),
        session.principal.clone(),
        rfc3339(session.created_us),
        rfc3339(session.expires_us),
        session.steps.to_string(),
    ]
}

fn show(it: Show, output: &mut Output) -> Result<(), Failure> {
    let (reference, place) = it.one.named()?;
    let session = match place.ask(Request::SessionShow { reference })? {
        Answer::Session(session) => session,
        other => return Err(unexpected(other)),
    };
    if it.json {
        return json(&session, output);
    }
    for (name, value) in [
        ("reference", session.reference),
        ("tenant", session.tenant),
        ("principal", session.principal),
        ("created", rfc3339(session.created_us)),
        ("expires", rfc3339(session.expires_us)),
        ("ends at the latest", rfc3339(session.absolute_us)),
        ("steps", session.steps.to_string()),
        ("records", session.records.to_string()),
        ("tokens", tokens(session.spend)),
        ("key", session.kid),
    ] {
        output.line(&format!("{name:<20}{value}"))?;
    }
    Ok(())
}

/// What counts as spent; a later release may count what this one cannot read.
fn tokens(spend: Option<Spend>) -> String {
    spend.map_or_else(|| "?".to_owned(), |spend| spend.tokens().to_string())
}

fn done(answer: Answer) -> Result<(), Failure> {
    match answer {
        Answer::Done {} => Ok(()),
        other => Err(unexpected(other)),
    }
}
