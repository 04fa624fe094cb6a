//! What the fields of records hold.

use std::ops::Range;

use crate::label::Label;
use crate::rule::Hit;

/// What is known of a value that stands in its field.
const SCORE: u8 = 90;
/// Fewer digits are no telephone number.
const FEWEST_DIGITS: usize = 7;

/// A part of a text.
#[derive(Clone, Copy)]
pub(super) struct Field<'t> {
    pub(super) text: &'t str,
    /// Where it begins in the whole text.
    pub(super) at: usize,
}

impl<'t> Field<'t> {
    /// The parts between separators, with their places.
    pub(super) fn split(self, separator: char) -> impl Iterator<Item = Field<'t>> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let field = Field { text, at };
            at += text.len() + separator.len_utf8();
            field
        })
    }

    /// The first of the parts.
    pub(super) fn first(self, separator: char) -> Field<'t> {
        let text = self.text.split(separator).next().unwrap_or_default();
        Field { text, ..self }
    }

    fn trimmed(self, outside: impl Fn(char) -> bool) -> Option<Range<usize>> {
        let rest = self.text.trim_start_matches(&outside);
        let start = self.at + self.text.len() - rest.len();
        let kept = rest.trim_end_matches(&outside);
        (!kept.is_empty()).then_some(start..start + kept.len())
    }

    fn hit(self, label: Label, outside: impl Fn(char) -> bool) -> Option<Hit> {
        let range = self.trimmed(outside)?;
        Some(Hit {
            start: range.start,
            end: range.end,
            label,
            score: SCORE,
            certain: false,
        })
    }

    fn digits(self) -> usize {
        self.text.bytes().filter(u8::is_ascii_digit).count()
    }

    /// A part of a name; an initial tells nobody.
    pub(super) fn name(self) -> Option<Hit> {
        let letters = self.text.chars().filter(|c| c.is_alphabetic()).count();
        let other = |c: char| !(c.is_alphabetic() || " -'’.,\r\n\t".contains(c));
        let is_name = letters > 1 && !self.text.contains(other);
        is_name
            .then(|| self.hit(Label::PERSON, |c| !c.is_alphabetic()))
            .flatten()
    }

    /// A date, of which a time may follow: `19800114120000.000-0500`, `1980-01-14T00:00:00Z`.
    pub(super) fn birth(self) -> Option<Hit> {
        let part = |c: char| c.is_ascii_digit() || "-T:.+Z".contains(c);
        let digits = |length: usize| {
            let date = self.text.get(..length)?;
            Some(date.bytes().filter(u8::is_ascii_digit).count())
        };
        let dated = digits(8) == Some(8) || digits(10) == Some(8);
        (dated && self.text.chars().all(part))
            .then(|| self.hit(Label::DATE_OF_BIRTH, |c| !(c.is_ascii_digit() || c == 'Z')))
            .flatten()
    }

    pub(super) fn phone(self) -> Option<Hit> {
        (self.digits() >= FEWEST_DIGITS)
            .then(|| self.hit(Label::PHONE, |c| !(c.is_ascii_digit() || "+()".contains(c))))
            .flatten()
    }

    /// An address, which some letter or digit tells from empty parts.
    pub(super) fn address(self) -> Option<Hit> {
        self.hit(Label::ADDRESS, |c| !c.is_alphanumeric())
    }

    /// A number under which somebody is known.
    pub(super) fn number(self, label: Label) -> Option<Hit> {
        let part = |c: char| c.is_ascii_alphanumeric() || "-./ ".contains(c);
        let is_number = self.digits() > 2 && self.text.chars().all(part);
        is_number
            .then(|| self.hit(label, |c| !c.is_ascii_alphanumeric()))
            .flatten()
    }
}
