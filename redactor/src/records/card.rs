//! Cards of people (vCard, RFC 6350) and who takes part in an appointment (iCalendar, RFC 5545).

use super::fields::Field;
use super::{Record, begins_line};
use crate::rule::Hit;

/// Longer properties are pictures.
const LONGEST: usize = 8 << 10;

/// Reads a card up to its end, or to the first line that is no property.
pub(super) fn card(text: &str, at: usize, hits: &mut Vec<Hit>) -> Option<Record> {
    if !begins_line(text, at) {
        return None;
    }
    let (mut from, mut open) = (at, None);
    while let Some(line) = logical(text, from) {
        let stop = line.at + line.text.len();
        // Behind its break a space may come.
        open = (behind_break(text, stop) == text.len()).then_some(line.at);
        let name = line.text.split([':', ';']).next().unwrap_or_default();
        let named = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let is_property = !name.is_empty() && name.chars().all(named);
        if !is_property && open.is_none() {
            break;
        }
        property(line, hits);
        from = behind_break(text, stop);
        if line.text.eq_ignore_ascii_case("END:VCARD") {
            break;
        }
    }
    Some(Record { end: from, open })
}

/// The line from a place on, with those that go on with it: they begin with a space (RFC 5545 §3.1).
fn logical(text: &str, at: usize) -> Option<Field<'_>> {
    let most = text.floor_char_boundary(at.saturating_add(LONGEST));
    let rest = text.get(at..most).filter(|rest| !rest.is_empty())?;
    let bytes = rest.as_bytes();
    let breaks = memchr::memchr_iter(b'\n', bytes);
    let end = breaks
        .into_iter()
        .find(|end| !matches!(bytes.get(end + 1), Some(b' ' | b'\t')));
    let line = rest.get(..end.unwrap_or(rest.len()))?;
    let text = line.strip_suffix('\r').unwrap_or(line);
    Some(Field { text, at })
}

/// Behind the line break at a place.
fn behind_break(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    text.len() - rest.strip_prefix('\n').unwrap_or(rest).len()
}

fn property(line: Field<'_>, hits: &mut Vec<Hit>) {
    let Some((head, value)) = divided(line) else {
        return;
    };
    // `item1.TEL;TYPE=CELL`
    let name = head.split(';').next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    match name.to_ascii_uppercase().as_str() {
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
    let line = logical(text, at)?;
    let head = divided(line).map_or(line.text, |(head, _)| head);
    let end = at + head.len();
    let all = behind_break(text, line.at + line.text.len()) == text.len();
    let open = all.then_some(at);
    let parameters = || Field { text: head, at }.split(';').skip(1);
    let things = ["CUTYPE=ROOM", "CUTYPE=RESOURCE"];
    if parameters().any(|one| things.contains(&one.text)) {
        return Some(Record { end, open });
    }
    let names = parameters().filter_map(|one| {
        let value = one.text.strip_prefix("CN=")?;
        let field = Field {
            text: value.trim_matches('"'),
            at: one.at + one.text.len() - value.trim_start_matches('"').len(),
        };
        // A name of one word may be a room's or a list's.
        field.text.contains(' ').then(|| field.name()).flatten()
    });
    hits.extend(names);
    Some(Record { end, open })
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
        let folded = "ATTENDEE;CUTYPE=INDIVIDUAL;RSVP=\r\n TRUE;CN=Lena F\r\n ors:mailto:x\r\n";
        found(folded, "PERSON", &["Lena F\r\n ors"]);
        nothing("ATTENDEE;CUTYPE=ROOM;CN=Big Board Room:mailto:r\n");
        nothing("it has BEGIN:VCARD in it\nN: Zzyrowski\n");
        nothing("ATTENDEE;CN=Boardroom;ROLE=NON-PARTICIPANT:mailto:r\n");
        nothing("no ORGANIZER;CN=New York: none");
    }
}
