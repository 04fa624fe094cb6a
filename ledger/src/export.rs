//! `export.created`: something of the log, or of the payloads beside it, was given out. Written by
//! the gateway, or by an auditor into a log of its own.

use gatehouse_envelope::digest::unhex;
use serde::{Deserialize, Serialize};

use crate::event::{Event, EventError};

/// The most bytes of a word.
const MAX_WORD: usize = 128;

/// What was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exported {
    /// A package of evidence.
    Evidence,
    /// Keys that open the sealed payloads of sessions.
    PayloadKeys,
    /// A session's records with their proofs.
    Prove,
    /// What a search of opened payloads found.
    Rescan,
    /// What the controls said.
    Scan,
    /// The records of a session or a request.
    Timeline,
}

impl Exported {
    /// The word in the record.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Evidence => "evidence",
            Self::PayloadKeys => "payload_keys",
            Self::Prove => "prove",
            Self::Rescan => "rescan",
            Self::Scan => "scan",
            Self::Timeline => "timeline",
        }
    }
}

/// An export, as far as a record may say what it is: names, times, counts, digests. Who made it is
/// added by whoever writes the record.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// What was given out.
    pub what: Exported,
    /// Who says to have made it: a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What for: a word, such as a ticket's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Digest of the trust file that the log was checked with, `sha256:` and 64 hex digits: which log
    /// it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// The one session that it is about, `s_…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The one request that it is about, `r_…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Where the period that it is about begins, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_us: Option<u64>,
    /// Where that period ends; it is no part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// How many records it rests on or holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// How many sessions it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// How many payloads were opened for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payloads: Option<u64>,
    /// Digest of what was given out, `sha256:` and 64 hex digits: of the file, or of a package's manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Why there is no record of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Something that must be a digest is none.
    #[error("the {0} of an export is not sha256: and 64 hex digits")]
    Digest(&'static str),
    /// The record's own rules.
    #[error(transparent)]
    Event(#[from] EventError),
    /// Something is no plain word: it may be text, so it is not written.
    #[error("the {0} of an export is not a plain word (letters, digits and - _ . : /)")]
    Word(&'static str),
}

impl Export {
    /// An export of which nothing is said yet but what it is.
    #[must_use]
    pub fn of(what: Exported) -> Self {
        Self {
            what,
            name: None,
            purpose: None,
            trust: None,
            session: None,
            request: None,
            from_us: None,
            to_us: None,
            records: None,
            sessions: None,
            payloads: None,
            digest: None,
        }
    }

    /// The record of it. `by` is who made it as the system knows: `uid:` and a number.
    ///
    /// # Errors
    /// A value that no record may hold.
    pub fn event(&self, by: &str) -> Result<Event, ExportError> {
        let words = [
            ("by", Some(by)),
            ("name", self.name.as_deref()),
            ("purpose", self.purpose.as_deref()),
            ("session", self.session.as_deref()),
            ("request", self.request.as_deref()),
        ];
        for (key, value) in words {
            if value.is_some_and(|value| !is_word(value)) {
                return Err(ExportError::Word(key));
            }
        }
        let digests = [
            ("trust", self.trust.as_deref()),
            ("digest", self.digest.as_deref()),
        ];
        for (key, value) in digests {
            if value.is_some_and(|value| !is_digest(value)) {
                return Err(ExportError::Digest(key));
            }
        }
        let counts = [
            ("from_us", self.from_us),
            ("to_us", self.to_us),
            ("records", self.records),
            ("sessions", self.sessions),
            ("payloads", self.payloads),
        ];
        let mut event = Event::kind("export.created");
        event.object("export", |export| {
            export.text("what", self.what.word());
            for (key, value) in words.into_iter().chain(digests) {
                export.some_text(key, value);
            }
            for (key, value) in counts {
                export.some_integer(key, value);
            }
        });
        Ok(event.finish()?)
    }
}

/// Ids and names pass, sentences and mail addresses do not.
#[must_use]
pub fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    (1..=MAX_WORD).contains(&text.len()) && text.bytes().all(plain)
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").and_then(unhex).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_is_known_and_nothing_else() {
        let export = Export {
            name: Some("jane".into()),
            session: Some("s_a".into()),
            to_us: Some(7),
            digest: Some(format!("sha256:{}", "0f".repeat(32))),
            ..Export::of(Exported::Prove)
        };
        let event = export.event("uid:1000").unwrap();
        let wanted = format!(
            r#"{{"kind":"export.created","export":{{"what":"prove","by":"uid:1000","name":"jane","session":"s_a","digest":"sha256:{}","to_us":7}}}}"#,
            "0f".repeat(32)
        );
        assert_eq!(std::str::from_utf8(event.bytes()).unwrap(), wanted);
        let line = serde_json::to_string(&export).unwrap();
        assert_eq!(serde_json::from_str::<Export>(&line).unwrap(), export);
    }

    #[test]
    fn text_is_not_written_and_not_told() {
        let with = |purpose: &str, digest: &str| Export {
            purpose: Some(purpose.into()),
            digest: Some(digest.into()),
            ..Export::of(Exported::Scan)
        };
        let digest = format!("sha256:{}", "0f".repeat(32));
        for text in ["", "for Jane", "jane@example.org", &"x".repeat(129)] {
            let error = with(text, &digest).event("uid:0").err().unwrap();
            assert_eq!(error, ExportError::Word("purpose"), "{text}");
            assert!(!error.to_string().contains("ane"));
        }
        for text in ["", "0f", &digest.to_uppercase()] {
            let error = with("audit", text).event("uid:0").err().unwrap();
            assert_eq!(error, ExportError::Digest("digest"));
        }
        assert!(Export::of(Exported::Scan).event("Jane Doe").is_err());
        let huge = Export {
            records: Some(u64::MAX),
            ..Export::of(Exported::Scan)
        };
        assert!(matches!(huge.event("uid:0"), Err(ExportError::Event(_))));
    }
}
