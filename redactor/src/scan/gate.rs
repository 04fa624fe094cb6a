//! Which starts are worth a run of the automaton.
//!
//! A run costs a hundred times what a look at three bytes does, and almost no word begins a
//! match. So each start is asked first: do its first three bytes begin any head, and is what
//! those heads hold further on (see [`Need`]) in reach? What is refused here could neither match
//! nor, in a text that may still grow, be alive at its end: near that end, where it cannot be told,
//! every start is admitted.

use std::collections::{HashMap, HashSet};

use regex_automata::hybrid::dfa::DFA;

use super::beginnings::Beginnings;
use super::bytes::Bytes;
use super::cursor::{Cursor, Worth};
use super::groups::grouped;
use super::probe::{Keys, Test, holds_digits};
use super::require::Need;
use super::shape::LONGEST_SHAPE;
use super::walk::{CLASSES, Walk, classes};
use crate::engine::EngineError;
use crate::rule::Rule;

/// Groups, a bit each.
pub(super) type Mask = u64;

/// The gates of all rules.
pub(super) struct Gates {
    /// What a first, second and third byte add to the place in `starts`.
    steps: Box<[[u32; 256]; 3]>,
    /// By the classes of three bytes: the place of their mask.
    starts: Vec<u8>,
    /// Which groups may begin so, a bit each; the first needs nothing more.
    masks: Box<[Mask; 256]>,
    /// The bits of the groups that need a literal.
    pub(super) literals: Mask,
    /// The bytes without which none of their literals is in a text.
    pub(super) keys: Keys,
    /// What the others need, by the number of their bit less one.
    pub(super) tests: Vec<Test>,
    /// The bits of the groups whose rules are `beside`.
    beside: Mask,
    /// The bits of the groups that need a shape.
    shaped: Mask,
    /// The bits of the groups that need digits.
    numbers: Mask,
    /// The bits of the others that have a test.
    tested: Mask,
    /// For places behind a start, those that tell most first: by the byte that stands there, the
    /// groups whose shape has it; the last is what the text's end fits.
    rows: Vec<(usize, Box<[Mask; ENDS + 1]>)>,
    /// By how many letters and digits stand at the start: the groups that need no more of them.
    lengths: [Mask; LONGEST_SHAPE + 1],
    /// The rules of the first group.
    plain: Vec<usize>,
}

/// Heads that are walked together: automata over more take megabytes for a moment, which the process then keeps.
const AT_ONCE: usize = 16;
/// The place in a row of what stands where the text has ended.
const ENDS: usize = 256;
/// The places of a shape, those first that tell words of text from it.
const PLACES: [usize; LONGEST_SHAPE] = [6, 1, 2, 5, 4, 3, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Gates {
    /// Reads the gates off the heads.
    pub(super) fn new(
        rules: &[Rule],
        build: &dyn Fn(&[&str]) -> Result<DFA, EngineError>,
    ) -> Result<Self, EngineError> {
        let classes = classes();
        let mut gates = Self::open();
        let mut shapes = Vec::new();
        let mut begun = Beginnings::new();
        for (number, (need, members)) in grouped(rules).into_iter().enumerate() {
            if members.is_empty() {
                continue;
            }
            if number == 0 {
                gates.plain.clone_from(&members);
            }
            let heads = members.iter().filter_map(|at| rules.get(*at));
            let heads: Vec<&str> = heads.map(|rule| rule.head.as_ref()).collect();
            let bit = 1 << number;
            for some in heads.chunks(AT_ONCE) {
                Walk::new(build(some)?, &classes).mark(bit, &mut begun);
            }
            match (Test::new(&need)?, need) {
                (None, _) => continue,
                (Some(Test::Literal(wanted)), _) => {
                    gates.literals |= bit;
                    gates.keys.add(bit, &wanted.keys);
                    gates.tests.push(Test::Literal(wanted));
                }
                (Some(test), Need::Shape(row)) => {
                    gates.shaped |= bit;
                    gates.tests.push(test);
                    let word = row.iter().take_while(|set| set.is_word()).count();
                    let short = gates.lengths.iter_mut().take(word);
                    short.for_each(|groups| *groups &= !bit);
                    shapes.push((bit, row));
                }
                (Some(test @ Test::Digits), _) => {
                    gates.numbers |= bit;
                    gates.tests.push(test);
                }
                (Some(test), _) => gates.tests.push(test),
            }
            let first = members.first().and_then(|at| rules.get(*at));
            if first.is_some_and(|rule| rule.beside) {
                gates.beside |= bit;
            } else if (gates.shaped | gates.numbers) & bit == 0 {
                gates.tested |= bit;
            }
        }
        gates.rows = rows(&shapes);
        gates.intern(&begun);
        Ok(gates)
    }

    /// Gates that admit every start.
    pub(super) fn open() -> Self {
        Self {
            steps: steps(&classes()),
            starts: Vec::new(),
            masks: Box::new([Mask::MAX; 256]),
            literals: 0,
            keys: Keys::default(),
            tests: Vec::new(),
            beside: 0,
            shaped: 0,
            numbers: 0,
            tested: 0,
            rows: Vec::new(),
            lengths: [Mask::MAX; LONGEST_SHAPE + 1],
            plain: Vec::new(),
        }
    }

    fn intern(&mut self, begun: &Beginnings) {
        let mut all: Vec<Mask> = begun.masks().collect::<HashSet<_>>().into_iter().collect();
        all.sort_unstable();
        // Too many to tell apart: with the last ones every group may begin.
        all.truncate(usize::from(u8::MAX));
        let places: HashMap<Mask, u8> = all.iter().copied().zip(0..=u8::MAX).collect();
        let place = |mask| places.get(&mask).copied().unwrap_or(u8::MAX);
        self.starts = begun.masks().map(place).collect();
        self.masks.fill(Mask::MAX);
        for (slot, mask) in self.masks.iter_mut().zip(all) {
            *slot = mask;
        }
    }

    /// The rules whose heads need no more than their beginning, by their number.
    pub(super) fn plain(&self) -> &[usize] {
        &self.plain
    }

    /// Which heads may match at `at`, where so many letters and digits stand, or be alive there at
    /// the end of the text. Asked for rising places of one text.
    #[inline(always)]
    pub(super) fn admits(
        &self,
        text: &[u8],
        at: usize,
        length: usize,
        cursor: &mut Cursor,
    ) -> Worth {
        let Some([first, second, third]) = text.get(at..).and_then(|rest| rest.first_chunk::<3>())
        else {
            return Worth::ALL;
        };
        let [ones, twos, threes] = &*self.steps;
        let step = |steps: &[u32; 256], byte: u8| {
            let step = steps.get(usize::from(byte)).copied();
            step.unwrap_or_default() as usize
        };
        let place = step(ones, *first) + step(twos, *second) + step(threes, *third);
        let Some(number) = self.starts.get(place) else {
            return Worth::ALL;
        };
        let mask = self.masks.get(usize::from(*number)).copied().unwrap_or(1);
        if at >= cursor.until {
            self.look_ahead(text, at, cursor);
        }
        let long = self.lengths.get(length.min(LONGEST_SHAPE)).copied();
        let left = mask & cursor.live & long.unwrap_or(Mask::MAX);
        if left <= 1 {
            return Worth {
                plain: left != 0,
                ..Worth::NOTHING
            };
        }
        let (shaped, tested, beside) = (left & self.shaped, left & self.tested, left & self.beside);
        // Asked once for all that need digits.
        let number = left & self.numbers != 0 && self.is_number(text, at, cursor);
        Worth {
            plain: left & 1 != 0,
            other: (number && left & self.numbers & !self.beside != 0)
                || (shaped != 0 && self.is_shaped(shaped, text, at, cursor))
                || (tested != 0 && self.is_met(tested, text, at, cursor)),
            beside: (number && beside & self.numbers != 0)
                || (beside & !self.numbers != 0
                    && self.is_met(beside & !self.numbers, text, at, cursor)),
        }
    }

    fn is_number(&self, text: &[u8], at: usize, cursor: &Cursor) -> bool {
        let rest = text.get(at..).unwrap_or_default();
        holds_digits(rest).unwrap_or(cursor.growing)
    }

    /// Whether the bytes at `at` have the shape of one of the groups.
    fn is_shaped(&self, mut mask: Mask, text: &[u8], at: usize, cursor: &Cursor) -> bool {
        for (place, row) in &self.rows {
            mask &= match text.get(at + place) {
                Some(byte) => row.get(usize::from(*byte)).copied().unwrap_or(Mask::MAX),
                None if cursor.growing => Mask::MAX,
                None => row.get(ENDS).copied().unwrap_or(Mask::MAX),
            };
            if mask == 0 {
                return false;
            }
        }
        true
    }

    /// Whether what one of the groups needs is there; what needs a literal has it in reach.
    fn is_met(&self, mask: Mask, text: &[u8], at: usize, cursor: &Cursor) -> bool {
        self.each(mask).any(|(test, group)| {
            let next = cursor.next.get(group).map_or(at, |(next, _)| *next);
            test.passes(text, at, next, cursor.growing)
        })
    }

    /// The tests of a mask's groups, with the groups' numbers.
    fn each(&self, mask: Mask) -> impl Iterator<Item = (&Test, usize)> {
        let mut left = mask >> 1;
        std::iter::from_fn(move || {
            let group = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((self.tests.get(group)?, group))
        })
    }
}

/// What bytes add to the place of three.
fn steps(classes: &[u8; 256]) -> Box<[[u32; 256]; 3]> {
    let row = u32::try_from(CLASSES).unwrap_or(0);
    let mut steps = Box::new([[0; 256]; 3]);
    let [ones, twos, threes] = &mut *steps;
    let slots = ones.iter_mut().zip(twos).zip(threes);
    for ((byte, ((one, two), three)), class) in (0..=u8::MAX).zip(slots).zip(classes) {
        let class = u32::from(*class);
        let upper = if byte.is_ascii_uppercase() { row } else { 0 };
        (*one, *two, *three) = ((upper + class) * row * row, class * row, class);
    }
    steps
}

/// The shapes of groups, place by place.
fn rows(shapes: &[(Mask, Vec<Bytes>)]) -> Vec<(usize, Box<[Mask; ENDS + 1]>)> {
    let row = |place: usize| {
        let mut row = Box::new([Mask::MAX; ENDS + 1]);
        let own = shapes
            .iter()
            .filter_map(|(bit, sets)| Some((bit, sets.get(place)?)));
        for (bit, set) in own {
            for (byte, slot) in (0..=u8::MAX).zip(row.iter_mut()) {
                *slot &= if set.holds(byte) { Mask::MAX } else { !bit };
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
            let mut begun = Beginnings::new();
            let dfa = super::super::built(&[&rule.head]).unwrap();
            Walk::new(dfa, &classes).mark(1, &mut begun);
            let begins = begun.masks().filter(|mask| *mask != 0).count();
            begins > 3000 && require::of(&rule.head).0 == Need::Start
        });
        let wide: Vec<&str> = wide.map(|rule| rule.name).collect();
        assert!(
            wide.is_empty(),
            "{wide:?} begin in many ways and need nothing"
        );
    }

    /// Where there are more of them than places, the last ones admit what every group needs.
    #[test]
    fn all_beginnings_are_told_apart() {
        let gates = Gates::new(&rules::built_in(), &super::super::built).unwrap();
        let used = gates.masks.iter().filter(|mask| **mask != Mask::MAX);
        assert!(used.count() < usize::from(u8::MAX));
    }
}
