//! From the chances of words to findings.
//!
//! The network sees neither capitals nor what kind of text it reads. Both are looked at here.

use super::lists::{self, PARTICLES};
use super::network::Class;
use super::segment::Setting;
use super::shape::{Kind, is_camel};
use super::windows::Read;
use crate::finding::Finding;
use crate::label::Label;

/// A word that begins or goes on with a name or an address has at least this chance.
pub(super) const MEMBER: f32 = 0.4;
/// And one with a capital, which the network does not see.
const CAPITAL_MEMBER: f32 = 0.25;
/// Two such words side by side make a name if their chances add up to this.
const PAIR: f32 = 0.6;
/// Where the key says that a person is meant.
const NAMED: f32 = 0.4;
/// What the best word of a name must have: in prose, and in what machines write.
const NAME: f32 = 0.5;
/// In prose behind the first word, where a capital says more.
const CAPITAL_NAME: f32 = 0.35;
pub(super) const NAME_IN_CODE: f32 = 0.8;
/// A single word in what machines write.
const LONE_IN_CODE: f32 = 0.97;
/// A single word behind `the` or `a`, which things have and people hardly.
const DETERMINED: f32 = 0.97;
/// A name without any capital, and one that has nothing but capitals.
const UNUSUAL: f32 = 0.85;
/// The findings in one segment, in offsets of its text.
pub(super) fn read(text: &str, words: &[Read], setting: Setting, places: bool) -> Vec<Finding> {
    let reader = Reader {
        text,
        words,
        setting,
    };
    let mut found = Vec::new();
    reader.addresses(&mut found);
    if places {
        reader.places(&mut found);
    }
    reader.names(&mut found);
    found
}

pub(super) struct Reader<'r> {
    text: &'r str,
    pub(super) words: &'r [Read],
    pub(super) setting: Setting,
}

impl Reader<'_> {
    pub(super) fn chance(&self, at: usize, classes: &[Class]) -> f32 {
        let Some(read) = self.words.get(at) else {
            return 0.0;
        };
        let own = classes
            .iter()
            .filter_map(|class| read.chances.get(*class as usize));
        own.sum()
    }

    fn person(&self, at: usize) -> f32 {
        self.chance(at, &[Class::Given, Class::Surname])
    }

    /// Whether a word may be a part of a name.
    fn is_member(&self, at: usize) -> bool {
        let word = self.word(at);
        let wanted = if capital(word) {
            CAPITAL_MEMBER
        } else {
            MEMBER
        };
        self.person(at) >= wanted && letters(word)
    }

    pub(super) fn address(&self, at: usize) -> f32 {
        let classes = [Class::Building, Class::Street, Class::Secondary, Class::Zip];
        self.chance(at, &classes)
    }

    pub(super) fn place(&self, at: usize) -> f32 {
        self.chance(at, &[Class::City, Class::State])
    }

    pub(super) fn word(&self, at: usize) -> &str {
        let range = self.words.get(at).map(|read| read.range.clone());
        range
            .and_then(|range| self.text.get(range))
            .unwrap_or_default()
    }

    /// What stands between a word and the next.
    pub(super) fn gap(&self, at: usize) -> &str {
        let (Some(one), Some(next)) = (self.words.get(at), self.words.get(at + 1)) else {
            return "\n";
        };
        self.text
            .get(one.range.end..next.range.start)
            .unwrap_or("\n")
    }

    pub(super) fn near(&self, at: usize) -> bool {
        matches!(self.gap(at), "" | " " | "  " | "\u{A0}" | "\t")
    }

    fn joined(&self, at: usize) -> bool {
        self.gap(at).is_empty()
    }

    /// One past the last word of the name that begins here.
    fn name_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        loop {
            let next = match self.word(end) {
                // Anna-Maria, O'Brien; not the 's of "Anna's".
                "-" | "'" | "’" | "‑" if self.joined(end - 1) && self.joined(end) => {
                    let genitive = matches!(self.word(end + 1), "s" | "S");
                    (!genitive && self.person(end + 1) >= MEMBER / 2.0).then_some(end + 2)
                }
                // J. Smith
                "." if self.word(end - 1).chars().count() == 1 && self.joined(end - 1) => {
                    (self.near(end) && self.is_member(end + 1)).then_some(end + 2)
                }
                // Haruto J. Baker
                word if self.near(end - 1) && is_initial(word) && self.word(end + 1) == "." => {
                    let whole = self.joined(end) && self.near(end + 1) && self.is_member(end + 2);
                    whole.then_some(end + 3)
                }
                _ if self.near(end - 1) && self.is_member(end) => Some(end + 1),
                word if self.near(end - 1) && is_particle(word) => self.behind_particles(end),
                _ => None,
            };
            match next {
                Some(next) => end = next,
                None => return end,
            }
        }
    }

    /// The end of up to two particles and the name word behind them.
    fn behind_particles(&self, at: usize) -> Option<usize> {
        (at + 1..at + 3).find_map(|next| {
            let between = (at..next).all(|at| is_particle(self.word(at)) && self.near(at));
            (between && self.is_member(next)).then_some(next + 1)
        })
    }

    fn names(&self, found: &mut Vec<Finding>) {
        let mut at = 0;
        while at < self.words.len() {
            if !self.is_member(at) || is_particle(self.word(at)) {
                at += 1;
                continue;
            }
            let end = self.without_small(at, self.name_end(at));
            if let Some(score) = self.name(at, end) {
                self.add(self.with_initials(at), end, Label::PERSON, score, found);
            }
            at = end;
        }
    }

    /// Where a name that has capitals ends: before the first word without one that is no particle.
    /// `Albert shouted` is a name and what he did.
    fn without_small(&self, start: usize, end: usize) -> usize {
        if !capital(self.word(start)) {
            return end;
        }
        let small = |at: &usize| {
            let word = self.word(*at);
            letters(word) && !capital(word) && !is_particle(word)
        };
        (start + 1..end).find(small).unwrap_or(end)
    }

    /// Where a name begins, initials in front of it included: `J. R. Smith`.
    fn with_initials(&self, start: usize) -> usize {
        let mut first = start;
        while let Some(letter) = first.checked_sub(2) {
            let dotted =
                self.word(letter + 1) == "." && self.joined(letter) && self.near(letter + 1);
            if !dotted || !is_initial(self.word(letter)) {
                break;
            }
            first = letter;
        }
        first
    }

    /// How sure it is that these words are a name.
    fn name(&self, start: usize, end: usize) -> Option<f32> {
        let real: Vec<usize> = (start..end)
            .filter(|at| letters(self.word(*at)) && !is_particle(self.word(*at)))
            .collect();
        let best = real.iter().map(|at| self.person(*at)).fold(0.0, f32::max);
        let longest = real.iter().map(|at| self.word(*at).chars().count()).max();
        if longest.unwrap_or(0) < 2 || self.is_glued(start, end) {
            return None;
        }
        let words = || real.iter().map(|at| self.word(*at));
        let capitals = words().filter(|word| capital(word)).count();
        let shouted = words().all(loud);
        let known = words().all(lists::is_technical) || words().any(is_camel);
        if known || (capitals == 0 && !self.is_small()) {
            return None;
        }
        let sum: f32 = real.iter().map(|at| self.person(*at)).sum();
        let pair = real.len() > 1 && capitals == real.len() && !shouted && sum >= PAIR;
        let machine = self.setting.kind != Kind::Prose && !self.setting.named;
        if machine {
            let whole =
                capitals == real.len() && !shouted && (real.len() > 1 || best >= LONE_IN_CODE);
            return (whole && best >= NAME_IN_CODE).then_some(best);
        }
        let wanted = match self.setting.named {
            _ if capitals == 0 || (shouted && !self.setting.named) => UNUSUAL,
            _ if real.len() == 1 && self.is_thing(start) => DETERMINED,
            true => NAMED,
            false if capitals == real.len() && start > 0 => CAPITAL_NAME,
            false => NAME,
        };
        (best >= wanted || pair).then_some(best)
    }

    /// Whether an English determiner stands in front.
    fn is_thing(&self, start: usize) -> bool {
        start.checked_sub(1).is_some_and(|before| {
            let word = self.word(before).to_lowercase();
            self.near(before) && lists::DETERMINERS.contains(&word.as_str())
        })
    }

    /// Whether everything is written small, as in chat: only then may a name be. A capital here
    /// and there in the text around does not count.
    pub(super) fn is_small(&self) -> bool {
        let (Some(first), Some(last)) = (self.words.first(), self.words.last()) else {
            return false;
        };
        let own = self.text.get(first.range.start..last.range.end);
        let capitals = |text: &str| text.chars().filter(|c| c.is_uppercase()).count();
        own.is_some_and(|own| capitals(own) == 0)
            && self.words.len() >= 3
            && self.setting.kind != Kind::Code
            && capitals(self.text) * 100 <= self.text.len()
    }

    /// Whether the words are a part of something longer: a path, an identifier, a call.
    pub(super) fn is_glued(&self, start: usize, end: usize) -> bool {
        let first = self.words.get(start).map_or(0, |read| read.range.start);
        let last = end.checked_sub(1).and_then(|at| self.words.get(at));
        let last = last.map_or(0, |read| read.range.end);
        let before = self
            .text
            .get(..first)
            .and_then(|text| text.chars().next_back());
        let mut after = self.text.get(last..).unwrap_or_default().chars();
        let (next, then) = (after.next(), after.next());
        let before = before.is_some_and(|c| c.is_alphanumeric() || "_./\\$@#~+=&%".contains(c));
        let behind = next.is_some_and(|c| c.is_alphanumeric() || "_/\\(@=[{".contains(c))
            || matches!((next, then), (Some('.' | ':' | '-'), Some(c)) if c.is_alphanumeric() || c == ':');
        before || behind
    }

    /// Adds a finding unless one is there already.
    pub(super) fn add(
        &self,
        start: usize,
        end: usize,
        label: Label,
        chance: f32,
        found: &mut Vec<Finding>,
    ) {
        let (Some(first), Some(last)) = (self.words.get(start), self.words.get(end - 1)) else {
            return;
        };
        let range = first.range.start..last.range.end;
        let taken = |known: &Finding| known.start < range.end && range.start < known.end;
        if found.iter().any(taken) {
            return;
        }
        found.push(Finding {
            start: range.start,
            end: range.end,
            label,
            score: percent(chance),
            rule: super::RULE,
            certain: false,
        });
    }
}

/// A chance in percent; never so high that a checked value loses against it.
fn percent(chance: f32) -> u8 {
    let percent = (chance * 100.0).clamp(1.0, 85.0);
    (1..=85_u8)
        .rev()
        .find(|whole| f32::from(*whole) <= percent)
        .unwrap_or(1)
}

pub(super) fn letters(word: &str) -> bool {
    !word.is_empty() && word.chars().all(char::is_alphabetic)
}

fn is_initial(word: &str) -> bool {
    capital(word) && word.chars().count() == 1
}

fn is_particle(word: &str) -> bool {
    PARTICLES.contains(&word.to_lowercase().as_str())
}

pub(super) fn capital(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// Nothing but capitals, and more than an initial.
pub(super) fn loud(word: &str) -> bool {
    word.chars().count() > 1 && word.chars().all(char::is_uppercase)
}
