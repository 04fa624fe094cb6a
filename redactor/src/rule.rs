//! The shape of a rule: a head that the automaton matches, a tail that is read by hand because it
//! has no bound, and a check that decides what was found.
//!
//! Heads are bounded so that the automaton's work per start is. Tails are read by the same code
//! whether a text is searched or a stream is asked how much of it is settled.

use crate::label::Label;
use crate::validate::context::Context;

/// What may stand before a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Anything that starts a word or follows one.
    Any,
    /// No digit, letter, or decimal point that follows a digit.
    Number,
    /// No letter, digit or mark that could belong to the same token.
    Token,
    /// No letter or digit: what begins here tells by itself what it is, so that it may stand in
    /// the name of a file or between marks of emphasis.
    Word,
}

/// How a match goes on after its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It ends with the head.
    None,
    /// Every following byte of the class.
    Run(Class),
    /// To the end of a private key block, or of the text.
    Block,
    /// One value: quoted, or up to white space.
    Value,
    /// The next bytes, at most so many: a check reads as much of them as the value takes. Until
    /// they are all there, nothing is decided.
    Near(usize),
}

/// Bytes that a run may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The base64url alphabet and the dot between parts of a token.
    Dotted,
    /// The base64url alphabet.
    Word,
    /// Both base64 alphabets and padding.
    Base64,
}

/// How a value is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    /// By this byte.
    Plain(u8),
    /// By this byte after a backslash: JSON in a string.
    Escaped(u8),
}

/// A match to be judged.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'t> {
    /// The whole searched text, normalised.
    pub text: &'t str,
    /// Where the head begins.
    pub start: usize,
    /// Where the head ends and the tail begins.
    pub head: usize,
    /// Where the tail ends.
    pub end: usize,
    /// The tail's value without its quotes; empty if the tail is none.
    pub value: &'t str,
    /// Where that value begins.
    pub value_at: usize,
    /// Where it ends; `value` holds only as much of it as is judged.
    pub value_end: usize,
    /// How it is quoted.
    pub quote: Option<Quote>,
    /// The words beside it.
    pub context: Context<'t>,
}

impl<'t> Candidate<'t> {
    /// The matched text.
    pub(crate) fn matched(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// The byte after the match.
    pub(crate) fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.end).copied()
    }

    /// The byte before the match.
    pub(crate) fn previous(&self) -> Option<u8> {
        self.start
            .checked_sub(1)
            .and_then(|at| self.text.as_bytes().get(at).copied())
    }

    /// The value of the tail as a hit, known by the words before it.
    pub(crate) fn valued(&self, label: Label, score: u8) -> Option<Hit> {
        let (start, end) = (self.value_at, self.value_end);
        Some(Hit {
            start,
            end,
            label,
            score,
            certain: false,
        })
    }

    /// The match as a hit.
    pub(crate) fn whole(&self, label: Label, score: u8) -> Option<Hit> {
        Some(Hit {
            start: self.start,
            end: self.end,
            label,
            score,
            certain: true,
        })
    }
}

/// What a check found, in offsets of the normalised text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub start: usize,
    pub end: usize,
    pub label: Label,
    pub score: u8,
    pub certain: bool,
}

impl Hit {
    /// The same, known only by the words beside it.
    pub(crate) fn by_context(self) -> Option<Hit> {
        Some(Hit {
            certain: false,
            ..self
        })
    }
}

/// Judges one match.
pub(crate) type Check = fn(&Candidate<'_>) -> Option<Hit>;

/// One rule.
#[derive(Clone)]
pub(crate) struct Rule {
    /// Names it in records.
    pub name: &'static str,
    /// What its matches are, where the check does not say otherwise.
    pub label: Label,
    /// The head: a regular expression over bytes, ASCII classes, bounded.
    pub head: std::borrow::Cow<'static, str>,
    /// What may stand before.
    pub left: Left,
    /// What follows the head.
    pub tail: Tail,
    /// Decides.
    pub judge: Judge,
    /// Whether the check refuses what no name of such numbers stands beside.
    pub beside: bool,
}

impl Rule {
    /// Whether [`GLUE`](crate::rules::GLUE) belongs to the head.
    pub(crate) fn is_cue(&self) -> bool {
        matches!(self.judge, Judge::Scheme(_, crate::rules::Anchor::Cue))
    }
}

/// How matches of a rule are judged.
#[derive(Clone, Copy)]
pub(crate) enum Judge {
    /// Every match is a finding of the rule's label with this score.
    Always(u8),
    /// The function decides.
    Check(Check),
    /// The value behind a cue or of a shape, as its scheme says.
    Scheme(&'static crate::rules::Scheme, crate::rules::Anchor),
}
