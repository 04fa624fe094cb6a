//! Machine-readable zones of passports, visas and identity cards: lines of equal length, whose numbers
//! have check digits.
//!
//! Source: ICAO Doc 9303, parts 3 (check digits) to 7.

use super::{Record, begins_line};
use crate::label::Label;
use crate::rule::Hit;

/// What is known of a zone of which a check digit holds.
const SCORE: u8 = 97;

/// How many lines of how many characters a zone has, and in which line and where a number stands whose
/// check digit follows.
type Format = (usize, usize, usize, (usize, usize));
/// The longest of their lines.
const LONGEST: usize = 44;

const FORMATS: &[Format] = &[
    // Passports and visas of that size: the date of birth.
    (2, 44, 1, (13, 19)),
    (2, 36, 1, (13, 19)),
    // Identity cards of the size of a bank card.
    (3, 30, 1, (0, 6)),
];

/// Reads the zone of which a line holds the place.
pub(super) fn zone(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    FORMATS.iter().find_map(|format| {
        let (count, length, ..) = *format;
        // The place may stand in its last line; what is whole by then counts before what may become one.
        (0..count).rev().find_map(|back| {
            let first = start(text, at, back, length)?;
            read(text, first, format, hits)
        })
    })
}

/// Where lines begin at the end of a text that may become a zone; else the text's length.
pub(super) fn begun(text: &str) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(LONGEST * 3 + 6));
    let (mut begun, mut stop) = (text.len(), text.len());
    let near = text.get(from..).unwrap_or_default();
    for (number, line) in near.rsplit('\n').enumerate() {
        let start = stop - line.len();
        stop = start.saturating_sub(1);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let sized = number == 0 && line.len() <= LONGEST;
        let whole = FORMATS.iter().any(|(_, length, ..)| *length == line.len());
        if !(sized || whole) || !line.bytes().all(is_part) || !begins_line(text, start) {
            break;
        }
        if line.starts_with(['P', 'I', 'A', 'C', 'V']) {
            begun = start;
        }
    }
    begun
}

fn is_part(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'<'
}

/// Where a zone begins of which so many lines lie before the one that holds the place.
fn start(text: &str, at: usize, back: usize, length: usize) -> Option<usize> {
    let from = at.saturating_sub(length);
    let before = text.as_bytes().get(from..at)?;
    let here = match memchr::memrchr2(b'\n', b'\r', before) {
        Some(end) => from + end + 1,
        None if from == 0 => 0,
        None => return None,
    };
    (0..back).try_fold(here, |start, _| {
        let before = text.get(..start)?.strip_suffix('\n')?;
        let before = before.strip_suffix('\r').unwrap_or(before);
        let start = before.len().checked_sub(length)?;
        begins_line(text, start).then_some(start)
    })
}

fn read(text: &str, first: usize, format: &Format, hits: &mut Vec<Hit>) -> Option<Record> {
    let (count, length, line, number) = *format;
    let most = text.floor_char_boundary(first + count * (length + 2));
    let near = text.get(first..most)?;
    let lines: Vec<&str> = near.lines().take(count).collect();
    let is_zone = |line: &&str| line.bytes().all(is_part);
    let whole = lines.len() == count && lines.iter().all(|line| line.len() == length);
    if !whole {
        // What has come so far may become one.
        let (cut, before) = lines.split_last()?;
        let fits = lines.iter().all(is_zone)
            && before.iter().all(|line| line.len() == length)
            && cut.len() <= length;
        let open = fits && most == text.len();
        return open.then_some(Record {
            end: first,
            open: Some(first),
        });
    }
    let last = lines.last()?;
    let behind = near.len() - near.get(near.rfind(last)?..)?.len() + length;
    let goes_on = near.as_bytes().get(behind).is_some_and(|b| is_part(*b));
    if goes_on || !lines.iter().all(is_zone) || !is_checked(lines.get(line)?, number) {
        return None;
    }
    let end = first + behind;
    hits.push(Hit {
        start: first,
        end,
        label: Label::PASSPORT,
        score: SCORE,
        certain: true,
    });
    let open = (end == text.len()).then_some(first);
    Some(Record { end, open })
}

/// Whether the digit behind a number is its check digit.
fn is_checked(line: &str, (from, to): (usize, usize)) -> bool {
    let value = |b: u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        b'A'..=b'Z' => u32::from(b - b'A') + 10,
        _ => 0,
    };
    let bytes = line.as_bytes();
    let (Some(number), Some(check)) = (bytes.get(from..to), bytes.get(to)) else {
        return false;
    };
    let weights = [7, 3, 1].into_iter().cycle();
    let sum: u32 = number
        .iter()
        .zip(weights)
        .map(|(b, weight)| value(*b) * weight)
        .sum();
    let any = number.iter().any(u8::is_ascii_digit);
    any && check.is_ascii_digit() && u32::from(check - b'0') == sum % 10
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn zones_of_all_sizes() {
        for zone in [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10",
            "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<\nD231458907UTO7408122F1204159<<<<<<<6",
            "I<UTOD231458907<<<<<<<<<<<<<<<\n7408122F1204159UTO<<<<<<<<<<<6\nERIKSSON<<ANNA<MARIA<<<<<<<<<<",
        ] {
            for text in [
                zone.to_owned(),
                format!("scan:\n{zone}\nok"),
                zone.replace('\n', "\r\n"),
            ] {
                let wanted = if text.contains('\r') {
                    text.clone()
                } else {
                    zone.to_owned()
                };
                found(&text, "PASSPORT", &[&wanted]);
            }
        }
    }

    #[test]
    fn what_only_looks_like_a_zone() {
        nothing(
            "<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<\n<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
        );
        nothing(
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408123F1204159ZE184226B<<<<<10",
        );
        nothing("cout <<< x;\n<<<<<<< HEAD\n");
    }
}
