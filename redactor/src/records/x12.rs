//! Parties of X12 messages: `NM1` says who, the segments behind it where and when born. Elements stand
//! between `*`, segments end with `~`.
//!
//! Source: ASC X12N 005010X222 (837P), loops 2010.

use super::Record;
use super::fields::Field;
use crate::label::Label;
use crate::rule::Hit;

/// So much text holds all that is said of a party.
const LONGEST: usize = 1024;

/// Reads a party, up to the first segment that says nothing about it.
pub(super) fn party(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    let before = text.get(..at)?.chars().next_back();
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let most = text.floor_char_boundary(at.saturating_add(LONGEST));
    let whole = Field {
        text: text.get(at..most)?,
        at,
    };
    let (mut person, mut end, mut open) = (false, at, None);
    for (number, segment) in segments(whole).enumerate() {
        let stop = segment.at + segment.text.len();
        // More of it may come; or the bound has cut it, and only a whole one is read.
        let cut = stop == most;
        open = (stop == text.len()).then_some(segment.at);
        if cut && open.is_none() {
            break;
        }
        let elements: Vec<Field<'_>> = segment.split('*').collect();
        match elements.first().map(|name| name.text) {
            Some("NM1") if number == 0 => {
                person = elements.get(2).is_some_and(|kind| kind.text == "1");
                named(&elements, person, hits);
            }
            Some("N3" | "N4") if person => hits.extend(behind(segment).and_then(Field::address)),
            Some("DMG") if person => hits.extend(elements.get(2).and_then(|it| it.birth())),
            Some("PER") => {
                hits.extend(elements.get(2).and_then(|it| it.name()));
                hits.extend(elements.iter().skip(3).filter_map(|it| it.phone()));
            }
            Some("REF" | "N3" | "N4" | "DMG" | "") => {}
            _ => break,
        }
        end = stop;
    }
    Some(Record { end, open })
}

/// Segments end with `~`, a line's end, or both.
fn segments(whole: Field<'_>) -> impl Iterator<Item = Field<'_>> {
    let lines = whole.split('\n').flat_map(|line| line.split('~'));
    lines.map(|segment| Field {
        text: segment.text.trim_end_matches('\r'),
        ..segment
    })
}

/// Family, given and further names, and the number under which the party is known.
fn named(elements: &[Field<'_>], person: bool, hits: &mut Vec<Hit>) {
    if person {
        let names = elements.iter().skip(3).take(3);
        hits.extend(names.filter_map(|it| it.name()));
    }
    let qualified = elements.get(8).zip(elements.get(9));
    let number = qualified.and_then(|(kind, number)| {
        let label = match kind.text {
            "34" => Label::US_SSN,
            "MI" | "XX" | "II" => Label::MEDICAL_RECORD,
            _ => return None,
        };
        (person || kind.text == "MI").then(|| number.number(label))?
    });
    hits.extend(number);
}

/// The elements of a segment, without its name.
fn behind(segment: Field<'_>) -> Option<Field<'_>> {
    let (name, text) = segment.text.split_once('*')?;
    Some(Field {
        text,
        at: segment.at + name.len() + 1,
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn a_party_and_what_is_said_of_it() {
        let text = "HL*1**20*1~NM1*IL*1*ZZYROWSKI*QLAUD*P***MI*99812345~N3*12 ELM ST*APT 5B~\
            N4*SPRINGFIELD*IL*62704~DMG*D8*19800114*F~NM1*PR*2*ACME HEALTH*****PI*12345~";
        found(text, "PERSON", &["ZZYROWSKI", "QLAUD"]);
        found(text, "MEDICAL_RECORD", &["99812345"]);
        found(
            text,
            "ADDRESS",
            &["12 ELM ST*APT 5B", "SPRINGFIELD*IL*62704"],
        );
        found(text, "DATE_OF_BIRTH", &["19800114"]);
    }

    #[test]
    fn organisations_are_nobody() {
        nothing("NM1*41*2*ACME BILLING*****46*TGJ23~");
        nothing("NM1*");
    }
}
