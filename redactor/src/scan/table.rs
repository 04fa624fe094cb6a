//! What a lazy automaton has learned, laid out so that a step is one look.
//!
//! The automaton itself asks at every byte whether its state is still known, holds a match or is
//! the start: here all of that stands in the one number that leads on.

use std::collections::HashMap;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::Cache;

use super::Machine;
use crate::finding::ScanError;

/// The number of a state's row, below [`SPECIAL`]; or more than that.
pub(super) type Row = u16;
/// Alone it is the dead state; with a row, a state of matches.
const SPECIAL: Row = 1 << 15;
const DEAD: Row = SPECIAL;
/// Not learned yet.
const UNKNOWN: Row = Row::MAX;
/// Entries of a row, one for each byte.
const ROW: usize = 256;
/// Entries that a table may have: four megabytes. When it is full, it is begun anew.
const MOST: usize = 1 << 21;

/// A head that matches in a state.
#[derive(Clone, Copy)]
pub(super) struct Matched {
    /// Its number among those of its automaton.
    pub(super) own: usize,
    /// Its rule's number.
    pub(super) rule: usize,
    /// Whether it is a cue.
    pub(super) cue: bool,
}

/// Why steps ended.
pub(super) enum Ended {
    /// No head can match any more.
    Dead,
    /// The text did; this is the state there.
    Text(LazyStateID),
    /// There was no room for one more state.
    Forgotten,
}

/// The rows of the states that were met.
pub(super) struct Table {
    /// Row by row and by the byte that follows: where it leads. The first row is none's.
    rows: Vec<Row>,
    /// The states, by their rows.
    states: Vec<Option<(LazyStateID, Box<[Matched]>)>>,
    known: HashMap<LazyStateID, Row>,
    /// The rows from which runs start, by the byte before; the last is that of the text's
    /// beginning.
    starts: Box<[Row; 257]>,
    /// How often the automaton's states had been forgotten when the first were learned.
    forgotten: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        let mut table = Self {
            rows: Vec::new(),
            states: Vec::new(),
            known: HashMap::new(),
            starts: Box::new([UNKNOWN; 257]),
            forgotten: 0,
        };
        table.clear();
        table
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.rows.resize(self.rows.len() + ROW, UNKNOWN);
        self.states.clear();
        self.states.push(None);
        self.known.clear();
        self.starts.fill(UNKNOWN);
    }

    /// Drops everything if the automaton has dropped its states, or if the table is full: to be
    /// called whenever the automaton may have.
    pub(super) fn refresh(&mut self, cache: &Cache) {
        if self.forgotten != cache.clear_count() || self.rows.len() > MOST {
            self.clear();
            self.forgotten = cache.clear_count();
        }
    }

    /// The row from which a run starts behind such a byte, if it is known.
    #[inline]
    pub(super) fn start(&self, before: Option<u8>) -> Option<Row> {
        let place = before.map_or(256, usize::from);
        let row = self.starts.get(place).copied();
        row.filter(|row| *row != UNKNOWN)
    }

    /// Notes it.
    pub(super) fn starts_at(
        &mut self,
        machine: &Machine,
        cache: &Cache,
        before: Option<u8>,
        start: LazyStateID,
    ) -> Result<Row, ScanError> {
        let row = self.row(machine, cache, start)? & !SPECIAL;
        if let Some(slot) = self.starts.get_mut(before.map_or(256, usize::from)) {
            *slot = row;
        }
        Ok(row)
    }

    /// How many bytes a run from there steps over, if it is known that nothing matches.
    #[inline]
    pub(super) fn dies(&self, before: Option<u8>, rest: &[u8]) -> Option<usize> {
        let (_, steps, next) = plain(&self.rows, self.start(before)?, rest);
        (next == DEAD && steps < rest.len()).then_some(steps + 1)
    }

    /// Steps until no head can match any more, or to the end of the text, and notes the rows of
    /// matches with their length. Returns why, and how many bytes were stepped over.
    #[inline]
    pub(super) fn steps(
        &mut self,
        machine: &Machine,
        cache: &mut Cache,
        start: Row,
        rest: &[u8],
        matched: &mut Vec<(Row, usize)>,
    ) -> Result<(Ended, usize), ScanError> {
        let (mut row, mut at) = (start, 0);
        loop {
            let (last, steps, mut next) =
                plain(&self.rows, row, rest.get(at..).unwrap_or_default());
            (row, at) = (last, at + steps);
            let Some(byte) = rest.get(at) else {
                let state = self.state(row).map(|(state, _)| Ended::Text(*state));
                return state.ok_or(ScanError::Automaton).map(|end| (end, at));
            };
            if next == UNKNOWN {
                next = match self.learn(machine, cache, row, *byte)? {
                    Some(next) => next,
                    None => return Ok((Ended::Forgotten, at)),
                };
            }
            if next == DEAD {
                return Ok((Ended::Dead, at + 1));
            }
            row = next & !SPECIAL;
            if next != row {
                // Match states come one byte late.
                matched.push((row, at));
            }
            at += 1;
        }
    }

    fn state(&self, row: Row) -> Option<&(LazyStateID, Box<[Matched]>)> {
        self.states.get(usize::from(row))?.as_ref()
    }

    /// The heads that match in the state of such a row.
    pub(super) fn matched(&self, row: Row) -> &[Matched] {
        self.state(row).map_or(&[], |(_, matched)| matched)
    }

    /// Asks the automaton where the byte leads. Nothing if there is no room for one more state.
    #[cold]
    fn learn(
        &mut self,
        machine: &Machine,
        cache: &mut Cache,
        row: Row,
        byte: u8,
    ) -> Result<Option<Row>, ScanError> {
        let Some((state, _)) = self.state(row) else {
            return Err(ScanError::Automaton);
        };
        let next = machine.dfa.next_state(cache, *state, byte);
        let next = next.map_err(|_| ScanError::Automaton)?;
        if self.forgotten != cache.clear_count() || self.rows.len() > MOST {
            return Ok(None);
        }
        if next.is_quit() {
            return Err(ScanError::Automaton);
        }
        let found = match next.is_dead() {
            true => DEAD,
            false => self.row(machine, cache, next)?,
        };
        let classes = machine.dfa.byte_classes();
        let from = usize::from(row) * ROW;
        if let Some(row) = self.rows.get_mut(from..from + ROW) {
            for (other, slot) in (0..=u8::MAX).zip(row.iter_mut()) {
                if classes.get(other) == classes.get(byte) {
                    *slot = found;
                }
            }
        }
        Ok(Some(found))
    }

    /// The row of a state, a new one if it has none.
    fn row(
        &mut self,
        machine: &Machine,
        cache: &Cache,
        state: LazyStateID,
    ) -> Result<Row, ScanError> {
        if let Some(known) = self.known.get(&state) {
            return Ok(*known);
        }
        let mark = if state.is_match() { SPECIAL } else { 0 };
        let row = Row::try_from(self.rows.len() / ROW);
        let row = row.ok().filter(|row| *row < UNKNOWN & !SPECIAL);
        let row = row.ok_or(ScanError::Automaton)? | mark;
        self.rows.resize(self.rows.len() + ROW, UNKNOWN);
        self.states
            .push(Some((state, machine.matched(cache, state))));
        self.known.insert(state, row);
        Ok(row)
    }
}

/// Steps over what leads from row to row and is nothing special. Returns the last row, how many
/// bytes were stepped over, and what the next one leads to.
#[inline(always)]
fn plain(rows: &[Row], start: Row, rest: &[u8]) -> (Row, usize, Row) {
    let (mut row, mut left) = (usize::from(start), rest.iter());
    for byte in left.by_ref() {
        let next = rows.get(row * ROW + usize::from(*byte)).copied();
        let next = next.unwrap_or(UNKNOWN);
        if next >= SPECIAL {
            return (row as Row, rest.len() - left.len() - 1, next);
        }
        row = usize::from(next);
    }
    (row as Row, rest.len(), DEAD)
}
