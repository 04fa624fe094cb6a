//! What follows a street: its flat, its place, the code; and corners of two streets.

use super::super::lists::Kind;
use super::parts::{Reader, Token};
use super::{Street, WORDS};

/// Words and numbers behind a street.
const PARTS: usize = 9;

/// What stands behind a street.
struct Rest {
    end: usize,
    /// Words of places.
    parts: usize,
    /// Whether a postal code ends it.
    coded: bool,
}

impl Reader<'_> {
    pub(super) fn unit_behind(&mut self, end: usize) -> Option<usize> {
        let rest = self.text.get(end..)?;
        let gap = rest.len() - rest.trim_start_matches([' ', ',', '\n', '?', '.']).len();
        if !(1..=8).contains(&gap) {
            return None;
        }
        let word = self
            .token(end + gap)
            .filter(|token| token.kind.is(Kind::UNIT))?;
        self.flat(word)
    }

    /// Behind a flat its street may follow: `Apt. 370 59 Bouciña 65`.
    pub(super) fn after_unit(&mut self, end: usize) -> usize {
        let from = self.at;
        let gap = self
            .text
            .get(end..)
            .is_some_and(|rest| rest.starts_with(' '));
        let begins = gap
            && self
                .token(end + 1)
                .is_some_and(|token| token.number || token.capital());
        if begins {
            self.at = end + 1;
            let (mut at, mut words, mut last) = (end + 1, 0, None);
            while let Some(token) = self.token(at) {
                if token.number && words > 0 {
                    last = (token.text.len() <= 6).then_some(token.end);
                    break;
                }
                let fits = token.number
                    || token.capital()
                    || token.kind.is(Kind::PARTICLE)
                    || token.street();
                if !fits || words > WORDS {
                    break;
                }
                words += usize::from(!token.number);
                if token.street() && words > 1 {
                    last = Some(token.end);
                }
                at = token.end;
                match self.text.as_bytes().get(at) {
                    Some(b' ') => at += 1,
                    _ => break,
                }
            }
            if let Some(last) = last {
                return self.onward(last);
            }
        }
        self.at = from;
        self.onward(end)
    }

    /// Goes on over flat, place and state up to a postal code or a country, if there is one.
    pub(super) fn onward(&mut self, end: usize) -> usize {
        self.rest(end).end
    }

    /// A number, words and a number are an address only where a place and a code follow.
    pub(super) fn unnamed(&mut self, street: Street) -> Option<usize> {
        let rest = self.rest(street.end);
        let behind = self.text.get(street.end..rest.end)?;
        let marks = behind.matches([',', '\n']).count();
        let british = marks > 0 && rest.parts > 0 && is_british(behind);
        let known = rest.coded && ((rest.parts > 1 && marks > 1) || british);
        // Numbers alone say nothing of a street without one behind its name.
        let numbered = self
            .text
            .get(self.at..street.end)
            .is_some_and(|text| text.ends_with(|c: char| c.is_ascii_digit()));
        (known && (british || numbered)).then_some(rest.end)
    }

    fn rest(&mut self, end: usize) -> Rest {
        let end = self.unit_behind(end).unwrap_or(end);
        let mut rest = Rest {
            end,
            parts: 0,
            coded: false,
        };
        let (mut at, mut before) = (end, "");
        for _ in 0..PARTS {
            let Some(gap) = self.gap(at) else { break };
            let Some(token) = self.token(at + gap) else {
                break;
            };
            // `Devon Street West\n Suite 240`
            if token.kind.is(Kind::UNIT)
                && let Some(flat) = self.flat(token)
            {
                (at, before, rest.end) = (flat, "", flat);
                continue;
            }
            if token.number {
                let code =
                    matches!(token.text.len(), 3..=7) && (rest.parts > 0 || token.text.len() >= 4);
                if code {
                    rest.end = self.rest_of_code(token.end);
                    rest.coded = true;
                }
                break;
            }
            // `Republic of Ireland`; `nan` is what is written for a state that is not known.
            let joins = token.text == "of" && matches!(before, "Republic" | "Kingdom" | "Isle");
            // `Kostelec nad Orlicí`
            let small = token.text.len() <= 4 && rest.parts > 0 && self.capital_behind(token.end);
            let part = token.capital() || token.kind.is(Kind::PARTICLE) || joins || small;
            if !(part || token.text == "nan") {
                break;
            }
            (at, before) = (token.end, token.text);
            rest.parts += 1;
            let state = token.text.len() == 2 && token.text.bytes().all(|b| b.is_ascii_uppercase());
            let whole = token.kind.is(Kind::COUNTRY)
                && ((token.capital() && token.text.len() > 3) || (state && rest.parts > 1));
            if whole && rest.parts <= 5 {
                rest.end = at;
            }
        }
        rest
    }

    /// Whether a word with a capital stands behind one space.
    fn capital_behind(&mut self, at: usize) -> bool {
        let spaced = self.text.as_bytes().get(at) == Some(&b' ');
        spaced && self.token(at + 1).is_some_and(Token::capital)
    }

    /// The marks and spaces between two parts of an address; nothing if they end it.
    fn gap(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..self.last.max(at))?;
        let marks = [' ', ',', '\n', '?', '.', '(', ')'];
        let gap = rest.len() - rest.trim_start_matches(marks).len();
        let between = rest.get(..gap)?;
        let ends = between.matches('\n').count() > 2 || between.starts_with(". ");
        ((1..=8).contains(&gap) && !ends).then_some(gap)
    }

    /// `the corner of Mill Road 3 and Oak Street`: two streets, whatever they are called.
    pub(super) fn corner(&mut self, start: usize) -> Option<(usize, usize)> {
        let from = self.text.ceil_char_boundary(start.saturating_sub(16));
        let head = self.text.get(from..start)?;
        let kept = head.strip_suffix("corner of ")?;
        let kept = kept.strip_suffix("the ").unwrap_or(kept);
        let first = self.words(start)?;
        let rest = self.text.get(first..)?;
        let and = [" and ", " & ", ". and "]
            .into_iter()
            .find(|and| rest.starts_with(and))?;
        let end = self.words(first + and.len())?;
        Some((from + kept.len(), end))
    }

    /// The end of a row of words with capitals, small words of streets, and numbers.
    fn words(&mut self, start: usize) -> Option<usize> {
        let (mut at, mut end) = (start, None);
        for _ in 0..=WORDS {
            let Some(token) = self.token(at) else { break };
            let joins =
                token.kind.is(Kind::PARTICLE) || token.street() || token.kind.is(Kind::STREET);
            if !(token.capital() || token.number || joins) || token.text == "and" {
                break;
            }
            end = Some(token.end);
            let rest = self.text.get(token.end..).unwrap_or_default();
            at = match rest.as_bytes() {
                [b' ', ..] => token.end + 1,
                [b'.', b' ', next, ..] if !next.is_ascii_lowercase() => token.end + 2,
                _ => break,
            };
        }
        end
    }

    /// `78701-1234`, `M5V 2T6`, `SW1A 1AA`.
    fn rest_of_code(&mut self, end: usize) -> usize {
        let rest = self.text.get(end..).unwrap_or_default();
        let plus = rest
            .strip_prefix('-')
            .map(|rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        if let Some(count @ 3..=4) = plus {
            return end + 1 + count;
        }
        // `3511 PA`
        let digits = self
            .text
            .get(end.saturating_sub(4)..end)
            .is_some_and(|code| code.len() == 4 && code.bytes().all(|b| b.is_ascii_digit()));
        let dutch = self.token(end + 1).filter(|token| {
            let capitals = token.text.bytes().all(|b| b.is_ascii_uppercase());
            digits && rest.starts_with(' ') && capitals && token.text.len() == 2
        });
        if let Some(token) = dutch {
            return token.end;
        }
        let letters = self.text.get(..end).is_some_and(|head| {
            let code = head.rsplit([' ', ',', '\n']).next().unwrap_or_default();
            code.bytes().any(|b| b.is_ascii_uppercase())
        });
        match self
            .token(end + 1)
            .filter(|token| letters && rest.starts_with(' ') && token.text.len() == 3)
        {
            Some(token) if token.text.starts_with(|c: char| c.is_ascii_digit()) => token.end,
            _ => end,
        }
    }
}

/// Whether a text ends with a postal code of the United Kingdom: `SW2 1AA`.
fn is_british(text: &str) -> bool {
    let inward = text.rfind(' ').unwrap_or(0);
    let outward = text
        .get(..inward)
        .and_then(|head| head.rfind([' ', ',', '\n']));
    let code = outward.and_then(|at| text.get(at + 1..));
    code.is_some_and(super::british::is_british)
}
