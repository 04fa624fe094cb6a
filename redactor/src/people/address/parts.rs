//! The words and numbers of an address, and the forms that are read in one piece.

use std::sync::LazyLock;

use super::super::lists::{Kind, kind};

/// What names of streets end in.
const ENDINGS: &[&str] = &[
    "straße", "strasse", "str", "allee", "platz", "gasse", "weg", "damm", "ufer", "straat", "laan",
    "plein", "gracht", "kade", "dijk", "vej", "gade", "stræde", "veien", "vegen", "gata", "gaten",
    "gatan", "vägen", "gränd", "katu", "ntie", "chaussee", "steenweg", "singel", "kuja", "polku",
    "utca", "ulica", "bakken", "haugen",
];

/// Words for streets in languages that write them in lower case; `port` and `way` are words.
const LOWER: &[&str] = &[
    "rue",
    "allée",
    "avenue",
    "boulevard",
    "chemin",
    "impasse",
    "quai",
    "cours",
    "via",
    "viale",
    "piazza",
    "corso",
    "vicolo",
    "calle",
    "avenida",
    "carrer",
    "paseo",
    "rua",
    "travessa",
    "praça",
    "estrada",
    "ul",
    "al",
    "os",
    "ulica",
    "aleja",
    "ulice",
    "náměstí",
    "třída",
    "strada",
    "bulevardul",
    "calea",
    "utca",
    "tér",
    "út",
    "útja",
    "ulica",
    "caddesi",
    "sokak",
    "улица",
    "ул",
    "проспект",
    "пр",
    "бул",
    "вулиця",
    "вул",
    "переулок",
];

/// The longest word or number that is read.
const LONGEST: usize = 48;

#[derive(Clone, Copy)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    pub(super) end: usize,
    pub(super) number: bool,
    pub(super) kind: Kind,
}

impl Token<'_> {
    pub(super) fn capital(self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    /// A word for a street, or one that ends in such a word.
    pub(super) fn street(self) -> bool {
        if self.kind.is(Kind::STREET) && (self.capital() || LOWER.contains(&self.text)) {
            return true;
        }
        if self.text.len() <= 5 || !self.capital() {
            return false;
        }
        ends_as_street(self.text)
    }
}

/// The last letters of those endings, a bit each.
static LAST: LazyLock<u32> = LazyLock::new(|| {
    let last = ENDINGS.iter().filter_map(|ending| ending.as_bytes().last());
    last.fold(0, |bits, last| bits | bit(*last))
});

fn bit(letter: u8) -> u32 {
    1 << (letter & 0x1F)
}

fn ends_as_street(word: &str) -> bool {
    if !word.is_ascii() {
        let lower = word.to_lowercase();
        return ENDINGS.iter().any(|ending| lower.ends_with(ending));
    }
    let bytes = word.as_bytes();
    let last = bytes.last().map(u8::to_ascii_lowercase);
    if last.is_none_or(|last| *LAST & bit(last) == 0) {
        return false;
    }
    ENDINGS.iter().any(|ending| {
        let ending = ending.as_bytes();
        let from = bytes.len().checked_sub(ending.len());
        ending.last().copied() == last
            && from
                .and_then(|from| bytes.get(from..))
                .is_some_and(|end| end.eq_ignore_ascii_case(ending))
    })
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) last: usize,
    pub(super) cut: bool,
    /// The last token: forms of addresses ask for the same one.
    pub(super) read: Option<(usize, Option<Token<'t>>)>,
}

impl<'t> Reader<'t> {
    /// `P.O. Box 101`, `PSC 3294, Box 9168`, `Unit 3906 Box 2810`, `Postfach 12`.
    pub(super) fn boxed(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..self.last.max(at))?;
        if !rest.starts_with(['P', 'U', 'A', 'C', 'B']) {
            return None;
        }
        let head = [
            "P.O. Box ",
            "PO Box ",
            "P.O.Box ",
            "P. O. Box ",
            "Postfach ",
            "Postbox ",
            "Postboks ",
            "Postbus ",
            "PSC ",
            "Unit ",
            "Apartado ",
            "Casella Postale ",
            "Boîte Postale ",
        ]
        .iter()
        .find(|head| rest.starts_with(**head))?;
        let number = self.token(at + head.len()).filter(|token| token.number)?;
        let military = matches!(*head, "PSC " | "Unit ");
        let rest = self.text.get(number.end..)?;
        let behind = rest.trim_start_matches([',', ' ']).strip_prefix("Box ");
        match behind {
            Some(behind) => {
                let at = self.text.len() - behind.len();
                self.token(at)
                    .filter(|token| token.number)
                    .map(|token| token.end)
            }
            None => (!military).then_some(number.end),
        }
    }

    /// `USNS Björklund\nFPO AP 07688`: a ship of the United States.
    pub(super) fn aboard(&mut self, at: usize) -> Option<usize> {
        let ship = self.token(at)?;
        if !matches!(ship.text, "USNS" | "USS" | "USCGC" | "USNV") {
            return None;
        }
        let name = self.token(ship.end + 1).filter(|name| name.capital())?;
        let rest = self.text.get(name.end..)?;
        let gap = rest.len() - rest.trim_start_matches([' ', ',', '\n']).len();
        self.coded(name.end + gap).map(|(_, end)| end)
    }

    /// `61-148 Poznań`: a Polish postal code before its place.
    pub(super) fn code_before(&mut self, at: usize) -> Option<usize> {
        let from = at.checked_sub(7)?;
        let shaped = match self.text.as_bytes().get(from..at)? {
            [a, b, b'-', c, d, e, b' '] => [a, b, c, d, e].iter().all(|b| b.is_ascii_digit()),
            _ => false,
        };
        let before = from
            .checked_sub(1)
            .and_then(|at| self.text.as_bytes().get(at));
        let apart = before.is_none_or(|b| b" ,\n\"'>;".contains(b));
        let place = self
            .token(at)
            .is_some_and(|token| token.capital() && token.text.len() > 2);
        (shaped && apart && place).then_some(from)
    }

    /// A country, state or post of the army before a postal code: the code, and with it the army's
    /// whole line.
    pub(super) fn coded(&mut self, at: usize) -> Option<(usize, usize)> {
        let word = self.token(at)?;
        let military = matches!(word.text, "APO" | "FPO" | "DPO");
        let place = if military {
            self.token(word.end + 1)?
        } else {
            word
        };
        if !place.kind.is(Kind::COUNTRY) || self.text.as_bytes().get(place.end) != Some(&b' ') {
            return None;
        }
        // States are written as two capitals.
        let state = place.text.len() <= 3;
        if state && place.text.chars().any(char::is_lowercase) {
            return None;
        }
        let code = self.token(place.end + 1).filter(|token| token.number)?;
        let long = match (state, code.text.len()) {
            (_, 5) => true,
            (false, 4 | 6) => !code.text.starts_with("19") && !code.text.starts_with("20"),
            _ => false,
        };
        let inside = self.text.get(..at).is_some_and(|head| {
            head.trim_end_matches(' ')
                .ends_with(|c: char| c == ',' || c == '\n' || c.is_alphabetic() || c == '?')
        });
        let figures = code.text.bytes().all(|b| b.is_ascii_digit());
        let from = if military {
            at
        } else {
            code.end - code.text.len()
        };
        (long && figures && inside).then_some((from, code.end))
    }

    /// The word or number that begins here. A number may hold letters: `12a`, `M5V`.
    pub(super) fn token(&mut self, at: usize) -> Option<Token<'t>> {
        match self.read {
            Some((known, token)) if known == at => token,
            _ => {
                let token = self.read_token(at);
                self.read = Some((at, token));
                token
            }
        }
    }

    fn read_token(&mut self, at: usize) -> Option<Token<'t>> {
        let rest = self.text.get(at..)?;
        let length = extent(rest);
        self.cut |= at + length + 2 > self.text.len();
        if length == 0 || length > LONGEST || at + length > self.last {
            return None;
        }
        let text = rest.get(..length)?.trim_end_matches(['-', '/', '\'']);
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let short = text.len() <= 8;
        let number = digits > 0
            && short
            && (text.starts_with(|c: char| c.is_ascii_digit()) || digits * 3 >= text.len());
        let kind = if number { Kind::default() } else { kind(text) };
        (!text.is_empty()).then_some(Token {
            text,
            end: at + text.len(),
            number,
            kind,
        })
    }
}

/// The length of the word or number at the start of a text, or more than the longest.
fn extent(rest: &str) -> usize {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'\'' | b'-' | b'/');
    let bytes = rest.as_bytes();
    let near = bytes.get(..=LONGEST).unwrap_or(bytes);
    let plain = near.iter().position(|b| !inside(b)).unwrap_or(near.len());
    if bytes.get(plain).is_none_or(u8::is_ascii) {
        return plain;
    }
    let near = rest
        .get(..rest.ceil_char_boundary(LONGEST + 1))
        .unwrap_or(rest);
    near.find(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '/')))
        .unwrap_or(near.len())
}
