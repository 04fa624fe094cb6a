//! Which starts are worth a run of the automaton.
//!
//! A run costs a hundred times what a look at three bytes does, and almost no word begins a
//! match. So each start is asked first: do its first three bytes begin any head, and is what
//! those heads hold further on (see [`Need`]) in reach? What is refused here could neither match
//! nor, in a text that may still grow, be alive at its end: near that end, where it cannot be told,
//! every start is admitted.

use std::collections::HashMap;

use regex_automata::hybrid::dfa::DFA;

use super::bytes::Bytes;
use super::groups::{MOST_GROUPS, grouped};
use super::probe::{Held, Test};
use super::require::Need;
use super::shape::LONGEST_SHAPE;
use super::walk::{CLASSES, FIRSTS, Walk, classes};
use crate::engine::EngineError;
use crate::rule::Rule;

/// Out of reach from everywhere.
const NOWHERE: usize = usize::MAX / 2;
/// Not looked for yet.
const UNKNOWN: usize = usize::MAX;
/// In texts of no more bytes, literals are looked for only if their bytes are there.
const SHORT: usize = 256;

/// Where a literal stands that is not in a text: behind its end, perhaps, or nowhere.
fn nowhere(text: &[u8], growing: bool) -> usize {
    if growing { text.len() } else { NOWHERE }
}

/// The gates of all rules.
pub(super) struct Gates {
    /// What a first, second and third byte add to the place in `starts`.
    steps: Box<[[u32; 3]; 256]>,
    /// By the classes of three bytes: the place of their mask.
    starts: Vec<u8>,
    /// Which groups may begin so, a bit each; the first needs nothing more.
    masks: Box<[u32; 256]>,
    /// The bits of the groups that need a literal.
    literals: u32,
    /// What the others need, by the number of their bit less one.
    tests: Vec<Test>,
    /// The bits of the groups whose rules are `beside`.
    beside: u32,
    /// The bits of the groups that need a shape.
    shaped: u32,
    /// The bits of the others that have a test.
    tested: u32,
    /// For places behind a start, those that tell most first: by the byte that stands there, the
    /// groups whose shape has it; the last is what the text's end fits.
    rows: Vec<(usize, Box<[u32; ENDS + 1]>)>,
    /// The rules of the first group.
    plain: Vec<usize>,
}

/// The place in a row of what stands where the text has ended.
const ENDS: usize = 256;
/// The places of a shape, those first that tell words of text from it.
const PLACES: [usize; LONGEST_SHAPE] = [6, 1, 2, 5, 4, 3, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Which heads a start is worth a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worth {
    /// Those that need no more than their beginning.
    pub(super) plain: bool,
    /// The others.
    pub(super) other: bool,
    /// Numbers that count only beside their name.
    pub(crate) beside: bool,
}

impl Worth {
    pub(super) const ALL: Self = Self {
        plain: true,
        other: true,
        beside: true,
    };
    pub(super) const NOTHING: Self = Self {
        plain: false,
        other: false,
        beside: false,
    };
}

/// Where a search stands.
pub(super) struct Cursor {
    /// Whether the text may go on behind its end.
    growing: bool,
    /// The groups whose literal is in reach, and those that need none.
    live: u32,
    /// Up to here `live` stays as it is.
    until: usize,
    /// For each group, where the literal that it needs stands next, and up to where that keeps its
    /// bit in `live` as it is.
    next: [(usize, usize); MOST_GROUPS],
}

impl Cursor {
    pub(super) fn new(gates: &Gates, text: &[u8], growing: bool) -> Self {
        let mut next = [(UNKNOWN, 0); MOST_GROUPS];
        if text.len() <= SHORT {
            // One look at a short text shows which literals cannot be in it.
            let held = Held::of(text);
            for (slot, test) in next.iter_mut().zip(&gates.tests) {
                if let Test::Literal(wanted) = test
                    && !held.any_of(&wanted.keys)
                {
                    slot.0 = nowhere(text, growing);
                }
            }
        }
        Self {
            growing,
            live: 0,
            until: 0,
            next,
        }
    }
}

impl Gates {
    /// Reads the gates off the heads.
    pub(super) fn new(
        rules: &[Rule],
        build: &dyn Fn(&[&str]) -> Result<DFA, EngineError>,
    ) -> Result<Self, EngineError> {
        let classes = classes();
        let mut gates = Self {
            steps: steps(&classes),
            starts: vec![0; FIRSTS * CLASSES * CLASSES],
            masks: Box::new([u32::MAX; 256]),
            literals: 0,
            tests: Vec::new(),
            beside: 0,
            shaped: 0,
            tested: 0,
            rows: Vec::new(),
            plain: Vec::new(),
        };
        let mut shapes = Vec::new();
        let mut bits = vec![0u32; gates.starts.len()];
        for (number, (need, members)) in grouped(rules).into_iter().enumerate() {
            if members.is_empty() {
                continue;
            }
            if number == 0 {
                gates.plain.clone_from(&members);
            }
            let heads = members.iter().filter_map(|at| rules.get(*at));
            let heads: Vec<&str> = heads.map(|rule| rule.head.as_ref()).collect();
            let walk = Walk::new(build(&heads)?, &classes);
            walk.mark(1 << number, &mut bits);
            let bit = 1 << number;
            match (Test::new(&need)?, need) {
                (None, _) => continue,
                (Some(test @ Test::Literal(..)), _) => {
                    gates.literals |= bit;
                    gates.tests.push(test);
                }
                (Some(test), Need::Shape(row)) => {
                    gates.shaped |= bit;
                    gates.tests.push(test);
                    shapes.push((bit, row));
                }
                (Some(test), _) => gates.tests.push(test),
            }
            let first = members.first().and_then(|at| rules.get(*at));
            if first.is_some_and(|rule| rule.beside) {
                gates.beside |= bit;
            } else if gates.shaped & bit == 0 {
                gates.tested |= bit;
            }
        }
        gates.rows = rows(&shapes);
        gates.intern(&bits);
        Ok(gates)
    }

    /// Gates that admit every start.
    #[cfg(test)]
    pub(super) fn open() -> Self {
        Self {
            steps: steps(&classes()),
            starts: Vec::new(),
            masks: Box::new([0; 256]),
            literals: 0,
            tests: Vec::new(),
            beside: 0,
            shaped: 0,
            tested: 0,
            rows: Vec::new(),
            plain: Vec::new(),
        }
    }

    fn intern(&mut self, bits: &[u32]) {
        let mut all = bits.to_vec();
        all.sort_unstable();
        all.dedup();
        // Too many to tell apart: with the last ones every group may begin.
        all.truncate(usize::from(u8::MAX));
        let places: HashMap<u32, u8> = all.iter().copied().zip(0..=u8::MAX).collect();
        for (slot, mask) in self.starts.iter_mut().zip(bits) {
            *slot = places.get(mask).copied().unwrap_or(u8::MAX);
        }
        self.masks.fill(u32::MAX);
        for (slot, mask) in self.masks.iter_mut().zip(all) {
            *slot = mask;
        }
    }

    /// The rules whose heads need no more than their beginning, by their number.
    pub(super) fn plain(&self) -> &[usize] {
        &self.plain
    }

    /// Which heads may match at `at`, or be alive there at the end of the text. Asked for rising
    /// places of one text.
    #[inline(always)]
    pub(super) fn admits(&self, text: &[u8], at: usize, cursor: &mut Cursor) -> Worth {
        let Some([first, second, third]) = text.get(at..).and_then(|rest| rest.first_chunk::<3>())
        else {
            return Worth::ALL;
        };
        if self.starts.is_empty() {
            return Worth::ALL;
        }
        let step = |byte: u8| {
            self.steps
                .get(usize::from(byte))
                .copied()
                .unwrap_or_default()
        };
        let ([first, ..], [_, second, _], [.., third]) =
            (step(*first), step(*second), step(*third));
        let place = usize::try_from(first + second + third).unwrap_or(usize::MAX);
        let number = self.starts.get(place).copied().unwrap_or(u8::MAX);
        let mask = self.masks.get(usize::from(number)).copied().unwrap_or(1);
        if at >= cursor.until {
            self.look_ahead(text, at, cursor);
        }
        let left = mask & cursor.live;
        if left <= 1 {
            return Worth {
                plain: left != 0,
                ..Worth::NOTHING
            };
        }
        let (shaped, tested, beside) = (left & self.shaped, left & self.tested, left & self.beside);
        Worth {
            plain: left & 1 != 0,
            other: (shaped != 0 && self.is_shaped(shaped, text, at, cursor))
                || (tested != 0 && self.is_met(tested, text, at, cursor)),
            beside: beside != 0 && self.is_met(beside, text, at, cursor),
        }
    }

    /// Whether the bytes at `at` have the shape of one of the groups.
    fn is_shaped(&self, mut mask: u32, text: &[u8], at: usize, cursor: &Cursor) -> bool {
        for (place, row) in &self.rows {
            mask &= match text.get(at + place) {
                Some(byte) => row.get(usize::from(*byte)).copied().unwrap_or(u32::MAX),
                None if cursor.growing => u32::MAX,
                None => row.get(ENDS).copied().unwrap_or(u32::MAX),
            };
            if mask == 0 {
                return false;
            }
        }
        true
    }

    /// Whether what one of the groups needs is there; what needs a literal has it in reach.
    fn is_met(&self, mask: u32, text: &[u8], at: usize, cursor: &Cursor) -> bool {
        self.each(mask).any(|(test, group)| {
            let next = cursor.next.get(group).map_or(at, |(next, _)| *next);
            test.passes(text, at, next, cursor.growing)
        })
    }

    /// Looks where literals stand next, for the groups of which that was known only up to here.
    fn look_ahead(&self, text: &[u8], at: usize, cursor: &mut Cursor) {
        cursor.live |= !self.literals;
        cursor.until = usize::MAX;
        let none = nowhere(text, cursor.growing);
        for (group, (next, until)) in cursor.next.iter_mut().take(self.tests.len()).enumerate() {
            let bit = 2 << group;
            if self.literals & bit == 0 {
                continue;
            }
            if *until <= at
                && let Some(Test::Literal(wanted)) = self.tests.get(group)
            {
                if *next < at || *next == UNKNOWN {
                    let rest = text.get(at..).unwrap_or_default();
                    let found = wanted.literals.find(rest);
                    *next = found.map_or(none, |found| at + found);
                }
                let from = wanted.begin(text, at, *next);
                if from <= at {
                    cursor.live |= bit;
                    *until = *next + 1;
                } else {
                    cursor.live &= !bit;
                    *until = from;
                }
            }
            cursor.until = cursor.until.min(*until);
        }
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

/// What bytes add to the place of three.
fn steps(classes: &[u8; 256]) -> Box<[[u32; 3]; 256]> {
    let row = u32::try_from(CLASSES).unwrap_or(0);
    let mut steps = Box::new([[0; 3]; 256]);
    for ((byte, slot), class) in (0..=u8::MAX).zip(steps.iter_mut()).zip(classes) {
        let class = u32::from(*class);
        let upper = if byte.is_ascii_uppercase() { row } else { 0 };
        *slot = [(upper + class) * row * row, class * row, class];
    }
    steps
}

/// The shapes of groups, place by place.
fn rows(shapes: &[(u32, Vec<Bytes>)]) -> Vec<(usize, Box<[u32; ENDS + 1]>)> {
    let row = |place: usize| {
        let mut row = Box::new([u32::MAX; ENDS + 1]);
        let own = shapes
            .iter()
            .filter_map(|(bit, sets)| Some((bit, sets.get(place)?)));
        for (bit, set) in own {
            for (byte, slot) in (0..=u8::MAX).zip(row.iter_mut()) {
                *slot &= if set.holds(byte) { u32::MAX } else { !bit };
            }
            if let Some(end) = row.last_mut() {
                *end &= !bit;
            }
        }
        (place, row)
    };
    PLACES.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::require;
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
