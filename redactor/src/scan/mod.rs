//! One automaton for the heads of all rules, run from every place where a value may begin.
//!
//! The automaton is a lazy DFA over all heads at once, anchored, reporting every rule that
//! matches. It is run from word starts only, and heads are bounded, so the work is linear in the
//! length of the text with a small constant. Most starts are refused before that by a look at
//! what every head needs (see [`gate`]). The same run tells a stream what is settled: a start
//! from which the automaton is still alive at the end of the text may yet become a match.

mod bytes;
mod gate;
mod probe;
mod require;
mod shape;
mod walk;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, nfa::thompson};

use self::gate::{Cursor, Gates};
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
    starts: Starts,
    gates: Gates,
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
        let dfa = built(&heads)?;
        let starts = Starts::new(&firsts(&dfa).map_err(|_| EngineError::Automaton)?);
        let gates = Gates::new(rules, &built)?;
        let model = dfa.clone();
        Ok(Self {
            dfa,
            starts,
            gates,
            caches: Pool::new(Box::new(move || model.create_cache())),
        })
    }

    /// Goes over the places of a text at which the automaton has to run.
    pub(crate) fn starts<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let mut cursor = Cursor::new();
        let mut from = 0;
        std::iter::from_fn(move || {
            while let Some(at) = self.starts.next(text, from) {
                from = at + 1;
                if self.gates.admits(text, at, &mut cursor) {
                    return Some(at);
                }
            }
            None
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
            dfa: &self.dfa,
            cache: self.caches.get(),
        }
    }
}

/// Where a value may begin: at the first letter or digit of a word, at a change from lower to
/// upper case, or at another byte that some head begins with.
struct Starts {
    /// By the kind of the byte before and the byte: whether a value may begin.
    opens: Box<[bool; OPENS]>,
    kinds: [u8; 256],
}

/// A row of bytes for each kind, and some to spare.
const OPENS: usize = 8 << 8;
const OTHER: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
/// A byte of a character beyond ASCII.
const HIGH: u8 = 4;

impl Starts {
    fn new(firsts: &[bool; 256]) -> Self {
        let kinds = std::array::from_fn(|byte| match u8::try_from(byte).unwrap_or(0) {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            0x80.. => HIGH,
            _ => OTHER,
        });
        let mut opens = Box::new([false; OPENS]);
        for (before, row) in (0u8..).zip(opens.chunks_exact_mut(256)) {
            let in_word = matches!(before, LOWER | UPPER | DIGIT);
            for ((byte, slot), first) in (0..=u8::MAX).zip(row.iter_mut()).zip(firsts) {
                *slot = *first
                    && match byte {
                        b'A'..=b'Z' => !matches!(before, UPPER | DIGIT),
                        b'a'..=b'z' | b'0'..=b'9' | 0xC0.. => !in_word,
                        // Continuation bytes begin no character.
                        0x80..=0xBF => false,
                        _ => true,
                    };
            }
        }
        Self { opens, kinds }
    }

    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let kind = |byte: u8| self.kinds.get(usize::from(byte)).copied().unwrap_or(OTHER);
        let last = from.checked_sub(1).and_then(|at| text.get(at));
        let mut before = last.map_or(OTHER, |byte| kind(*byte));
        for (offset, byte) in text.get(from..)?.iter().enumerate() {
            // Masked, so that no bound has to be checked for every byte.
            let place = (usize::from(before) << 8 | usize::from(*byte)) & (OPENS - 1);
            if self.opens.get(place).copied().unwrap_or(true)
                && may_open(text, from + offset, *byte)
            {
                return Some(from + offset);
            }
            before = kind(*byte);
        }
        None
    }
}

/// Whether a value begins with a byte that the bytes before do not rule out by their kind.
fn may_open(text: &[u8], at: usize, byte: u8) -> bool {
    match byte {
        b'A'..=b'Z' => true,
        b'a'..=b'z' | b'0'..=b'9' | 0x80.. => !in_letter(text, at),
        _ => at.checked_sub(1).and_then(|before| text.get(before)) != Some(&byte),
    }
}

fn built(heads: &[&str]) -> Result<DFA, EngineError> {
    DFA::builder()
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
        .build_many(heads)
        .map_err(|_| EngineError::Automaton)
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
