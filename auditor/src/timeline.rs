//! `timeline`: the records of one session or request, in order.

use std::{collections::HashSet, path::PathBuf, process::ExitCode};

use gatehouse_ledger::{
    clock::rfc3339,
    read::{Entry, records},
    store::Fetcher,
};
use serde_json::Value;

use crate::{
    cli::{Failure, note},
    export::{Export, Exported, Recording},
    place::Places,
};

/// Fields that are shown apart, or say nothing to a reader.
const NOT_SHOWN: [&str; 5] = ["kind", "sid", "rid", "sseq", "sprev"];

/// Whose records.
pub(crate) enum What {
    /// One request's.
    Request(String),
    /// One session's, and those of sessions in its run.
    Session(String),
}

impl What {
    fn includes(&self, entry: &Entry<'_>) -> bool {
        match self {
            Self::Request(id) => entry.request == Some(id.as_str()),
            Self::Session(id) => {
                [entry.session, entry.run].contains(&Some(id.as_str()))
                    || (entry.session.is_none() && entry.outside == Some(id.as_str()))
            }
        }
    }
}

struct Row {
    unix_us: u64,
    session: String,
    sseq: Option<u64>,
    line: String,
    text: String,
}

impl Row {
    fn place(&self) -> (&str, bool, Option<u64>, u64) {
        (&self.session, self.sseq.is_none(), self.sseq, self.unix_us)
    }
}

/// How the records are given out.
#[derive(clap::Args)]
pub(crate) struct Given {
    /// The records as they stand in the log, one a line.
    #[arg(long)]
    json: bool,
    /// Write them to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    recording: Recording,
}

impl Given {
    /// Nothing of it may be written into the log.
    pub(crate) fn apart(&self, log: &Places) -> Result<(), Failure> {
        log.apart(self.out.clone(), &self.recording)
    }
}

/// Writes the records; exit code 2 if there are none, or if parts of the log could not be read.
pub(crate) fn run(log: &dyn Fetcher, what: &What, given: &Given) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    let unread = records(log, |entry| {
        if what.includes(entry) {
            rows.push(row(entry));
        }
    })
    .map_err(|error| Failure::Read(error.to_string()))?;
    // A session's own numbers are its order; clocks of different replicas may disagree.
    // What stands outside of its chain comes behind it.
    rows.sort_by(|a, b| a.place().cmp(&b.place()));
    let out = given.out.as_deref();
    let export = export(what, &rows);
    given.recording.deliver(out, export, |out| {
        for row in &rows {
            writeln!(out, "{}", if given.json { &row.line } else { &row.text })?;
        }
        Ok(())
    })?;
    for name in &unread {
        note(&format!("{name} could not be read; run verify"));
    }
    if rows.is_empty() {
        note("no such record");
    }
    let whole = unread.is_empty() && !rows.is_empty();
    Ok(ExitCode::from(if whole { 0 } else { 2 }))
}

fn export(what: &What, rows: &[Row]) -> Export {
    let sessions: HashSet<&str> = rows.iter().map(|row| row.session.as_str()).collect();
    let (session, request) = match what {
        What::Request(id) => (None, Some(id.clone())),
        What::Session(id) => (Some(id.clone()), None),
    };
    Export {
        session,
        request,
        records: Some(rows.len() as u64),
        sessions: Some(sessions.len() as u64),
        ..Export::of(Exported::Timeline)
    }
}

fn row(entry: &Entry<'_>) -> Row {
    let sseq = entry
        .sseq
        .map_or_else(|| "-".to_owned(), |sseq| sseq.to_string());
    let text = format!(
        "{}  {sseq:>4}  {:<18}  {:<28}  {}",
        rfc3339(entry.unix_us),
        entry.kind,
        entry.request.unwrap_or("-"),
        details(entry.event)
    );
    Row {
        unix_us: entry.unix_us,
        session: entry
            .session
            .or(entry.outside)
            .unwrap_or_default()
            .to_owned(),
        sseq: entry.sseq,
        line: entry.line.to_owned(),
        text,
    }
}

/// The scalars of an event as `path=value`; digests are left to `--json`.
fn details(event: &str) -> String {
    let mut out = Vec::new();
    if let Ok(Value::Object(fields)) = serde_json::from_str(event) {
        for (key, value) in fields
            .iter()
            .filter(|(key, _)| !NOT_SHOWN.contains(&key.as_str()))
        {
            scalars(key, value, &mut out);
        }
    }
    out.join(" ")
}

fn scalars(path: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(key, value)| scalars(&format!("{path}.{key}"), value, out));
        }
        Value::Array(items) => {
            out.extend(items.iter().map(|item| format!("{path}={}", pair(item))))
        }
        Value::String(text) if !is_digest(text) => {
            out.push(format!("{path}={}", text.escape_debug()));
        }
        Value::String(_) | Value::Null => {}
        Value::Bool(_) | Value::Number(_) => out.push(format!("{path}={value}")),
    }
}

/// An item of a list, such as a label and its count, in short.
fn pair(item: &Value) -> String {
    match item {
        Value::Object(fields) => {
            let parts = fields.values().map(|value| match value {
                Value::String(text) => text.escape_debug().to_string(),
                other => other.to_string(),
            });
            parts.collect::<Vec<_>>().join(":")
        }
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    }
}

fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_short_and_safe_to_show() {
        let event = r#"{"kind":"x","sid":"s_1","red":{"visited":3,"found":[{"label":"EMAIL","n":2}]},"h":"sha256:0000000000000000000000000000000000000000000000000000000000000000","t":"a\u001bb","ok":true}"#;
        let shown = details(event);
        assert!(shown.contains("red.visited=3"), "{shown}");
        assert!(shown.contains("red.found=EMAIL:2"), "{shown}");
        assert!(shown.contains("ok=true"), "{shown}");
        assert!(
            !shown.contains("0000") && !shown.contains('\u{1b}'),
            "{shown}"
        );
    }
}
