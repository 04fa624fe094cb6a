//! Records whose fields are told by where they stand: messages of HL7 v2 and X12, cards of vCard and
//! iCalendar, machine-readable zones of passports and identity cards, password files of PostgreSQL.

mod card;
mod fields;
mod hl7;
mod pgpass;
mod x12;
mod zone;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::engine::EngineError;
use crate::manifest::Found;
use crate::rule::Hit;

/// The rule that names these findings in records.
pub(crate) const RULE: &str = "record";
/// A stream waits for the end of a record that is no longer than this.
const HELD: usize = crate::Engine::LONGEST_UNDECIDED;

/// What was read of a record.
struct Record {
    /// Behind what is the record's, whatever follows.
    end: usize,
    /// Where that begins which more text could change, if it reaches the end of the text.
    open: Option<usize>,
}

/// Reads the record whose mark stands at a place. Each looks at a bounded part of the text, or at what it
/// then says is the record's, so that the search is linear in the text.
type Read = fn(&str, usize, &mut Vec<Hit>) -> Option<Record>;

/// What every record of a kind holds, and who reads it.
const MARKS: &[(&str, Read)] = &[
    ("PID|", hl7::segment),
    ("NK1|", hl7::segment),
    ("GT1|", hl7::segment),
    ("IN1|", hl7::segment),
    ("PV1|", hl7::segment),
    ("NM1*", x12::party),
    ("BEGIN:VCARD", card::card),
    ("begin:vcard", card::card),
    ("ATTENDEE", card::attendee),
    ("ORGANIZER", card::attendee),
    ("<<<", zone::zone),
    (":5432:", pgpass::line),
    (":*:", pgpass::line),
];

/// The first mark, as a search by vectors wants it: hardly a text has any.
static SEARCH: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let marks = MARKS.iter().map(|(mark, _)| mark);
    let mut builder = AhoCorasick::builder();
    builder
        .match_kind(MatchKind::LeftmostFirst)
        .build(marks)
        .ok()
});

/// Whether records can be searched for.
///
/// # Errors
/// If the search could not be built: it would find nothing.
pub(crate) fn ready() -> Result<(), EngineError> {
    SEARCH.as_ref().map(|_| ()).ok_or(EngineError::Automaton)
}

/// The first mark from a place on: where it stands, and who reads it.
fn next(text: &str, from: usize) -> Option<(usize, Read)> {
    let mark = SEARCH.as_ref()?.find(Input::new(text).range(from..))?;
    let (_, read) = MARKS.get(mark.pattern().as_usize())?;
    Some((mark.start(), *read))
}

/// What stands in the fields of all records.
pub(crate) fn find(text: &str, growing: bool) -> Found {
    let mut found = Found {
        hits: Vec::new(),
        settled: text.len(),
    };
    let mut from = 0;
    while let Some((at, read)) = next(text, from) {
        from = at + 1;
        let Some(Record { end, open }) = read(text, at, &mut found.hits) else {
            continue;
        };
        from = from.max(end);
        if let Some(open) = open.filter(|open| text.len() - open <= HELD) {
            found.settled = found.settled.min(open);
        }
    }
    found.settled = match growing {
        true => found.settled.min(zone::begun(text)),
        false => text.len(),
    };
    found
}

/// Whether a line begins at a place.
fn begins_line(text: &str, at: usize) -> bool {
    let before = at
        .checked_sub(1)
        .and_then(|before| text.as_bytes().get(before));
    before.is_none_or(|before| matches!(before, b'\n' | b'\r'))
}

/// Where the line ends that holds a place.
fn line_end(text: &str, at: usize) -> usize {
    let behind = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr2(b'\n', b'\r', behind).map_or(text.len(), |end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a text that grows, nothing is settled of which more text could change what is found.
    #[test]
    fn what_is_settled_stays() {
        for text in [
            "MSH|^\rPID|1||4471902^^^H^MR||ZZYROWSKI^QLAUD^J||19800114|F|||12 ELM ST^^SPRINGFIELD^IL^62704\rNK1|1|VORN^INA",
            "NM1*IL*1*ZZYROWSKI*QLAUD*P***MI*99812345~N3*12 ELM ST~N4*SPRINGFIELD*IL*62704~SE*1~",
            "BEGIN:VCARD\nN:Zzyrowski;Qlaud;;;\nADR:;;Gartenweg 7;Berndorf;;12345;\nEND:VCARD\n",
            "ATTENDEE;CN=Qlaud Zzyrowski;ROLE=CHAIR:mailto:q@x\nx",
            "db.example.org:5432:app:admin:hunter2x9\n*:*:*:postgres:Kd8s\n",
            "NM1*IL*1*VORN*INA~NM1*QC*1*ZZYROWSKI*QLAUD",
            "What does NM1* mean?\nPID|1||4471902^^^H^MR||ZZYROWSKI^QLAUD|\n",
            "P<DEUMUSTERMANN<SCHMIDT<<ERIKA<MARIA<KATHARI\nL01X00T476DEU6408125F2702283<<<<<<<<<<<<<<<4\n",
            "ATTENDEE;ROLE=CHAIR;CN=Qlaud\r\n  Zzyrowski;X=1:mailto:q@x\r\nx",
            "x\nP<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10\n",
        ] {
            let whole = find(text, false).hits;
            assert!(!whole.is_empty(), "{text}");
            for cut in 0..=text.len() {
                let Found { hits, settled } = find(&text[..cut], true);
                for hit in hits.iter().filter(|hit| hit.end <= settled) {
                    assert!(whole.contains(hit), "{cut} {hit:?} {text}");
                }
                for hit in whole.iter().filter(|hit| hit.start < settled) {
                    assert!(hits.contains(hit), "{cut} {settled} {hit:?} {text}");
                }
            }
        }
    }

    /// Work that grows with the square of the text would not end here.
    #[test]
    fn hostile_texts_are_read_once() {
        for piece in [
            "<",
            "<<<\n",
            "aPID|",
            "PID|",
            "PID|1|",
            ":*:",
            "a:5432:",
            "NM1*",
            "BEGIN:VCARD",
            "ATTENDEE",
            "xORGANIZER;CN=",
            "NM1*IL*1*A~",
        ] {
            let text = piece.repeat((4 << 20) / piece.len());
            find(&text, true);
        }
    }
}
