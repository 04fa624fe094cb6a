//! Sealed payloads beside the log: what a record says of one, and what its object is called. Their
//! bytes are the envelope's; they lie in a place of their own, never in the log's.

use gatehouse_envelope::{
    digest::{hex, unhex},
    payload::sealed_len,
};
use serde::Deserialize;

use crate::{
    event::{Builder, MAX_INTEGER},
    export::is_word,
};

/// What the names of all payloads begin with.
pub const PREFIX: &str = "p/";
const SUFFIX: &str = ".bin";
/// Digits of the ciphertext's digest in a name. A number of a session can be used again if its event
/// did not come into the log; with other bytes it then has another name.
const DIGITS: usize = 16;

/// Which of an exchange's two bodies a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The bytes that the provider was sent.
    Request,
    /// The reply.
    Reply,
}

impl Part {
    /// The word in records and names.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "req",
            Self::Reply => "rep",
        }
    }

    /// The part of that name.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Request, Self::Reply]
            .into_iter()
            .find(|part| part.word() == word)
    }
}

/// The name of a payload, `p/<sid>/<number>-<part>-<digits>.bin`. The number is that of the exchange's
/// `exchange.admitted` in its session, for both parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The session, `s_…`.
    pub session: String,
    /// The number of the exchange.
    pub number: u64,
    /// Which of its bodies.
    pub part: Part,
    /// How the digest of the object begins.
    pub digits: String,
}

impl Location {
    /// The place of a payload whose object has the SHA-256 `ct`.
    #[must_use]
    pub fn new(session: &str, number: u64, part: Part, ct: &[u8; 32]) -> Self {
        let digest = hex(ct);
        Self {
            session: session.to_owned(),
            number,
            part,
            digits: digest.get(..DIGITS).unwrap_or_default().to_owned(),
        }
    }

    /// Reads a name; none if it is not a payload's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        let (session, rest) = rest.split_once('/')?;
        let mut words = rest.split('-');
        let (number, part, digits) = (words.next()?, words.next()?, words.next()?);
        let location = Self {
            session: session.to_owned(),
            number: number.parse().ok().filter(|n| *n <= MAX_INTEGER)?,
            part: Part::of(part)?,
            digits: digits.to_owned(),
        };
        let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let sound = is_session(session) && digits.len() == DIGITS && digits.bytes().all(digit);
        (sound && location.name() == name).then_some(location)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> String {
        let Self {
            session,
            number,
            part,
            digits,
        } = self;
        format!(
            "{PREFIX}{session}/{number}-{}-{digits}{SUFFIX}",
            part.word()
        )
    }
}

fn is_session(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.starts_with("s_") && text.len() <= 64 && text.bytes().all(plain)
}

/// What a record says of a payload: everything that it takes to tell whether an object is that
/// payload, and whether a key and a text are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Where the object is.
    pub location: Location,
    /// SHA-256 of the object.
    pub ct: [u8; 32],
    /// Bytes of the text.
    pub len: u64,
    /// The public id of the session's key.
    pub kid: String,
    /// The commitment to that key.
    pub kc: String,
    /// The keyed digest of the text.
    pub pm: [u8; 32],
    /// Until when the object is to be there, in microseconds since 1970.
    pub until_us: u64,
}

impl Body {
    /// Writes the member `body` of an event, a list of one.
    pub fn write(&self, event: &mut Builder) {
        event.objects("body", [self], |item, body| {
            item.text("n", body.location.part.word())
                .sha256("ct", &body.ct)
                .integer("len", body.len)
                .text("kid", &body.kid)
                .text("kc", &body.kc)
                .hex("pm", &body.pm)
                .text("loc", &body.location.name())
                .integer("until_us", body.until_us);
        });
    }

    /// How large the object is: a sealed text and nothing beside it.
    #[must_use]
    pub fn object_len(&self) -> u64 {
        sealed_len(self.len)
    }

    /// What an event says of payloads; nothing if it has no member `body`.
    ///
    /// # Errors
    /// It has one in another form than [`Body::write`] gives it, or of another session than its own.
    pub fn read(event: &str) -> Result<Vec<Self>, BodyError> {
        // Nearly no record has one.
        if !event.contains("\"body\":") {
            return Ok(Vec::new());
        }
        let event: RawEvent = serde_json::from_str(event).map_err(|_| BodyError)?;
        let session = event.sid.or(event.outside.and_then(|it| it.session));
        let bodies = event.body.unwrap_or_default();
        bodies
            .into_iter()
            .map(|raw| raw.checked(session.as_deref()))
            .collect::<Option<_>>()
            .ok_or(BodyError)
    }
}

/// A record that says something of a payload that no writer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what a record says of its payload is malformed")]
pub struct BodyError;

#[derive(Deserialize)]
struct RawEvent {
    sid: Option<String>,
    outside: Option<Outside>,
    body: Option<Vec<RawBody>>,
}

#[derive(Deserialize)]
struct Outside {
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBody {
    n: String,
    ct: String,
    len: u64,
    kid: String,
    kc: String,
    pm: String,
    loc: String,
    until_us: u64,
}

impl RawBody {
    fn checked(self, session: Option<&str>) -> Option<Body> {
        let location = Location::parse(&self.loc)?;
        let body = Body {
            ct: unhex(self.ct.strip_prefix("sha256:")?)?,
            len: self.len,
            kid: self.kid,
            kc: self.kc,
            pm: unhex(&self.pm)?,
            until_us: self.until_us,
            location,
        };
        let at = &body.location;
        let same = at.part.word() == self.n && session == Some(at.session.as_str());
        let named = *at == Location::new(&at.session, at.number, at.part, &body.ct);
        let named = named && is_word(&body.kid);
        let numbers = body.len <= MAX_INTEGER && body.until_us <= MAX_INTEGER;
        (same && named && numbers && unhex(&body.kc).is_some()).then_some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    fn body() -> Body {
        let ct = [0xab; 32];
        Body {
            location: Location::new("s_a", 17, Part::Reply, &ct),
            ct,
            len: 9,
            kid: "sk_a".into(),
            kc: "0f".repeat(32),
            pm: [3; 32],
            until_us: 5,
        }
    }

    fn event(body: &Body) -> String {
        let mut event = Event::kind("exchange.settled");
        event.text("sid", "s_a").integer("sseq", 18);
        body.write(&mut event);
        String::from_utf8(event.finish().unwrap().bytes().to_vec()).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let (body, text) = (body(), event(&body()));
        assert_eq!(Body::read(&text).unwrap(), std::slice::from_ref(&body));
        let outside = text.replace(r#""sid":"s_a""#, r#""outside":{"session":"s_a"}"#);
        assert_eq!(Body::read(&outside).unwrap(), [body]);
        assert_eq!(Body::read(r#"{"kind":"k"}"#).unwrap(), []);
    }

    #[test]
    fn anything_else_is_refused() {
        let text = event(&body());
        for (from, to) in [
            (r#""n":"rep""#, r#""n":"req""#),
            (r#""n":"rep""#, r#""n":"oth""#),
            (r#""sid":"s_a""#, r#""sid":"s_b""#),
            ("sha256:ab", "sha256:ac"),
            ("sha256:", ""),
            (r#""len":9"#, r#""len":-9"#),
            (r#""len":9"#, r#""len":9007199254740992"#),
            (r#""until_us":5"#, r#""until_us":5,"more":1"#),
            ("p/s_a/17-", "p/s_a/017-"),
            ("p/s_a/17-", "p/../17-"),
            (r#""kc":"0f"#, r#""kc":"0F"#),
            ("sk_a", "not a key"),
            (r#""body":[{"#, r#""body":[1,{"#),
        ] {
            assert!(text.contains(from), "{from}");
            let changed = text.replacen(from, to, 1);
            assert_eq!(Body::read(&changed), Err(BodyError), "{changed}");
        }
    }

    #[test]
    fn names() {
        let name = "p/s_a/17-rep-abababababababab.bin";
        assert_eq!(body().location.name(), name);
        assert_eq!(Location::parse(name), Some(body().location));
        for other in [
            "p/s_a/17-rep-abababababababab",
            "p/s_a/17-rep-abababababababab-x.bin",
            "p/s_a/17-rep-ABababababababab.bin",
            "p/s_a/17-rep-ab.bin",
            "p/s_a/+17-rep-abababababababab.bin",
            "p/a/17-rep-abababababababab.bin",
            "p/s_a/b/17-rep-abababababababab.bin",
            "q/s_a/17-rep-abababababababab.bin",
        ] {
            assert_eq!(Location::parse(other), None, "{other}");
        }
    }
}
