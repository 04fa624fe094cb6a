//! What follows a head and has no bound: runs of a class, key blocks, values.

use crate::rule::{Class, Quote, Tail};

/// Where a match that is open at the start of `more` ends in it. See [`crate::Open::end`].
pub(crate) fn end(tail: Tail, _quote: Option<Quote>, more: &str) -> Option<usize> {
    match tail {
        Tail::None => Some(0),
        Tail::Run(class) => more.bytes().position(|b| !class.holds(b)),
        Tail::Block | Tail::Value => None,
    }
}

impl Class {
    /// Whether a run of this class goes on with the byte.
    pub(crate) fn holds(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            || match self {
                Class::Dotted => matches!(byte, b'-' | b'_' | b'.'),
                Class::Base64 => matches!(byte, b'-' | b'_' | b'+' | b'/' | b'='),
            }
    }
}
