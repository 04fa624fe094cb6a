//! Numbers of JSON that stands inside of a text: a string that is the token of one becomes that number,
//! and a number that is masked becomes a string, so that what was JSON is JSON.

use std::ops::Range;

use super::Sight;
use super::spelling::Form;
use super::text::Text;
use super::tolerant::{Token, Tokens};
use crate::slot::{self, End};
use crate::vault::Shape;

/// Whether what was found is a number of JSON in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Where all of it stands, and the backslashes of quotes around there.
    Is(Range<usize>, usize),
    No,
    /// The text ends before it is clear.
    Perhaps,
}

impl Text {
    /// Takes the quotes around tokens of numbers to them, and holds back a quote behind which such
    /// a token may come.
    pub(super) fn unquote(&self, sight: &Sight<'_>, to: usize, last: bool, tokens: &mut Tokens) {
        let is_number = |token: &Token| {
            let entry = sight.cx.vault.entry(token.entry);
            token.form == Form::Plain && entry.is_some_and(|entry| entry.shape == Shape::Number)
        };
        let mut waits = None;
        for token in tokens.found.iter_mut().filter(|token| is_number(token)) {
            let Some((start, slashes)) = self.opened(token.range.start) else {
                continue;
            };
            let quote = slot::quote(slashes);
            let behind = self.slice(token.range.end..to);
            let closing = match behind.strip_prefix(quote.as_str()) {
                Some(after) => slot::closes(after, slashes),
                None if quote.starts_with(behind) => End::Perhaps,
                None => End::No,
            };
            match closing {
                End::Closed => token.range = start..token.range.end + quote.len(),
                End::Perhaps if !last => waits = waits.or(Some(start)),
                End::Perhaps | End::No => {}
            }
        }
        if let Some(start) = waits {
            tokens.found.retain(|token| token.range.end <= start);
            tokens.hold = tokens.hold.min(start);
        }
        if !last && let Some((start, _)) = self.opened(tokens.hold) {
            tokens.hold = start;
        }
    }

    /// Where the quote before an offset begins, if a value of JSON begins with it, and its
    /// backslashes. What was released already is none.
    fn opened(&self, at: usize) -> Option<(usize, usize)> {
        let before = self.context(at);
        let slashes = slot::quote_at_end(before)?;
        let start = at - slashes - 1;
        let before = before.get(..before.len() - slashes - 1)?;
        (start >= self.at && slot::opens(before) == Some(slashes)).then_some((start, slashes))
    }

    /// What a finding is, if not more than `to` of the text is there.
    pub(super) fn number(&self, found: &Range<usize>, to: usize, last: bool) -> Number {
        let base = self.context_start(found.start);
        let text = self.slice(base..to);
        let local = slot::extent(text, &(found.start - base..found.end - base));
        let opened = text.get(..local.start).and_then(slot::opens);
        let Some(slashes) = opened.filter(|_| base + local.start >= self.at) else {
            return Number::No;
        };
        if local.end == text.len() && !last {
            return Number::Perhaps;
        }
        if !slot::is_number(text.get(local.clone())) {
            return Number::No;
        }
        match slot::closes(text.get(local.end..).unwrap_or_default(), slashes) {
            End::Closed => Number::Is(base + local.start..base + local.end, slashes),
            End::Perhaps if !last => Number::Perhaps,
            End::Perhaps | End::No => Number::No,
        }
    }

    /// The text before an offset that may be looked at: as much as is there however it was cut.
    fn context(&self, at: usize) -> &str {
        self.slice(self.context_start(at)..at)
    }

    fn context_start(&self, at: usize) -> usize {
        let start = at.saturating_sub(slot::REACH).max(self.floor);
        self.boundary(start.max(self.base)).min(at)
    }
}
