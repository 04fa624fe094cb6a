//! The quick tests for what heads need.

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem;

use super::bytes::Bytes;
use super::require::{Need, Run, is_mark};
use crate::engine::EngineError;

/// Literals that end so near to the start are looked for byte by byte.
const NEAR: usize = 8;
/// A number with more bytes than this is admitted without counting on.
const LONGEST_NUMBER: usize = 64;

/// Whether what a head needs is in reach of a start.
pub(super) enum Test {
    /// One of the bytes among the next so many.
    Bytes(Bytes, usize),
    Digits(usize),
    /// Bytes of these sets, one after another.
    Shape(Vec<Bytes>),
    /// One of the literals, the last no further than so many bytes behind the start.
    Literal(Literals, usize, Option<Run>),
}

/// A search for literals.
pub(super) enum Literals {
    Byte(u8),
    Many(AhoCorasick),
    One(Box<memmem::Finder<'static>>),
    Packed(packed::Searcher),
}

impl Test {
    /// Nothing where the beginning says all.
    pub(super) fn new(need: &Need) -> Result<Option<Self>, EngineError> {
        Ok(match need {
            Need::Start => None,
            Need::Digits(count) => Some(Self::Digits(*count)),
            Need::Shape(row) => Some(Self::Shape(row.clone())),
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
    pub(super) fn passes(&self, text: &[u8], at: usize, next: usize) -> bool {
        match self {
            Self::Digits(count) => holds_digits(text.get(at..).unwrap_or_default(), *count),
            // Where the text ends first, what is there may go on.
            Self::Shape(row) => {
                let rest = text.get(at..).unwrap_or_default();
                row.iter().zip(rest).all(|(set, byte)| set.holds(*byte))
            }
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

    /// The first place at which one stands.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
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
    if last.share() < first.share() {
        last
    } else {
        first
    }
}
