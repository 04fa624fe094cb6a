//! Runs of base64 and hex that hide text: opened, searched, and found as a whole.
//!
//! A run counts only if it decodes strictly to printable text; hashes, keys and pictures do not,
//! which the first characters of a run show, so they cost next to nothing.

use data_encoding::{
    BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE,
};

use crate::rule::Class;
use crate::seek::{WORD, marked};

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
        while let Some(start) = next_body(bytes, &mut at) {
            let padding = bytes
                .iter()
                .skip(at)
                .take(2)
                .take_while(|b| **b == b'=')
                .count();
            let length = at - start;
            at += padding;
            if length + padding >= SHORTEST {
                return Some(Run { start, end: at });
            }
        }
        None
    })
}

/// The next maximal run of the alphabets without padding that may be long enough with it: where
/// it begins; `at` is moved behind it. Nothing of the alphabets stands right before `at`.
fn next_body(bytes: &[u8], at: &mut usize) -> Option<usize> {
    loop {
        let rest = bytes.get(*at..).filter(|rest| rest.len() >= BODY)?;
        let marks = marked(rest, is_body);
        // Wherever that many stand in a row, and nowhere else, a bit is left.
        let four = marks & marks >> 1 & (marks >> 2 & marks >> 3);
        let rows = four & four >> 4 & (four >> 8 & four >> (BODY - 4));
        if rows != 0 {
            let start = *at + rows.trailing_zeros() as usize;
            let behind = bytes.get(start + BODY..).unwrap_or_default();
            let more = behind.iter().position(|b| !is_body(*b));
            *at = start + BODY + more.unwrap_or(behind.len());
            return Some(start);
        }
        // What touches the end of the block may go on behind it.
        *at += WORD - marks.leading_ones() as usize;
    }
}

/// The shortest run without its padding, of which there may be two bytes.
const BODY: usize = SHORTEST - 2;

/// Whether a byte belongs to an alphabet and is no padding.
fn is_body(byte: u8) -> bool {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    let mark = (byte == b'+') | (byte == b'-') | (byte == b'/') | (byte == b'_');
    letter | digit | mark
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

/// Fewer tag characters in a row hide no value; a flag has up to five.
pub(crate) const SHORTEST_TAGS: usize = 6;

/// Runs of Unicode tag characters, and the ASCII that they stand for.
pub(crate) fn tag_runs(text: &str) -> impl Iterator<Item = (Run, String)> + '_ {
    let mut at = if text.is_ascii() { text.len() } else { 0 };
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at + memchr::memmem::find(rest.as_bytes(), TAG_BYTES)?;
        let inner: String = text.get(start..)?.chars().map_while(tag).collect();
        let end = start + 4 * inner.len();
        // The last ones of the block stand for no character.
        at = end.max(start + 4);
        Some((Run { start, end }, inner))
    })
}

/// What all tag characters begin with in UTF-8.
const TAG_BYTES: &[u8] = b"\xF3\xA0";

/// The character that a tag character stands for.
fn tag(c: char) -> Option<char> {
    let ascii = u32::from(c).checked_sub(0xE0000)?;
    char::from_u32(ascii).filter(|c| matches!(c, ' '..='~'))
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
    if !may_be_text(even.as_bytes()) {
        return false;
    }
    // Sixty-four hex digits may be the start of either.
    if opens_as_text(&HEXLOWER_PERMISSIVE, even.as_bytes()) {
        return true;
    }
    let mut standard = [0; CLEAR];
    for (slot, byte) in standard.iter_mut().zip(even.bytes()) {
        *slot = match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        };
    }
    let standard = standard.get(..even.len()).unwrap_or_default();
    opens_as_text(&BASE64_NOPAD, standard)
}

/// Whether the start of a run, up to [`CLEAR`] characters, decodes to the start of a text.
fn opens_as_text(encoding: &Encoding, start: &[u8]) -> bool {
    let mut buffer = [0; CLEAR];
    let length = encoding.decode_len(start.len()).ok();
    let bytes = length.and_then(|length| buffer.get_mut(..length));
    let Some(bytes) = bytes else { return false };
    encoding.decode_mut(start, bytes).is_ok_and(|length| {
        let bytes = bytes.get(..length).unwrap_or_default();
        starts_as_text(bytes)
    })
}

/// Whether texts are made of the bytes that a run stands for. Most runs are words and digests and
/// end here.
fn may_be_text(run: &[u8]) -> bool {
    reads(run, 2, hex) || reads(run, 4, six)
}

/// Whether whole groups of so many digits stand for bytes that texts are made of.
fn reads(digits: &[u8], group: usize, value: fn(u8) -> Option<u32>) -> bool {
    let bits = if group == 2 { 4 } else { 6 };
    digits.chunks_exact(group).enumerate().all(|(at, group)| {
        let whole = group
            .iter()
            .try_fold(0, |sum, digit| Some(sum << bits | value(*digit)?));
        whole.is_some_and(|whole| {
            let [.., a, b, c] = whole.to_be_bytes();
            let bytes = if bits == 4 { [c, c, c] } else { [a, b, c] };
            bytes.iter().enumerate().all(|(place, byte)| {
                let inside = at + place > 0 && matches!(byte, 0x80..=0xBF);
                inside || matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0xC2..=0xF4)
            })
        })
    })
}

fn hex(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}

fn six(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
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
    fn tag_characters_stand_for_ascii() {
        let hidden = |text: &str| -> String {
            text.chars()
                .filter_map(|c| char::from_u32(0xE0000 + u32::from(c)))
                .collect()
        };
        let text = format!("a{}b{}\u{E007F}", hidden("4111 x"), hidden("gb"));
        let runs: Vec<_> = tag_runs(&text)
            .map(|(run, inner)| (run.start, inner))
            .collect();
        let flag = (26, "gb".to_owned());
        assert_eq!(&runs[..2], [(1, "4111 x".to_owned()), flag]);
        assert!(runs[2..].iter().all(|(_, inner)| inner.is_empty()));
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

    proptest::proptest! {
        #[test]
        fn what_decodes_to_text_is_promising(run in "[0-9a-f]{14,70}|[A-Za-z0-9+/_-]{14,70}|\\PC{10,30}") {
            let even = |run: &str| run.len() / 4 * 4;
            for run in [run.clone(), BASE64URL_NOPAD.encode(run.as_bytes()), HEXLOWER_PERMISSIVE.encode(run.as_bytes())] {
                let Some(head) = run.get(..even(&run).min(CLEAR)) else { continue };
                let standard = head.replace('-', "+").replace('_', "/");
                let opened = [HEXLOWER_PERMISSIVE.decode(head.as_bytes()), BASE64_NOPAD.decode(standard.as_bytes())];
                let text = opened.iter().flatten().any(|bytes| starts_as_text(bytes));
                proptest::prop_assert_eq!(promising(&run), text, "{}", run);
            }
        }
    }
}
