//! Runs of the automaton.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::PoolGuard;
use regex_automata::{Anchored, Input};

use super::gate::Worth;
use super::{MACHINES, Machine, Make};
use crate::finding::ScanError;

/// What a run from one start came to.
#[derive(Default)]
pub(crate) struct Run {
    /// The rules that match, in the order in which they first did.
    pub heads: Vec<Head>,
    /// Whether more text could still change `heads`.
    pub alive: bool,
    /// Bytes stepped over.
    pub steps: usize,
}

/// The match of a rule's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The rule's number.
    pub rule: usize,
    /// Where the shortest match ends.
    first: usize,
    /// Where the longest one does.
    pub end: usize,
}

/// One search with the automata.
pub(crate) struct Session<'a> {
    pub(super) machines: &'a [Machine; MACHINES],
    pub(super) workspaces: PoolGuard<'a, [Workspace; MACHINES], Make>,
}

impl Session<'_> {
    /// Runs from `start` until no rule can match any more.
    #[inline]
    pub(crate) fn run(
        &mut self,
        text: &[u8],
        start: usize,
        worth: Worth,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        run.heads.clear();
        run.alive = false;
        let [plain, other, beside] = self.machines;
        let [one, two, three] = &mut *self.workspaces;
        if worth.plain {
            one.run(plain, text, start, run)?;
        }
        if worth.other {
            two.run(other, text, start, run)?;
        }
        if worth.beside {
            three.run(beside, text, start, run)?;
        }
        // In the order in which one automaton over all heads would have them.
        if run.heads.len() > 1 {
            run.heads.sort_by_key(|head| (head.first, head.rule));
        }
        Ok(())
    }
}

/// The states that an automaton has learned, and what goes with them.
pub(super) struct Workspace {
    cache: Cache,
    /// Of what stands behind cues.
    glue: Cache,
    /// The state from which a run starts, by the byte before it; the last is that of the text's
    /// beginning.
    starts: Vec<Option<LazyStateID>>,
    /// How often the cache had been emptied when `starts` were asked for.
    cleared: usize,
    /// The match states of a run, with the length of the match.
    matched: Vec<(LazyStateID, usize)>,
    /// By head: the last run in which it matched, and its place among that run's matches.
    slots: Vec<(u64, usize)>,
    /// How many runs there have been.
    runs: u64,
}

impl Workspace {
    pub(super) fn new(machine: &Machine) -> Self {
        let dfa = &machine.dfa;
        Self {
            cache: dfa.create_cache(),
            glue: machine.glue.cache(),
            starts: vec![None; 257],
            cleared: 0,
            matched: Vec::new(),
            slots: vec![(0, 0); dfa.pattern_len()],
            runs: 0,
        }
    }

    #[inline]
    fn start(&mut self, dfa: &DFA, text: &[u8], at: usize) -> Result<LazyStateID, ScanError> {
        if self.cleared != self.cache.clear_count() {
            self.starts.fill(None);
            self.cleared = self.cache.clear_count();
        }
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let place = before.map_or(256, |byte| usize::from(*byte));
        if let Some(Some(known)) = self.starts.get(place) {
            return Ok(*known);
        }
        let input = Input::new(text)
            .span(at..text.len())
            .anchored(Anchored::Yes);
        let start = dfa
            .start_state_forward(&mut self.cache, &input)
            .map_err(|_| ScanError::Automaton)?;
        if let Some(slot) = self.starts.get_mut(place) {
            *slot = Some(start);
        }
        Ok(start)
    }

    /// Adds the rules that the match states stand for, those that matched first first.
    fn collect(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        let Machine { dfa, rules, glue } = machine;
        for (state, length) in self.matched.drain(..) {
            let (first, mut glued) = (start + length, None);
            for index in 0..dfa.match_len(&self.cache, state) {
                let own = dfa.match_pattern(&self.cache, state, index).as_usize();
                let (Some((last, slot)), Some(rule)) = (self.slots.get_mut(own), rules.get(own))
                else {
                    continue;
                };
                let end = match glued {
                    _ if !glue.follows(own) => first,
                    Some(end) => end,
                    None => {
                        let read = glue.read(&mut self.glue, text, first)?;
                        run.alive |= read.alive;
                        run.steps += read.steps;
                        *glued.insert(read.end)
                    }
                };
                match run.heads.get_mut(*slot).filter(|_| *last == self.runs) {
                    Some(head) => head.end = head.end.max(end),
                    None => {
                        (*last, *slot) = (self.runs, run.heads.len());
                        let rule = *rule;
                        run.heads.push(Head { rule, first, end });
                    }
                }
            }
        }
        Ok(())
    }

    fn run(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        let (dfa, heads) = (&machine.dfa, run.heads.len());
        let first = self.start(dfa, text, start)?;
        let cleared = self.cache.clear_count();
        self.matched.clear();
        let rest = text.get(start..).unwrap_or_default();
        let (state, steps) = self.steps(dfa, first, rest)?;
        run.steps += steps;
        if !state.is_dead() {
            run.alive = true;
            let state = dfa.next_eoi_state(&mut self.cache, state);
            let state = state.map_err(|_| ScanError::Automaton)?;
            if state.is_match() {
                self.matched.push((state, rest.len()));
            }
        }
        if self.cache.clear_count() != cleared {
            // States do not outlive the cache that holds them: now each is looked at as it comes.
            run.heads.truncate(heads);
            return self.slowly(machine, text, start, run);
        }
        if !self.matched.is_empty() {
            self.runs += 1;
            self.collect(machine, text, start, run)?;
        }
        Ok(())
    }

    /// Steps from a state until no head can match any more, or to the end of the text, and notes
    /// the match states. Returns the last state and how many bytes were stepped over.
    #[inline]
    fn steps(
        &mut self,
        dfa: &DFA,
        mut state: LazyStateID,
        rest: &[u8],
    ) -> Result<(LazyStateID, usize), ScanError> {
        for (offset, byte) in rest.iter().enumerate() {
            state = step(dfa, &mut self.cache, state, *byte)?;
            if !state.is_tagged() {
                continue;
            }
            if state.is_match() {
                // Match states come one byte late.
                self.matched.push((state, offset));
            } else if state.is_dead() {
                return Ok((state, offset + 1));
            } else if state.is_quit() {
                return Err(ScanError::Automaton);
            }
        }
        Ok((state, rest.len()))
    }

    /// As [`Workspace::run`], with a cache that is too small to keep all states of the run.
    #[cold]
    fn slowly(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        self.runs += 1;
        self.matched.clear();
        let dfa = &machine.dfa;
        let mut state = self.start(dfa, text, start)?;
        for (offset, byte) in text.get(start..).unwrap_or_default().iter().enumerate() {
            state = step(dfa, &mut self.cache, state, *byte)?;
            if state.is_match() {
                self.matched.push((state, offset));
                self.collect(machine, text, start, run)?;
            } else if state.is_dead() {
                return Ok(());
            } else if state.is_quit() {
                return Err(ScanError::Automaton);
            }
        }
        let state = dfa.next_eoi_state(&mut self.cache, state);
        let state = state.map_err(|_| ScanError::Automaton)?;
        if state.is_match() {
            self.matched.push((state, text.len().saturating_sub(start)));
            self.collect(machine, text, start, run)?;
        }
        Ok(())
    }
}

/// The next state: most are learned, and stand for nothing special.
#[inline]
fn step(
    dfa: &DFA,
    cache: &mut Cache,
    state: LazyStateID,
    byte: u8,
) -> Result<LazyStateID, ScanError> {
    if !state.is_tagged() {
        let next = dfa.next_state_untagged(cache, state, byte);
        if !next.is_unknown() {
            return Ok(next);
        }
    }
    dfa.next_state(cache, state, byte)
        .map_err(|_| ScanError::Automaton)
}

#[cfg(test)]
mod tests {
    use super::super::glue::Glue;
    use super::super::{Automaton, built, built_within};
    use super::*;
    use crate::rules::{self, GLUE};

    /// Heads do not depend on how often the cache is emptied.
    #[test]
    fn a_small_cache_is_as_good() {
        let rules = rules::built_in();
        let heads: Vec<&str> = rules.iter().map(|rule| rule.head.as_ref()).collect();
        let small = Machine {
            dfa: built_within(&heads, 1 << 10).unwrap(),
            glue: Glue::new(built(&[GLUE]).unwrap(), rules.iter()),
            rules: (0..rules.len()).collect(),
        };
        let mut work = Workspace::new(&small);
        let worth = Worth {
            plain: true,
            other: true,
            beside: true,
        };
        let automaton = Automaton::new(&rules).unwrap();
        let mut session = automaton.session();
        // All that the heads spell out stands in their patterns.
        let known =
            "card 4111 1111 1111 1111 ssn: 512-48-3071, Passport no. A07501764; password=x ";
        let text = known.to_owned() + &heads.concat();
        let text = text.get(..20_000).unwrap();
        let (mut run, mut emptied) = (Run::default(), 0);
        for start in 0..text.len() {
            session
                .run(text.as_bytes(), start, worth, &mut run)
                .unwrap();
            let mut own = Run::default();
            work.run(&small, text.as_bytes(), start, &mut own).unwrap();
            assert_eq!((&own.heads, own.alive), (&run.heads, run.alive), "{start}");
            emptied = work.cache.clear_count();
        }
        assert!(emptied > 2, "{emptied}");
    }
}
