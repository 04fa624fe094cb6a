//! Runs of base64 and hex that hide text: opened, searched, and found as a whole.
//!
//! A run counts only if it decodes strictly to printable text; hashes, keys and pictures do not,
//! which the first characters of a run show, so they cost next to nothing.

use std::borrow::Cow;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};

use crate::rule::Class;

/// Shorter runs hold no value worth hiding.
const SHORTEST: usize = 16;
/// By this many characters of a run it is clear whether it holds text.
pub(crate) const CLEAR: usize = 64;

/// A maximal run of the base64 alphabets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub start: usize,
    pub end: usize,
}

/// All runs that are long enough, in order. A path is one run, and so is each part of it.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let gap = rest
                .iter()
                .position(|b| Class::Base64.holds(*b) && *b != b'=')?;
            let start = at + gap;
            let body = bytes.get(start..).unwrap_or_default();
            let length = body
                .iter()
                .position(|b| !Class::Base64.holds(*b) || *b == b'=')
                .unwrap_or(body.len());
            let padding = body
                .iter()
                .skip(length)
                .take(2)
                .take_while(|b| **b == b'=')
                .count();
            at = start + length + padding;
            if length + padding >= SHORTEST {
                return Some(Run { start, end: at });
            }
        }
        None
    })
}

/// The parts of a run between slashes, for paths; nothing if there are none.
pub(crate) fn parts(text: &str, run: Run) -> impl Iterator<Item = Run> + '_ {
    let whole = text.get(run.start..run.end).unwrap_or_default();
    let mut start = run.start;
    whole.split('/').filter_map(move |part| {
        let this = Run {
            start,
            end: start + part.len(),
        };
        start = this.end + 1;
        (part.len() >= SHORTEST && part.len() < whole.len()).then_some(this)
    })
}

/// Where a run begins at the very end of the text that is too short yet; the text's length if
/// none does.
pub(crate) fn begun(text: &str) -> usize {
    let bytes = text.as_bytes();
    let padding = bytes
        .iter()
        .rev()
        .take(2)
        .take_while(|b| **b == b'=')
        .count();
    let body = bytes.iter().rev().skip(padding).take(SHORTEST);
    let short = body
        .take_while(|b| Class::Base64.holds(**b) && **b != b'=')
        .count();
    if short + padding < SHORTEST {
        text.len() - short - padding
    } else {
        text.len()
    }
}

/// The text that a run hides.
pub(crate) fn decode(run: &str) -> Option<String> {
    if !promising(run) {
        return None;
    }
    let bytes = whole(run)?;
    let text = String::from_utf8(bytes).ok()?;
    is_text(&text).then_some(text)
}

/// Whether the start of a run decodes to the start of a text.
pub(crate) fn promising(run: &str) -> bool {
    let head = run.get(..run.len().min(CLEAR)).unwrap_or(run);
    let head = head.trim_end_matches('=');
    let even = head.get(..head.len() / 4 * 4).unwrap_or_default();
    // Sixty-four hex digits may be the start of either.
    if HEXLOWER_PERMISSIVE
        .decode(even.as_bytes())
        .is_ok_and(|bytes| starts_as_text(&bytes))
    {
        return true;
    }
    let standard: Cow<'_, str> = even.replace('-', "+").replace('_', "/").into();
    BASE64_NOPAD
        .decode(standard.as_bytes())
        .is_ok_and(|bytes| starts_as_text(&bytes))
}

fn is_hex(run: &str) -> bool {
    run.len().is_multiple_of(2) && run.bytes().all(|b| b.is_ascii_hexdigit())
}

fn whole(run: &str) -> Option<Vec<u8>> {
    let bytes = run.as_bytes();
    if is_hex(run) {
        return HEXLOWER_PERMISSIVE.decode(bytes).ok();
    }
    [BASE64, BASE64URL, BASE64_NOPAD, BASE64URL_NOPAD]
        .iter()
        .find_map(|encoding| encoding.decode(bytes).ok())
}

fn starts_as_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() => {
            let (head, _) = bytes
                .split_at_checked(error.valid_up_to())
                .unwrap_or_default();
            std::str::from_utf8(head).unwrap_or_default()
        }
        Err(_) => return false,
    };
    is_text(valid)
}

/// Printable, but for the usual white space.
fn is_text(text: &str) -> bool {
    text.len() >= 6
        && !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_hide_text_are_opened() {
        let run = "Y29udGFjdD1taXJhLm9rYWZvckBleGFtcGxlLmNvbQ==";
        let text = format!("blob={run} sha=3f786850e387550fdab836ed7e6dc881de23001b");
        let opened: Vec<_> = runs(&text).map(|r| decode(&text[r.start..r.end])).collect();
        assert_eq!(
            opened,
            [Some("contact=mira.okafor@example.com".to_owned()), None]
        );
        assert_eq!(
            decode("6c656e614065782e6f7267").as_deref(),
            Some("lena@ex.org")
        );
    }

    #[test]
    fn words_and_hashes_are_not() {
        for run in [
            "internationalisation",
            "getElementsByClassName",
            "9f86d081884c7d659a2feaa0",
        ] {
            assert_eq!(decode(run), None, "{run}");
        }
    }

    #[test]
    fn a_promising_whole_has_a_promising_start() {
        let long = BASE64.encode(
            "lena.fors@example.org, żółć, and more "
                .repeat(9)
                .as_bytes(),
        );
        assert!(decode(&long).is_some());
        for length in CLEAR..long.len() {
            assert!(promising(&long[..length]));
        }
    }
}
