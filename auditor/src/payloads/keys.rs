//! What opens payloads: given by the gateway over its admin socket, which records it, or in a file that
//! it was written into.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use gatehouse_envelope::payload::PayloadKey;

use super::survey::Survey;
use crate::{
    cli::Failure,
    export::{AT_ONCE, Given, Recording, ask_for_keys, is_socket},
};

/// Keys that are kept at one time.
const MOST: usize = 8192;
/// The longest line of a file of keys, in bytes.
const LONGEST: u64 = 4096;

/// A session's key, and whose session it is.
pub(super) struct Key {
    pub(super) tenant: String,
    pub(super) key: PayloadKey,
    /// Its public id.
    kid: String,
}

/// Where keys come from, and those that are at hand. `None`: the session has none any more.
pub(super) struct Keys<'r> {
    socket: Option<PathBuf>,
    recording: &'r Recording,
    known: HashMap<String, Option<Key>>,
}

impl<'r> Keys<'r> {
    /// Keys from a socket, or from a file.
    pub(super) fn open(from: &Path, recording: &'r Recording) -> Result<Self, Failure> {
        let mut keys = Self {
            socket: is_socket(from).then(|| from.to_owned()),
            recording,
            known: HashMap::new(),
        };
        if keys.socket.is_none() {
            keys.read(from)?;
        }
        Ok(keys)
    }

    fn read(&mut self, file: &Path) -> Result<(), Failure> {
        let wrong = |error: std::io::Error| Failure::Usage(format!("{}: {error}", file.display()));
        let mut lines = BufReader::new(File::open(file).map_err(wrong)?);
        for number in 1u64.. {
            let mut line = Vec::new();
            // With its end. Nothing that is longer is read: it may be any file.
            let read = (&mut lines)
                .take(LONGEST + 1)
                .read_until(b'\n', &mut line)
                .map_err(wrong)?;
            if read == 0 {
                break;
            }
            let is_whole = line.ends_with(b"\n") || line.len() as u64 <= LONGEST;
            if is_whole && line.trim_ascii().is_empty() {
                continue;
            }
            let given = is_whole
                .then(|| serde_json::from_slice(&line).ok())
                .flatten();
            // What stands in the line is a secret.
            let odd = || Failure::Usage(format!("{}: line {number} is no key", file.display()));
            let given = given.as_ref().and_then(Given::read).ok_or_else(odd)?;
            self.put(&given).ok_or_else(odd)?;
        }
        Ok(())
    }

    fn put(&mut self, given: &Given) -> Option<()> {
        let key = PayloadKey::from_grant(&given.kid, given.key.expose())?;
        let (tenant, kid) = (given.tenant.clone(), given.kid.clone());
        let known = self
            .known
            .insert(given.session.clone(), Some(Key { tenant, key, kid }));
        // A session has one key all its life.
        let is_other = known.flatten().is_some_and(|known| known.kid != given.kid);
        (!is_other).then_some(())
    }

    /// The key of a session. The gateway is asked for those of the next sessions with it.
    pub(super) fn of(&mut self, session: &str, survey: &Survey) -> Result<Option<&Key>, Failure> {
        if let Some(socket) = self.socket.clone()
            && !self.known.contains_key(session)
        {
            self.ask(&socket, session, survey)?;
        }
        Ok(self.known.get(session).and_then(Option::as_ref))
    }

    fn ask(&mut self, socket: &Path, session: &str, survey: &Survey) -> Result<(), Failure> {
        if self.known.len() >= MOST {
            self.known.clear();
        }
        let sessions: Vec<&str> = survey.from(session).take(AT_ONCE).collect();
        let (name, purpose) = (&self.recording.name, &self.recording.purpose);
        let given = ask_for_keys(socket, &sessions, name.as_deref(), purpose.as_deref())?;
        for session in sessions {
            self.known.insert(session.to_owned(), None);
        }
        for key in &given {
            let odd = || Failure::Read(format!("{}: odd keys", socket.display()));
            self.put(key).ok_or_else(odd)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<usize, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let recording = Recording {
            record: None,
            name: None,
            purpose: None,
        };
        match Keys::open(file.path(), &recording) {
            Ok(keys) => Ok(keys.known.len()),
            Err(Failure::Usage(why)) => Err(why),
            Err(_) => Err("another failure".into()),
        }
    }

    #[test]
    fn a_line_is_read_up_to_its_limit() {
        let keys = gatehouse_envelope::keys::SessionKeys::new(
            &gatehouse_envelope::secret::Secret::new([7; 32]),
        );
        let grant = keys.payload().grant();
        let line = serde_json::json!({
            "session": "s_a", "tenant": "t", "kid": keys.kid(), "key": grant.expose(),
        })
        .to_string();
        let longest = usize::try_from(LONGEST).unwrap();
        let padded = |length: usize| format!("{line:<length$}");
        for good in [
            line.clone(),
            format!("\n \r\n{line}\r\n\n"),
            padded(longest),
            format!("{}\n{line}\n", padded(longest)),
        ] {
            assert_eq!(read(good.as_bytes()), Ok(1));
        }
        for (bad, number) in [
            (padded(longest + 1), 1),
            (format!("\n{}\n", padded(longest + 1)), 2),
            (" ".repeat(longest + 1), 1),
            ("x".repeat(1 << 20), 1),
        ] {
            let why = read(bad.as_bytes()).unwrap_err();
            assert!(why.ends_with(&format!("line {number} is no key")), "{why}");
        }
        assert!(read(b"\xff\n").is_err());
        assert_eq!(read(b""), Ok(0));
    }
}
