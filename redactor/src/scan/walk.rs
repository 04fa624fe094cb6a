//! All beginnings of three bytes from which an automaton may yet match.

use std::collections::HashMap;

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};

use super::beginnings::Beginnings;
use super::gate::Mask;

/// Bytes are told apart so finely: letters without case, zero, other digits, marks, the rest.
pub(super) const CLASSES: usize = 48;
/// The first byte also by its case.
pub(super) const FIRSTS: usize = 2 * CLASSES;
/// The class of each byte.
pub(super) fn classes() -> [u8; 256] {
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
pub(super) struct Walk<'c> {
    dfa: DFA,
    cache: Cache,
    classes: &'c [u8; 256],
    steps: HashMap<LazyStateID, Vec<(u8, LazyStateID)>>,
}

impl<'c> Walk<'c> {
    /// From the start of an automaton.
    pub(super) fn new(dfa: DFA, classes: &'c [u8; 256]) -> Self {
        let cache = dfa.create_cache();
        Self {
            dfa,
            cache,
            classes,
            steps: HashMap::new(),
        }
    }

    /// Sets `bit` wherever three bytes leave the automaton alive or it has matched by then.
    pub(super) fn mark(mut self, bit: Mask, begun: &mut Beginnings) {
        if self.alive(bit, begun).is_none() {
            begun.mark(0..FIRSTS * CLASSES * CLASSES, bit);
        }
    }

    fn alive(&mut self, bit: Mask, begun: &mut Beginnings) -> Option<()> {
        let mut starts = Vec::new();
        for behind in [None, Some(b'a'), Some(b' '), Some(b'\n'), Some(b'\r')] {
            let config = regex_automata::util::start::Config::new()
                .anchored(Anchored::Yes)
                .look_behind(behind);
            let start = self.dfa.start_state(&mut self.cache, &config).ok()?;
            if self.cache.clear_count() > 0 {
                return None;
            }
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        for start in starts {
            for (first, one) in self.firsts(start)? {
                for (second, two) in self.step(one)? {
                    let row = (first * CLASSES + usize::from(second)) * CLASSES;
                    // A match shows one byte late: whatever stands third, it is one.
                    if two.is_match() || one.is_match() {
                        begun.mark(row..row + CLASSES, bit);
                        continue;
                    }
                    for (third, _) in self.step(two)? {
                        let place = row + usize::from(third);
                        begun.mark(place..place + 1, bit);
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
            let next = self.next(start, byte)?;
            let first = usize::from(byte.is_ascii_uppercase()) * CLASSES + usize::from(*class);
            if !next.is_dead() && !out.contains(&(first, next)) {
                out.push((first, next));
            }
        }
        Some(out)
    }

    /// The state behind one, unless the cache was cleared: then all those from before mean nothing.
    fn next(&mut self, state: LazyStateID, byte: u8) -> Option<LazyStateID> {
        let next = self.dfa.next_state(&mut self.cache, state, byte).ok()?;
        (self.cache.clear_count() == 0).then_some(next)
    }

    /// The states that follow, none of them dead, by the class of the byte that leads there.
    fn step(&mut self, state: LazyStateID) -> Option<Vec<(u8, LazyStateID)>> {
        if let Some(known) = self.steps.get(&state) {
            return Some(known.clone());
        }
        let mut out = Vec::new();
        for (byte, class) in (0..=u8::MAX).zip(self.classes) {
            let next = self.next(state, byte)?;
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

    /// What is not known for sure stops nothing.
    #[test]
    fn a_cache_that_overflows_leaves_every_beginning() {
        let count = |capacity: Option<usize>| {
            let mut config = DFA::config();
            if let Some(capacity) = capacity {
                config = config
                    .cache_capacity(capacity)
                    .skip_cache_capacity_check(true);
            }
            let dfa = DFA::builder()
                .configure(config)
                .build("(?i)[a-z]{2}[0-9]x|abc[de]{9}");
            let mut begun = Beginnings::new();
            Walk::new(dfa.unwrap(), &classes()).mark(4, &mut begun);
            begun.masks().filter(|mask| *mask == 4).count()
        };
        let (known, unknown) = (count(None), count(Some(1)));
        assert!(known > 0 && known < unknown);
        assert_eq!(unknown, FIRSTS * CLASSES * CLASSES);
    }
}
