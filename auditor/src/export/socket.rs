//! Asking a running gateway over its admin socket: one line of JSON each way.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use gatehouse_envelope::secret::Secret;
use gatehouse_ledger::export::Export;
use serde_json::{Value, json};

use crate::cli::Failure;

/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(90);
/// The longest answer that is read: the keys of as many sessions as are asked for at one time.
const LONGEST: u64 = 1 << 20;
/// Sessions of which keys are asked for at one time. A request is at most 64 KiB.
pub(crate) const AT_ONCE: usize = 500;

/// Has the gateway record an export.
pub(super) fn record(socket: &Path, export: &Export) -> Result<(), Failure> {
    let answer = ask(socket, &json!({"do": "export_record", "export": export}))?;
    match answer.get("done") {
        Some(_) => Ok(()),
        None => Err(refused(socket, "the export is not recorded", &answer)),
    }
}

/// A key that the gateway gave out.
pub(crate) struct Given {
    pub(crate) session: String,
    pub(crate) tenant: String,
    pub(crate) kid: String,
    pub(crate) key: Secret<String>,
}

impl Given {
    /// Reads one as the gateway writes it.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            session: text("session")?,
            tenant: text("tenant")?,
            kid: text("kid")?,
            key: Secret::new(text("key")?),
        })
    }
}

/// Asks the gateway for what opens the payloads of sessions. It records that it gives it out. Sessions
/// whose keys are destroyed are left out of the answer.
pub(crate) fn ask_for_keys(
    socket: &Path,
    sessions: &[&str],
    name: Option<&str>,
    purpose: Option<&str>,
) -> Result<Vec<Given>, Failure> {
    let mut given = Vec::new();
    for some in sessions.chunks(AT_ONCE) {
        let request = json!({
            "do": "payload_keys", "sessions": some, "name": name, "purpose": purpose,
        });
        let answer = ask(socket, &request)?;
        let keys = answer.get("payload_keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| refused(socket, "no keys are given", &answer))?;
        for key in keys {
            given.push(Given::read(key).ok_or_else(|| refused(socket, "odd keys", &Value::Null))?);
        }
    }
    Ok(given)
}

fn ask(socket: &Path, request: &Value) -> Result<Value, Failure> {
    let answer = || {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        (&stream).write_all(format!("{request}\n").as_bytes())?;
        let mut line = Vec::new();
        BufReader::new((&stream).take(LONGEST)).read_until(b'\n', &mut line)?;
        Ok(line)
    };
    let answer = answer();
    let wrong = |error: io::Error| Failure::Read(format!("{}: {error}", socket.display()));
    let another = |_| wrong(io::Error::other("the gateway is of another version"));
    serde_json::from_slice(&answer.map_err(wrong)?).map_err(another)
}

fn refused(socket: &Path, what: &str, answer: &Value) -> Failure {
    let why = answer.get("failed").and_then(|failed| failed.get("why"));
    let why = why.and_then(Value::as_str).unwrap_or("no reason is given");
    Failure::Read(format!("{}: {what}: {why}", socket.display()))
}
