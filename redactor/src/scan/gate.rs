//! Which starts are worth a run of the automaton.
//!
//! A run costs a hundred times what a look at three bytes does, and almost no word begins a
//! match. So each start is asked first: do its first three bytes begin any head, and is what
//! those heads hold further on (see [`Need`]) in reach? What is refused here could neither match
//! nor be alive at the end of the text: near the end, where that cannot be told, every start is
//! admitted.

use std::collections::HashMap;

use regex_automata::hybrid::dfa::DFA;

use super::probe::Test;
use super::require::{self, Need};
use super::walk::{CLASSES, FIRSTS, Walk, classes};
use crate::engine::EngineError;
use crate::rule::Rule;

/// Groups of rules that need the same; more than these need nothing.
const MOST_GROUPS: usize = 31;
/// The gates of all rules.
pub(super) struct Gates {
    classes: [u8; 256],
    /// By the classes of three bytes: the place of their mask.
    starts: Vec<u8>,
    /// Which groups may begin so, a bit each; the first needs nothing more.
    masks: Vec<u32>,
    /// The bits of the groups that need a literal.
    literals: u32,
    /// Up to this place in `masks` stand those that hold no other bits.
    quiet: u8,
    /// What the others need, by the number of their bit less one.
    tests: Vec<Test>,
}

/// Where a search stands.
pub(super) struct Cursor {
    /// For each group, where the literal that it needs stands next.
    next: [Option<usize>; MOST_GROUPS],
    /// For each mask, the place before which none of its groups' literals is in reach.
    horizons: [usize; 256],
}

impl Cursor {
    pub(super) fn new() -> Self {
        Self {
            next: [None; MOST_GROUPS],
            horizons: [0; 256],
        }
    }
}

impl Gates {
    /// Reads the gates off the heads.
    pub(super) fn new(
        rules: &[Rule],
        build: &dyn Fn(&[&str]) -> Result<DFA, EngineError>,
    ) -> Result<Self, EngineError> {
        let grouped = grouped(rules);
        let mut gates = Self {
            classes: classes(),
            starts: vec![0; FIRSTS * CLASSES * CLASSES],
            masks: vec![0],
            literals: 0,
            quiet: 0,
            tests: Vec::new(),
        };
        let mut bits = vec![0u32; gates.starts.len()];
        for (number, (need, heads)) in grouped.into_iter().enumerate() {
            if heads.is_empty() {
                continue;
            }
            let walk = Walk::new(build(&heads)?, &gates.classes);
            walk.mark(1 << number, &mut bits);
            if let Some(test) = Test::new(&need)? {
                if matches!(test, Test::Literal(..)) {
                    gates.literals |= 1 << number;
                }
                gates.tests.push(test);
            }
        }
        gates.intern(&bits);
        Ok(gates)
    }

    /// Gates that admit every start.
    #[cfg(test)]
    pub(super) fn open() -> Self {
        Self {
            classes: classes(),
            starts: vec![0; FIRSTS * CLASSES * CLASSES],
            masks: vec![1],
            literals: 0,
            quiet: 0,
            tests: Vec::new(),
        }
    }

    fn intern(&mut self, bits: &[u32]) {
        let mut all = bits.to_vec();
        all.sort_unstable_by_key(|mask| (mask & !self.literals, *mask));
        all.dedup();
        // Too many to tell apart: the last ones need nothing.
        let most = usize::from(u8::MAX);
        if all.len() > most {
            all.truncate(most);
            all.push(1);
        }
        let quiet = all.partition_point(|mask| mask & !self.literals == 0);
        self.quiet = u8::try_from(quiet.saturating_sub(1)).unwrap_or(0);
        let places: HashMap<u32, u8> = all.iter().copied().zip(0..=u8::MAX).collect();
        for (slot, mask) in self.starts.iter_mut().zip(bits) {
            *slot = places.get(mask).copied().unwrap_or(u8::MAX);
        }
        self.masks = all;
    }

    /// Whether a head may match at `at`, or be alive there at the end of the text. Asked for
    /// rising places of one text.
    #[inline]
    pub(super) fn admits(&self, text: &[u8], at: usize, cursor: &mut Cursor) -> bool {
        let Some([first, second, third]) = text.get(at..).and_then(|rest| rest.first_chunk::<3>())
        else {
            return true;
        };
        let class =
            |byte: u8| usize::from(self.classes.get(usize::from(byte)).copied().unwrap_or(0));
        let upper = usize::from(first.is_ascii_uppercase()) * CLASSES;
        let place = ((upper + class(*first)) * CLASSES + class(*second)) * CLASSES + class(*third);
        let number = self.starts.get(place).copied().unwrap_or(u8::MAX);
        let horizon = cursor.horizons.get(usize::from(number)).copied();
        if number <= self.quiet && horizon.is_some_and(|horizon| at < horizon) {
            return false;
        }
        self.is_met(number, text, at, cursor)
    }

    /// Whether what one of the groups needs is there.
    fn is_met(&self, number: u8, text: &[u8], at: usize, cursor: &mut Cursor) -> bool {
        let number = usize::from(number);
        let mask = self.masks.get(number).copied().unwrap_or(1);
        if mask == 0 || mask & 1 != 0 {
            return mask != 0;
        }
        let other = mask & !self.literals;
        if self.each(other).any(|(test, _)| test.passes(text, at, 0)) {
            return true;
        }
        let Some(horizon) = cursor.horizons.get_mut(number) else {
            return true;
        };
        if mask == other || at < *horizon {
            return false;
        }
        *horizon = usize::MAX;
        let mut met = false;
        for (test, group) in self.each(mask & self.literals) {
            let (Test::Literal(literals, reach, _), Some(next)) =
                (test, cursor.next.get_mut(group))
            else {
                return true;
            };
            let found = next.filter(|next| *next >= at).unwrap_or_else(|| {
                let rest = text.get(at..).unwrap_or_default();
                literals.find(rest).map_or(text.len(), |found| at + found)
            });
            *next = Some(found);
            *horizon = (*horizon).min(found.saturating_sub(*reach) + 1);
            met |= test.passes(text, at, found);
        }
        met
    }

    /// The tests of a mask's groups, with the groups' numbers.
    fn each(&self, mask: u32) -> impl Iterator<Item = (&Test, usize)> {
        let mut left = mask >> 1;
        std::iter::from_fn(move || {
            let group = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((self.tests.get(group)?, group))
        })
    }
}

/// The heads by what they need; those that need nothing more come first.
fn grouped(rules: &[Rule]) -> Vec<(Need, Vec<&str>)> {
    let mut groups: Vec<(Need, Vec<&str>)> = vec![(Need::Start, Vec::new())];
    for rule in rules {
        let (need, _) = require::of(&rule.head);
        let own = groups.iter().position(|(known, _)| known.joins(&need));
        // Where all groups are taken, the first admits what it begins like.
        let full = (groups.len() > MOST_GROUPS).then_some(0);
        match own.or(full).and_then(|at| groups.get_mut(at)) {
            Some((known, heads)) => {
                known.widen(need);
                heads.push(rule.head.as_ref());
            }
            None => groups.push((need, vec![rule.head.as_ref()])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    /// Every word of every text is a start, so a head that begins like any word and holds nothing
    /// rare makes all searches slow.
    #[test]
    fn every_rule_has_a_gate() {
        let wide = rules::built_in().into_iter().filter(|rule| {
            let classes = classes();
            let mut bits = vec![0; FIRSTS * CLASSES * CLASSES];
            let dfa = super::super::built(&[&rule.head]).unwrap();
            Walk::new(dfa, &classes).mark(1, &mut bits);
            let begins = bits.iter().filter(|bit| **bit != 0).count();
            begins > 3000 && require::of(&rule.head).0 == Need::Start
        });
        let wide: Vec<&str> = wide.map(|rule| rule.name).collect();
        assert!(
            wide.is_empty(),
            "{wide:?} begin in many ways and need nothing"
        );
    }
}
