//! Runs of the automaton.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::PoolGuard;
use regex_automata::{Anchored, Input};

use super::cursor::Worth;
use super::table::{Ended, Matched, Row, Table};
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
        let before = start.checked_sub(1).and_then(|at| text.get(at)).copied();
        let rest = text.get(start..).unwrap_or_default();
        let worth = [worth.plain, worth.other, worth.beside];
        let machines = self.machines.iter().zip(&mut *self.workspaces);
        for ((machine, workspace), _) in machines.zip(worth).filter(|(_, worth)| *worth) {
            match workspace.table.dies(before, rest) {
                Some(steps) => run.steps += steps,
                None => workspace.run(machine, text, start, run)?,
            }
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
    table: Table,
    /// The rows of a run's matches, with the length of the match.
    matched: Vec<(Row, usize)>,
    heads: Heads,
}

impl Workspace {
    pub(super) fn new(machine: &Machine) -> Self {
        let dfa = &machine.dfa;
        Self {
            cache: dfa.create_cache(),
            table: Table::new(),
            matched: Vec::new(),
            heads: Heads {
                glue: machine.glue.cache(),
                slots: vec![(0, 0); dfa.pattern_len()],
                runs: 0,
            },
        }
    }

    #[inline(never)]
    fn run(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        let rest = text.get(start..).unwrap_or_default();
        let before = start.checked_sub(1).and_then(|at| text.get(at)).copied();
        let row = match self.table.start(before) {
            Some(row) => row,
            None => {
                let state = self.start(&machine.dfa, text, start)?;
                self.table.refresh(&self.cache);
                self.table.starts_at(machine, &self.cache, before, state)?
            }
        };
        let (cache, matched) = (&mut self.cache, &mut self.matched);
        let (ended, steps) = self.table.steps(machine, cache, row, rest, matched)?;
        run.steps += steps;
        match ended {
            Ended::Dead if self.matched.is_empty() => Ok(()),
            Ended::Dead => self.collect(machine, text, start, run),
            Ended::Text(state) => self.at_end(machine, text, (start, state), run),
            Ended::Forgotten => self.slowly(machine, text, start, run),
        }
    }

    #[cold]
    fn start(&mut self, dfa: &DFA, text: &[u8], at: usize) -> Result<LazyStateID, ScanError> {
        let input = Input::new(text)
            .span(at..text.len())
            .anchored(Anchored::Yes);
        dfa.start_state_forward(&mut self.cache, &input)
            .map_err(|_| ScanError::Automaton)
    }

    /// Adds the rules that the noted rows stand for, those that matched first first.
    fn collect(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        self.heads.runs += 1;
        for (row, length) in self.matched.drain(..) {
            let heads = self.table.matched(row);
            self.heads.add(machine, text, start + length, heads, run)?;
        }
        Ok(())
    }

    /// Adds what matches where the automaton is alive, in such a state, at the end of the text.
    fn at_end(
        &mut self,
        machine: &Machine,
        text: &[u8],
        (start, state): (usize, LazyStateID),
        run: &mut Run,
    ) -> Result<(), ScanError> {
        run.alive = true;
        let cleared = self.cache.clear_count();
        let state = machine.dfa.next_eoi_state(&mut self.cache, state);
        let state = state.map_err(|_| ScanError::Automaton)?;
        if self.cache.clear_count() != cleared {
            return self.slowly(machine, text, start, run);
        }
        self.collect(machine, text, start, run)?;
        let heads = machine.matched(&self.cache, state);
        self.heads.add(machine, text, text.len(), &heads, run)
    }

    /// As [`Workspace::run`], where there is no room for all states of the run.
    #[cold]
    fn slowly(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        let outcome = self.one_by_one(machine, text, start, run);
        self.table.refresh(&self.cache);
        outcome
    }

    /// States do not outlive the cache that holds them, so each is looked at as it comes.
    fn one_by_one(
        &mut self,
        machine: &Machine,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        self.matched.clear();
        self.heads.runs += 1;
        let dfa = &machine.dfa;
        let mut state = self.start(dfa, text, start)?;
        for (at, byte) in text.iter().enumerate().skip(start) {
            let next = dfa.next_state(&mut self.cache, state, *byte);
            state = next.map_err(|_| ScanError::Automaton)?;
            if state.is_match() {
                let heads = machine.matched(&self.cache, state);
                self.heads.add(machine, text, at, &heads, run)?;
            } else if state.is_dead() {
                return Ok(());
            } else if state.is_quit() {
                return Err(ScanError::Automaton);
            }
        }
        run.alive = true;
        let state = dfa.next_eoi_state(&mut self.cache, state);
        let state = state.map_err(|_| ScanError::Automaton)?;
        let heads = machine.matched(&self.cache, state);
        self.heads.add(machine, text, text.len(), &heads, run)
    }
}

/// The heads that matched in a run.
struct Heads {
    /// What has been learned of what stands behind cues.
    glue: Cache,
    /// By head: the last run in which it matched, and its place among that run's matches.
    slots: Vec<(u64, usize)>,
    /// How many runs there have been.
    runs: u64,
}

impl Heads {
    /// Adds heads that match up to `first`.
    #[inline]
    fn add(
        &mut self,
        machine: &Machine,
        text: &[u8],
        first: usize,
        heads: &[Matched],
        run: &mut Run,
    ) -> Result<(), ScanError> {
        let mut glued = None;
        for matched in heads {
            let end = match glued {
                _ if !matched.cue => first,
                Some(end) => end,
                None => *glued.insert(self.behind_cue(machine, text, first, run)?),
            };
            let Some((last, slot)) = self.slots.get_mut(matched.own) else {
                continue;
            };
            if *last == self.runs
                && let Some(head) = run.heads.get_mut(*slot)
            {
                head.end = head.end.max(end);
                continue;
            }
            (*last, *slot) = (self.runs, run.heads.len());
            let rule = matched.rule;
            run.heads.push(Head { rule, first, end });
        }
        Ok(())
    }

    /// Where what stands behind a cue ends.
    fn behind_cue(
        &mut self,
        machine: &Machine,
        text: &[u8],
        cue: usize,
        run: &mut Run,
    ) -> Result<usize, ScanError> {
        let read = machine.glue.read(&mut self.glue, text, cue)?;
        run.alive |= read.alive;
        run.steps += read.steps;
        Ok(read.end)
    }
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
