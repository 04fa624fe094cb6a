//! Which starts are worth a run of the automaton.
//!
//! A run costs a hundred times what a look at three bytes does, and almost no word begins a
//! match. So each start is asked first: do its first three bytes begin any head, and is what
//! those heads hold further on (see [`Need`]) in reach? What is refused here could neither match
//! nor be alive at the end of the text: near the end, where that cannot be told, every start is
//! admitted.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem;
use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};

use super::require::{self, Bytes, Need, Run, is_mark};
use crate::engine::EngineError;
use crate::rule::Rule;

/// Bytes are told apart so finely: letters without case, zero, other digits, marks, the rest.
const CLASSES: usize = 48;
/// The first byte also by its case.
const FIRSTS: usize = 2 * CLASSES;
/// Groups of rules that need the same; more than these need nothing.
const MOST_GROUPS: usize = 31;
/// Literals that end so near to the start are looked for byte by byte.
const NEAR: usize = 8;
/// A number with more bytes than this is admitted without counting on.
const LONGEST_NUMBER: usize = 64;

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

enum Test {
    /// One of the bytes among the next so many.
    Bytes(Bytes, usize),
    Digits(usize),
    /// One of the literals, the last no further than so many bytes behind the start.
    Literal(Literals, usize, Option<Run>),
}

/// A search for literals.
enum Literals {
    Byte(u8),
    Many(AhoCorasick),
    One(Box<memmem::Finder<'static>>),
    Packed(packed::Searcher),
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

impl Test {
    fn new(need: &Need) -> Result<Option<Self>, EngineError> {
        Ok(match need {
            Need::Start => None,
            Need::Digits(count) => Some(Self::Digits(*count)),
            Need::Literal {
                literals,
                reach,
                run,
            } => Some(match (bytes(literals), literals.len()) {
                // So near that no search beats looking.
                _ if *reach <= NEAR => Self::Bytes(rarest(literals), *reach),
                (Some(bytes), 4..) => Self::Bytes(bytes, *reach),
                _ => Self::Literal(Literals::new(literals)?, *reach, run.clone()),
            }),
        })
    }

    /// `next` is where the literal stands next, at `at` or behind it, or the end of the text.
    fn passes(&self, text: &[u8], at: usize, next: usize) -> bool {
        match self {
            Self::Digits(count) => holds_digits(text.get(at..).unwrap_or_default(), *count),
            Self::Bytes(bytes, reach) => {
                let rest = text.get(at..).unwrap_or_default();
                let wanted = |byte: &u8| bytes.holds(*byte);
                rest.len() < *reach || rest.iter().take(*reach).any(wanted)
            }
            Self::Literal(_, reach, run) => {
                next < at.saturating_add(*reach)
                    && run.as_ref().is_none_or(|run| {
                        let rest = text.get(at..next).unwrap_or_default();
                        let length = rest.iter().position(|byte| !run.set.holds(*byte));
                        length.is_none_or(|length| {
                            length >= run.least && rest.len() <= length + run.slack
                        })
                    })
            }
        }
    }
}

impl Literals {
    fn new(literals: &[Vec<u8>]) -> Result<Self, EngineError> {
        Ok(match literals {
            [one] => match one.as_slice() {
                [byte] => Self::Byte(*byte),
                more => Self::One(Box::new(memmem::Finder::new(more).into_owned())),
            },
            many => match packed::Searcher::new(many) {
                Some(search) => Self::Packed(search),
                None => {
                    let search = AhoCorasick::new(many).map_err(|_| EngineError::Automaton)?;
                    Self::Many(search)
                }
            },
        })
    }

    fn find(&self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Byte(byte) => memchr::memchr(*byte, text),
            Self::Many(search) => search.find(text).map(|hit| hit.start()),
            Self::One(search) => search.find(text),
            Self::Packed(search) => search.find(text).map(|hit| hit.start()),
        }
    }
}

/// Whether so many digits follow with nothing but marks between them, or the text ends before
/// that can be told.
fn holds_digits(rest: &[u8], count: usize) -> bool {
    let mut seen = 0;
    for (at, byte) in rest.iter().enumerate() {
        if byte.is_ascii_digit() {
            seen += 1;
        } else if !is_mark(*byte) {
            return false;
        }
        if seen == count || at == LONGEST_NUMBER {
            return true;
        }
    }
    true
}

/// The single bytes that the literals are, if they are.
fn bytes(literals: &[Vec<u8>]) -> Option<Bytes> {
    let mut set = Bytes::default();
    for literal in literals {
        let [byte] = literal.as_slice() else {
            return None;
        };
        set.add(*byte);
    }
    Some(set)
}

/// What the literals begin with or end with, whichever is rarer.
fn rarest(literals: &[Vec<u8>]) -> Bytes {
    let ends = |end: fn(&Vec<u8>) -> Option<&u8>| {
        let mut set = Bytes::default();
        literals
            .iter()
            .filter_map(end)
            .for_each(|byte| set.add(*byte));
        set
    };
    let (first, last) = (
        ends(|literal| literal.first()),
        ends(|literal| literal.last()),
    );
    let share = |set: &Bytes| {
        let held = (0..=u8::MAX).filter(|byte| set.holds(*byte));
        held.map(require::share).sum::<f32>()
    };
    if share(&last) < share(&first) {
        last
    } else {
        first
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

/// The class of each byte.
fn classes() -> [u8; 256] {
    const MARKS: &[u8; 18] = b" -_.:/=(+\"'@[<~$|\n";
    let mut classes = [46; 256];
    for (byte, slot) in (0..=u8::MAX).zip(classes.iter_mut()) {
        let mark = MARKS.iter().zip(28..).find(|(mark, _)| **mark == byte);
        *slot = match (byte, mark) {
            (_, Some((_, class))) => class,
            (b'a'..=b'z', _) => byte - b'a',
            (b'A'..=b'Z', _) => byte - b'A',
            (b'0', _) => 26,
            (b'1'..=b'9', _) => 27,
            (0x80.., _) => 47,
            _ => 46,
        };
    }
    classes
}

/// A walk over all beginnings of three bytes.
struct Walk<'c> {
    dfa: DFA,
    cache: Cache,
    classes: &'c [u8; 256],
    steps: HashMap<LazyStateID, Vec<(u8, LazyStateID)>>,
}

impl<'c> Walk<'c> {
    fn new(dfa: DFA, classes: &'c [u8; 256]) -> Self {
        let cache = dfa.create_cache();
        Self {
            dfa,
            cache,
            classes,
            steps: HashMap::new(),
        }
    }

    /// Sets `bit` wherever three bytes leave the automaton alive or it has matched by then.
    fn mark(mut self, bit: u32, bits: &mut [u32]) {
        let whole = self.alive(bit, bits).is_some() && self.cache.clear_count() == 0;
        if !whole {
            bits.iter_mut().for_each(|slot| *slot |= bit);
        }
    }

    fn alive(&mut self, bit: u32, bits: &mut [u32]) -> Option<()> {
        let mut starts = Vec::new();
        for behind in [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')] {
            let config = regex_automata::util::start::Config::new()
                .anchored(Anchored::Yes)
                .look_behind(behind);
            let start = self.dfa.start_state(&mut self.cache, &config).ok()?;
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        for start in starts {
            for (first, one) in self.firsts(start)? {
                for (second, two) in self.step(one)? {
                    let row = (first * CLASSES + usize::from(second)) * CLASSES;
                    let row = bits.get_mut(row..row + CLASSES)?;
                    // A match shows one byte late: whatever stands third, it is one.
                    if two.is_match() || one.is_match() {
                        row.iter_mut().for_each(|slot| *slot |= bit);
                        continue;
                    }
                    for (third, _) in self.step(two)? {
                        *row.get_mut(usize::from(third))? |= bit;
                    }
                }
            }
        }
        Some(())
    }

    /// The states behind the first byte, by its class and case.
    fn firsts(&mut self, start: LazyStateID) -> Option<Vec<(usize, LazyStateID)>> {
        let mut out = Vec::new();
        for (byte, class) in (0..=u8::MAX).zip(self.classes) {
            let next = self.dfa.next_state(&mut self.cache, start, byte).ok()?;
            let first = usize::from(byte.is_ascii_uppercase()) * CLASSES + usize::from(*class);
            if !next.is_dead() && !out.contains(&(first, next)) {
                out.push((first, next));
            }
        }
        Some(out)
    }

    /// The states that follow, none of them dead, by the class of the byte that leads there.
    fn step(&mut self, state: LazyStateID) -> Option<Vec<(u8, LazyStateID)>> {
        if let Some(known) = self.steps.get(&state) {
            return Some(known.clone());
        }
        let mut out = Vec::new();
        for (byte, class) in (0..=u8::MAX).zip(self.classes) {
            let next = self.dfa.next_state(&mut self.cache, state, byte).ok()?;
            if !next.is_dead() && !out.contains(&(*class, next)) {
                out.push((*class, next));
            }
        }
        self.steps.insert(state, out.clone());
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    /// Every word of every text is a start, so a head that begins like any word and holds nothing
    /// rare makes all searches slow.
    #[test]
    fn every_rule_has_a_gate() {
        let build = |heads: &[&str]| super::super::built(heads);
        for rule in rules::built_in() {
            if require::of(&rule.head).0 != Need::Start {
                continue;
            }
            let classes = classes();
            let mut bits = vec![0; FIRSTS * CLASSES * CLASSES];
            Walk::new(build(&[&rule.head]).unwrap(), &classes).mark(1, &mut bits);
            let begins = bits.iter().filter(|bit| **bit != 0).count();
            assert!(
                begins < 2000,
                "{} begins in {begins} ways and needs nothing",
                rule.name
            );
        }
    }
}
