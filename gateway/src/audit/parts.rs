//! What several events have in common.

use std::collections::BTreeMap;

use gatehouse_ledger::event::{Builder, Event, EventError};
use gatehouse_ledger::payload::Body;
use gatehouse_redactor::Label;

/// The most bytes of a word.
const MAX_WORD: usize = 128;

/// Where an event stands in its session's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The event's number in its session, from 0.
    pub sseq: u64,
    /// The digest of the session's event before it ([`Event::digest`]); zeros for number 0.
    pub sprev: [u8; 32],
}

impl Link {
    /// The link of a session's first event, `session.open`.
    pub const START: Self = Self {
        sseq: 0,
        sprev: [0; 32],
    };

    /// The link of the event that follows `event`, which stands at this one.
    #[must_use]
    pub fn after(self, event: &Event) -> Self {
        Self {
            sseq: self.sseq.saturating_add(1),
            sprev: event.digest(),
        }
    }
}

/// Why an event could not be built. Carries no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The record's own rules: size, integers, keys.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A name that is no plain word: it may be text, so it is not written.
    #[error("the {0} of an event is not a plain word")]
    Word(&'static str),
}

/// Who is calling: keyed pseudonyms and names from the configuration.
#[derive(Clone, Copy)]
pub struct Who<'a> {
    /// The caller's keyed pseudonym, `p_…`.
    pub principal: &'a str,
    /// The keyed pseudonym of the credential presented, `c_…`.
    pub credential: Option<&'a str>,
    /// The tenant.
    pub tenant: &'a str,
    /// The agent profile, if the caller's key names one.
    pub agent: Option<&'a str>,
}

/// Where a request came from.
#[derive(Clone, Copy, Default)]
pub struct Source<'a> {
    /// The keyed pseudonym of the peer's address, `a_…`.
    pub address: Option<&'a str>,
    /// How many session ids stood where none is read (headers, cookies) and were dropped.
    pub edge_ids: u64,
}

/// The session that an event belongs to.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The session's public reference, `s_…`.
    pub session: &'a str,
    /// The root session's reference, where this session is a child of another.
    pub run: Option<&'a str>,
    /// The W3C trace id of the request.
    pub trace: Option<[u8; 16]>,
}

/// The key that seals a session's state.
#[derive(Clone, Copy)]
pub struct StateKey<'a> {
    /// The key's id, `sk_…`.
    pub id: &'a str,
    /// The commitment to the key, in hex.
    pub commitment: &'a str,
}

/// An event under construction: [`Builder`] plus words.
pub(super) struct Draft {
    builder: Builder,
    fault: Option<BuildError>,
}

impl Draft {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            builder: Event::kind(kind),
            fault: None,
        }
    }

    /// Everything that is not a word goes straight to the builder.
    pub(super) fn put(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// A plain word; anything else fails the event.
    pub(super) fn word(&mut self, key: &'static str, value: &str) {
        self.words([(key, Some(value))]);
    }

    /// An object that begins with words and goes on with what `fill` writes.
    pub(super) fn object<const N: usize>(
        &mut self,
        key: &'static str,
        words: [(&'static str, Option<&str>); N],
        fill: impl FnOnce(&mut Builder),
    ) {
        for (name, value) in words {
            self.check(name, value);
        }
        self.builder.object(key, |object| {
            for (name, value) in words {
                object.some_text(name, value);
            }
            fill(object);
        });
    }

    /// The session, its run and trace, and the event's place in the session's chain.
    pub(super) fn subject(&mut self, subject: Subject<'_>, link: Link) {
        self.words([("sid", Some(subject.session)), ("run", subject.run)]);
        self.trace(subject);
        self.builder
            .integer("sseq", link.sseq)
            .hex("sprev", &link.sprev);
    }

    /// The session of an event that has no place in its chain: not a `sid`.
    pub(super) fn outside(&mut self, subject: Subject<'_>) {
        self.object("outside", [("session", Some(subject.session))], |_| {});
        self.trace(subject);
    }

    fn trace(&mut self, subject: Subject<'_>) {
        if let Some(trace) = subject.trace {
            self.builder
                .text("trace", &gatehouse_envelope::digest::hex(&trace));
        }
    }

    pub(super) fn who(&mut self, who: Who<'_>) {
        self.words([
            ("prin", Some(who.principal)),
            ("tok", who.credential),
            ("tenant", Some(who.tenant)),
            ("agent", who.agent),
        ]);
    }

    pub(super) fn source(&mut self, source: Source<'_>) {
        self.object("src", [("ip_h", source.address)], |src| {
            src.integer("edge_ids", source.edge_ids);
        });
    }

    pub(super) fn state_key(&mut self, key: Option<StateKey<'_>>) {
        if let Some(key) = key {
            let words = [("kid", Some(key.id)), ("kc", Some(key.commitment))];
            self.object("st", words, |st| {
                st.text("alg", "A256GCM");
            });
        }
    }

    pub(super) fn payload(&mut self, payload: Option<&Body>) {
        if let Some(body) = payload {
            body.write(&mut self.builder);
        }
    }

    pub(super) fn finish(self) -> Result<Event, BuildError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.builder.finish()?),
        }
    }

    fn words<const N: usize>(&mut self, words: [(&'static str, Option<&str>); N]) {
        for (key, value) in words {
            self.check(key, value);
            self.builder.some_text(key, value);
        }
    }

    /// Fails the event if a value that is written elsewhere is no plain word.
    pub(super) fn check(&mut self, key: &'static str, value: Option<&str>) {
        if value.is_some_and(|value| !is_word(value)) {
            self.fault.get_or_insert(BuildError::Word(key));
        }
    }
}

/// How often each label occurs, as `[{"label":"EMAIL","n":2}]`.
pub(super) fn counts(builder: &mut Builder, key: &'static str, counts: &BTreeMap<Label, u32>) {
    builder.objects(key, counts, |item, (label, n)| {
        item.text("label", label.as_str())
            .integer("n", u64::from(*n));
    });
}

/// Ids, model names and names from the configuration pass; sentences and mail addresses do not
/// (`@` only before a digit, as in dated model versions).
pub(super) fn is_word(value: &str) -> bool {
    let bytes = value.as_bytes();
    let allowed = |(index, byte): (usize, &u8)| match byte {
        b'@' => bytes.get(index + 1).is_some_and(u8::is_ascii_digit),
        b'-' | b'_' | b'.' | b':' | b'/' => true,
        byte => byte.is_ascii_alphanumeric(),
    };
    !bytes.is_empty() && bytes.len() <= MAX_WORD && bytes.iter().enumerate().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for word in [
            "s_k7q2",
            "gpt-4o",
            "ft:gpt-4o:org::8",
            "anthropic.claude-v2:0",
            "m@20240620",
        ] {
            assert!(is_word(word), "{word}");
        }
        for text in [
            "",
            "two words",
            "jane@example.org",
            "ü",
            "a\"b",
            &"x".repeat(129),
        ] {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_no_word_fails_the_event_and_is_not_told() {
        let mut draft = Draft::new("policy.load");
        draft.word("agent", "jane@example.org");
        let error = draft.finish().err().unwrap();
        assert_eq!(error, BuildError::Word("agent"));
        assert!(!error.to_string().contains("jane"));
    }

    #[test]
    fn links_follow_the_events() {
        let event = Draft::new("session.open").finish().unwrap();
        let next = Link::START.after(&event);
        assert_eq!(
            next,
            Link {
                sseq: 1,
                sprev: event.digest()
            }
        );
    }
}
