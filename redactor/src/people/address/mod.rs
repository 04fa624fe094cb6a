//! Postal addresses: a street with a number, a flat, a box, and the place and code behind them.

mod beginning;
mod british;
mod digits;
mod onward;
mod parts;

use self::beginning::{begin, may_begin};
pub(super) use self::digits::Digits;
use self::parts::{Reader, Token};
use super::Found;
use super::lists::{Kind, kind};
use crate::label::Label;
use crate::seek::seek;

/// Bytes that one address may take.
const LONGEST: usize = 160;
/// Bytes before a capital that belong to an address: numbers, `rue`, `ul.`.
const BEFORE: usize = 32;
/// Bytes from an address's beginning in which its first number stands.
const NEAR: usize = 64;
/// Bytes behind a capital in which every address that begins with it ends, and what shows so.
const SEEN: usize = 2 * LONGEST;
/// Words of a street's name.
const WORDS: usize = 6;

/// An address whose first capital stands at `start`; returns where it ends.
pub(super) fn at(
    text: &str,
    start: usize,
    digits: &mut Digits,
    found: &mut Found,
) -> Option<usize> {
    let bytes = text.as_bytes();
    // Wherever it begins, no digit is near: this is asked at every capital.
    let (before, behind) = (start.saturating_sub(BEFORE), start.saturating_add(NEAR));
    let seen = behind <= text.len() || !found.growing;
    if seen && !digits.within(bytes, before, behind.min(text.len())) {
        return None;
    }
    let begin = begin(text, start);
    let whole = !found.growing || start.saturating_add(SEEN) <= text.len();
    if whole && begin == start && !may_begin(bytes, start) {
        return None;
    }
    // No address is without a number, and that is near.
    let near = bytes.get(begin..).and_then(<[u8]>::first_chunk::<NEAR>);
    if near.is_some_and(|near| seek(near, |b| b.wrapping_sub(b'0') < 10).is_none()) {
        return None;
    }
    let mut reader = Reader {
        text,
        at: begin,
        last: text.len().min(begin.saturating_add(LONGEST)),
        cut: false,
        read: None,
    };
    let end = reader.address(start);
    if reader.cut {
        found.settled = found.settled.min(begin);
    }
    let (from, end) = end?;
    found.push(Label::ADDRESS, from, end, 84);
    Some(end)
}

#[derive(Clone, Copy)]
struct Street {
    end: usize,
    /// Whether a word for streets or a flat shows it; else there is a number on either side.
    named: bool,
}

impl<'t> Reader<'t> {
    fn address(&mut self, start: usize) -> Option<(usize, usize)> {
        let begin = self.at;
        if let Some(end) = self.boxed(start) {
            return Some((begin, self.onward(end)));
        }
        if let Some(end) = self.aboard(start) {
            return Some((start, end));
        }
        if let Some(from) = self.code_before(start) {
            return Some((from, start.saturating_sub(1)));
        }
        if let Some(end) = self.unit(start) {
            return Some((begin, self.after_unit(end)));
        }
        if let Some(end) = self.coded(start) {
            return Some(end);
        }
        if let Some(corner) = self.corner(start) {
            return Some(corner);
        }
        let street = self.street()?;
        if street.named {
            return Some((begin, self.onward(street.end)));
        }
        self.unnamed(street).map(|end| (begin, end))
    }

    /// `12 Mill Road`, `Hauptstraße 12a`, `56 Linieweg 350\n Apt. 272`.
    fn street(&mut self) -> Option<Street> {
        let (mut at, mut numbers, mut words, mut lower) = (self.at, 0, 0, 0);
        // `C/ Mayor 8`
        let rest = self.text.get(at..).unwrap_or_default();
        let calle = rest.starts_with("C/ ") || rest.starts_with("c/ ");
        at += if calle { 3 } else { 0 };
        let (mut street, mut prefixed, mut romance) = (calle, calle, calle);
        let (mut end, mut last) = (None, at);
        while let Some(token) = self.token(at) {
            if token.number && words == 0 && numbers < 2 {
                numbers += 1;
            } else if token.number {
                let house = token.text.len() <= 6 || token.text.ends_with("-bis");
                end = house.then_some(token.end).filter(|_| words > 0).or(end);
                numbers += usize::from(house);
                break;
            } else {
                let fits = token.capital()
                    || token.street()
                    || token.kind.is(Kind::PARTICLE)
                    || token.text.len() <= 3;
                lower += usize::from(!token.capital() && !token.street());
                if !fits || words >= WORDS || token.kind.is(Kind::UNIT) {
                    break;
                }
                words += 1;
                street |= token.street() && (words > 1 || !self.only(token));
                prefixed |= words == 1 && token.street() && !token.capital();
                romance |= words == 1 && is_romance(token.text);
                let named = words > 1 && (token.street() || (prefixed && token.capital()));
                if named && numbers > 0 {
                    end = Some(token.end);
                }
            }
            (at, last) = (token.end, token.end);
            match self.text.as_bytes().get(at) {
                Some(b' ') => at += 1,
                Some(b'.') if self.text.as_bytes().get(at + 1) == Some(&b' ') => at += 2,
                _ if romance && words > 1 && self.number_apart(at) => at += 2,
                _ => break,
            }
        }
        let Some(end) = end else {
            // `27 Brixton Hill`: what follows has to say that it is one.
            let apart = matches!(self.text.as_bytes().get(last), Some(b',' | b'\n'));
            let plain = numbers == 1 && (1..=3).contains(&words) && lower == 0 && apart;
            return plain.then_some(Street {
                end: last,
                named: false,
            });
        };
        let end = self.road_behind(end);
        let flat = self.unit_behind(end);
        let named = street && numbers > 0 && lower <= 3;
        let flatted = flat.is_some() && numbers > 0 && words > 0;
        (named || flatted || numbers > 1).then_some(Street {
            end: flat.unwrap_or(end),
            named: named || flatted,
        })
    }

    /// A word that is nothing but `Street` or `Plaza` names none.
    fn only(&self, token: Token<'_>) -> bool {
        token.kind.is(Kind::STREET)
            && !token.text.starts_with(char::is_lowercase)
            && token.text.len() < 4
            && !["Via", "Rua", "Rue", "Av"].contains(&token.text)
    }

    /// `Rua Bela Cintra, 986`: where the street stands before its name, a comma may set the number
    /// apart; postal codes are longer.
    fn number_apart(&mut self, at: usize) -> bool {
        let comma = self
            .text
            .get(at..)
            .is_some_and(|rest| rest.starts_with(", "));
        comma
            && self
                .token(at + 2)
                .is_some_and(|token| token.number && token.text.len() <= 4)
    }

    /// `Magasinsgatan 7 St.`
    fn road_behind(&mut self, end: usize) -> usize {
        let next = self
            .text
            .get(end..)
            .is_some_and(|rest| rest.starts_with(' '));
        match self.token(end + 1).filter(|token| {
            next && token.capital() && matches!(token.text, "St" | "Street" | "Road" | "Rd" | "Ave")
        }) {
            Some(token) => token.end,
            None => end,
        }
    }

    /// `Apt. 272`, `Suite 9`, `#4`.
    fn unit(&mut self, at: usize) -> Option<usize> {
        let word = self.token(at).filter(|token| {
            let units = ["apt", "apartment", "suite", "ste"];
            units
                .iter()
                .any(|unit| token.text.eq_ignore_ascii_case(unit))
        })?;
        let before = self.text.get(..at).unwrap_or_default();
        // `Test Suite 3`
        let part = before.ends_with(' ')
            && before
                .trim_end_matches(' ')
                .rsplit(' ')
                .next()
                .is_some_and(|word| word.starts_with(char::is_uppercase) && !word.contains('\n'));
        if part
            && word.text.eq_ignore_ascii_case("suite")
            && !before
                .trim_end_matches(' ')
                .ends_with(|c: char| c.is_ascii_digit() || c == ',')
        {
            let name = before
                .trim_end_matches(' ')
                .rsplit([' ', '\n'])
                .next()
                .unwrap_or_default();
            let listed = kind(name);
            let named = [Kind::SURNAME, Kind::GIVEN, Kind::STREET];
            // `Suite 680 36 Oakridge Lane`
            let street = self
                .flat(word)
                .and_then(|end| self.token(end + 1))
                .is_some_and(|token| token.number);
            if !street && !named.into_iter().any(|named| listed.is(named)) {
                return None;
            }
        }
        self.flat(word)
    }

    fn flat(&mut self, word: Token<'t>) -> Option<usize> {
        let dot = usize::from(self.text.as_bytes().get(word.end) == Some(&b'.'));
        let gap = self
            .text
            .get(word.end + dot..)
            .is_some_and(|rest| rest.starts_with(' '));
        let number = self
            .token(word.end + dot + 1)
            .filter(|token| gap && token.number && token.text.len() <= 5)?;
        Some(number.end)
    }
}

/// Words for a street in the languages that write its number behind a comma.
fn is_romance(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "rua", "avenida", "av", "travessa", "praça", "estrada", "alameda", "via", "viale", "corso",
        "piazza", "largo", "calle", "paseo", "plaza", "carrer", "c",
    ];
    let lower = word.to_lowercase();
    WORDS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn addresses_of_many_countries() {
        for (text, address) in [
            (
                "letter to 9718 Mill St Apt 10, Austin, TX 78701, telling",
                "9718 Mill St Apt 10, Austin, TX 78701",
            ),
            (
                "Lives at 634 Washington St Apt 12, Dayton, OH 45402 with",
                "634 Washington St Apt 12, Dayton, OH 45402",
            ),
            (
                "- address: 5206 Park Blvd, Suite 974, Toronto, ON M5V 2T6\n- plan",
                "5206 Park Blvd, Suite 974, Toronto, ON M5V 2T6",
            ),
            ("wohnt in der Hauptstraße 12a, und", "Hauptstraße 12a"),
            ("habite 40 rue Victor Hugo, et", "40 rue Victor Hugo"),
            ("adres: ul. Północna 73, dalej", "ul. Północna 73"),
            ("P.O. Box 101, next", "P.O. Box 101"),
            (
                "at 27 Brixton Hill, London SW2 1AA now",
                "27 Brixton Hill, London SW2 1AA",
            ),
            ("habite 27 rue des Carmes, et", "27 rue des Carmes"),
            ("in Via dei Mille 45, poi", "Via dei Mille 45"),
            ("na Rua Bela Cintra, 986, hoje", "Rua Bela Cintra, 986"),
            (
                "adres: Oudegracht 301-bis, 3511 PA Utrecht",
                "Oudegracht 301-bis, 3511 PA",
            ),
            ("osoite Mannerheimintie 88 on", "Mannerheimintie 88"),
            (
                "in 4 Acacia Gardens, Leeds LS1 4AB now",
                "4 Acacia Gardens, Leeds LS1 4AB",
            ),
            (
                "Send it to 41 Fenwick Road\n Suite 7\n Marlow Heights\n New Zealand, or",
                "41 Fenwick Road\n Suite 7\n Marlow Heights\n New Zealand",
            ),
            (
                "at 12 Harrow Street Suite 5 Regina SK last week",
                "12 Harrow Street Suite 5 Regina SK",
            ),
            (
                "now 8841 Veldkamp 12\nOosterhout\n, NB\n 49051 again",
                "8841 Veldkamp 12\nOosterhout\n, NB\n 49051",
            ),
            (
                "meet at the corner of Brink 4 and Larch Avenue.",
                "the corner of Brink 4 and Larch Avenue",
            ),
            (
                "to 12 Devon Street West\n Suite 240\n West Brook\n New Zealand. Please",
                "12 Devon Street West\n Suite 240\n West Brook\n New Zealand",
            ),
            ("vive en C/ Mayor Antigua 88 y", "C/ Mayor Antigua 88"),
            (
                "at PSC 7589, Box 0572\nAPO AE 20040 now",
                "PSC 7589, Box 0572\nAPO AE 20040",
            ),
        ] {
            found(text, "ADDRESS", &[address]);
        }
    }

    #[test]
    fn other_words_with_numbers() {
        for text in [
            "String 12 and Table 5",
            "Test Suite 12 failed",
            "See Section 12 Way of working",
            "10 Downloads in 5 Days",
            "Python 31234 and France 2024",
            "at line 12 Error 404",
            "Unit 5 tests",
            "3 Items 2\nOrder 48213",
            "12 Units 4 of 10000",
            "INFO worker Started Scheduler on port 8080",
            "27 Open Issues, Closed 12 today",
            "2024 Annual Report, Section A12 3BC",
        ] {
            nothing(text);
        }
    }
}
