//! The quick tests for what heads need.

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem;

use super::around::Around;
use super::bytes::{Bytes, frequency, share};
use super::gate::Mask;
use super::require::{FEW, Need, Run, is_mark};
use crate::engine::EngineError;
use crate::seek::seek;

/// Literals that end so near to the start are looked for byte by byte.
const NEAR: usize = 8;
/// A number with more bytes than this is admitted without counting on.
const LONGEST_NUMBER: usize = 64;

/// Whether what a head needs is in reach of a start.
pub(super) enum Test {
    /// One of the bytes among the next so many.
    Bytes(Bytes, usize, Option<Run>),
    /// As many digits as all such rules take.
    Digits,
    /// Bytes of these sets at these places behind the start, the rarest first.
    Shape(Vec<(usize, Bytes)>),
    Literal(Wanted),
}

/// One of the literals, the last no further than so many bytes behind the start.
pub(super) struct Wanted {
    pub(super) literals: Literals,
    pub(super) reach: usize,
    pub(super) run: Option<Run>,
    /// A byte of each literal, the rarest.
    pub(super) keys: Vec<u8>,
    /// So many bytes of a literal may stand before the end of a text that cuts it.
    cut: usize,
}

impl Wanted {
    fn new(literals: &[Vec<u8>], reach: usize, run: Option<Run>) -> Result<Self, EngineError> {
        let keys = literals.iter().filter_map(|literal| rarest(literal));
        let keys = keys.collect();
        let longest = literals.iter().map(Vec::len).max().unwrap_or(1);
        Ok(Self {
            literals: Literals::new(literals)?,
            reach,
            run,
            keys,
            cut: longest.saturating_sub(1),
        })
    }

    /// The first place from `at` on from which a literal at `next` is in reach and nothing else
    /// than may stand between does.
    pub(super) fn begin(&self, text: &[u8], at: usize, next: usize) -> usize {
        let from = (next + 1).saturating_sub(self.reach);
        match &self.run {
            Some(run) if next <= text.len() => {
                run.begin(text, from.max(at), self.place(text, next))
            }
            _ => from,
        }
    }

    /// Where a literal begins, if only behind the text's end that may cut it.
    fn place(&self, text: &[u8], next: usize) -> usize {
        let cut = if next == text.len() { self.cut } else { 0 };
        next.saturating_sub(cut)
    }

    fn passes(&self, text: &[u8], at: usize, next: usize) -> bool {
        next < at.saturating_add(self.reach)
            && self.run.as_ref().is_none_or(|run| {
                let rest = text.get(at..).unwrap_or_default();
                run.leads(rest, self.place(text, next).saturating_sub(at))
            })
    }
}

impl Test {
    /// Nothing where the beginning says all.
    pub(super) fn new(need: &Need) -> Result<Option<Self>, EngineError> {
        Ok(match need {
            Need::Start => None,
            Need::Digits(_) | Need::Beside(_) => Some(Self::Digits),
            Need::Shape(row) => {
                let mut row: Vec<(usize, Bytes)> = row.iter().cloned().enumerate().collect();
                row.sort_by(|(_, one), (_, two)| one.share().total_cmp(&two.share()));
                Some(Self::Shape(row))
            }
            Need::Literal {
                literals,
                reach,
                run,
            } => Some(match (bytes(literals), literals.len()) {
                (Some(bytes), 4..) => Self::Bytes(bytes, *reach, run.clone()),
                // So near that no search beats looking.
                _ if *reach <= NEAR && !is_rare(literals) => Self::near(literals, *reach, run),
                _ => Self::Literal(Wanted::new(literals, *reach, run.clone())?),
            }),
        })
    }

    /// Looks for what the literals begin with or end with, whichever is rarer.
    fn near(literals: &[Vec<u8>], reach: usize, run: &Option<Run>) -> Self {
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
        if last.share() >= first.share() {
            return Self::Bytes(first, reach, run.clone());
        }
        let longest = literals.iter().map(Vec::len).max().unwrap_or(1);
        let run = run.clone().map(|run| Run {
            slack: run.slack + longest - 1,
            ..run
        });
        Self::Bytes(last, reach, run)
    }

    /// `next` is where the literal stands next, at `at` or behind it. Where a text that is growing
    /// ends first, what is there may go on.
    pub(super) fn passes(&self, text: &[u8], at: usize, next: usize, growing: bool) -> bool {
        let rest = text.get(at..).unwrap_or_default();
        match self {
            Self::Digits => holds_digits(rest).unwrap_or(growing),
            Self::Shape(row) => row.iter().all(|(place, set)| {
                let byte = rest.get(*place);
                byte.map_or(growing, |byte| set.holds(*byte))
            }),
            Self::Bytes(bytes, reach, run) => {
                let near = rest.iter().take(*reach);
                match near.enumerate().find(|(_, byte)| bytes.holds(**byte)) {
                    Some((place, _)) => run.as_ref().is_none_or(|run| run.leads(rest, place)),
                    None => growing && rest.len() < *reach,
                }
            }
            Self::Literal(wanted) => wanted.passes(text, at, next),
        }
    }
}

/// By byte: the groups of literals that have one with it.
pub(super) struct Keys(Box<[Mask; 256]>);

impl Default for Keys {
    fn default() -> Self {
        Self(Box::new([0; 256]))
    }
}

impl Keys {
    pub(super) fn add(&mut self, group: Mask, keys: &[u8]) {
        for key in keys {
            if let Some(groups) = self.0.get_mut(usize::from(*key)) {
                *groups |= group;
            }
        }
    }

    /// The groups of which a literal may stand in a text.
    pub(super) fn in_text(&self, text: &[u8]) -> Mask {
        let groups = |byte: &u8| self.0.get(usize::from(*byte)).copied();
        let each = text.iter().filter_map(groups);
        each.fold(0, |all, groups| all | groups)
    }
}

fn rarest(literal: &[u8]) -> Option<u8> {
    let rarer = |one: &&u8, two: &&u8| share(**one).total_cmp(&share(**two));
    literal.iter().min_by(rarer).copied()
}

impl Run {
    /// The first place from `from` on from which nothing but such a run, and what may follow it,
    /// goes up to a literal at `next`.
    pub(super) fn begin(&self, text: &[u8], from: usize, next: usize) -> usize {
        let end = next.saturating_sub(self.slack).max(from);
        let run = text.get(from..end).unwrap_or_default();
        let gap = run.iter().rposition(|byte| !self.set.holds(*byte));
        gap.map_or(from, |gap| from + gap + 1)
    }

    /// Whether a text begins with such a run that goes up to a literal at `place`, or to the
    /// text's end.
    fn leads(&self, text: &[u8], place: usize) -> bool {
        let before = text.get(..place).unwrap_or(text);
        let length = before.iter().position(|byte| !self.set.holds(*byte));
        length.is_none_or(|length| length >= self.least && before.len() <= length + self.slack)
    }
}

/// Whether literals stand in so few places that to look for them costs next to nothing.
fn is_rare(literals: &[Vec<u8>]) -> bool {
    const RARE: f32 = 0.001;
    literals
        .iter()
        .map(|literal| frequency(literal))
        .sum::<f32>()
        < RARE
}

/// A search for literals.
pub(super) enum Literals {
    Byte(u8),
    Many(AhoCorasick),
    /// What all have in common, and how far behind their beginning.
    One(Box<memmem::Finder<'static>>, usize),
    Packed(packed::Searcher),
    Around(Around),
    /// Many that begin with a few bytes, and the two bytes that may stand behind those.
    Led([u8; LEADS], Box<[Bytes; 2]>, Vec<Vec<u8>>),
}

/// So many first bytes are looked for at once.
const LEADS: usize = 4;

impl Literals {
    fn new(literals: &[Vec<u8>]) -> Result<Self, EngineError> {
        if literals.len() > 2 * LEADS
            && let Some(leads) = leads(literals)
        {
            let mut sets = Box::new([Bytes::default(), Bytes::default()]);
            for literal in literals {
                let [seconds, thirds] = &mut *sets;
                literal
                    .get(1)
                    .into_iter()
                    .for_each(|byte| seconds.add(*byte));
                match literal.get(2) {
                    Some(byte) => thirds.add(*byte),
                    None => (0..=u8::MAX).for_each(|byte| thirds.add(byte)),
                }
            }
            return Ok(Self::Led(leads, sets, literals.to_vec()));
        }
        if let Some((needle, offset)) = common(literals) {
            let finder = memmem::Finder::new(needle).into_owned();
            return Ok(Self::One(Box::new(finder), offset));
        }
        if let Some(around) = Around::new(literals) {
            return Ok(Self::Around(around));
        }
        Ok(match literals {
            [one] => match one.as_slice() {
                [byte] => Self::Byte(*byte),
                more => Self::One(Box::new(memmem::Finder::new(more).into_owned()), 0),
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

    /// The first place at which one stands or may stand.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Byte(byte) => memchr::memchr(*byte, text),
            Self::Many(search) => search.find(text).map(|hit| hit.start()),
            Self::One(search, offset) => {
                let rest = text.get(*offset..)?;
                search.find(rest)
            }
            Self::Packed(search) => search.find(text).map(|hit| hit.start()),
            Self::Around(search) => search.find(text),
            Self::Led(leads, sets, literals) => {
                let [seconds, thirds] = &**sets;
                let mut from = 0;
                loop {
                    let rest = text.get(from..)?;
                    let [a, b, c, d] = *leads;
                    let at = seek(rest, |x| (x == a) | (x == b) | (x == c) | (x == d))?;
                    let here = rest.get(at..).unwrap_or_default();
                    let possible = here.get(1).is_some_and(|byte| seconds.holds(*byte))
                        && here.get(2).is_none_or(|byte| thirds.holds(*byte));
                    if possible && literals.iter().any(|literal| here.starts_with(literal)) {
                        return Some(from + at);
                    }
                    from += at + 1;
                }
            }
        }
    }
}

/// What several literals all begin or end with, and where in them: one needle instead of many.
pub(super) fn common(literals: &[Vec<u8>]) -> Option<(&[u8], usize)> {
    let first = literals.first().filter(|_| literals.len() > 1)?;
    let prefix = (2..=first.len()).rev().find_map(|length| {
        let prefix = first.get(..length)?;
        let all = literals.iter().all(|literal| literal.starts_with(prefix));
        all.then_some((prefix, 0))
    });
    let suffix = (1..=first.len().saturating_sub(2)).find_map(|offset| {
        let suffix = first.get(offset..)?;
        let ends = |literal: &Vec<u8>| literal.len() == first.len() && literal.ends_with(suffix);
        literals.iter().all(ends).then_some((suffix, offset))
    });
    prefix.or(suffix)
}

/// The brackets that the literals begin with, if they all do.
pub(super) fn leads(literals: &[Vec<u8>]) -> Option<[u8; LEADS]> {
    let led = |literal: &Vec<u8>| literal.first().is_some_and(|byte| BRACKETS.contains(byte));
    (!literals.is_empty() && literals.iter().all(led)).then_some(BRACKETS)
}

/// What values that hide are set in.
pub(super) const BRACKETS: [u8; LEADS] = *b"([{<";

/// Whether [`FEW`] digits follow with nothing but marks between them, if that can be told before
/// the text ends.
pub(super) fn holds_digits(rest: &[u8]) -> Option<bool> {
    let mut seen = 0;
    for (at, byte) in rest.iter().enumerate() {
        if byte.is_ascii_digit() {
            seen += 1;
        } else if !is_mark(*byte) {
            return Some(false);
        }
        if seen == FEW || at == LONGEST_NUMBER {
            return Some(true);
        }
    }
    None
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
