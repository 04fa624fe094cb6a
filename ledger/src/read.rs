//! Reading records back, without verifying them.

use crate::{
    json::{Raw, Scanner},
    leaf::LeafReader,
    names::Name,
    segment::{MAX_STORED, unpack},
    store::{Fetcher, StoreError},
};

/// A record as it stands in the log.
pub struct Entry<'r> {
    /// The stream.
    pub writer: &'r str,
    /// The record's number in it.
    pub seq: u64,
    /// Its time, in microseconds since 1970.
    pub unix_us: u64,
    /// The whole line, without its newline.
    pub line: &'r str,
    /// The bytes of its event.
    pub event: &'r str,
    /// The event's kind.
    pub kind: &'r str,
    /// The session it belongs to.
    pub session: Option<&'r str>,
    /// The session that it is about without a place in its chain.
    pub outside: Option<&'r str>,
    /// The root session of its run.
    pub run: Option<&'r str>,
    /// Its number in the session.
    pub sseq: Option<u64>,
    /// The request it belongs to.
    pub request: Option<&'r str>,
}

/// Calls `visit` for every record that can be read, stream by stream. Gives the names of segments
/// of which something could not be read, and of folders that could not be.
///
/// # Errors
/// The store does not answer.
pub fn records(
    log: &dyn Fetcher,
    mut visit: impl FnMut(&Entry<'_>),
) -> Result<Vec<String>, StoreError> {
    let mut segments = Vec::new();
    let listed = log.survey("log/")?;
    let mut unread: Vec<String> = listed.unread.into_iter().map(|(name, _)| name).collect();
    for object in listed.objects {
        if let Name::Segment {
            writer, first_seq, ..
        } = Name::parse(&object.name)
        {
            segments.push((writer, first_seq, object.name));
        }
    }
    segments.sort();
    for (writer, first_seq, name) in segments {
        let stored = log.get(&name, MAX_STORED)?;
        let whole = stored
            .and_then(|stored| unpack(&stored).ok())
            .is_some_and(|lines| read(&lines, &writer, first_seq, &mut visit));
        if !whole {
            unread.push(name);
        }
    }
    Ok(unread)
}

/// The session that an event is about which stands outside of its chain: a hold, an erasure behind its
/// end, the outcome of a turn that was lost, an export of it.
pub(crate) fn outside_of(event: &[u8]) -> Option<&str> {
    let (mut named, mut about) = (false, About::default());
    let scanned = Scanner::default().object(event, |key, value| match key {
        "sid" => named = true,
        key => about.member(key, value),
    });
    about.session().filter(|_| scanned.is_ok() && !named)
}

/// What the members of an event say of the session that it is about without a place in its chain.
#[derive(Default)]
struct About<'r> {
    /// What `outside` says, if there is one: `export` says nothing then.
    outside: Option<Option<&'r str>>,
    export: Option<&'r str>,
}

impl<'r> About<'r> {
    fn member(&mut self, key: &str, value: Raw<'r>) {
        match key {
            "outside" => self.outside = Some(session_in(value)),
            "export" => self.export = session_in(value),
            _ => {}
        }
    }

    fn session(&self) -> Option<&'r str> {
        self.outside.unwrap_or(self.export)
    }
}

/// The session in a member of an event.
fn session_in(value: Raw<'_>) -> Option<&str> {
    let mut session = None;
    let scanned = Scanner::default().object(value.bytes(), |key, value| {
        if key == "session" {
            session = value.text();
        }
    });
    session.filter(|session| scanned.is_ok() && !session.is_empty())
}

/// Reads the leaves of a segment; false if a line is none that should be one.
fn read(lines: &[u8], writer: &str, first_seq: u64, visit: &mut dyn FnMut(&Entry<'_>)) -> bool {
    let Ok(text) = std::str::from_utf8(lines) else {
        return false;
    };
    let lines: Vec<&str> = text.lines().collect();
    let Some(leaves) = lines.get(1..lines.len().saturating_sub(1)) else {
        return false;
    };
    let (mut reader, mut scanner) = (LeafReader::default(), Scanner::default());
    (first_seq..).zip(leaves).all(|(seq, line)| {
        reader
            .read(line.as_bytes(), writer, seq)
            .is_some_and(|leaf| {
                let Ok(event) = std::str::from_utf8(leaf.event) else {
                    return false;
                };
                let unix_us = leaf.stamp.unix_us;
                let mut entry = Entry {
                    writer,
                    seq,
                    unix_us,
                    line,
                    event,
                    kind: "",
                    session: None,
                    outside: None,
                    run: None,
                    sseq: None,
                    request: None,
                };
                let mut about = About::default();
                let scanned = scanner.object(leaf.event, |key, value| match key {
                    "kind" => entry.kind = value.text().unwrap_or_default(),
                    "sid" => entry.session = value.text(),
                    "run" => entry.run = value.text(),
                    "sseq" => entry.sseq = value.integer(),
                    "rid" => entry.request = value.text(),
                    key => about.member(key, value),
                });
                entry.outside = about.session();
                if scanned.is_ok() {
                    visit(&entry);
                }
                scanned.is_ok()
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_outside_of_a_chain_is_its_sessions_all_the_same() {
        let hold = r#"{"kind":"session.hold","outside":{"session":"s_1"},"tenant":"t"}"#;
        assert_eq!(outside_of(hold.as_bytes()), Some("s_1"));
        let export =
            r#"{"kind":"export.created","export":{"what":"payload_keys","session":"s_1"}}"#;
        assert_eq!(outside_of(export.as_bytes()), Some("s_1"));
        for other in [
            r#"{"kind":"x","sid":"s_1"}"#,
            r#"{"outside":7}"#,
            r#"{"outside":7,"export":{"session":"s_1"}}"#,
            r#"{"export":{"session":"s_1"},"outside":{}}"#,
            r#"{"export":{"what":"scan"}}"#,
            r#"{"sid":"s_1","export":{"session":"s_1"}}"#,
            r#"{"outside":{"session":""}}"#,
            r#"{"sid":"s_2","outside":{"session":"s_1"}}"#,
            r#"{"outside":{"session":"s_1"}"#,
            "no json",
        ] {
            assert_eq!(outside_of(other.as_bytes()), None, "{other}");
        }
    }
}
