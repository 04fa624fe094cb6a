//! One NFA of many heads.
//!
//! The compiler of `regex_automata` parses all of its patterns before it compiles the first, and takes
//! six times what it makes. A process keeps what it took once, so each head is compiled by itself here,
//! and its states are copied.

use regex_automata::nfa::thompson::{
    BuildError, Builder, Compiler, Config, NFA, State, Transition, WhichCaptures,
};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;

use crate::engine::EngineError;

/// Bytes that the compiled heads may take, custom rules included.
const LIMIT: usize = 32 << 20;

/// The NFA that matches any of the heads, at the start of a search only.
pub(super) fn nfa(heads: &[&str]) -> Result<NFA, EngineError> {
    let mut joined = Joined::new()?;
    for head in heads {
        joined.add(&compiler().build(head).map_err(too_large)?)?;
    }
    joined.finish()
}

fn too_large(_: BuildError) -> EngineError {
    EngineError::Automaton
}

fn compiler() -> Compiler {
    let mut compiler = NFA::compiler();
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    let config = Config::new()
        .utf8(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(LIMIT));
    compiler.syntax(syntax).configure(config);
    compiler
}

/// Heads, one after the other.
struct Joined {
    builder: Builder,
    starts: Vec<StateID>,
    /// How many states there are.
    count: usize,
}

impl Joined {
    fn new() -> Result<Self, EngineError> {
        let mut builder = Builder::new();
        builder.set_utf8(false);
        builder.set_size_limit(Some(LIMIT)).map_err(too_large)?;
        Ok(Self {
            builder,
            starts: Vec::new(),
            count: 0,
        })
    }

    /// Copies the states of a head, in their order, so that each is as far on as the first.
    fn add(&mut self, head: &NFA) -> Result<(), EngineError> {
        self.builder.start_pattern().map_err(too_large)?;
        for (number, state) in head.states().iter().enumerate() {
            // Where one is found is reckoned, so that none may stand elsewhere.
            if self.copy(state)?.as_usize() != self.count + number {
                return Err(EngineError::Automaton);
            }
        }
        let start = moved(self.count, head.start_anchored())?;
        self.builder.finish_pattern(start).map_err(too_large)?;
        self.starts.push(start);
        self.count += head.states().len();
        Ok(())
    }

    fn copy(&mut self, state: &State) -> Result<StateID, EngineError> {
        let (builder, by) = (&mut self.builder, self.count);
        let added = match state {
            State::ByteRange { trans } => builder.add_range(transition(by, trans)?),
            State::Sparse(sparse) => {
                // No larger than it has to be: most of the memory is here.
                let mut transitions = Vec::with_capacity(sparse.transitions.len());
                for one in &sparse.transitions {
                    transitions.push(transition(by, one)?);
                }
                builder.add_sparse(transitions)
            }
            State::Look { look, next } => builder.add_look(moved(by, *next)?, *look),
            State::Union { alternates } => {
                let alternates = alternates.iter().map(|id| moved(by, *id));
                builder.add_union(alternates.collect::<Result<_, _>>()?)
            }
            State::BinaryUnion { alt1, alt2 } => {
                builder.add_union(vec![moved(by, *alt1)?, moved(by, *alt2)?])
            }
            State::Fail => builder.add_fail(),
            State::Match { .. } => builder.add_match(),
            // The compiler makes none where nothing is captured.
            State::Dense(_) | State::Capture { .. } => return Err(EngineError::Automaton),
        };
        added.map_err(too_large)
    }

    fn finish(mut self) -> Result<NFA, EngineError> {
        let start = self.builder.add_union(self.starts).map_err(too_large)?;
        self.builder.build(start, start).map_err(too_large)
    }
}

/// Where a state of a head stands among all.
fn moved(by: usize, id: StateID) -> Result<StateID, EngineError> {
    StateID::new(by + id.as_usize()).map_err(|_| EngineError::Automaton)
}

fn transition(by: usize, one: &Transition) -> Result<Transition, EngineError> {
    Ok(Transition {
        next: moved(by, one.next)?,
        ..*one
    })
}

#[cfg(test)]
mod tests {
    use regex_automata::hybrid::dfa::{Cache, Config as Lazy, DFA};
    use regex_automata::{Anchored, MatchKind, util::start};

    use super::*;
    use crate::rules;

    /// Where which heads end that begin at the start of a text.
    fn ends(dfa: &DFA, cache: &mut Cache, text: &[u8]) -> Vec<(usize, usize)> {
        let config = start::Config::new().anchored(Anchored::Yes);
        let mut state = dfa.start_state(cache, &config).unwrap();
        let mut ends = Vec::new();
        for at in 0..=text.len() {
            state = match text.get(at) {
                Some(byte) => dfa.next_state(cache, state, *byte).unwrap(),
                None => dfa.next_eoi_state(cache, state).unwrap(),
            };
            if state.is_match() {
                let count = dfa.match_len(cache, state);
                let own = (0..count).map(|index| dfa.match_pattern(cache, state, index).as_usize());
                ends.extend(own.map(|pattern| (at, pattern)));
            }
        }
        ends
    }

    #[test]
    fn joined_heads_match_as_those_that_are_compiled_together() {
        let rules = rules::built_in();
        let heads: Vec<&str> = rules.iter().map(|rule| rule.head.as_ref()).collect();
        let lazy = Lazy::new()
            .match_kind(MatchKind::All)
            .skip_cache_capacity_check(true);
        let mut builder = DFA::builder();
        builder
            .configure(lazy)
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(Config::new().utf8(false));
        let joined = builder.build_from_nfa(nfa(&heads).unwrap()).unwrap();
        let together = builder.build_many(&heads).unwrap();
        let (mut one, mut other) = (joined.create_cache(), together.create_cache());
        let text = "Write to lena.fors@example.org or +44 20 7946 0018, GB82 WEST 1234 5698 7654 32; \
            password=hunter2x AKIAQ3EGRTJ5XZBN7W2K, born 1990-01-02, j\u{f6}rg (at) mail [dot] org\n";
        let mut count = 0;
        for at in 0..text.len() {
            let rest = &text.as_bytes()[at..];
            let found = ends(&joined, &mut one, rest);
            assert_eq!(found, ends(&together, &mut other, rest), "{at}");
            count += found.len();
        }
        assert!(count > 100, "{count}");
    }
}
