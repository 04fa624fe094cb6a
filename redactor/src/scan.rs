//! One automaton for the heads of all rules, run from every place where a value may begin.
//!
//! The automaton is a lazy DFA over all heads at once, anchored, reporting every rule that
//! matches. It is run from word starts only, and heads are bounded, so the work is linear in the
//! length of the text with a small constant. The same run tells a stream what is settled: a start
//! from which the automaton is still alive at the end of the text may yet become a match.

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, nfa::thompson};

use crate::engine::EngineError;
use crate::finding::ScanError;
use crate::rule::Rule;

/// Bytes of lazily built states that one search thread may keep.
const CACHE: usize = 16 << 20;
/// Bytes that the compiled heads may take, custom rules included.
const NFA_LIMIT: usize = 32 << 20;

/// The combined automaton and its caches, one a thread that searches.
pub(crate) struct Automaton {
    dfa: DFA,
    /// Bytes that any head may begin with, found by asking the automaton.
    firsts: [bool; 256],
    caches: Pool<
        Cache,
        Box<dyn Fn() -> Cache + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>,
    >,
}

/// What a run from one start came to.
#[derive(Default)]
pub(crate) struct Run {
    /// The longest match of each rule that matches: (rule, end).
    pub heads: Vec<(usize, usize)>,
    /// Whether more text could still change `heads`.
    pub alive: bool,
    /// Bytes stepped over.
    pub steps: usize,
}

impl Automaton {
    /// Compiles the heads of all rules into one automaton.
    pub(crate) fn new(rules: &[Rule]) -> Result<Self, EngineError> {
        let heads: Vec<&str> = rules.iter().map(|rule| rule.head.as_ref()).collect();
        let dfa = DFA::builder()
            .configure(
                DFA::config()
                    .match_kind(MatchKind::All)
                    .cache_capacity(CACHE)
                    .skip_cache_capacity_check(true),
            )
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(
                thompson::Config::new()
                    .utf8(false)
                    .nfa_size_limit(Some(NFA_LIMIT)),
            )
            .build_many(&heads)
            .map_err(|_| EngineError::Automaton)?;
        let firsts = firsts(&dfa).map_err(|_| EngineError::Automaton)?;
        let model = dfa.clone();
        Ok(Self {
            dfa,
            firsts,
            caches: Pool::new(Box::new(move || model.create_cache())),
        })
    }

    /// The first place from `from` on where a value may begin: the first letter or digit of a
    /// word, a change from lower to upper case, or another byte that some head begins with.
    pub(crate) fn next_start(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let mut before = from
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(0);
        for (offset, byte) in rest.iter().enumerate() {
            if self.opens(text, from + offset, before, *byte) {
                return Some(from + offset);
            }
            before = *byte;
        }
        None
    }

    fn opens(&self, text: &[u8], at: usize, before: u8, byte: u8) -> bool {
        if !self.firsts.get(usize::from(byte)).copied().unwrap_or(true) {
            return false;
        }
        match byte {
            b'A'..=b'Z' => !before.is_ascii_uppercase() && !before.is_ascii_digit(),
            b'a'..=b'z' | b'0'..=b'9' => !before.is_ascii_alphanumeric() && !in_letter(text, at),
            // Continuation bytes begin no character.
            0x80..=0xBF => false,
            0xC0.. => !before.is_ascii_alphanumeric() && !in_letter(text, at),
            _ => before != byte,
        }
    }

    /// Hands out a cache for one search.
    pub(crate) fn session(&self) -> Session<'_> {
        Session {
            dfa: &self.dfa,
            cache: self.caches.get(),
        }
    }
}

type Guard<'a> = regex_automata::util::pool::PoolGuard<
    'a,
    Cache,
    Box<dyn Fn() -> Cache + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>,
>;

/// One search with the automaton.
pub(crate) struct Session<'a> {
    dfa: &'a DFA,
    cache: Guard<'a>,
}

impl Session<'_> {
    /// Runs from `start` until no rule can match any more.
    pub(crate) fn run(
        &mut self,
        text: &[u8],
        start: usize,
        run: &mut Run,
    ) -> Result<(), ScanError> {
        run.heads.clear();
        run.alive = false;
        let input = Input::new(text)
            .span(start..text.len())
            .anchored(Anchored::Yes);
        let gave_up = |_| ScanError::Automaton;
        let cache = &mut *self.cache;
        let mut state = self
            .dfa
            .start_state_forward(cache, &input)
            .map_err(|_| ScanError::Automaton)?;
        for (offset, byte) in text.get(start..).unwrap_or_default().iter().enumerate() {
            state = self.dfa.next_state(cache, state, *byte).map_err(gave_up)?;
            if state.is_tagged() {
                if state.is_match() {
                    // Match states come one byte late.
                    note(self.dfa, cache, state, start + offset, run);
                } else if state.is_dead() {
                    run.steps += offset + 1;
                    return Ok(());
                } else if state.is_quit() {
                    return Err(ScanError::Automaton);
                }
            }
        }
        run.alive = true;
        run.steps += text.len().saturating_sub(start);
        state = self.dfa.next_eoi_state(cache, state).map_err(gave_up)?;
        if state.is_match() {
            note(self.dfa, cache, state, text.len(), run);
        }
        Ok(())
    }
}

fn note(
    dfa: &DFA,
    cache: &Cache,
    state: regex_automata::hybrid::LazyStateID,
    end: usize,
    run: &mut Run,
) {
    for index in 0..dfa.match_len(cache, state) {
        let rule = dfa.match_pattern(cache, state, index).as_usize();
        match run.heads.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, longest)) => *longest = end,
            None => run.heads.push((rule, end)),
        }
    }
}

/// Whether the character before is a letter of two bytes: Latin, Greek, Cyrillic. Longer ones
/// belong to scripts that put no space between words, so that a value may follow one.
fn in_letter(text: &[u8], at: usize) -> bool {
    let lead = at.checked_sub(2).and_then(|lead| text.get(lead));
    lead.is_some_and(|lead| (0xC3..=0xD4).contains(lead))
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
