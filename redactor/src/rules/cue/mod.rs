//! Values that are known by the words before them: `passport no. A0750176`, `<dob>1990-01-02`.
//!
//! A scheme says what its values are called, how they are written and, where the issuer
//! publishes a check digit, how it is reckoned. Behind a cue the check only adds confidence;
//! without one only schemes that a check can tell from other numbers are taken.

mod dated;
mod keys;
mod money;
mod papers;
mod people;
mod street;
mod things;
mod value;

use crate::label::Label;
use crate::rule::{Candidate, Hit, Judge, Left, Rule, Tail};

pub(crate) use self::keys::{named, names_value};
pub(super) use self::value::Value;

/// Bytes behind a cue in which its value has to end.
const NEAR: usize = 64;

/// A kind of value: what it is called, how it is written, how it is checked.
pub(crate) struct Scheme {
    /// Names it in records.
    pub(crate) name: &'static str,
    pub(crate) label: Label,
    /// What stands before a value, in lower case; a space also stands for `_`, `-` and nothing.
    pub(super) cues: &'static [&'static str],
    /// What a value behind a cue looks like.
    pub(super) value: Value,
    /// A regular expression for values without a cue; empty if none can be told by itself.
    pub(super) bare: &'static str,
    /// Whether letters and digits, without separators and in upper case, are valid.
    pub(super) check: Option<fn(&[u8]) -> bool>,
}

/// What led to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A cue; the value is in the tail.
    Cue,
    /// The shape of the value, which is the whole match.
    Shape,
}

/// Words and marks between a cue and its value; may be nothing. The automaton of the heads knows the
/// cues alone: this is read behind each of them by an automaton of its own.
pub(crate) const GLUE: &str = concat!(
    r"(?i)(?:[ _.-]{0,2}(?:no|nos|nr|nrs|num|number|numbers|numer|numeru|numero|num\xC3\xA9ro|n\xC3\xBAmero|nummer|id|code|key|value|val|field|ul|ului|n\xC2\xB0|n\xC2\xBA|n\.o|#|\xE2\x84\x96))?",
    r#"\.?(?:\\?["'`])?[\])]?[ \t]{0,4}"#,
    r"(?:(?:is|was|are|on|in|file|of|for|the|my|his|her|their|your|to|as|ist|lautet|am|dnia|dne|le|il|em|op|den|est|es|\xC3\xA8|\xC3\xA9|wynosi|to|je|er|\xC3\xA4r|on|=>|:=|==|[:=#>|(,~-])[ \t]{0,4}){0,3}",
    r#"(?:\\?["'`])?"#
);

/// The score of a value whose check digit is right.
pub(crate) const CHECKED: u8 = 96;

pub(super) fn rules() -> Vec<Rule> {
    schemes().flat_map(Scheme::rules).collect()
}

fn schemes() -> impl Iterator<Item = &'static Scheme> {
    let own = [
        papers::SCHEMES,
        money::SCHEMES,
        things::SCHEMES,
        people::SCHEMES,
        dated::SCHEMES,
    ];
    own.into_iter().chain(super::national::schemes()).flatten()
}

/// The words of a key in lower case: cut at marks and at humps.
pub(crate) fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in key.chars() {
        let hump = lower && c.is_uppercase();
        if hump || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut()
            && c.is_alphanumeric()
        {
            word.extend(c.to_lowercase());
        }
        lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Scheme {
    fn rules(&'static self) -> Vec<Rule> {
        let mut rules = Vec::with_capacity(2);
        if !self.cues.is_empty() {
            let names: Vec<String> = self.cues.iter().map(|cue| spelled(cue)).collect();
            rules.push(Rule {
                name: self.name,
                label: self.label,
                head: format!("(?i)(?:{})", names.join("|")).into(),
                left: Left::Any,
                tail: Tail::Near(NEAR),
                judge: Judge::Scheme(self, Anchor::Cue),
                beside: false,
            });
        }
        if !self.bare.is_empty() {
            rules.push(Rule {
                name: self.name,
                label: self.label,
                head: self.bare.into(),
                left: Left::Number,
                tail: Tail::None,
                judge: Judge::Scheme(self, Anchor::Shape),
                beside: false,
            });
        }
        rules
    }

    /// What the candidate is by this scheme.
    pub(crate) fn judge(&self, candidate: &Candidate<'_>, anchor: Anchor) -> Option<Hit> {
        match anchor {
            Anchor::Cue => self.behind_cue(candidate),
            Anchor::Shape => self.by_shape(candidate),
        }
    }

    fn behind_cue(&self, candidate: &Candidate<'_>) -> Option<Hit> {
        let head = unglued(candidate);
        let cue = candidate.text.get(candidate.start..head)?;
        let rest = candidate.text.get(head..candidate.end)?;
        if is_longer(cue, rest) || is_path(cue, rest) {
            return None;
        }
        let street = matches!(self.value, Value::Street);
        let before = candidate.text.get(..candidate.start).unwrap_or_default();
        let field = matches!(self.value, Value::Login) || self.name == people::STREET_FIELD;
        let unmarked = field && !cue.contains(['=', ':', '>']);
        let of_program = matches!(self.value, Value::Login) && ends_with_service(before);
        if unmarked || of_program || (street && street::is_other(before)) {
            return None;
        }
        let (from, to) = self.value.read(rest)?;
        let to = self.last_part(rest, from, to).unwrap_or(to);
        let value = rest.get(from..to).unwrap_or_default();
        let valid = self.check.is_some_and(|check| check(&self.compact(value)));
        if self.is_of_a_thing(cue, value, valid) {
            return None;
        }
        Some(Hit {
            start: head + from,
            end: head + to,
            label: self.label,
            // The address as a whole, with its place, is better known by its own form.
            score: match (valid, street) {
                (true, _) => CHECKED,
                (false, true) => 70,
                (false, false) => 90,
            },
            certain: false,
        })
    }

    /// Whether the value is the number of a thing that is called alike.
    fn is_of_a_thing(&self, cue: &str, value: &str, valid: bool) -> bool {
        // `account_id`: an account of some service.
        let service = self.label == Label::BANK_ACCOUNT
            && words(cue)
                .iter()
                .any(|word| matches!(word.as_str(), "id" | "ids"));
        // `PESEL-20463348319`: a reference that was made up after the name of a number.
        let reference = cue.ends_with('-')
            && matches!(self.value, Value::Digits(..))
            && (!valid || self.label == Label::DEVICE_ID);
        // `zip v9.8.2`
        let version = self.name == "postal-code" && value.contains('.');
        // `FAKTURA VAT NR FV/2024/03/0047`: the number of the document.
        let document = self.label == Label::TAX_ID
            && value.matches('/').count() > 1
            && value.bytes().any(|b| b.is_ascii_alphabetic());
        service || reference || version || document
    }

    /// What a text is that is the whole value of a field or a cell of that name: how much of it,
    /// the label, and the confidence.
    pub(crate) fn whole(&self, name: &str, text: &str) -> Option<(usize, Label, u8)> {
        let dated = matches!(self.value, Value::Date);
        if dated && super::dates::is_compact(text) {
            return Some((text.len(), self.label, 88));
        }
        let (from, to) = self.value.read(text)?;
        // A time of day behind a date.
        let timed = text
            .get(to..)
            .is_some_and(|rest| rest.starts_with(['T', ' ']));
        if from != 0 || (to != text.len() && !(dated && timed)) {
            return None;
        }
        let valid = self.check.is_some_and(|check| check(&self.compact(text)));
        // Digits under `…_id` may be the number of any row.
        let id = words(name)
            .last()
            .is_some_and(|word| word == "id" || word == "ids");
        if id && !valid && text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some((to, self.label, if valid { CHECKED } else { 88 }))
    }

    /// The end of a last part of one or two characters behind a space, if the check takes it:
    /// `AB 12 34 56 C`, `1 85 05 78 006 084 36`.
    fn last_part(&self, rest: &str, from: usize, to: usize) -> Option<usize> {
        let check = self
            .check
            .filter(|_| matches!(self.value, Value::Code(..)))?;
        let behind = rest.get(to..)?.strip_prefix([' ', '-'])?;
        let inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
        let length = behind.find(|c| !inside(c)).unwrap_or(behind.len());
        let ends = !behind.get(length..)?.starts_with(char::is_alphanumeric);
        let end = to + 1 + length;
        let fits = (1..=2).contains(&length) && ends;
        (fits && check(&self.compact(rest.get(from..end)?))).then_some(end)
    }

    /// Letters and digits alone; in upper case, unless case is a part of the value.
    fn compact(&self, value: &str) -> Vec<u8> {
        let cased = self.label == Label::CRYPTO;
        let plain = |b: u8| if cased { b } else { b.to_ascii_uppercase() };
        value
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(plain)
            .collect()
    }

    fn by_shape(&self, candidate: &Candidate<'_>) -> Option<Hit> {
        let next = candidate.next();
        let goes_on = next.is_some_and(|b| b.is_ascii_alphanumeric() || b"_@".contains(&b))
            || (next.is_some_and(|b| b"-./".contains(&b))
                && candidate
                    .text
                    .as_bytes()
                    .get(candidate.end + 1)
                    .is_some_and(u8::is_ascii_alphanumeric));
        let hangs = candidate
            .previous()
            .is_some_and(|b| b"-/+#&@%$".contains(&b));
        let matched = candidate.matched();
        if goes_on || hangs || is_time(matched) || in_row(candidate) || candidate.context.denies() {
            return None;
        }
        let valid = self.check?(&self.compact(matched));
        valid.then(|| candidate.whole(self.label, 84)).flatten()
    }
}

/// `serviceAccountName`: an account of a program.
fn ends_with_service(before: &str) -> bool {
    let before = before.trim_end_matches(['_', '-', '.', ' ']);
    let from = before.len().saturating_sub("service".len());
    before
        .get(from..)
        .is_some_and(|word| word.eq_ignore_ascii_case("service"))
}

/// Where the value begins. The words between a cue and its value may have taken the first letters
/// of it: `user: to|kafor`.
fn unglued(candidate: &Candidate<'_>) -> usize {
    let head = candidate.head;
    let cue = candidate
        .text
        .get(candidate.start..head)
        .unwrap_or_default();
    let bytes = cue.as_bytes();
    let letters = bytes
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphabetic())
        .count();
    let before = bytes.get(..bytes.len() - letters).unwrap_or_default();
    let next = candidate.text.as_bytes().get(head);
    let inside = next.is_some_and(u8::is_ascii_alphanumeric);
    let marked = before.iter().any(|b| b":=>".contains(b));
    let apart = before.last().is_some_and(|b| b" \t:=>\"'`".contains(b));
    if letters > 0 && inside && marked && apart {
        head - letters
    } else {
        head
    }
}

/// `vine`, `cf45a736`: a longer word that only begins like a cue.
fn is_longer(cue: &str, rest: &str) -> bool {
    let glued = !cue.ends_with(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric());
    let next = rest.as_bytes().first();
    glued && next.is_some_and(|b| b.is_ascii_alphabetic() || (b.is_ascii_digit() && cue.len() < 4))
}

/// `User::grent`: names of code.
fn is_path(cue: &str, rest: &str) -> bool {
    match rest.as_bytes() {
        [b':', b, ..] => cue.ends_with(':') && b.is_ascii_alphanumeric(),
        [b, ..] => cue.ends_with("::") && b.is_ascii_alphanumeric(),
        [] => false,
    }
}

/// Thirteen digits that are milliseconds since 1970, from 2014 to 2033.
fn is_time(number: &str) -> bool {
    number.len() == 13
        && number.bytes().all(|b| b.is_ascii_digit())
        && matches!(
            number.get(..2),
            Some("14" | "15" | "16" | "17" | "18" | "19")
        )
}

/// Whether groups of digits stand before or behind groups of digits: one number, cut anywhere.
fn in_row(candidate: &Candidate<'_>) -> bool {
    let bytes = candidate.text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let grouped = candidate.matched().contains(' ');
    let before = candidate.previous() == Some(b' ') && digit(candidate.start.checked_sub(2));
    let behind = candidate.next() == Some(b' ') && digit(Some(candidate.end + 1));
    grouped && (before || behind)
}

/// A cue as a pattern: bytes beyond ASCII spelled out, in both cases where there are two.
fn spelled(cue: &str) -> String {
    let mut out = String::new();
    for c in cue.chars() {
        match c {
            ' ' => out.push_str(r"[ \t_.-]{0,2}"),
            '\'' => out.push_str(r"(?:'|\xE2\x80\x99)?"),
            '.' => out.push_str(r"\."),
            c if c.is_ascii() => out.push(c),
            c => {
                let upper = c.to_uppercase().next().unwrap_or(c);
                let forms = [escaped(c), escaped(upper)];
                out.push_str(&format!("(?:{})", forms.join("|")));
            }
        }
    }
    out
}

fn escaped(c: char) -> String {
    let mut buffer = [0; 4];
    c.encode_utf8(&mut buffer)
        .bytes()
        .map(|b| format!(r"\x{b:02X}"))
        .collect()
}
