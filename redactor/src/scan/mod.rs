//! Automata for the heads of all rules, run from every place where a value may begin.
//!
//! Each is a lazy DFA over many heads at once, anchored, reporting every rule that matches. They run
//! from word starts only, and heads are bounded, so the work is linear in the length of the text
//! with a small constant. Most starts are refused before that by a look at
//! what every head needs (see [`gate`]). The same run tells a stream what is settled: a start
//! from which the automaton is still alive at the end of the text may yet become a match.

mod around;
mod beginnings;
mod bytes;
mod cursor;
mod found;
mod gate;
mod glue;
mod groups;
mod heads;
mod probe;
mod require;
mod session;
mod shape;
mod starts;
mod table;
mod walk;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, Input, MatchKind};

use self::cursor::Cursor;
pub(crate) use self::cursor::Worth;
use self::gate::Gates;
use self::glue::Glue;
use self::session::Workspace;
pub(crate) use self::session::{Run, Session};
use self::starts::{Block, Starts};
use self::table::Matched;
use crate::engine::EngineError;
use crate::finding::ScanError;
use crate::rule::Rule;
use crate::rules::GLUE;

/// Bytes of lazily built states that one search thread may keep.
const CACHE: usize = 6 << 20;

type Make = Box<
    dyn Fn() -> [Workspace; MACHINES]
        + Send
        + Sync
        + std::panic::UnwindSafe
        + std::panic::RefUnwindSafe,
>;

/// The automata of all rules and what threads that search need, one a thread.
pub(crate) struct Automaton {
    machines: [Machine; MACHINES],
    starts: Starts,
    gates: Gates,
    workspaces: Pool<[Workspace; MACHINES], Make>,
}

/// Heads that need no more than their beginning; those of numbers that count only beside their
/// name; and the others: they are alive along any word, and would make every run of the first as
/// long.
const MACHINES: usize = 3;

/// One automaton over some of the heads.
#[derive(Clone)]
struct Machine {
    dfa: DFA,
    /// The rules whose heads these are, in the order of the heads.
    rules: Vec<usize>,
    glue: Glue,
}

impl Machine {
    fn new(rules: &[Rule], own: Vec<usize>, glue: &DFA) -> Result<Self, EngineError> {
        let known = own.iter().filter_map(|number| rules.get(*number));
        let heads: Vec<&str> = known.clone().map(|rule| rule.head.as_ref()).collect();
        Ok(Self {
            dfa: built(&heads)?,
            glue: Glue::new(glue.clone(), known),
            rules: own,
        })
    }

    /// The heads that match in a state.
    fn matched(&self, cache: &Cache, state: LazyStateID) -> Box<[Matched]> {
        if !state.is_match() {
            return Box::default();
        }
        let patterns = 0..self.dfa.match_len(cache, state);
        let heads = patterns.filter_map(|index| {
            let own = self.dfa.match_pattern(cache, state, index).as_usize();
            Some(Matched {
                own,
                rule: *self.rules.get(own)?,
                cue: self.glue.follows(own),
            })
        });
        heads.collect()
    }
}

impl Automaton {
    /// Compiles the heads of all rules.
    pub(crate) fn new(rules: &[Rule]) -> Result<Self, EngineError> {
        let gates = Gates::new(rules, &built)?;
        let beside = |number: &usize| rules.get(*number).is_some_and(|rule| rule.beside);
        let (numbers, own): (Vec<_>, Vec<_>) = (0..rules.len()).partition(beside);
        let (plain, other) = own
            .iter()
            .partition(|number| gates.plain().contains(number));
        let glue = built(&[GLUE])?;
        let machines = [
            Machine::new(rules, plain, &glue)?,
            Machine::new(rules, other, &glue)?,
            Machine::new(rules, numbers, &glue)?,
        ];
        let mut opening = [false; 256];
        for machine in &machines {
            let own = firsts(&machine.dfa).map_err(|_| EngineError::Automaton)?;
            let both = opening.iter_mut().zip(own);
            both.for_each(|(slot, own)| *slot |= own);
        }
        let models = machines.clone();
        Ok(Self {
            machines,
            starts: Starts::new(&opening),
            gates,
            workspaces: Pool::new(Box::new(move || models.each_ref().map(Workspace::new))),
        })
    }

    /// Goes over the places of a text at which automata have to run, and says which. If the text
    /// may still grow, so does what they may be alive from at its end.
    pub(crate) fn starts<'t>(
        &'t self,
        text: &'t [u8],
        growing: bool,
    ) -> impl Iterator<Item = (usize, Worth)> + 't {
        let mut cursor = Cursor::new(&self.gates, text, growing);
        let mut blocks = self.starts.over(text);
        let mut block = Block::default();
        std::iter::from_fn(move || {
            // A loop of its own, so that all of it is compiled as one.
            loop {
                while let Some((at, length)) = block.take() {
                    let worth = self.gates.admits(text, at, length, &mut cursor);
                    if worth != Worth::NOTHING {
                        return Some((at, worth));
                    }
                }
                block = blocks.next()?;
            }
        })
    }

    /// The same automaton without gates: what it finds is what should be found.
    #[cfg(test)]
    pub(crate) fn open_gates(&mut self) {
        self.gates = Gates::open();
    }

    /// Hands out a cache for one search.
    pub(crate) fn session(&self) -> Session<'_> {
        Session {
            machines: &self.machines,
            workspaces: self.workspaces.get(),
        }
    }
}

fn built(heads: &[&str]) -> Result<DFA, EngineError> {
    built_within(heads, CACHE)
}

/// The automaton of some heads, which keeps states of so many bytes.
fn built_within(heads: &[&str], cache: usize) -> Result<DFA, EngineError> {
    DFA::builder()
        .configure(
            DFA::config()
                .match_kind(MatchKind::All)
                .cache_capacity(cache)
                .skip_cache_capacity_check(true),
        )
        .build_from_nfa(heads::nfa(heads)?)
        .map_err(|_| EngineError::Automaton)
}

/// Asks the automaton, for each byte, whether it is alive behind it.
fn firsts(dfa: &DFA) -> Result<[bool; 256], ScanError> {
    let mut cache = dfa.create_cache();
    let mut firsts = [false; 256];
    for (slot, byte) in firsts.iter_mut().zip(0..=u8::MAX) {
        let input = Input::new(std::slice::from_ref(&byte)).anchored(Anchored::Yes);
        let start = dfa
            .start_state_forward(&mut cache, &input)
            .map_err(|_| ScanError::Automaton)?;
        let next = dfa
            .next_state(&mut cache, start, byte)
            .map_err(|_| ScanError::Automaton)?;
        *slot = !next.is_dead();
    }
    Ok(firsts)
}
