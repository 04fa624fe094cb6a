//! JSON strings: decoding, the way back from decoded offsets to raw ones, and escaping.

use std::borrow::Cow;

/// One escape of a raw string: where it ends, decoded and raw.
#[derive(Clone, Copy)]
struct Escape {
    decoded_end: usize,
    raw_end: usize,
}

/// A decoded string that remembers where its characters stood.
///
/// Made from the bytes between the quotes of a string that the reader accepted.
pub(crate) struct Decoded<'a> {
    /// The text.
    pub(crate) text: Cow<'a, str>,
    escapes: Vec<Escape>,
}

impl<'a> Decoded<'a> {
    /// Decodes what stands between the quotes. Escapes that the reader would have refused are
    /// kept as they are; they cannot occur in an accepted document.
    pub(crate) fn new(raw: &'a str) -> Self {
        let Some(first) = backslash(raw.as_bytes()) else {
            return Self {
                text: Cow::Borrowed(raw),
                escapes: Vec::new(),
            };
        };
        let mut text = String::with_capacity(raw.len());
        let mut escapes = Vec::new();
        let (mut at, mut next) = (0, Some(first));
        while let Some(found) = next {
            text.push_str(raw.get(at..found).unwrap_or_default());
            at = match escape(raw.as_bytes().get(found..).unwrap_or_default()) {
                Step::Char(c, length) => {
                    text.push(c);
                    escapes.push(Escape {
                        decoded_end: text.len(),
                        raw_end: found + length,
                    });
                    found + length
                }
                Step::More | Step::Wrong | Step::Lone => {
                    text.push('\\');
                    found + 1
                }
            };
            let rest = raw.as_bytes().get(at..).unwrap_or_default();
            next = backslash(rest).map(|offset| at + offset);
        }
        text.push_str(raw.get(at..).unwrap_or_default());
        Self {
            text: Cow::Owned(text),
            escapes,
        }
    }

    /// The raw offset of a decoded offset (a character boundary).
    pub(crate) fn raw(&self, decoded: usize) -> usize {
        let before = self
            .escapes
            .partition_point(|escape| escape.decoded_end <= decoded);
        match before
            .checked_sub(1)
            .and_then(|last| self.escapes.get(last))
        {
            Some(escape) => escape.raw_end + (decoded - escape.decoded_end),
            None => decoded,
        }
    }
}

/// Where the first backslash stands.
fn backslash(raw: &[u8]) -> Option<usize> {
    memchr::memchr(b'\\', raw)
}

/// What a backslash and the bytes behind it say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// This character, in that many bytes.
    Char(char, usize),
    /// Not enough bytes to tell.
    More,
    /// No escape of RFC 8259.
    Wrong,
    /// Half of a surrogate pair.
    Lone,
}

/// Reads one escape; `bytes` starts with its backslash.
pub(crate) fn escape(bytes: &[u8]) -> Step {
    let c = match bytes.get(1) {
        None => return Step::More,
        Some(b'u') => return unicode(bytes),
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(_) => return Step::Wrong,
    };
    Step::Char(c, 2)
}

fn unicode(bytes: &[u8]) -> Step {
    let high = match four_hex(bytes, 2) {
        Ok(unit) => unit,
        Err(step) => return step,
    };
    match high {
        0xD800..=0xDBFF => {}
        0xDC00..=0xDFFF => return Step::Lone,
        _ => return char::from_u32(high).map_or(Step::Wrong, |c| Step::Char(c, 6)),
    }
    match (bytes.get(6), bytes.get(7)) {
        (None, _) | (Some(b'\\'), None) => return Step::More,
        (Some(b'\\'), Some(b'u')) => {}
        _ => return Step::Lone,
    }
    match four_hex(bytes, 8) {
        Ok(low @ 0xDC00..=0xDFFF) => {
            let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            char::from_u32(code).map_or(Step::Wrong, |c| Step::Char(c, 12))
        }
        Ok(_) => Step::Lone,
        Err(step) => step,
    }
}

fn four_hex(bytes: &[u8], from: usize) -> Result<u32, Step> {
    let mut unit = 0;
    for at in from..from + 4 {
        let byte = bytes.get(at).ok_or(Step::More)?;
        let digit = char::from(*byte).to_digit(16).ok_or(Step::Wrong)?;
        unit = unit * 16 + digit;
    }
    Ok(unit)
}

/// `text` as it stands between the quotes of a JSON string, with no more escapes than RFC 8259
/// asks for.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                out.push_str("\\u00");
                for shift in [4, 0] {
                    out.push(char::from_digit((c as u32 >> shift) & 15, 16).unwrap_or('0'));
                }
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_read_as_rfc_8259_says() {
        assert_eq!(escape(b"\\n"), Step::Char('\n', 2));
        assert_eq!(escape(b"\\u0040x"), Step::Char('@', 6));
        assert_eq!(escape(b"\\ud83d\\ude00"), Step::Char('\u{1f600}', 12));
        assert_eq!(escape(b"\\ud83d"), Step::More);
        assert_eq!(escape(b"\\ud83d\\"), Step::More);
        assert_eq!(escape(b"\\ud83d\\ude0"), Step::More);
        assert_eq!(escape(b"\\ud83d\\n"), Step::Lone);
        assert_eq!(escape(b"\\ud83dx"), Step::Lone);
        assert_eq!(escape(b"\\ude00"), Step::Lone);
        assert_eq!(escape(b"\\u00g0"), Step::Wrong);
        assert_eq!(escape(b"\\x"), Step::Wrong);
        assert_eq!(escape(b"\\"), Step::More);
    }

    #[test]
    fn offsets_lead_back_to_raw_ones() {
        let decoded = Decoded::new("a\\u0040b\\ud83d\\ude00c");
        assert_eq!(decoded.text, "a@b\u{1f600}c");
        assert_eq!(
            [0, 1, 2, 3, 7, 8].map(|at| decoded.raw(at)),
            [0, 1, 7, 8, 20, 21]
        );
    }

    proptest! {
        #[test]
        fn decoding_is_the_inverse_of_escaping(text in "\\PC*|[\u{0}-\u{7f}]*") {
            let raw = escaped(&text);
            let read: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            prop_assert_eq!(&read, &text);
            prop_assert_eq!(Decoded::new(&raw).text, text.as_str());
        }
    }
}
