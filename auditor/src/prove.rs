//! `prove` and `check-proof`: one session shown to somebody who gets to see no other.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use gatehouse_ledger::{
    clock::rfc3339,
    disclose::{self, Checked, DiscloseError, check, disclose},
    store::{Dir, LedgerStore},
    trust::Trust,
    verify::{Verdict, Verifier},
};
use serde_json::{Value, json};

use crate::{
    cli::Failure,
    export::{Export, Exported, Recording, Staged, digest_of, digest_of_folder},
    place::{Demanded, Places, folder},
    progress::Bar,
    verify::{self, printable, read_trust, word},
};

/// What was typed after `prove`.
#[derive(clap::Args)]
pub(crate) struct Prove {
    #[command(flatten)]
    at: Places,
    #[command(flatten)]
    demanded: Demanded,
    /// The session's public reference, `s_…`.
    #[arg(long, value_name = "s_…", value_parser = crate::cli::reference("s_"))]
    session: String,
    /// The trust file: the log is verified first, and nothing of a broken one is shown.
    #[arg(long, value_name = "FILE")]
    trust: PathBuf,
    /// Where to put the proof: a folder that is new, or empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    recording: Recording,
}

/// What was typed after `check-proof`.
#[derive(clap::Args)]
pub(crate) struct CheckProof {
    /// The folder that `prove` made.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The trust file, from somebody else than whoever made the proof.
    #[arg(long, value_name = "FILE")]
    trust: PathBuf,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// Makes the proof, checks it as its receiver will, and says what that gives.
pub(crate) fn prove(asked: &Prove) -> Result<ExitCode, Failure> {
    let trust = read_trust(&asked.trust)?;
    asked.at.apart([asked.out.clone()], &asked.recording)?;
    let log = asked.at.open()?;
    let mut bar = Bar::new("segments");
    let report = Verifier::new(Some(&trust))
        .locks(asked.demanded.locks())
        .verify(log.as_ref(), |progress| {
            bar.show(progress.segments, progress.of)
        });
    drop(bar);
    let note = match report.verdict() {
        Verdict::Holds => None,
        Verdict::Broken => Some("the log is broken, and nothing of it is shown: see verify"),
        Verdict::CouldNotTell => Some("not everything in the log could be told: see verify"),
    };
    if let Some(note) = note {
        writeln!(io::stderr(), "gatehouse-auditor: {note}")?;
    }
    if report.verdict() == Verdict::Broken {
        return Ok(ExitCode::from(Verdict::Broken as u8));
    }
    let staged = Staged::new(&asked.out)?;
    let store = Dir::new(staged.path());
    let mut put = |name: &str, bytes: &[u8]| {
        let put = store.put_once(name, bytes);
        put.map_err(|error| {
            io::Error::other(format!("{}: {error}", asked.out.join(name).display()))
        })
    };
    put(disclose::README, README.as_bytes())
        .map_err(DiscloseError::from)
        .and_then(|()| disclose(log.as_ref(), &trust, &asked.session, &mut put))
        .map_err(|error| Failure::Read(error.to_string()))?;
    let checked = check(&store, &trust);
    if checked.report.verdict() == Verdict::Broken {
        // The log was changed while it was read. What does not hold is not given to anybody.
        say(&checked, false)?;
        return Ok(ExitCode::from(Verdict::Broken as u8));
    }
    let export = Export {
        trust: Some(digest_of(&asked.trust)?),
        session: Some(asked.session.clone()),
        records: Some(checked.report.records + checked.outside),
        sessions: Some(1),
        digest: Some(digest_of_folder(staged.path())?),
        ..Export::of(Exported::Prove)
    };
    asked.recording.record(&export)?;
    staged.keep()?;
    say(&checked, false)?;
    writeln!(io::stdout(), "{}", asked.out.display())?;
    Ok(ExitCode::from(checked.report.verdict() as u8))
}

/// Checks a proof.
pub(crate) fn check_proof(asked: &CheckProof) -> Result<ExitCode, Failure> {
    let trust: Trust = read_trust(&asked.trust)?;
    let checked = check(&folder(&asked.folder)?, &trust);
    say(&checked, asked.json)?;
    Ok(ExitCode::from(checked.report.verdict() as u8))
}

fn say(checked: &Checked, as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        writeln!(out, "{}", to_json(checked))?;
    } else {
        out.write_all(to_text(checked).as_bytes())?;
    }
    out.flush()
}

fn to_text(checked: &Checked) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    let report = &checked.report;
    let (verdict, session) = (word(report.verdict()), session(checked));
    line(&format!(
        "{verdict}: {} records of {session}",
        report.records
    ));
    if let (Some(last), Some((first_us, last_us))) = (checked.last, checked.times_us) {
        let (from, to, kind) = (rfc3339(first_us), rfc3339(last_us), &checked.last_kind);
        line(&format!("  from {from} to {to}"));
        line(&format!(
            "  the last one here is number {last}, {}: what came behind it would not be missed",
            printable(kind)
        ));
    }
    if checked.outside > 0 {
        let outside = checked.outside;
        line(&format!(
            "  and {outside} about it outside of its chain: whether there are more of these is not shown"
        ));
    }
    let sealed = checked.sealed;
    line(&match checked.sealed_us {
        Some(us) => format!("  {sealed} of them sealed, the last by {}", rfc3339(us)),
        None => "  none of them sealed".to_owned(),
    });
    if let Some(seconds) = checked.witnessed_s {
        let time = rfc3339(seconds.saturating_mul(1_000_000));
        line(&format!(
            "  witnesses had cosigned those seals by {time}, by their own clocks"
        ));
    }
    verify::entries("broken", &report.faults, |it| Some(it.class()), &mut |it| {
        line(&it)
    });
    verify::entries(
        "could not tell",
        &report.doubts,
        |it| Some(it.class()),
        &mut |it| line(&it),
    );
    verify::entries("noted", &report.findings, |_| None, &mut |it| line(&it));
    out
}

fn session(checked: &Checked) -> String {
    let session = checked.session.as_deref();
    session.map_or_else(|| "no session".to_owned(), printable)
}

fn to_json(checked: &Checked) -> Value {
    let report = &checked.report;
    json!({
        "verdict": word(report.verdict()),
        "exit": report.verdict() as u8,
        "session": checked.session,
        "records": report.records,
        "outside": checked.outside,
        "last": checked.last,
        "last_kind": checked.last.map(|_| &checked.last_kind),
        "from": checked.times_us.map(|(first_us, _)| rfc3339(first_us)),
        "to": checked.times_us.map(|(_, last_us)| rfc3339(last_us)),
        "sealed": checked.sealed,
        "sealed_until": checked.sealed_us.map(rfc3339),
        "witnessed_until": checked.witnessed_s.map(|it| rfc3339(it.saturating_mul(1_000_000))),
        "broken": verify::list(&report.faults, |it| Some(it.class())),
        "could_not_tell": verify::list(&report.doubts, |it| Some(it.class())),
        "noted": verify::list(&report.findings, |_| None),
        "more": report.more,
    })
}

const README: &str = "\
One session of an audit log of Gatehouse, with proofs that the log holds it.

session/N.json         the session's record number N, byte for byte as it stands in the log
session/N.tlog-proof   leads from that record to a signed checkpoint of its stream
outside/W/N.json       record number N of stream W: about the session, without a number in it
outside/W/N.tlog-proof leads from that record to a signed checkpoint of its stream
cert/W.dsse.json       the key of stream W, certified by the deployment's key
seal/L/N.json          a seal: what every stream had come to at that time
seal/L/N.tlog-proof    leads from that seal to a checkpoint of the log of seals

Check it, without a network, against a trust file that you did not get from the same hand:

    gatehouse-auditor check-proof . --trust trust.policy

A proof has the form of c2sp.org/tlog-proof@v1, over RFC 6962 hashes; a record is the leaf as it is,
without a newline. docs/audit-log.md of Gatehouse says how to check all of it with other tools.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_outside_of_the_chain_is_counted_apart() {
        let mut checked = Checked::default();
        assert!(!to_text(&checked).contains("outside"));
        checked.outside = 2;
        let text = to_text(&checked);
        assert!(
            text.contains("\n  and 2 about it outside of its chain: "),
            "{text}"
        );
        assert!(text.starts_with("holds: 0 records of no session\n"));
        let json = to_json(&checked);
        assert_eq!((&json["records"], &json["outside"]), (&0.into(), &2.into()));
    }
}
