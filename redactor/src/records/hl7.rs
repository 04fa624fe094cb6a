//! Segments of HL7 v2 messages about people: fields stand between `|`, their parts between `^`.
//!
//! Source: HL7 Version 2.5.1, chapters 3 (PID, NK1, PV1) and 6 (GT1, IN1).

use super::fields::Field;
use super::{Record, line_end};
use crate::label::Label;
use crate::rule::Hit;

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    /// A name (XPN): family, given, further.
    Name,
    /// Somebody of the staff (XCN): an id, then a name.
    Staff,
    /// An address (XAD).
    Address,
    /// A telephone number (XTN).
    Phone,
    Birth,
    /// Numbers (CX): the id is the first part.
    Number(Label),
}

/// Which fields of which segments hold what.
const FIELDS: &[(&str, &[(usize, Kind)])] = &[
    (
        "PID",
        &[
            (2, Kind::Number(Label::MEDICAL_RECORD)),
            (3, Kind::Number(Label::MEDICAL_RECORD)),
            (4, Kind::Number(Label::MEDICAL_RECORD)),
            (5, Kind::Name),
            (6, Kind::Name),
            (7, Kind::Birth),
            (9, Kind::Name),
            (11, Kind::Address),
            (13, Kind::Phone),
            (14, Kind::Phone),
            (18, Kind::Number(Label::MEDICAL_RECORD)),
            (19, Kind::Number(Label::US_SSN)),
            (20, Kind::Number(Label::DRIVER_LICENSE)),
        ],
    ),
    (
        "NK1",
        &[
            (2, Kind::Name),
            (4, Kind::Address),
            (5, Kind::Phone),
            (6, Kind::Phone),
            (16, Kind::Birth),
            (30, Kind::Name),
            (31, Kind::Phone),
            (32, Kind::Address),
        ],
    ),
    (
        "GT1",
        &[
            (2, Kind::Number(Label::MEDICAL_RECORD)),
            (3, Kind::Name),
            (4, Kind::Name),
            (5, Kind::Address),
            (6, Kind::Phone),
            (7, Kind::Phone),
            (8, Kind::Birth),
            (12, Kind::Number(Label::US_SSN)),
        ],
    ),
    (
        "IN1",
        &[
            (16, Kind::Name),
            (18, Kind::Birth),
            (19, Kind::Address),
            (36, Kind::Number(Label::MEDICAL_RECORD)),
            (49, Kind::Number(Label::MEDICAL_RECORD)),
        ],
    ),
    (
        "PV1",
        &[
            (7, Kind::Staff),
            (8, Kind::Staff),
            (9, Kind::Staff),
            (17, Kind::Staff),
            (19, Kind::Number(Label::MEDICAL_RECORD)),
        ],
    ),
];

/// Digits of the number of a set.
const DIGITS: usize = 8;

/// Reads a segment, which is a line.
pub(super) fn segment(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    // A message may stand in a log's line, behind what the log says.
    let before = text.get(..at)?.chars().next_back();
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    // The first field of each is the number of the set: what has other words there is a table. Asked before
    // the line is read, of which a text may have one with a mark at every turn.
    let set = text.get(at + "PID|".len()..)?.bytes().take(DIGITS + 1);
    let mut rest = set.skip_while(u8::is_ascii_digit);
    if rest.next() != Some(b'|') {
        return None;
    }
    let end = line_end(text, at);
    let line = Field {
        text: text.get(at..end)?,
        at,
    };
    let (_, kinds) = FIELDS
        .iter()
        .find(|(name, _)| line.text.starts_with(name))?;
    let mut last = at;
    for (number, field) in line.split('|').enumerate() {
        last = field.at;
        if let Some((_, kind)) = kinds.iter().find(|(known, _)| *known == number) {
            field.split('~').for_each(|one| values(one, *kind, hits));
        }
    }
    let open = (end == text.len()).then_some(last);
    Some(Record { end, open })
}

fn values(field: Field<'_>, kind: Kind, hits: &mut Vec<Hit>) {
    let first = field.first('^');
    match kind {
        Kind::Name => names(field, 0, hits),
        Kind::Staff => names(field, 1, hits),
        Kind::Address => hits.extend(place(field).address()),
        // Since version 2.3 the number stands behind, in its parts.
        Kind::Phone => hits.extend(first.phone().or_else(|| field.phone())),
        Kind::Birth => hits.extend(first.birth()),
        Kind::Number(label) => hits.extend(first.number(label)),
    }
}

/// Family, given and further names, behind some other parts.
fn names(field: Field<'_>, skipped: usize, hits: &mut Vec<Hit>) {
    let parts = field.split('^').skip(skipped).take(3);
    // What belongs to a family name stands in it, behind `&`.
    hits.extend(
        parts
            .flat_map(|part| part.split('&'))
            .filter_map(Field::name),
    );
}

/// Street, further, city, state and postal code, without what follows.
fn place(field: Field<'_>) -> Field<'_> {
    let parts = field.split('^').take(5);
    let end = parts
        .last()
        .map_or(field.at, |part| part.at + part.text.len());
    Field {
        text: field.text.get(..end - field.at).unwrap_or_default(),
        ..field
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    const MESSAGE: &str = "MSH|^~\\&|EPIC|HOSP|LAB|HOSP|202401011200||ADT^A01|123|P|2.5\r\
        PID|1||4471902^^^HOSP^MR~88-12^^^X||ZZYROWSKI^QLAUD^J||19800114|F|||12 ELM ST^^SPRINGFIELD^IL^62704^USA^H||(217)555-0143^PRN^PH|||S||99812^^^HOSP|512-48-3071|D1234567^IL\r\
        NK1|1|VORN^INA|SPO|7 OAK RD^^SPRINGFIELD|^PRN^PH^^1^217^5550144\r\
        PV1|1|I|W^389^1||||1093^HALVORSEN^INGA^^^DR\rOBX|1|NM|K||4.1";

    #[test]
    fn fields_of_segments() {
        let names = ["ZZYROWSKI", "QLAUD", "VORN", "INA", "HALVORSEN", "INGA"];
        found(MESSAGE, "PERSON", &names);
        found(MESSAGE, "DATE_OF_BIRTH", &["19800114"]);
        let places = ["12 ELM ST^^SPRINGFIELD^IL^62704", "7 OAK RD^^SPRINGFIELD"];
        found(MESSAGE, "ADDRESS", &places);
        found(MESSAGE, "PHONE", &["(217)555-0143", "1^217^5550144"]);
        found(MESSAGE, "MEDICAL_RECORD", &["4471902", "88-12", "99812"]);
        found(MESSAGE, "US_SSN", &["512-48-3071"]);
        found(MESSAGE, "DRIVER_LICENSE", &["D1234567"]);
    }

    #[test]
    fn what_only_begins_like_a_segment() {
        nothing("| PID | USER |\n| PID|x|y|z|w|v |");
        nothing("RAPID|1|2|3|4|OKLA^HOMA");
        nothing("|PID|USER|PR|NI|VIRT|RES|SHR|S|%CPU|%MEM|TIME+|COMMAND|");
        nothing("KPI|PID|A|B|C|DD|EE|FF");
        nothing("PID|1||");
        nothing("PID|");
    }
}
