//! What a search is asked and what it answers.

use crate::label::Label;
use crate::policy::Direction;
use crate::rule::{Quote, Tail};
use crate::tail;

/// Where a text stands.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The JSON key, header name or column title that the text stands under.
    pub key: Option<&'a str>,
    /// Which way it travels.
    pub direction: Direction,
}

/// A value that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// First byte, on a character boundary of the searched text.
    pub start: usize,
    /// One past the last byte, on a character boundary.
    pub end: usize,
    /// What it is.
    pub label: Label,
    /// Confidence in percent.
    pub score: u8,
    /// The rule that found it, for records; never text.
    pub rule: &'static str,
    /// Whether the value alone shows what it is, without the words around it.
    pub certain: bool,
}

/// A search that did not come to its end. Nothing may be sent then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The automaton gave up.
    #[error("the search automaton gave up")]
    Automaton,
    /// The model failed, or did not come to its end in its time.
    #[error("the model did not come to its end")]
    Model,
    /// The model has more waiting than it can do in time.
    #[error("the model has too much to do")]
    Overloaded,
    /// More new text than the model may be asked about at once.
    #[error("the text is too long for the model")]
    TooLongForModel,
    /// Texts and answers do not fit each other, which must not happen.
    #[error("a text has no answer")]
    Unanswered,
    /// The text is longer than offsets can say (4 GiB).
    #[error("the text is too long to be searched")]
    TooLong,
}

/// What a stream sees in its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// As [`crate::Engine::find`], up to an escape that the end of the window cuts off.
    pub findings: Vec<Finding>,
    /// As [`crate::Engine::undecided`].
    pub settled: usize,
    /// As [`crate::Engine::open`].
    pub open: Option<Open>,
}

/// A match that has begun and whose end is not in sight. A stream that can hold no more masks
/// from its start, drops what follows and asks [`Open::end`] where the match ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// First byte of the match in the text that was asked about.
    pub start: usize,
    /// What it is.
    pub label: Label,
    /// The rule that found it.
    pub rule: &'static str,
    pub(crate) tail: Tail,
    pub(crate) quote: Option<Quote>,
}

impl Open {
    /// How many bytes of `more` still belong to the match; `None` if all do and it is still open.
    /// `more` begins with the last bytes (up to 128) of what was masked already, because an end
    /// marker may have been cut in two.
    #[must_use]
    pub fn end(&self, more: &str) -> Option<usize> {
        tail::end(self.tail, self.quote, more)
    }
}
