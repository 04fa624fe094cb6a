//! `verify`: what a log proves.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use gatehouse_envelope::{small_file, stamp::Authorities};
use gatehouse_ledger::{
    clock::{Clock, SystemClock, rfc3339},
    store::Fetcher,
    trust::Trust,
    verify::{
        At, Class, Doubt, Fault, Locks, Report, SealReport, State, StreamReport, Verdict, Verifier,
    },
};
use serde_json::{Value, json};

use crate::{
    cli::Failure,
    payloads::{self, Checked},
    proved::Proved,
};

/// Of each kind of entry so many are shown as text; `--json` has more.
const SHOWN: usize = 20;

/// What a log is verified with.
pub(crate) struct By<'a> {
    /// The trust file.
    pub(crate) trust: Option<&'a Path>,
    /// The file of those whose time stamps count.
    pub(crate) authorities: Option<&'a Path>,
    /// What is demanded of locks.
    pub(crate) locks: Locks,
    /// Where the payloads are that the log names.
    pub(crate) payloads: Option<&'a dyn Fetcher>,
}

/// Verifies and writes the report to standard output.
pub(crate) fn run(log: &dyn Fetcher, by: &By<'_>, as_json: bool) -> Result<ExitCode, Failure> {
    let trust = by.trust.map(read_trust).transpose()?;
    let authorities = by.authorities.map(read_authorities).transpose()?;
    let now_us = SystemClock::new().now().unix_us;
    let verifier = Verifier::new(trust.as_ref())
        .authorities(authorities.as_ref())
        .locks(by.locks);
    let proved = Proved::read(log, verifier);
    let payloads = by.payloads;
    let checked = payloads.map(|place| payloads::check(&proved, log, place, now_us));
    let (report, checked) = (&proved.report, checked.transpose()?);
    let verdict = overall(report, checked.as_ref());
    let mut out = io::stdout().lock();
    if as_json {
        let mut json = to_json(report);
        if let (Some(checked), Some(members)) = (&checked, json.as_object_mut()) {
            members.insert("payloads".into(), checked.to_json());
            members.insert("verdict".into(), word(verdict).into());
            members.insert("exit".into(), (verdict as u8).into());
        }
        writeln!(out, "{json}")?;
    } else {
        out.write_all(to_text(report, verdict).as_bytes())?;
        if let Some(checked) = &checked {
            out.write_all(printable_lines(&checked.to_text()).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(verdict as u8))
}

/// The worse of what the log proves and what the payloads are.
fn overall(report: &Report, payloads: Option<&Checked>) -> Verdict {
    let payloads = payloads.map_or(Verdict::Holds, Checked::verdict);
    match (report.verdict(), payloads) {
        (Verdict::Broken, _) | (_, Verdict::Broken) => Verdict::Broken,
        (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
        _ => Verdict::CouldNotTell,
    }
}

pub(crate) fn read_trust(path: &Path) -> Result<Trust, Failure> {
    Trust::parse(&read(path)?).map_err(|error| unusable(path, &error))
}

fn read_authorities(path: &Path) -> Result<Authorities, Failure> {
    Authorities::parse(&read(path)?).map_err(|error| unusable(path, &error))
}

fn read(path: &Path) -> Result<String, Failure> {
    small_file::text(path).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Broken => "broken",
        Verdict::CouldNotTell => "could not tell",
        Verdict::Holds => "holds",
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Broken => "broken",
        State::Closed => "closed",
        State::Open => "open",
        State::Recovered => "recovered",
    }
}

fn to_text(report: &Report, verdict: Verdict) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!(
        "{}: {} records in {} streams, {} sessions",
        word(verdict),
        report.records,
        report.streams.len(),
        report.sessions
    ));
    for stream in &report.streams {
        line(stream_line(stream));
    }
    for seals in &report.seals {
        line(seals_line(seals));
    }
    line(match report.horizon_us() {
        Some(us) => format!("horizon: nothing is proved past {}", rfc3339(us)),
        None => "horizon: nothing is proved".to_owned(),
    });
    if let Some(us) = report.locked_until_us {
        let until = rfc3339(us);
        line(format!("locks: nobody can remove any of it before {until}"));
    }
    if let Some(reason) = &report.reason {
        line(format!("not read: {}", printable(reason)));
    }
    entries("broken", &report.faults, |it| Some(it.class()), &mut line);
    let class = |it: Doubt| Some(it.class());
    entries("could not tell", &report.doubts, class, &mut line);
    entries("noted", &report.findings, |_| None, &mut line);
    if report.more > 0 {
        line(format!("and {} more", report.more));
    }
    out
}

/// A stream, and past which record nothing is proved about it.
fn stream_line(stream: &StreamReport) -> String {
    let (writer, what) = (&stream.writer, state(stream.state));
    let Some(last) = stream.records.checked_sub(1) else {
        return format!("  {writer}: {what}, nothing is proved");
    };
    let time = rfc3339(stream.last_us);
    match stream.state {
        State::Closed | State::Recovered => {
            format!("  {writer}: {what}, whole: records 0 to {last}, until {time}")
        }
        State::Broken | State::Open => {
            let sealed = match stream.sealed.map(|size| size.checked_sub(1)) {
                None => String::new(),
                Some(None) => ", none of them sealed".into(),
                Some(Some(last)) => format!(", sealed up to record {last}"),
            };
            format!("  {writer}: {what}, nothing is proved past record {last} of {time}{sealed}")
        }
    }
}

/// A log of seals: the horizon, past which a stream or the end of one can be missing unseen.
fn seals_line(seals: &SealReport) -> String {
    let log = &seals.log;
    let Some(last) = seals.seals.checked_sub(1) else {
        return format!("  seals of {log}: none");
    };
    let (time, gap) = (rfc3339(seals.last_us), seals.longest_gap_us / 1_000_000);
    let up_to = match seals.broken {
        true => format!("they end at a fault, at {time}"),
        false => format!("they tell of streams removed or cut up to {time}"),
    };
    let mut line = format!("  seals of {log}: 0 to {last}, at most {gap} s apart; {up_to}");
    if let Some(seen) = seals.witnessed {
        let cosigned = rfc3339(seen.cosigned_s.saturating_mul(1_000_000));
        line += &format!("; witnessed up to seal {} at {cosigned}", seen.seal);
    }
    if let Some(stamp) = seals.stamped {
        let stamped = rfc3339(stamp.stamped_us);
        line += &format!("; time stamped up to seal {} at {stamped}", stamp.seal);
    }
    line
}

pub(crate) fn entries<T: std::fmt::Display + Copy>(
    title: &str,
    list: &[At<T>],
    class: impl Fn(T) -> Option<Class>,
    line: &mut dyn FnMut(String),
) {
    for entry in list.iter().take(SHOWN) {
        let class = class(entry.what);
        let class = class.map_or(String::new(), |class| format!(" ({})", class.word()));
        line(format!("{title}{class}: {}", printable(&entry.to_string())));
    }
    if let Some(rest) = list.len().checked_sub(SHOWN).filter(|rest| *rest > 0) {
        line(format!("{title}: and {rest} more"));
    }
}

/// Names come from a store that may be hostile: no control characters reach the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// The same, for text of several lines.
fn printable_lines(text: &str) -> String {
    let lines = text.lines().map(|line| printable(line) + "\n");
    lines.collect()
}

fn to_json(report: &Report) -> Value {
    let streams: Vec<Value> = report
        .streams
        .iter()
        .map(|stream| {
            json!({
                "writer": stream.writer,
                "state": state(stream.state),
                "records": stream.records,
                "proved_to": stream.records.checked_sub(1),
                "proved_until": (stream.records > 0).then(|| rfc3339(stream.last_us)),
                "sealed_to": stream.sealed.and_then(|size| size.checked_sub(1)),
            })
        })
        .collect();
    let seals: Vec<Value> = report.seals.iter().map(seals_json).collect();
    json!({
        "verdict": word(report.verdict()),
        "exit": report.verdict() as u8,
        "records": report.records,
        "bytes": report.bytes,
        "sessions": report.sessions,
        "horizon": report.horizon_us().map(rfc3339),
        "locked_until": report.locked_until_us.map(rfc3339),
        "not_read": report.reason,
        "streams": streams,
        "seals": seals,
        "broken": list(&report.faults, |it: Fault| Some(it.class())),
        "could_not_tell": list(&report.doubts, |it: Doubt| Some(it.class())),
        "noted": list(&report.findings, |_| None),
        "more": report.more,
    })
}

fn seals_json(seals: &SealReport) -> Value {
    json!({
        "log": seals.log,
        "seals": seals.seals,
        "horizon": (seals.seals > 0).then(|| rfc3339(seals.last_us)),
        "longest_gap_us": seals.longest_gap_us,
        "broken": seals.broken,
        "witnessed": seals.witnessed.map(|seen| json!({
            "seal": seen.seal,
            "horizon": rfc3339(seen.unix_us),
            "cosigned": rfc3339(seen.cosigned_s.saturating_mul(1_000_000)),
        })),
        "stamped": seals.stamped.map(|stamp| json!({
            "seal": stamp.seal,
            "horizon": rfc3339(stamp.unix_us),
            "stamped": rfc3339(stamp.stamped_us),
        })),
    })
}

pub(crate) fn list<T: std::fmt::Display + Copy>(
    entries: &[At<T>],
    class: impl Fn(T) -> Option<Class>,
) -> Vec<Value> {
    let entry = |at: &At<T>| {
        let class = class(at.what).map(Class::word);
        let what = at.what.to_string();
        json!({"place": at.place, "seq": at.seq, "what": what, "class": class})
    };
    entries.iter().map(entry).collect()
}
