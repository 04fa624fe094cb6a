//! Places for values in JSON that stands inside of a text: behind prose, in a fenced block, a line
//! for each document, cut off, or printed with its quotes escaped. Such JSON need not parse as a
//! whole; what stands right beside a value shows that it is one. A number that is replaced there
//! becomes a string, and a string that is a token of a number becomes that number again.
//!
//! Only a bounded part of the text beside a value is read, so the work is linear in the text, and a
//! stream that keeps that much decides alike however it is cut.

use std::ops::Range;

use crate::json::well_formed;

/// How much of the text before a value is read.
pub(crate) const REACH: usize = 512;
/// How much white space may stand before what ends a value.
const MOST_SPACE: usize = 64;
/// No number that is a value is longer.
const LONGEST: usize = 64;

/// What stands behind something that may be a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The end of a value.
    Closed,
    No,
    /// The text ends before it is clear.
    Perhaps,
}

/// If a value of JSON may stand behind a text: how many backslashes its quotes have.
pub(crate) fn opens(before: &str) -> Option<usize> {
    let mut from = before.len().saturating_sub(REACH);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let before = trimmed(before.get(from..)?);
    match before.as_bytes().last()? {
        b':' => quote_at_end(trimmed(before.get(..before.len() - 1)?)),
        b'[' => Some(nearest_quote(before)),
        b',' => listed(before),
        _ => None,
    }
}

/// Whether a value of JSON ends where `after` begins.
pub(crate) fn closes(after: &str, slashes: usize) -> End {
    let mut rest = after.as_bytes();
    for _ in 0..=MOST_SPACE {
        rest = match rest {
            [] => return End::Perhaps,
            [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] => rest,
            [b',' | b'}' | b']', ..] => return End::Closed,
            [b'\\'] if slashes > 0 => return End::Perhaps,
            // White space of a document that is printed as a string.
            [b'\\', b'n' | b'r' | b't', rest @ ..] if slashes > 0 => rest,
            _ => return End::No,
        };
    }
    End::No
}

/// The letters and digits beside a part of a text that a number literal with it would be made of.
pub(crate) fn extent(text: &str, part: &Range<usize>) -> Range<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let bytes = text.as_bytes();
    let before = bytes.get(..part.start).unwrap_or_default().iter().rev();
    let after = bytes.get(part.end..).unwrap_or_default().iter();
    let start = part.start - before.take(LONGEST).take_while(is_part).count();
    start..part.end + after.take(LONGEST).take_while(is_part).count()
}

/// Whether a text is a number literal.
pub(crate) fn is_number(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.len() <= LONGEST && well_formed(text.as_bytes()))
}

/// A quote with backslashes in front of it.
pub(crate) fn quote(slashes: usize) -> String {
    format!("{}\"", "\\".repeat(slashes))
}

/// The backslashes of the quote that a text ends with.
pub(crate) fn quote_at_end(text: &str) -> Option<usize> {
    let before = text.strip_suffix('"')?;
    Some(before.len() - before.trim_end_matches('\\').len())
}

/// The backslashes of the last quote in a text.
fn nearest_quote(text: &str) -> usize {
    let end = text.rfind('"').map_or(0, |at| at + 1);
    text.get(..end).and_then(quote_at_end).unwrap_or(0)
}

/// Whether the comma that a text ends with stands between plain values of an array.
fn listed(before: &str) -> Option<usize> {
    let mut quoted = false;
    for byte in before.bytes().rev() {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' => return Some(nearest_quote(before)),
            b',' | b' ' | b'\t' | b'\r' | b'\n' | b'\\' | b'+' | b'-' | b'.' | b'E' => {}
            byte if byte.is_ascii_digit() || byte.is_ascii_lowercase() => {}
            _ => return None,
        }
    }
    None
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_keys_and_in_arrays() {
        for (before, slashes) in [
            ("so: {\"ssn\": ", 0),
            ("{\"a\":1,\"ssn\":\n", 0),
            ("[", 0),
            ("see {\"l\": [1, true, \"a, b\",", 0),
            ("{\\\"ssn\\\": ", 1),
            ("{\\\\\\\"l\\\\\\\":[7, ", 3),
        ] {
            assert_eq!(opens(before), Some(slashes), "{before}");
        }
        for before in [
            "",
            "ssn: ",
            "'ssn': ",
            "the number ",
            "one, ",
            "{\"a\": \"b, ",
            "(SSN 1, ",
            "}, ",
        ] {
            assert_eq!(opens(before), None, "{before}");
        }
        let far = format!("[{}", "1,".repeat(REACH));
        assert_eq!(opens(&far), None);
    }

    #[test]
    fn values_end_before_commas_and_brackets() {
        for (after, slashes, end) in [
            (",", 0, End::Closed),
            (" \n }", 0, End::Closed),
            ("]", 1, End::Closed),
            ("\\n}", 1, End::Closed),
            ("\\n}", 0, End::No),
            (" .", 0, End::No),
            ("x", 0, End::No),
            ("", 0, End::Perhaps),
            (" ", 0, End::Perhaps),
            ("\\", 1, End::Perhaps),
        ] {
            assert_eq!(closes(after, slashes), end, "{after}");
        }
        assert_eq!(closes(&" ".repeat(MOST_SPACE + 1), 0), End::No);
    }

    #[test]
    fn a_number_is_taken_whole() {
        let text = "{\"a\": -4.10e3, \"b\": 007}";
        assert_eq!(extent(text, &(7..8)), 6..13);
        assert!(is_number(text.get(6..13)));
        for not in ["007", "1.", "12 34", "1e", "x", ""] {
            assert!(!is_number(Some(not)), "{not}");
        }
    }
}
