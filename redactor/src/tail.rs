//! What follows a head and has no bound: runs of a class, key blocks, values.
//!
//! One reader serves both the search of a whole text and the question how much of a growing text
//! is settled, so that the two cannot disagree.

use crate::rule::{Class, Quote, Tail};
use crate::seek::Set;

/// How far a tail goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// One past the tail, quotes included.
    pub end: usize,
    /// The value inside the quotes.
    pub value: (usize, usize),
    /// How the value is quoted.
    pub quote: Option<Quote>,
    /// Whether the text ended before the tail surely did.
    pub open: bool,
}

/// Reads the tail that begins at `at`.
pub(crate) fn read(tail: Tail, text: &str, at: usize) -> Extent {
    let rest = text.get(at..).unwrap_or_default();
    let plain = |length: Option<usize>| {
        let end = at + length.unwrap_or(rest.len());
        Extent {
            end,
            value: (at, end),
            quote: None,
            open: length.is_none(),
        }
    };
    match tail {
        Tail::None => plain(Some(0)),
        Tail::Run(class) => plain(rest.bytes().position(|b| !class.holds(b))),
        Tail::Block => plain(block(rest)),
        Tail::Value => value(rest, at, 0),
        Tail::Near(most) => near(text, at, most),
    }
}

fn near(text: &str, at: usize, most: usize) -> Extent {
    let wanted = at.saturating_add(most);
    let end = text.floor_char_boundary(wanted);
    Extent {
        end,
        value: (at, end),
        quote: None,
        open: wanted > text.len(),
    }
}

/// Where a match that is open at the start of `more` ends in it. See [`crate::Open::end`].
pub(crate) fn end(tail: Tail, quote: Option<Quote>, more: &str) -> Option<usize> {
    match (tail, quote) {
        (Tail::None | Tail::Near(_), _) => Some(0),
        (Tail::Run(class), _) => more.bytes().position(|b| !class.holds(b)),
        (Tail::Block, _) => block(more),
        (Tail::Value, Some(quote)) => {
            // A quote at the very start may be the second half of an escape that was cut.
            let skip = more.chars().next().map_or(0, char::len_utf8);
            closing(more.get(skip..).unwrap_or_default(), quote).map(|at| skip + at)
        }
        (Tail::Value, None) => bare(more, 0),
    }
}

impl Class {
    /// Whether a run of this class goes on with the byte.
    pub(crate) fn holds(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Class::Word => matches!(byte, b'-' | b'_'),
                Class::Dotted => matches!(byte, b'-' | b'_' | b'.'),
                Class::Base64 => matches!(byte, b'-' | b'_' | b'+' | b'/' | b'='),
            }
    }
}

/// The end of a private key block: behind its end line's dashes. The end line has to be whole;
/// until then the block is open, and without one it goes to the end of the text.
fn block(rest: &str) -> Option<usize> {
    let marker = rest.find("-END ").or_else(|| rest.find("- END "))?;
    let after = rest.get(marker + 1..)?;
    let name = after.find("---")?;
    let dashes = after.get(name..)?.bytes().position(|b| b != b'-');
    // Dashes that touch the end of the text may still grow.
    dashes.map(|count| marker + 1 + name + count)
}

/// Reads the value that begins at `at`, of which so many bytes neither end it nor open a bracket,
/// if it is not quoted.
pub(crate) fn value(rest: &str, at: usize, plain: usize) -> Extent {
    let bytes = rest.as_bytes();
    let wrapped = wrapper(bytes);
    let bytes = bytes.get(wrapped..).unwrap_or_default();
    let quote = match (bytes.first(), bytes.get(1)) {
        (Some(b'\\'), Some(q @ (b'"' | b'\''))) => Some(Quote::Escaped(*q)),
        (Some(q @ (b'"' | b'\'' | b'`')), _) => Some(Quote::Plain(*q)),
        _ => None,
    };
    let marks = match quote {
        Some(Quote::Escaped(_)) => 2,
        Some(Quote::Plain(_)) => 1,
        None => 0,
    };
    let opening = wrapped + marks;
    let inner = rest.get(opening..).unwrap_or_default();
    let length = match quote {
        Some(quote) => closing(inner, quote),
        None => bare(inner, plain),
    };
    let start = at + opening;
    let open_end = match quote {
        Some(_) => inner.len(),
        None => trimmed(inner.as_bytes(), inner.len()),
    };
    let stop = start + length.unwrap_or(open_end);
    let end = if length.is_some() { stop + marks } else { stop };
    Extent {
        end,
        value: (start, stop),
        quote,
        open: length.is_none(),
    }
}

/// What programs write between a name and the quotes of its value: prefixes of strings, and what
/// turns them into another type.
const WRAPPERS: &[&[u8]] = &[
    b"b",
    b"r",
    b"u",
    b"@",
    b"[]byte(",
    b"Buffer.from(",
    b"Just(",
    b"Ok(",
    b"Secret(",
    b"Secret::new(",
    b"SecretStr(",
    b"SecretString::from(",
    b"SecretString::new(",
    b"SecureString(",
    b"Some(",
    b"String(",
    b"String::from(",
    b"aws.String(",
    b"b64decode(",
    b"bytes(",
    b"new String(",
    b"pulumi.String(",
    b"str(",
    b"string(",
];

/// The length of a wrapper with a quote behind it.
fn wrapper(bytes: &[u8]) -> usize {
    const LONGEST: usize = 24;
    let first = |b: &u8| b"@BJOS[abnprsu".contains(b);
    if !bytes.first().is_some_and(first) {
        return 0;
    }
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"[]:._@ ".contains(b);
    let quoted = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\'' | b'`' | b'\\'));
    let length = match quoted(1) {
        true => 1,
        false => {
            let name = bytes.iter().take(LONGEST).take_while(named).count();
            let opened = name > 0 && bytes.get(name) == Some(&b'(') && quoted(name + 1);
            if opened { name + 1 } else { 0 }
        }
    };
    let own = bytes.get(..length).unwrap_or_default();
    if length > 0 && WRAPPERS.contains(&own) {
        length
    } else {
        0
    }
}

/// Where a quoted value ends: at its quote, not at an escaped one; a line break ends it too,
/// since an apostrophe may only look like a quote.
fn closing(inner: &str, quote: Quote) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (Quote::Plain(q), b) if *b == q => return Some(at),
            (_, b'\n') => return Some(at),
            (Quote::Plain(_), b'\\') => at += 2,
            // `\\\"` is a quote inside the value of a JSON text that itself stands in a string.
            (Quote::Escaped(q), b'\\') => match bytes.get(at + 1) {
                Some(b) if *b == q => return Some(at),
                Some(b'\\') => at += 4,
                _ => at += 2,
            },
            (Quote::Escaped(q), b) if *b == q => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Where a value without quotes ends: at white space, a quote, a separator of lists or
/// statements, or a closing bracket that it did not open. The first bytes, so many, do nothing of
/// that.
fn bare(inner: &str, plain: usize) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut depth = 0u32;
    for (at, byte) in bytes.iter().enumerate().skip(plain) {
        let next = bytes.get(at + 1);
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'`' | b'<' | b'>' | b'|' => {
                return Some(trimmed(bytes, at));
            }
            // An escape of the string that the text stands in, rather than a part of the value.
            b'\\' => match next {
                None => return None,
                Some(b'"' | b'\'' | b'n' | b'r' | b't') => return Some(trimmed(bytes, at)),
                Some(_) => {}
            },
            b'\'' if !next.is_some_and(u8::is_ascii_alphanumeric) => {
                return next.map(|_| trimmed(bytes, at));
            }
            b'&' if next.is_some_and(u8::is_ascii_alphabetic) => {
                match begins_pair(bytes.get(at + 1..).unwrap_or_default()) {
                    Some(true) => return Some(trimmed(bytes, at)),
                    Some(false) => {}
                    None => return None,
                }
            }
            b',' | b';' | b'&' => match next {
                None => return None,
                Some(b) if b.is_ascii_alphabetic() || b.is_ascii_whitespace() || *b == b'"' => {
                    return Some(trimmed(bytes, at));
                }
                Some(_) => {}
            },
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return Some(trimmed(bytes, at)),
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Longer names no parameter has.
const NAME: usize = 32;

/// Whether the name of a parameter or of an entity stands behind `&`; nothing if that is not clear
/// yet.
fn begins_pair(rest: &[u8]) -> Option<bool> {
    let part = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.[]%".contains(b);
    let length = rest.iter().take(NAME).take_while(part).count();
    match rest.get(length) {
        Some(b) => Some(matches!(b, b'=' | b';')),
        None if length == NAME => Some(false),
        None => None,
    }
}

/// Whether a byte may end a value without quotes, or open or close a bracket in it.
pub(crate) fn may_end(byte: u8) -> bool {
    static ENDS: Set = Set::of(b" \t\n\r\"`<>|\\',;&()[]{}");
    ENDS.holds(byte)
}

/// Leaves out the full stop of a sentence.
fn trimmed(bytes: &[u8], end: usize) -> usize {
    let kept = bytes.get(..end).unwrap_or_default();
    let marks = kept
        .iter()
        .rev()
        .take_while(|b| matches!(b, b'.' | b',' | b';' | b':' | b'\''))
        .count();
    end - marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_value(text: &str) -> (&str, bool) {
        let extent = read(Tail::Value, text, 0);
        (&text[extent.value.0..extent.value.1], extent.open)
    }

    #[test]
    fn values_end_at_their_quote_or_at_white_space() {
        assert_eq!(read_value(r#""ab\"cd",1"#), (r#"ab\"cd"#, false));
        assert_eq!(read_value(r#"\"ab\",\"n\""#), ("ab", false));
        assert_eq!(read_value(r#"\"a\\\"b\","#), (r#"a\\\"b"#, false));
        assert_eq!(read_value("hunter2. Then"), ("hunter2", false));
        assert_eq!(read_value("p(a)ss) x"), ("p(a)ss", false));
        assert_eq!(read_value("ab&c9 x"), ("ab&c9", false));
        assert_eq!(read_value("ab&c9=x"), ("ab", false));
        assert_eq!(read_value("[]byte(\"abc\")"), ("abc", false));
        assert_eq!(read_value("Some(\\\"abc\\\")"), ("abc", false));
        assert_eq!(read_value("b'abc'"), ("abc", false));
        assert_eq!(read_value("abc"), ("abc", true));
        assert_eq!(read_value("\"abc"), ("abc", true));
    }

    #[test]
    fn a_block_ends_behind_its_end_line_or_not_at_all() {
        let extent = |text: &str| {
            let extent = read(Tail::Block, text, 0);
            (extent.end, extent.open)
        };
        assert_eq!(extent("abc\n-----END PRIVATE KEY-----\nx"), (29, false));
        assert_eq!(extent("abc\n-----END PRIVATE KEY--"), (26, true));
        assert_eq!(extent("abc"), (3, true));
    }
}
