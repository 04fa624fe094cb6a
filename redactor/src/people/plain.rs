//! Names in scripts that have capitals: Latin, Greek, Cyrillic, Armenian.

use super::Found;
use super::address;
use super::brands;
use super::capital::{capitals, next_capital};
use super::forms::{inflected, known, slavic_surname};
use super::lead::{Lead, is_code};
use super::lists::{Kind, kind};
use super::reader::{Reader, Word, is_longer};
use super::small;

/// No word behind another reaches further.
const AHEAD: usize = 64;

/// Finds names in the whole text.
pub(super) fn find(text: &str, found: &mut Found) {
    let mut at = 0;
    let mut digits = address::Digits::default();
    let mut reader = Reader::new(text);
    let mut capitals = capitals(text);
    loop {
        let next = next_capital(text, at, &mut capitals);
        small::find(&mut reader, at, next, found);
        let Some(start) = next else { break };
        let end = match address::at(text, start, &mut digits, found) {
            Some(end) => end,
            None => name(start, &mut reader, found),
        };
        at = end.max(start + 1);
    }
}

/// Looks for a name at a capital. Returns where the search goes on.
fn name(start: usize, reader: &mut Reader<'_>, found: &mut Found) -> usize {
    let text = reader.text;
    if is_code(text.as_bytes().get(..start).unwrap_or_default())
        && let Some(end) = reader.passed(start, found.growing)
    {
        return end;
    }
    reader.cut = false;
    let begin = behind_particles(text, start);
    let outcome = reader.name(begin, start);
    if outcome.is_some() {
        // A brand may go on where the name ends.
        let _ = reader.byte(begin + brands::LONGEST);
    }
    if reader.cut {
        found.settled = found.settled.min(begin);
    }
    match outcome {
        Some(name) => {
            if let Some(end) = brands::without(text, begin, name.end) {
                found.person(begin, end, name.score);
            }
            name.end
        }
        None => reader.word(start).map_or(start, |word| word.end),
    }
}

/// `Dr. van der Berg`: where the small words before a capital begin, if a word that leads to a
/// name stands before them.
fn behind_particles(text: &str, start: usize) -> usize {
    let mut begin = start;
    for _ in 0..2 {
        let head = text.get(..begin).unwrap_or_default();
        let Some(kept) = head.strip_suffix(' ') else {
            break;
        };
        let near = kept.len().saturating_sub(5);
        let from = kept
            .as_bytes()
            .get(near..)
            .and_then(|near| near.iter().rposition(|b| !b.is_ascii_lowercase()))
            .map_or(near, |at| near + at + 1);
        let word = kept.get(from..).unwrap_or_default();
        let bordered = kept.get(..from).is_some_and(|before| {
            before.is_char_boundary(from) && !before.ends_with(char::is_alphanumeric)
        });
        if !(2..=4).contains(&word.len()) || !bordered || !kind(word).is(Kind::PARTICLE) {
            break;
        }
        begin = from;
    }
    if begin == start {
        return start;
    }
    let bordered = text
        .get(..begin)
        .is_some_and(|head| head.ends_with(['"', '\'', '\n', '>', '|', ';']));
    let led = || {
        matches!(
            Lead::before(text, begin),
            Lead::Title | Lead::Field | Lead::Label | Lead::Said
        )
    };
    if bordered || led() { begin } else { start }
}

pub(super) struct Name {
    pub(super) end: usize,
    pub(super) score: u8,
}

impl<'t> Reader<'t> {
    /// The name whose first capital stands at `start`, and which begins at `begin`.
    fn name(&mut self, begin: usize, start: usize) -> Option<Name> {
        let first = self.word(start)?;
        if self.is_stop(first) {
            return None;
        }
        let lead = Lead::before(self.text, begin);
        if lead == Lead::Code {
            return None;
        }
        if first.shouts() {
            return self.shouted(start, first, lead);
        }
        if !first.well_cased() {
            return self.glued(first);
        }
        let initial = first.is_initial();
        if first.kind.is(Kind::STOP) && !initial {
            return self.behind_stop(start, first, lead);
        }
        if initial && let Some(name) = self.spaced_out(start) {
            return Some(name);
        }
        if matches!(lead, Lead::Title | Lead::Field) {
            return self.led(first, lead);
        }
        if lead == Lead::Closing
            && let Some(name) = self.closing(first)
        {
            return Some(name);
        }
        if initial {
            return self.behind_initial(start, first);
        }
        if first.kind.is(Kind::GIVEN)
            && let Some(name) = self.given_first(start, first)
        {
            return Some(name);
        }
        if let Some(name) = self.reversed(start, first) {
            return Some(name);
        }
        if let Some(name) = self.pair(start, first) {
            return Some(name);
        }
        if matches!(lead, Lead::Label | Lead::Word)
            && let Some(name) = self.maybe_led(first, lead)
        {
            return Some(name);
        }
        if let Some(name) = self.told(start, first, lead) {
            return Some(name);
        }
        self.lone(start, first)
    }

    /// The name that begins with a word which most often begins none.
    fn behind_stop(&mut self, start: usize, first: Word<'t>, lead: Lead) -> Option<Name> {
        let either = first.kind.is(Kind::GIVEN);
        match lead {
            // `"name": "French Guiana"`
            Lead::Label if self.quoted(start) && !self.surname_follows(first) => None,
            Lead::Title | Lead::Field | Lead::Label if either => self.led(first, lead),
            // `her maiden name is Key`
            Lead::Field if first.kind.is(Kind::SURNAME) => self.led(first, lead),
            _ if either => self.cell(start, first),
            _ => None,
        }
    }

    /// Whether a word begins no name whatever stands before it; near the end of a text, what does
    /// decides whether more may.
    fn is_stop(&self, first: Word<'t>) -> bool {
        let others = [Kind::GIVEN, Kind::SURNAME];
        first.kind.is(Kind::STOP)
            && !others.into_iter().any(|other| first.kind.is(other))
            && first.text.len() > 1
            && first.text.bytes().skip(1).all(|b| b.is_ascii_lowercase())
            && first.end + AHEAD < self.text.len()
    }

    /// `PiotrZalewski`: the space was lost.
    fn glued(&mut self, first: Word<'t>) -> Option<Name> {
        let hump = first
            .text
            .char_indices()
            .skip(2)
            .find(|(_, c)| c.is_uppercase())
            .map(|(at, _)| at)?;
        let (given, surname) = first.text.split_at_checked(hump)?;
        let (given, surname) = (known(given, || true), known(surname, || true));
        let sure = given.is(Kind::GIVEN)
            && !given.is(Kind::WORD)
            && surname.is(Kind::SURNAME)
            && !surname.is(Kind::COMMON)
            && !surname.is(Kind::STOP);
        (sure && self.ends(first.end)).then_some(Name {
            end: first.end,
            score: 66,
        })
    }

    /// What stands behind a title or in a field for names: any words with capitals.
    fn led(&mut self, first: Word<'t>, lead: Lead) -> Option<Name> {
        if lead == Lead::Field
            && let Some(name) = self.reversed(0, first)
        {
            return Some(name);
        }
        let first = self.dotted(first);
        let (end, _) = self.tail(first, true);
        let end = self.second_surname(first, end);
        // `applicant = Applicant {`
        let code = self.byte(end) == Some(b' ') && self.byte(end + 1) == Some(b'{');
        (!code && self.ends(end)).then_some(Name { end, score: 86 })
    }

    /// `Consuelo Etxeberria Galdós.`: a second surname that nobody listed, where a mark ends it.
    fn second_surname(&mut self, first: Word<'t>, end: usize) -> usize {
        if end == first.end || self.byte(end) != Some(b' ') {
            return end;
        }
        let Some(word) = self.word(end + 1) else {
            return end;
        };
        let capital = word.text.starts_with(char::is_uppercase) && word.well_cased();
        let fits = capital && word.kind == Kind::default() && is_longer(word.text, 3);
        let next = self.byte(word.end);
        let ended = next.is_none_or(|b| b",;.)\"\n|<".contains(&b));
        if fits && ended { word.end } else { end }
    }

    /// `Given Surname`, `Given I. de la Surname`.
    fn given_first(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let word = first.kind.is(Kind::WORD) || first.kind.is(Kind::PLACE);
        // A capital inside a sentence is there for a reason.
        let inside = inside_sentence(self.text, start);
        let unknown = !first.shouts() && (!word || (inside && !first.kind.is(Kind::PLACE)));
        let (end, known) = self.tail(first, unknown);
        if end == first.end
            && !word
            && let Some(name) = self.surname_shouts(first)
        {
            return Some(name);
        }
        if end == first.end {
            return word.then(|| self.cell(start, first)).flatten();
        }
        if !self.ends(end) || (first.shouts() || word) && !known && !unknown {
            return None;
        }
        Some(Name {
            end,
            score: if known { 82 } else { 75 },
        })
    }

    /// Two words with capitals of which only the second is known, inside a sentence; or both in
    /// a case of Slavic grammar.
    fn pair(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        if first.kind != Kind::default() || first.shouts() || !is_longer(first.text, 3) {
            return None;
        }
        let second = self.next_word(first.end)?;
        let capital = second.text.starts_with(char::is_uppercase) && !second.shouts();
        let refused = second.kind.is(Kind::STOP)
            || second.kind.is(Kind::COMMON)
            || second.kind.is(Kind::WORD);
        if !capital || refused || !second.well_cased() || !self.ends(second.end) {
            return None;
        }
        let listed = second.kind.is(Kind::SURNAME) && !second.kind.is(Kind::GIVEN);
        let inside = listed && inside_sentence(self.text, start);
        let cases = || {
            inflected(first.text).is(Kind::GIVEN)
                && (inflected(second.text).is(Kind::SURNAME) || second.kind.is(Kind::SURNAME))
        };
        (inside || cases()).then_some(Name {
            end: second.end,
            score: 66,
        })
    }

    /// `"Will Young";`: words that may be names fill a cell of a table.
    fn cell(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let border = |b: Option<u8>| b.is_none_or(|b| b",;|\"'\t\n<>".contains(&b));
        let before = self.text.as_bytes().get(..start)?.last().copied();
        let mut end = first.end;
        for _ in 0..2 {
            let Some(word) = self.next_word(end) else {
                break;
            };
            let initial = word.is_initial() && self.byte(word.end) == Some(b'.');
            if !word.text.starts_with(char::is_uppercase)
                || !(initial || word.kind.is(Kind::SURNAME))
            {
                return None;
            }
            end = word.end + usize::from(initial);
        }
        let after = self.byte(end);
        let listed = end > first.end && border(before) && border(after) && after.is_some();
        listed.then_some(Name { end, score: 70 })
    }

    /// `B. Smith`, `W. van der Berg`.
    fn behind_initial(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        if self.byte(first.end) != Some(b'.') {
            return None;
        }
        let dotted = self.dotted(first);
        let (end, known) = self.tail(dotted, true);
        // `A. Basic` in a row of choices, `plan B. Long`: a list, a sentence.
        let head = self.text.get(..start).unwrap_or_default();
        let sentence = head.ends_with(". ") || head.ends_with('\n');
        let last = self.text.get(dotted.end..end).unwrap_or_default();
        let last = last.trim().rsplit([' ', '-']).next().unwrap_or_default();
        let surname = known && kind(last).is(Kind::SURNAME);
        (surname && end > dotted.end && !sentence && self.ends(end))
            .then_some(Name { end, score: 74 })
    }

    /// A given name alone, in a sentence.
    fn lone(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let others = [Kind::WORD, Kind::PLACE, Kind::COUNTRY];
        let sure =
            first.kind.is(Kind::GIVEN) && !others.into_iter().any(|other| first.kind.is(other));
        let before = self.text.get(..start).unwrap_or_default();
        // `"script": "Tale"`: the value of a field that no person is in.
        if before.ends_with("\": \"") && self.byte(first.end) == Some(b'"') {
            return None;
        }
        // Slavic surnames in their cases, where no other name or adjective touches them.
        let ends_so = slavic_surname(first.text) && !first.kind.is(Kind::PLACE);
        if !sure && !ends_so {
            return None;
        }
        let inside = inside_sentence(self.text, start);
        let surname = inside && ends_so;
        if before.trim_end().ends_with(['{', '=', '<', '+'])
            || !(sure || surname)
            || !is_longer(first.text, if inside { 2 } else { 3 })
            || first.shouts()
            || !self.ends(first.end)
        {
            return None;
        }
        // Part of another name: of a street, a firm, a product.
        let bigger = self.byte(first.end) == Some(b' ')
            && self
                .word(first.end + 1)
                .is_some_and(|next| next.text.starts_with(char::is_uppercase));
        let code = self.byte(first.end) == Some(b' ')
            && matches!(self.byte(first.end + 1), Some(b'{' | b'=' | b'('));
        (!bigger && !code).then_some(Name {
            end: first.end,
            score: 62,
        })
    }
}

/// Whether a word without a capital, and maybe a comma, stands right before: a capital is then
/// there for a reason.
pub(super) fn inside_sentence(text: &str, start: usize) -> bool {
    let from = text.ceil_char_boundary(start.saturating_sub(crate::validate::context::REACH));
    let head = text.get(from..start).unwrap_or_default();
    let Some(head) = head.strip_suffix(' ') else {
        return false;
    };
    let head = head.strip_suffix(',').unwrap_or(head);
    let word = head
        .rsplit([' ', '\n', '\t', '(', '"'])
        .next()
        .unwrap_or_default();
    word.starts_with(char::is_lowercase) && word.ends_with(char::is_lowercase)
}
