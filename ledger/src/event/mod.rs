//! Events: what happened, as the exact bytes that are hashed, chained and stored.
//!
//! The bytes are written by hand and in the caller's order, so that the same event always has the
//! same bytes: no white space, no floats, no duplicate keys, integers up to 2^53 - 1.

use gatehouse_envelope::digest::sha256;

use crate::json::Scanner;

/// The largest integer that every JSON reader keeps exactly (RFC 8259 §6).
pub const MAX_INTEGER: u64 = (1 << 53) - 1;
/// The most bytes of one event; a leaf with its wrapper then stays under 32 KiB.
pub const MAX_EVENT: usize = 32 * 1024 - 512;
/// The most bytes of one string before escaping.
pub const MAX_TEXT: usize = 1024;
/// The most bytes of a kind or a key.
const MAX_NAME: usize = 64;

/// The exact JSON bytes of one event.
#[derive(Clone, PartialEq, Eq)]
pub struct Event(Vec<u8>);

impl Event {
    /// Begins an event of `kind`, a dotted lower-case word such as `exchange.admitted`.
    pub fn kind(kind: &'static str) -> Builder {
        let mut builder = Builder {
            bytes: Vec::with_capacity(1024),
            keys: Vec::with_capacity(24),
            open: vec![0],
            fault: None,
        };
        builder.bytes.push(b'{');
        if !is_name(kind, b'.') {
            builder.fault = Some(EventError::Name);
        }
        builder.text("kind", kind);
        builder
    }

    /// Takes bytes that were an event before, such as ones that went through a store.
    ///
    /// # Errors
    /// They are not what [`Builder::finish`] could have made.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, EventError> {
        if bytes.len() > MAX_EVENT {
            return Err(EventError::TooLarge);
        }
        let mut kind = false;
        let scanned = Scanner::default().object(&bytes, |key, _| kind |= key == "kind");
        match scanned {
            Ok(()) if kind => Ok(Self(bytes)),
            _ => Err(EventError::Syntax),
        }
    }

    /// The bytes, as they stand after `"e":` in the record.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What the session's next event names as its `sprev`.
    pub fn digest(&self) -> [u8; 32] {
        event_digest(&self.0)
    }
}

/// `SHA-256(0x02 ‖ event bytes)`: the link from one event of a session to the next. The prefix
/// keeps it apart from leaf and node hashes (RFC 6962 uses 0x00 and 0x01).
pub fn event_digest(bytes: &[u8]) -> [u8; 32] {
    sha256(&[&[2], bytes])
}

/// Writes one event, field by field. The first fault is kept and given out by
/// [`Builder::finish`]; what follows it is ignored.
pub struct Builder {
    bytes: Vec<u8>,
    /// The keys of every object that is still open, innermost last.
    keys: Vec<&'static str>,
    /// Where in `keys` each open object begins.
    open: Vec<usize>,
    fault: Option<EventError>,
}

impl Builder {
    /// A string. Payload text has no place here: names from the configuration, ids, digests.
    pub fn text(&mut self, key: &'static str, value: &str) -> &mut Self {
        if self.key(key) {
            self.string(value);
        }
        self
    }

    /// A string, or nothing at all.
    pub fn some_text(&mut self, key: &'static str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.text(key, value);
        }
        self
    }

    /// An integer up to [`MAX_INTEGER`].
    pub fn integer(&mut self, key: &'static str, value: u64) -> &mut Self {
        if value > MAX_INTEGER {
            self.fail(EventError::Integer);
        } else if self.key(key) {
            write_integer(&mut self.bytes, value);
        }
        self
    }

    /// An integer, or nothing at all.
    pub fn some_integer(&mut self, key: &'static str, value: Option<u64>) -> &mut Self {
        if let Some(value) = value {
            self.integer(key, value);
        }
        self
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &'static str, value: bool) -> &mut Self {
        if self.key(key) {
            let word: &[u8] = if value { b"true" } else { b"false" };
            self.bytes.extend_from_slice(word);
        }
        self
    }

    /// 32 bytes in lower-case hex.
    pub fn hex(&mut self, key: &'static str, value: &[u8; 32]) -> &mut Self {
        self.digest(key, b"\"", value)
    }

    /// A SHA-256 digest as `sha256:` and lower-case hex.
    pub fn sha256(&mut self, key: &'static str, value: &[u8; 32]) -> &mut Self {
        self.digest(key, b"\"sha256:", value)
    }

    /// An object, written by `fill`.
    pub fn object(&mut self, key: &'static str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        if self.key(key) {
            self.braces(fill);
        }
        self
    }

    /// An array of objects, one for each item, written by `fill`.
    pub fn objects<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.array(key, items, |builder, item| {
            builder.braces(|b| fill(b, item))
        })
    }

    /// An array of strings.
    pub fn texts<'t>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = &'t str>,
    ) -> &mut Self {
        self.array(key, items, Self::string)
    }

    /// The finished event.
    ///
    /// # Errors
    /// The first fault met while writing.
    pub fn finish(mut self) -> Result<Event, EventError> {
        self.bytes.push(b'}');
        if self.bytes.len() > MAX_EVENT {
            self.fail(EventError::TooLarge);
        }
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(Event(self.bytes)),
        }
    }

    /// Writes a comma where one is due and the key; false if nothing may follow.
    fn key(&mut self, key: &'static str) -> bool {
        let first = self.open.last().copied().unwrap_or(0);
        let siblings = self.keys.get(first..).unwrap_or_default();
        let (alone, twice) = (siblings.is_empty(), siblings.contains(&key));
        if !is_name(key, b'_') {
            self.fail(EventError::Name);
        } else if twice {
            self.fail(EventError::DuplicateKey(key));
        } else if self.bytes.len() > MAX_EVENT {
            self.fail(EventError::TooLarge);
        }
        if self.fault.is_some() {
            return false;
        }
        if !alone {
            self.bytes.push(b',');
        }
        self.keys.push(key);
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        true
    }

    fn braces(&mut self, fill: impl FnOnce(&mut Self)) {
        self.bytes.push(b'{');
        let first = self.keys.len();
        self.open.push(first);
        fill(self);
        self.open.pop();
        self.keys.truncate(first);
        self.bytes.push(b'}');
    }

    fn array<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        if self.key(key) {
            self.bytes.push(b'[');
            for (index, item) in items.into_iter().enumerate() {
                if self.bytes.len() > MAX_EVENT {
                    self.fail(EventError::TooLarge);
                    break;
                }
                if index > 0 {
                    self.bytes.push(b',');
                }
                write(self, item);
            }
            self.bytes.push(b']');
        }
        self
    }

    fn string(&mut self, value: &str) {
        if value.len() > MAX_TEXT {
            return self.fail(EventError::TextTooLong);
        }
        write_string(&mut self.bytes, value);
    }

    fn digest(&mut self, key: &'static str, before: &[u8], value: &[u8; 32]) -> &mut Self {
        if self.key(key) {
            self.bytes.extend_from_slice(before);
            write_hex(&mut self.bytes, value);
            self.bytes.push(b'"');
        }
        self
    }

    fn fail(&mut self, fault: EventError) {
        self.fault.get_or_insert(fault);
    }
}

/// Why an event could not be written. No variant carries a value, only the program's own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The same key twice in one object.
    #[error("the key {0} stands twice in one object of an event")]
    DuplicateKey(&'static str),
    /// An integer that some JSON readers would round.
    #[error("an integer of an event exceeds 2^53 - 1")]
    Integer,
    /// A kind or key outside `a-z0-9` and its separator.
    #[error("a kind or key of an event is not a plain lower-case word")]
    Name,
    /// Bytes that are no event.
    #[error("not an event")]
    Syntax,
    /// A string over [`MAX_TEXT`].
    #[error("a string of an event exceeds {MAX_TEXT} bytes")]
    TextTooLong,
    /// The whole over [`MAX_EVENT`].
    #[error("an event exceeds {MAX_EVENT} bytes")]
    TooLarge,
}

/// Appends `value` as a JSON string: only `"`, `\` and control characters are escaped.
pub(crate) fn write_string(out: &mut Vec<u8>, value: &str) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    out.push(b'"');
    for &byte in value.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => {
                out.extend_from_slice(b"\\u00");
                out.push(b'0' + (byte >> 4));
                out.extend(HEX.get(usize::from(byte & 15)));
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Appends `value` in decimal.
pub(crate) fn write_integer(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0u8; 20];
    let mut rest = value;
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20 - count..).unwrap_or_default());
}

/// Appends `bytes` in lower-case hex.
pub(crate) fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            out.push(if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' + nibble - 10
            });
        }
    }
}

fn is_name(word: &str, separator: u8) -> bool {
    let plain =
        |&b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == separator;
    !word.is_empty() && word.len() <= MAX_NAME && word.as_bytes().iter().all(plain)
}

#[cfg(test)]
mod tests;
