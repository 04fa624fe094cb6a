//! Names in capitals: in forms, on cards and tickets, and the surnames of French and legal papers.

use super::lead::Lead;
use super::lists::Kind;
use super::plain::Name;
use super::reader::{Reader, Word, is_longer};

/// Words of such a name.
const MOST: usize = 4;
/// What may be a name that nobody listed is at least as long: shorter words are abbreviations.
const UNLISTED: usize = 4;

impl<'t> Reader<'t> {
    /// `Patient: JOHN SMITH`, `Dr. WILLIAMS`, `SMITH, JOHN A`, `DUPONT Clotilde`.
    pub(super) fn shouted(&mut self, start: usize, first: Word<'t>, lead: Lead) -> Option<Name> {
        let led = matches!(lead, Lead::Title | Lead::Field | Lead::Label);
        let listed = first.kind.is(Kind::GIVEN) || first.kind.is(Kind::SURNAME);
        let stop = first.kind.is(Kind::STOP) && !listed;
        if stop || !is_longer(first.text, 1) || !(led || is_longer(first.text, 2)) {
            return None;
        }
        if let Some(name) = self.loud_reversed(start, first, lead) {
            return Some(name);
        }
        let (mut end, mut words, mut known) = (first.end, 1, 0);
        known += usize::from(is_sure(first));
        for _ in 1..MOST {
            let Some(word) = self.loud_next(end) else {
                break;
            };
            let initial = word.is_initial();
            if initial && words == 1 {
                end = word.end + usize::from(self.byte(word.end) == Some(b'.'));
                continue;
            }
            let sure = is_sure(word);
            let fits = sure || (words == 1 && led && is_unlisted(word));
            if !fits {
                break;
            }
            known += usize::from(sure);
            (end, words) = (word.end, words + 1);
        }
        if words == 1 {
            let given = self.given_behind(first);
            end = given.map_or(first.end, |given| given.end);
            words += usize::from(given.is_some());
            known += usize::from(given.is_some());
        }
        let pair = is_sure(first) && first.kind.is(Kind::GIVEN) && words > 1 && known == words;
        let enough = match lead {
            Lead::Title => known > 0 || (is_longer(first.text, 2) && self.titled(start)),
            Lead::Field => known > 0,
            Lead::Label => known > 0 && words > 1,
            _ => pair || (words > 1 && self.given_behind(first).is_some()),
        };
        (enough && self.ends(end)).then_some(Name { end, score: 76 })
    }

    /// Whether the title is a word, right before the name: a letter alone stands for many things.
    fn titled(&self, start: usize) -> bool {
        let head = self.text.get(..start).unwrap_or_default();
        let title = head.strip_suffix(' ').unwrap_or_default();
        let title = title.strip_suffix('.').unwrap_or(title);
        let mut letters = title.chars().rev();
        (0..2).all(|_| letters.next().is_some_and(char::is_alphabetic))
    }

    /// The next word in capitals, behind one space.
    fn loud_next(&mut self, at: usize) -> Option<Word<'t>> {
        let word = match self.byte(at)? {
            b' ' => self.word(at + 1)?,
            _ => return None,
        };
        let capital = word.text.starts_with(char::is_uppercase);
        (capital && (word.shouts() || word.is_initial())).then_some(word)
    }

    /// A given name as usual behind a surname in capitals.
    fn given_behind(&mut self, first: Word<'t>) -> Option<Word<'t>> {
        if self.byte(first.end) != Some(b' ') || !is_unlisted(first) && !is_sure(first) {
            return None;
        }
        let given = self.word(first.end + 1)?;
        let others = [Kind::WORD, Kind::PLACE, Kind::COUNTRY, Kind::STOP];
        let sure = given.kind.is(Kind::GIVEN) && !others.into_iter().any(|o| given.kind.is(o));
        (sure && !given.shouts() && given.well_cased()).then_some(given)
    }

    /// A surname in capitals behind a given name as usual: `Clotilde DUPONT`.
    pub(super) fn surname_shouts(&mut self, first: Word<'t>) -> Option<Name> {
        let surname = self.loud_next(first.end)?;
        let long = is_longer(surname.text, UNLISTED) && is_unlisted(surname);
        let fits = !first.shouts() && (is_sure(surname) || long);
        (fits && self.ends(surname.end)).then_some(Name {
            end: surname.end,
            score: 72,
        })
    }

    /// `SMITH, JOHN A`
    fn loud_reversed(&mut self, start: usize, first: Word<'t>, lead: Lead) -> Option<Name> {
        if self.byte(first.end) != Some(b',') || self.byte(first.end + 1) != Some(b' ') {
            return None;
        }
        let given = self.word(first.end + 2)?;
        let loud = given.shouts() && given.kind.is(Kind::GIVEN) && !given.kind.is(Kind::COUNTRY);
        let led = matches!(lead, Lead::Title | Lead::Field | Lead::Label);
        let line = self.text.get(..start).unwrap_or_default();
        let begins = line.is_empty() || line.ends_with(['\n', '"', '|', '>', ';']);
        let surname = first.kind.is(Kind::SURNAME) || (is_unlisted(first) && (led || begins));
        let sure = is_sure(given) && (is_sure(first) || led || begins);
        if !(loud && surname && sure) {
            return None;
        }
        let initial = self.loud_next(given.end).filter(|word| word.is_initial());
        let end = initial.map_or(given.end, |word| word.end);
        self.ends(end).then_some(Name { end, score: 78 })
    }
}

/// A name that is nothing else.
fn is_sure(word: Word<'_>) -> bool {
    let others = [
        Kind::WORD,
        Kind::COMMON,
        Kind::PLACE,
        Kind::COUNTRY,
        Kind::STOP,
        Kind::STREET,
    ];
    let named = word.kind.is(Kind::GIVEN) || word.kind.is(Kind::SURNAME);
    named && is_longer(word.text, 2) && !others.into_iter().any(|other| word.kind.is(other))
}

/// A word that no list knows.
fn is_unlisted(word: Word<'_>) -> bool {
    word.kind == Kind::default() && is_longer(word.text, UNLISTED - 1)
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn names_in_capitals() {
        for (text, name) in [
            ("Patient: JOHN SMITH was seen", "JOHN SMITH"),
            ("Name: MARIA GONZALEZ, DOB", "MARIA GONZALEZ"),
            ("Dr. KOWALCZYK saw her", "KOWALCZYK"),
            ("Name: ACHESON, WINIFRED T | x", "ACHESON, WINIFRED T"),
            ("Mme DUPONT Clotilde, hier", "DUPONT Clotilde"),
            ("avec Clotilde DUPONT hier", "Clotilde DUPONT"),
            ("Passenger: OTTOMAR ZWETSCHGE", "OTTOMAR ZWETSCHGE"),
        ] {
            found(text, "PERSON", &[name]);
        }
    }

    #[test]
    fn other_capitals() {
        for text in [
            "SELECT NAME FROM USERS WHERE STATE",
            "Patient: DENIES CHEST PAIN",
            "GRANT ALL ON SCHEMA PUBLIC",
            "HTTP GET MAX RETRY COUNT",
            "name: DB_HOST",
            "NEW YORK AND JERSEY CITY",
            "from: API GATEWAY",
            "M  MULTILINE matches",
            "VICTORIA STATION, AUSTIN TEXAS",
        ] {
            nothing(text);
        }
    }
}
