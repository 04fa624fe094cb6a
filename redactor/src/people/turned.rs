//! Names with the surname first (`Surname, Given I.`), and below a letter.

use super::lead::Lead;
use super::lists::Kind;
use super::plain::Name;
use super::reader::{Reader, Word};

impl<'t> Reader<'t> {
    /// `Surname, Given I.`
    pub(super) fn reversed(&mut self, start: usize, first: Word<'t>) -> Option<Name> {
        let mut last = first;
        let particle = first.kind.is(Kind::PARTICLE);
        if particle {
            last = self
                .next_word(first.end)
                .filter(|word| word.kind.is(Kind::SURNAME))?;
        }
        // `Price, Mark (MRN`: common words, so something has to say that a name begins.
        let before = self
            .text
            .get(..start)
            .unwrap_or_default()
            .trim_end_matches(' ');
        let opened = || {
            start == 0
                || before.ends_with(['"', '\'', '\n', '>', '|', ';', ':'])
                || !matches!(Lead::before(self.text, start), Lead::Nothing)
        };
        let common = last.kind.is(Kind::COMMON) || last.kind.is(Kind::WORD);
        let surname = last.kind.is(Kind::SURNAME);
        let opened = surname && opened();
        if !(surname && (!common || particle || opened))
            || self.byte(last.end) != Some(b',')
            || self.byte(last.end + 1) != Some(b' ')
        {
            return None;
        }
        let given = self.word(last.end + 2)?;
        let capital = given.text.starts_with(char::is_uppercase);
        let lone_word = given.kind.is(Kind::WORD) && last.kind.is(Kind::GIVEN) && !opened;
        if !capital
            || !given.kind.is(Kind::GIVEN)
            || lone_word
            || given.kind.is(Kind::STOP) && !given.kind.is(Kind::WORD)
        {
            return None;
        }
        let mut end = given.end;
        if self.byte(end) == Some(b' ')
            && let Some(initial) = self.word(end + 1)
            && initial.is_initial()
            && self.byte(initial.end) == Some(b'.')
        {
            end = initial.end + 1;
        }
        // `Angelo, Melissa, Brian`: given names in a row, each a name of its own.
        let more = self.text.get(end..).is_some_and(|rest| {
            let joints = [",", " and ", " & ", " und ", " et ", " y ", " e ", " i "];
            joints.iter().any(|joint| rest.starts_with(joint))
        });
        let row = more && last.kind.is(Kind::GIVEN);
        (!row && self.ends(end)).then_some(Name { end, score: 79 })
    }

    /// `Yours sincerely,\nOttomar Zwetschge`: two words or three fill the line.
    pub(super) fn closing(&mut self, first: Word<'t>) -> Option<Name> {
        let (mut word, mut words) = (first, 0);
        loop {
            let initial = word.is_initial();
            let other = [
                Kind::STOP,
                Kind::COUNTRY,
                Kind::STREET,
                Kind::FIELD,
                Kind::LABEL,
            ];
            let listed = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
            let refused = !listed && other.into_iter().any(|other| word.kind.is(other));
            let particle = words > 0 && word.kind.is(Kind::PARTICLE);
            let capital = word.text.starts_with(char::is_uppercase) && word.well_cased();
            if !particle && (refused || !capital) {
                return None;
            }
            words += usize::from(!particle && !initial);
            let dot = initial && self.byte(word.end) == Some(b'.');
            let end = word.end + usize::from(dot);
            match self.byte(end) {
                None | Some(b'\n' | b'\r') => {
                    let fits = (2..=3).contains(&words);
                    return fits.then_some(Name { end, score: 74 });
                }
                Some(b' ') if words < 4 => word = self.word(end + 1)?,
                _ => return None,
            }
        }
    }
}
