//! Names that the grammar around them shows: who spoke or did something, who is named in one row
//! with somebody who is known.

use super::forms::{known, slavic_surname};
use super::lead::Lead;
use super::lists::{Kind, kind};
use super::plain::{Name, inside_sentence};
use super::reader::{Reader, Word, is_longer};

/// What stands between the names of a row.
const ROWS: &[&str] = &[
    ", ", " and ", " & ", " und ", " og ", " och ", " en ", " e ", " y ", " i ", " et ", " ja ",
    " и ", " oraz ", " ve ", " or ", " oder ", " eller ", " ou ", " ir ", " és ", " și ", " και ",
    " і ",
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
        let name = is_longer(first.text, 2) || end > first.end;
        (name && !first.shouts() && self.ends(end)).then_some(Name { end, score: 68 })
    }

    /// `Quarles said`, `Quarles je kazao`, `Quarles nodded`: who stands before such a verb.
    pub(super) fn acting(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let lower = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b >= 0xC3);
        if first.shouts() || !is_longer(first.text, 2) {
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
        let listed = |word: Word<'_>| {
            let others = [Kind::WORD, Kind::PLACE, Kind::COUNTRY];
            word.kind.is(Kind::SURNAME) && !others.into_iter().any(|other| word.kind.is(other))
        };
        // `Officials said`: of words that begin a sentence or stand in the plural only names count.
        let known = |word: Word<'_>| {
            let listed = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            listed && !word.kind.is(Kind::COMMON)
        };
        let head = self.text.get(..start).unwrap_or_default();
        let inside = inside_sentence(self.text, start) || head.ends_with(", ");
        let free = inside && !first.text.ends_with('s');
        // `Vinka shouted`, `Quandt sagte`: only people do that, so that a word which begins a
        // sentence is one. In English departments say things too: `Legal said no`.
        let alone = !matches!(verb.text, "said" | "says" | "replied")
            && acts
            && first.kind == Kind::default()
            && is_longer(first.text, 3)
            && !first.text.ends_with('s');
        let past = || self.begins(start) && is_past(verb.text) && known(first) && listed(first);
        (acts && (known(first) || free || alone) || past()).then_some(Name { end, score: 66 })
    }

    /// Whether a sentence begins here.
    fn begins(&self, start: usize) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        head.is_empty() || head.ends_with(['\n', '"', '“', '„', '«']) || head.ends_with(". ")
    }

    /// `Ed,`: a greeting that fills its line.
    pub(super) fn greeted(&mut self, start: usize, first: Word<'t>) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        let line = head.is_empty() || head.ends_with('\n');
        let given = first.kind.is(Kind::GIVEN) && !first.kind.is(Kind::PLACE) && !first.shouts();
        line && given
            && self.byte(first.end) == Some(b',')
            && matches!(self.byte(first.end + 1), Some(b'\n') | None)
    }

    /// A word that may be a given name, in one row with one that is: `Étienne and April`.
    pub(super) fn in_row(&mut self, start: usize, first: Word<'t>) -> bool {
        let unknown = first.kind == Kind::default() && is_longer(first.text, 2);
        let named = first.kind.is(Kind::GIVEN) || first.kind.is(Kind::SURNAME);
        if !(named || unknown) || first.shouts() {
            return false;
        }
        let listed = self.listed(start);
        let before = self.row_before(start, listed);
        let behind = self.row_behind(first.end, listed);
        match (before, behind) {
            (Some(one), Some(other)) => (one || other) && (first.kind.is(Kind::GIVEN) || listed),
            _ if self.surname_beside(start, first) => before == Some(true) || behind == Some(true),
            _ if listed && named => before == Some(true) || behind == Some(true),
            _ if !first.kind.is(Kind::GIVEN) => false,
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

    /// A surname that a word such as `and` joins to what stands beside it.
    fn surname_beside(&mut self, start: usize, first: Word<'t>) -> bool {
        let doubtful = [Kind::WORD, Kind::COMMON, Kind::PLACE, Kind::COUNTRY];
        let sure =
            first.kind.is(Kind::SURNAME) && !doubtful.into_iter().any(|doubt| first.kind.is(doubt));
        let comma = self.byte(first.end) == Some(b',')
            || self
                .text
                .get(..start)
                .is_some_and(|head| head.ends_with(", "));
        sure && !comma
    }

    /// Whether a colon opens the row, as one of people who are named and counted: `3 founders: …`.
    fn listed(&self, start: usize) -> bool {
        let from = self.text.ceil_char_boundary(start.saturating_sub(ROW));
        let head = self.text.get(from..start).unwrap_or_default();
        let colon = head.as_bytes().windows(2).rposition(|two| two == b": ");
        let Some((title, row)) = colon.and_then(|at| Some((head.get(..at)?, head.get(at + 2..)?)))
        else {
            return false;
        };
        let names = row
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .all(|word| {
                word.starts_with(char::is_uppercase) || matches!(word, "and" | "und" | "&")
            });
        names && title.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
    }

    /// Whether the word before in the row is surely a given name; nothing if there is no row.
    fn row_before(&self, start: usize, listed: bool) -> Option<bool> {
        let from = self.text.ceil_char_boundary(start.saturating_sub(ROW));
        let head = self.text.get(from..start)?;
        // `Present: Maria, Hannah`
        if head.ends_with(": ") {
            return Some(false);
        }
        let head = ROWS.iter().find_map(|row| head.strip_suffix(row))?;
        let word = head.rsplit([' ', '\n', ':', '(', '"']).next()?;
        (!word.is_empty()).then(|| surely_named(word, listed))
    }

    /// The same of the word behind.
    fn row_behind(&mut self, end: usize, listed: bool) -> Option<bool> {
        // What is not there yet may be a row.
        let _ = self.byte(end + 6);
        let rest = self.text.get(end..)?;
        let row = ROWS.iter().find(|row| rest.starts_with(**row))?;
        let next = self.word(end + row.len())?;
        next.text
            .starts_with(char::is_uppercase)
            .then(|| surely_named(next.text, listed))
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

    /// A word that a name often follows: the lists have to know a part of it, or a comma ends it.
    pub(super) fn maybe_led(&mut self, first: Word<'t>, lead: Lead) -> Option<Name> {
        let first = self.dotted(first);
        let (end, known) = self.tail(first, true);
        let listed = first.kind.is(Kind::GIVEN) || first.kind.is(Kind::SURNAME) || known;
        let greeted = lead == Lead::Word
            && end == first.end
            && first.text.len() > 2
            && matches!(self.byte(end), Some(b',' | b'\n') | None);
        let place = (first.kind.is(Kind::PLACE) || first.kind.is(Kind::COUNTRY)) && !known;
        // `"name": "Caucasian languages"`: things are called by fields too, so that a given name
        // has to be there.
        let field = lead == Lead::Label && self.quoted(first.end - first.text.len());
        let given = first.kind.is(Kind::GIVEN) && !first.kind.is(Kind::COUNTRY);
        if field && (self.goes_on_small(end) || !given) {
            return None;
        }
        let sure = (listed && !place) || greeted;
        (sure && self.ends(end) && !first.shouts()).then_some(Name { end, score: 78 })
    }

    pub(super) fn surname_follows(&mut self, first: Word<'t>) -> bool {
        let next = self.next_word(first.end);
        next.is_some_and(|word| word.kind.is(Kind::SURNAME) && !word.kind.is(Kind::COUNTRY))
    }

    pub(super) fn quoted(&self, start: usize) -> bool {
        self.text
            .get(..start)
            .is_some_and(|head| head.ends_with('"'))
    }

    /// Whether a word without a capital follows.
    fn goes_on_small(&mut self, end: usize) -> bool {
        self.byte(end) == Some(b' ') && self.byte(end + 1).is_some_and(|b| b.is_ascii_lowercase())
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
            let lone = words.len() == 1;
            match words.last_mut() {
                Some(word) if letter.is_lowercase() => word.push(letter),
                None if letter.is_lowercase() => return None,
                // A given name has more than one letter.
                Some(word) if lone && word.len() <= 2 => return None,
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
        let shown = self.greeted(start, first)
            || self.speaks(start, first)
            || (self.in_row(start, first) && self.ends(first.end));
        shown.then_some(Name {
            end: first.end,
            score: 64,
        })
    }
}

/// A verb of the past, by its ending, in languages where that shows it: `bestätigte`, `filed`,
/// `anunció`, `acusou`, `powiedział`.
fn is_past(verb: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "ied", "ted", "led", "ned", "red", "ked", "ved", "sed", "ged", "ded", "ó", "ou", "aria",
        "ał", "ała", "ił", "iła", "ал", "ала", "ил", "ила",
    ];
    let german = || {
        let stem = verb
            .strip_suffix("te")
            .and_then(|stem| stem.chars().next_back());
        stem.is_some_and(|c| "bcdfghklmnprtz".contains(c))
    };
    let ends = |ending: &&str| verb.ends_with(ending);
    is_longer(verb, 4) && (ENDINGS.iter().any(ends) || german())
}

/// Surely a given name; in a list that a colon opens, or a surname.
fn surely_named(word: &str, listed: bool) -> bool {
    let kind = kind(word);
    let others = [Kind::WORD, Kind::PLACE, Kind::COMMON, Kind::COUNTRY];
    word.starts_with(char::is_uppercase)
        && (kind.is(Kind::GIVEN) || (listed && kind.is(Kind::SURNAME)))
        && !others.into_iter().any(|other| kind.is(other))
}
