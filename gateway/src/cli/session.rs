//! `gatehouse session`: what sessions there are, and ending them.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use zeroize::Zeroizing;

use super::{
    Failure, Output,
    key::{Place, unexpected},
    listing::{json, table},
};
use crate::{
    admin::{Answer, GivenKey, Request, bare_word},
    clock::rfc3339,
    session::{Hold as HoldView, SessionView, Spend, is_reference},
};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Destroy a session's key and state, also the key of a session that has ended. Whatever is sealed under
    /// it stays unreadable.
    Erase(One),
    /// Write what opens the sealed payloads of sessions into a file, for `gatehouse-auditor rescan`. The log
    /// says that it was given out.
    Grant(Grant),
    /// Keep a session's key from being destroyed, by an erasure or because its time is over, until `release`:
    /// for a court or an inquiry. The log says so, and of every erasure that is refused.
    Hold(Hold),
    /// Show all sessions on hold.
    Holds(Holds),
    /// Show all sessions.
    List(List),
    /// End the hold that is on a session.
    Release(One),
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
pub(super) struct Grant {
    /// The sessions' references (s_…).
    #[arg(value_name = "s_…", required = true)]
    references: Vec<String>,
    /// The file: new, readable by its owner only. Whoever has it can read what these sessions sent and got.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Who asks, for the record: letters, digits and - _ . : /
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// What for, such as the number of a ticket, for the record.
    #[arg(long, value_name = "WORD")]
    purpose: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(clap::Args)]
pub(super) struct Hold {
    /// Why, such as the number of a case, for the record: letters, digits and - _ . : /
    #[arg(long, value_name = "WORD")]
    reason: String,
    #[command(flatten)]
    one: One,
}

#[derive(clap::Args)]
pub(super) struct Holds {
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
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
            let told = format!(
                "session {reference} is erased: its state and its key are destroyed; what was sealed under it opens only \
                 with keys that were granted before"
            );
            done(
                place.ask(Request::SessionErase { reference })?,
                &told,
                output,
            )
        }
        Command::Grant(it) => grant(it, output),
        Command::Hold(it) => {
            let (reference, place) = it.one.named()?;
            let reason = it.reason;
            fit("reason", Some(&reason))?;
            let told = format!(
                "session {reference} is on hold ({reason}): its key stays until gatehouse session release"
            );
            let request = Request::SessionHold { reference, reason };
            done(place.ask(request)?, &told, output)
        }
        Command::Holds(it) => holds(it, output),
        Command::List(it) => list(it, output),
        Command::Release(it) => {
            let (reference, place) = it.named()?;
            let told = format!(
                "session {reference} is not on hold any more: its key goes at the end of its time, or by an erasure"
            );
            let request = Request::SessionRelease { reference };
            done(place.ask(request)?, &told, output)
        }
        Command::Revoke(it) => {
            let (reference, place) = it.named()?;
            let told = format!(
                "session {reference} is revoked: its state is destroyed, and so is its key unless payloads or a legal \
                 hold keep it"
            );
            let request = Request::SessionRevoke { reference };
            done(place.ask(request)?, &told, output)
        }
        Command::Show(it) => show(it, output),
    }
}

/// The file is made first: what could not be written down must not be given out.
fn grant(it: Grant, output: &mut Output) -> Result<(), Failure> {
    if let Some(odd) = it.references.iter().find(|it| !is_reference(it)) {
        return Err(Failure::Usage(format!("not a session's reference: {odd}")));
    }
    fit("name", it.name.as_deref())?;
    fit("purpose", it.purpose.as_deref())?;
    let mut options = File::options();
    let file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&it.out);
    let mut file = file.map_err(|error| Failure::of(&it.out.display().to_string(), error))?;
    let asked = it.references.len();
    let answer = it.place.ask(Request::PayloadKeys {
        sessions: it.references,
        name: it.name,
        purpose: it.purpose,
    });
    let given = match answer {
        Ok(Answer::PayloadKeys(keys)) => written(&mut file, &keys).map(|()| keys.len()),
        Ok(other) => Err(unexpected(other)),
        Err(failure) => Err(failure),
    };
    match given {
        Ok(given) if given == asked => {
            let file = it.out.display();
            let sessions = if given == 1 { "session" } else { "sessions" };
            output.note(&format!("keys of {given} {sessions} are written to {file}"));
            Ok(())
        }
        Ok(given) => {
            if given == 0 {
                let _removed = std::fs::remove_file(&it.out);
            }
            let lost = asked.saturating_sub(given);
            Err(Failure::Failed(format!(
                "{given} of {asked} sessions were written; {lost} are not known here, or their keys were destroyed before"
            )))
        }
        Err(failure) => {
            let _removed = std::fs::remove_file(&it.out);
            Err(failure)
        }
    }
}

/// What no record may hold is wrong use, whether a gateway runs or not.
fn fit(what: &str, word: Option<&str>) -> Result<(), Failure> {
    let checked = word.map_or(Ok(()), |word| bare_word(what, word));
    checked.map_err(Failure::Usage)
}

fn written(file: &mut File, keys: &[GivenKey]) -> Result<(), Failure> {
    for key in keys {
        let line = Zeroizing::new(serde_json::to_string(key).map_err(io::Error::from)?);
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
    }
    Ok(file.sync_all()?)
}

fn holds(it: Holds, output: &mut Output) -> Result<(), Failure> {
    match it.place.ask(Request::SessionHolds {})? {
        Answer::Holds(holds) if it.json => json(&holds, output),
        Answer::Holds(holds) => {
            let head = ["REFERENCE", "TENANT", "SINCE", "REASON"];
            let row = |hold: &HoldView| {
                let since = rfc3339(hold.since_us);
                let (session, tenant) = (hold.session.clone(), hold.tenant.clone());
                vec![session, tenant, since, hold.reason.clone()]
            };
            table(&head, holds.iter().map(row), output)
        }
        other => Err(unexpected(other)),
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
        ("legal hold", held(session.hold)),
    ] {
        output.line(&format!("{name:<20}{value}"))?;
    }
    Ok(())
}

/// The legal hold on a session.
fn held(hold: Option<HoldView>) -> String {
    hold.map_or_else(
        || "none".to_owned(),
        |hold| format!("since {}: {}", rfc3339(hold.since_us), hold.reason),
    )
}

/// What counts as spent; a later release may count what this one cannot read.
fn tokens(spend: Option<Spend>) -> String {
    spend.map_or_else(|| "?".to_owned(), |spend| spend.tokens().to_string())
}

/// Says what was done, and what is so from now on.
fn done(answer: Answer, told: &str, output: &mut Output) -> Result<(), Failure> {
    match answer {
        Answer::Done {} => {
            output.note(told);
            Ok(())
        }
        other => Err(unexpected(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legal_hold_is_told_in_a_line() {
        let hold = HoldView {
            session: "s_1".to_owned(),
            tenant: "t".to_owned(),
            since_us: 1_795_961_100_000_000,
            reason: "case:1".to_owned(),
        };
        assert_eq!(held(None), "none");
        assert_eq!(
            held(Some(hold)),
            "since 2026-11-29T14:05:00.000000Z: case:1"
        );
    }
}
