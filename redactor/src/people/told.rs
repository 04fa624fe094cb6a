//! Names that the grammar around them shows: who spoke or did something, who is named in one row
//! with somebody who is known.

use super::forms::{known, slavic_surname};
use super::lead::Lead;
use super::lists::{Kind, kind};
use super::plain::{Name, inside_sentence};
use super::reader::{Reader, Word};

/// What stands between the names of a row.
const ROWS: &[&str] = &[
    ", ", " and ", " & ", " und ", " og ", " och ", " en ", " e ", " y ", " i ", " et ", " ja ",
    " и ", " oraz ", " a ", " ve ", " or ", " oder ", " eller ", " ou ", " in ", " ir ", " és ",
    " și ", " και ", " і ",
];
/// Letters of a name that was spaced out.
const SPACED: usize = 40;
/// Bytes before a name in which the one before it in the row stands.
const ROW: usize = 40;

impl<'t> Reader<'t> {
    /// `said Quarles`, `kazao je de Kerchove`: who stands behind a verb of speech.
    pub(super) fn said(&mut self, first: Word<'t>) -> Option<Name> {
        let dotted = self.dotted(first);
        let (end, _) = self.tail(dotted, true);
        let name = first.text.chars().count() > 2 || end > first.end;
        (name && !first.shouts() && self.ends(end)).then_some(Name { end, score: 68 })
    }

    /// `Quarles said`, `Quarles je kazao`, `Quarles nodded`: who stands before such a verb.
    pub(super) fn acting(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let lower = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b >= 0xC3);
        if first.shouts() || first.text.chars().count() < 3 {
            return None;
        }
        let (end, _) = self.tail(first, true);
        if self.byte(end) != Some(b' ') || !lower(self.byte(end + 1)) {
            return None;
        }
        let mut verb = self.word(end + 1)?;
        if matches!(verb.text, "je" | "a" | "ha" | "hat" | "has" | "had") && verb.end > end {
            verb = self.next_word(verb.end)?;
        }
        let acts = verb.kind.is(Kind::SAYS) || verb.kind.is(Kind::ACTS);
        // `Officials said`: of words that begin a sentence or stand in the plural only names count.
        let known = |word: Word<'_>| {
            let listed = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            listed && !word.kind.is(Kind::COMMON)
        };
        let free = inside_sentence(self.text, start) && !first.text.ends_with('s');
        (acts && (known(first) || free)).then_some(Name { end, score: 66 })
    }

    /// A word that may be a given name, in one row with one that is: `Étienne and April`.
    pub(super) fn in_row(&mut self, start: usize, first: Word<'t>) -> bool {
        if !first.kind.is(Kind::GIVEN) || first.shouts() {
            return false;
        }
        let before = self.row_before(start);
        let behind = self.row_behind(first.end);
        match (before, behind) {
            (Some(one), Some(other)) => one || other,
            // A town may stand beside a name with a comma between them.
            (Some(known), None) | (None, Some(known)) => {
                let comma = self.byte(first.end) == Some(b',')
                    || self
                        .text
                        .get(..start)
                        .is_some_and(|head| head.ends_with(", "));
                known && !(comma && first.kind.is(Kind::PLACE))
            }
            (None, None) => false,
        }
    }

    /// Whether the word before in the row is surely a given name; nothing if there is no row.
    fn row_before(&self, start: usize) -> Option<bool> {
        let from = self.text.ceil_char_boundary(start.saturating_sub(ROW));
        let head = self.text.get(from..start)?;
        // `Present: Maria, Hannah`
        if head.ends_with(": ") {
            return Some(false);
        }
        let head = ROWS.iter().find_map(|row| head.strip_suffix(row))?;
        let word = head.rsplit([' ', '\n', ':', '(', '"']).next()?;
        (!word.is_empty()).then(|| surely_given(word))
    }

    /// The same of the word behind.
    fn row_behind(&mut self, end: usize) -> Option<bool> {
        // What is not there yet may be a row.
        let _ = self.byte(end + 6);
        let rest = self.text.get(end..)?;
        let row = ROWS.iter().find(|row| rest.starts_with(**row))?;
        let next = self.word(end + row.len())?;
        next.text
            .starts_with(char::is_uppercase)
            .then(|| surely_given(next.text))
    }

    /// `Amber:\"Who are you?\"`: a speaker at the beginning of a line.
    pub(super) fn speaks(&mut self, start: usize, first: Word<'t>) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        let listed = first.kind.is(Kind::GIVEN) || first.kind.is(Kind::SURNAME);
        let line = head.is_empty() || head.ends_with('\n') || head.ends_with("\\n");
        if !(line && listed) || self.byte(first.end) != Some(b':') {
            return false;
        }
        let space = usize::from(self.byte(first.end + 1) == Some(b' '));
        let at = first.end + 1 + space;
        self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'"')
    }

    /// `P i o t r  Z a l e w s k i`, `P.i.o.t.r Z.a.l.e.w.s.k.i`: a name whose letters were set
    /// apart.
    pub(super) fn spaced_out(&mut self, start: usize) -> Option<Name> {
        let (mut at, mut end, mut count) = (start, start, 0);
        let mut words: Vec<String> = Vec::new();
        while count < SPACED {
            let letter = self
                .text
                .get(at..)?
                .chars()
                .next()
                .filter(|c| c.is_alphabetic());
            let Some(letter) = letter else { break };
            let after = at + letter.len_utf8();
            let next = self.text.get(after..)?.chars().next();
            if next.is_some_and(char::is_alphanumeric) {
                break;
            }
            match words.last_mut() {
                Some(word) if letter.is_lowercase() => word.push(letter),
                None if letter.is_lowercase() => return None,
                _ => words.push(letter.to_string()),
            }
            (end, count) = (after, count + 1);
            let gap = [". ", "  ", " ", ".", "-", "_"].into_iter().find(|gap| {
                self.text
                    .get(after..)
                    .is_some_and(|rest| rest.starts_with(gap))
            });
            let Some(gap) = gap else { break };
            at = after + gap.len();
        }
        // More letters may come.
        self.cut |= count > 1 && end + 3 > self.text.len();
        let (given, surname) = (words.first()?, words.last()?);
        let surnamed = known(surname, || true).is(Kind::SURNAME) || slavic_surname(surname);
        let sure = words.len() > 1 && kind(given).is(Kind::GIVEN) && given.len() > 2 && surnamed;
        sure.then_some(Name { end, score: 72 })
    }

    /// Whether a verb or a row shows that a name begins here, where the lists alone do not.
    pub(super) fn told(&mut self, start: usize, first: Word<'t>, lead: Lead) -> Option<Name> {
        if lead == Lead::Said
            && let Some(name) = self.said(first)
        {
            return Some(name);
        }
        if let Some(name) = self.acting(start, first) {
            return Some(name);
        }
        let shown =
            self.speaks(start, first) || (self.in_row(start, first) && self.ends(first.end));
        shown.then_some(Name {
            end: first.end,
            score: 64,
        })
    }
}

fn surely_given(word: &str) -> bool {
    let kind = kind(word);
    word.starts_with(char::is_uppercase)
        && kind.is(Kind::GIVEN)
        && !kind.is(Kind::WORD)
        && !kind.is(Kind::PLACE)
}
