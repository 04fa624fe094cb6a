//! Where somebody lives: streets with their numbers, postcodes with their towns.

use super::lists;
use super::network::Class;
use super::reader::{MEMBER, NAME_IN_CODE, Reader, capital, letters, loud};
use super::shape::Kind;
use super::wordpiece::is_alone;
use crate::finding::Finding;
use crate::label::Label;

/// What the best word of a street must have: in prose, and in what machines write.
const ADDRESS: f32 = 0.7;
const ADDRESS_IN_CODE: f32 = 0.8;
/// A town or state by itself.
const PLACE: f32 = 0.7;

impl Reader<'_> {
    pub(super) fn addresses(&self, found: &mut Vec<Finding>) {
        let mut at = 0;
        while at < self.words.len() {
            if self.address(at).max(self.place(at)) < MEMBER || is_mark(self.word(at)) {
                at += 1;
                continue;
            }
            let end = self.address_end(at);
            if let Some(score) = self.whole_address(at, end) {
                self.add(self.with_number(at), end, Label::ADDRESS, score, found);
            }
            at = end;
        }
    }

    /// One past the last word of the address or place that begins here. Marks between its parts
    /// belong to it, marks behind it do not.
    fn address_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        let mut at = end;
        while at < self.words.len() && at <= end + 2 && self.gap(at - 1).trim().is_empty() {
            let word = self.word(at);
            if is_mark(word) {
                if !matches!(word, "," | "." | "-" | "/" | "#") {
                    break;
                }
            } else if self.belongs(at) {
                end = at + 1;
            } else {
                break;
            }
            at += 1;
        }
        end
    }

    /// Whether a word goes on with the address in front of it: by its chances, or as a number
    /// behind `Suite`, a short code in front of a postcode, or a postcode behind a town.
    fn belongs(&self, at: usize) -> bool {
        let likely = |at: usize| self.address(at) + self.place(at) >= MEMBER;
        let number = |at: usize| is_number(self.word(at)) && self.near(at.wrapping_sub(1));
        let (word, before) = (self.word(at), at.checked_sub(1));
        likely(at)
            || (lists::is_unit(word) && number(at + 1))
            || (loud(word) && word.len() == 2 && self.near(at) && likely(at + 1))
            || before.is_some_and(|before| {
                number(at) && (lists::is_unit(self.word(before)) || self.place(before) >= MEMBER)
            })
    }

    /// A number in front of a street belongs to it.
    fn with_number(&self, start: usize) -> usize {
        match start.checked_sub(1) {
            Some(before) if is_number(self.word(before)) && self.near(before) => before,
            _ => start,
        }
    }

    /// How sure it is that these words say where somebody lives: a street, with a number or in
    /// prose; or a postcode beside a town.
    fn whole_address(&self, start: usize, end: usize) -> Option<f32> {
        let all = || start..end;
        let best = |classes: &[Class]| all().map(|at| self.chance(at, classes)).fold(0.0, f32::max);
        let digits = all().any(|at| self.word(at).bytes().any(|b| b.is_ascii_digit()));
        let (street, town) = (best(&[Class::Street]), best(&[Class::City, Class::State]));
        let number = best(&[Class::Building, Class::Secondary]);
        let zip = best(&[Class::Zip]);
        let written = |at: usize| capital(self.word(at)) && !loud(self.word(at));
        let named = all().any(|at| self.chance(at, &[Class::Street]) >= MEMBER && written(at));
        let named = named || self.is_small();
        if self.is_glued(start, end) || !digits {
            return None;
        }
        let wanted = match self.setting.kind {
            Kind::Code => ADDRESS_IN_CODE,
            Kind::Prose | Kind::Value => ADDRESS,
        };
        let at_street = named && street >= wanted && number.max(zip) >= MEMBER;
        let spelled = all().any(|at| self.place(at) >= MEMBER && !loud(self.word(at)));
        let at_town = zip >= ADDRESS_IN_CODE && town >= wanted && spelled;
        // A line of an address that is written over several: `Suite 947`.
        let unit = all().any(|at| lists::is_unit(self.word(at)));
        let line = unit && end - start == self.words.len() && number >= wanted;
        (at_street || at_town || line).then_some(street.max(zip.min(town)).max(number.min(wanted)))
    }

    /// Towns and states that are no part of an address that was found.
    pub(super) fn places(&self, found: &mut Vec<Finding>) {
        let mut at = 0;
        while at < self.words.len() {
            let start = at;
            while self.place(at) >= MEMBER
                && letters(self.word(at))
                && (at == start || self.near(at - 1))
            {
                at += 1;
            }
            if at == start {
                at += 1;
                continue;
            }
            let best = (start..at).map(|at| self.place(at)).fold(0.0, f32::max);
            let wanted = if self.setting.kind == Kind::Prose {
                PLACE
            } else {
                NAME_IN_CODE
            };
            let known = (start..at).map(|at| self.word(at)).all(lists::is_technical);
            if best >= wanted && capital(self.word(start)) && !known && !self.is_glued(start, at) {
                self.add(start, at, Label::LOCATION, best, found);
            }
        }
    }
}

fn is_number(word: &str) -> bool {
    word.len() <= 6 && word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_mark(word: &str) -> bool {
    word.chars().all(is_alone)
}
