//! Cards of people (vCard, RFC 6350) and who takes part in an appointment (iCalendar, RFC 5545).

use std::ops::Range;

use super::fields::Field;
use super::{Record, begins_line, line_end};
use crate::rule::Hit;

/// Longer cards are read so far; what makes them long is a picture.
const LONGEST: usize = 8 << 10;

/// Reads a card up to its end.
pub(super) fn card(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    let most = text.floor_char_boundary(at.saturating_add(LONGEST));
    let rest = text.get(at..most)?;
    let end = at + rest.find("END:VCARD").unwrap_or(rest.len());
    let mut last = at;
    for line in lines(text, at..end) {
        last = line.at;
        property(line, hits);
    }
    Some(Record { end, last })
}

fn lines(text: &str, within: Range<usize>) -> impl Iterator<Item = Field<'_>> {
    let part = Field {
        text: text.get(within.clone()).unwrap_or_default(),
        at: within.start,
    };
    part.split('\n').map(|line| Field {
        text: line.text.trim_end_matches('\r'),
        ..line
    })
}

fn property(line: Field<'_>, hits: &mut Vec<Hit>) {
    let Some((head, value)) = divided(line) else {
        return;
    };
    // `item1.TEL;TYPE=CELL`
    let name = head.split(';').next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    match name {
        "N" => hits.extend(value.split(';').take(3).filter_map(Field::name)),
        "FN" | "NICKNAME" => hits.extend(value.name()),
        "BDAY" => hits.extend(value.birth()),
        "TEL" => hits.extend(value.phone()),
        "ADR" => hits.extend(value.address()),
        _ => {}
    }
}

/// What stands before the colon that ends a property's name, and behind it; a quoted parameter may hold one.
fn divided(line: Field<'_>) -> Option<(&str, Field<'_>)> {
    let mut quoted = false;
    let at = line.text.find(|c: char| {
        quoted ^= c == '"';
        c == ':' && !quoted
    })?;
    let value = Field {
        text: line.text.get(at + 1..)?,
        at: line.at + at + 1,
    };
    Some((line.text.get(..at)?, value))
}

/// Reads the common name in the parameters of a property.
pub(super) fn attendee(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    if !begins_line(text, at) {
        return None;
    }
    let end = line_end(text, at);
    let line = Field {
        text: text.get(at..end)?,
        at,
    };
    let head = divided(line).map_or(line.text, |(head, _)| head);
    let parameters = Field { text: head, at }.split(';').skip(1);
    let names = parameters.filter_map(|one| {
        let value = one.text.strip_prefix("CN=")?;
        let field = Field {
            text: value.trim_matches('"'),
            at: one.at + one.text.len() - value.trim_start_matches('"').len(),
        };
        // A name of one word may be a room's or a list's.
        field.text.contains(' ').then(|| field.name()).flatten()
    });
    hits.extend(names);
    Some(Record { end, last: at })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn cards() {
        let text = "BEGIN:VCARD\r\nVERSION:4.0\r\nN:Zzyrowski;Qlaud;P.;Dr.;\r\nFN:Qlaud P. Zzyrowski\r\n\
            item1.TEL;TYPE=\"cell:x\":tel:+49-30-5550143\r\nADR;TYPE=HOME:;;Gartenweg 7;Berndorf;;12345;Deutschland\r\n\
            BDAY:19800114\r\nNOTE:Vorn\r\nEND:VCARD\r\nN:Umlaut;Ende\r\n";
        let names = ["Zzyrowski", "Qlaud", "Qlaud P. Zzyrowski"];
        found(text, "PERSON", &names);
        found(text, "PHONE", &["+49-30-5550143"]);
        found(
            text,
            "ADDRESS",
            &["Gartenweg 7;Berndorf;;12345;Deutschland"],
        );
        found(text, "DATE_OF_BIRTH", &["19800114"]);
    }

    #[test]
    fn who_takes_part() {
        let text = "ATTENDEE;CN=Qlaud Zzyrowski;ROLE=CHAIR:mailto:q@x\nORGANIZER;CN=\"Ina Vorn\":mailto:i@x\n";
        found(text, "PERSON", &["Qlaud Zzyrowski", "Ina Vorn"]);
        nothing("ATTENDEE;CN=Boardroom;ROLE=NON-PARTICIPANT:mailto:r\n");
        nothing("no ORGANIZER;CN=New York: none");
    }
}
