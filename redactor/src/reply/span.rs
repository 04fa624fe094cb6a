//! What is replaced in a text of a reply: tokens of the session, and what the engine finds.

use std::ops::Range;

use super::number::Number;
use super::spelling::Form;
use super::text::Text;
use super::tolerant::Token;
use super::{ReplyRefusal, Sight};
use crate::finding::{Field, Finding, Look, ScanError};
use crate::label::Label;
use crate::slot;
use crate::spans::is_sealed;
use crate::vault::Shape;

/// Bytes of a quote that may stand between a name and its value.
const QUOTE: usize = 2;

/// A finding of the engine.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    label: Label,
    rule: &'static str,
    /// The backslashes of the quotes that its mask needs, if it is a number of JSON.
    quotes: Option<usize>,
}

impl Found {
    /// The same finding elsewhere.
    fn at(&self, range: Range<usize>) -> Self {
        Self {
            range,
            quotes: None,
            ..*self
        }
    }

    /// The finding as the number that it is.
    pub(super) fn as_number(&mut self, number: Number) {
        if let Number::Is(range, slashes) = number {
            (self.range, self.quotes) = (range, Some(slashes));
        }
    }
}

/// Something to replace: a token of the session, or a finding.
pub(super) enum Span {
    Found(Found),
    Token(Token),
}

impl Span {
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Found(Found { range, .. }) | Self::Token(Token { range, .. }) => range.clone(),
        }
    }
}

impl Text {
    /// What the engine sees in a window; at the end of the text everything is settled.
    pub(super) fn look(
        &self,
        sight: &Sight<'_>,
        window: Range<usize>,
        last: bool,
    ) -> Result<Look, ReplyRefusal> {
        let engine = sight.cx.engine;
        // A window that is not all there must not pass for one in which nothing is.
        let (from, to) = (
            window.start.checked_sub(self.base),
            window.end.checked_sub(self.base),
        );
        let text = from
            .zip(to)
            .and_then(|(from, to)| self.buffer.get(from..to));
        let text = text.ok_or(ScanError::Unanswered)?;
        if !last {
            return Ok(engine.look(text, self.field())?);
        }
        let findings = engine.find(text, self.field())?;
        Ok(Look {
            findings,
            settled: text.len(),
            open: None,
        })
    }

    /// The engine's findings from what is undecided on.
    pub(super) fn findings(&self, look: &Look, window: usize) -> Vec<Found> {
        let counts = |finding: &&Finding| {
            (finding.certain || !self.certain_only) && window + finding.start >= self.at
        };
        let found = look.findings.iter().filter(counts);
        found
            .map(|found| Found {
                range: window + found.start..window + found.end,
                label: found.label,
                rule: found.rule,
                quotes: None,
            })
            .collect()
    }

    /// What is to be replaced among what starts before `limit`, in order. Tokens of the session
    /// come first: a finding that covers one is made of what stands beside it.
    pub(super) fn spans(
        &self,
        sight: &Sight<'_>,
        found: &[Token],
        findings: Vec<Found>,
        limit: usize,
    ) -> Result<Vec<Span>, ReplyRefusal> {
        let mut spans: Vec<Span> = Vec::new();
        for finding in findings
            .into_iter()
            .filter(|found| found.range.start < limit)
        {
            let range = finding.range.clone();
            let mut inside = found
                .iter()
                .map(|token| (&token.range, token.entry))
                .filter(|(token, _)| token.start < range.end && range.start < token.end)
                .peekable();
            if inside.peek().is_none() {
                // To the rules `<PASSWORD_k7q2mz>` is a tag, and what stands behind it its value.
                let tags = found.iter().map(|token| token.range.end);
                let tags = tags.chain(self.tag);
                match tags.filter(|end| *end <= range.start).max() {
                    Some(end) if range.start - end <= QUOTE => {
                        self.rest(sight, end..range.end, &mut spans)?;
                    }
                    _ => spans.push(Span::Found(finding)),
                }
                continue;
            }
            let inside: Vec<_> = inside.collect();
            // If the secret in it is the session's own, the rest is what stands around a secret.
            // Otherwise the rest is part of the new value.
            let own_secret = inside.iter().any(|(_, entry)| {
                sight
                    .cx
                    .vault
                    .entry(*entry)
                    .is_some_and(|entry| entry.label.is_secret())
            });
            let mut from = range.start;
            let ends = inside.iter().map(|(token, _)| (token.start, token.end));
            for (gap_end, next) in ends.chain([(range.end, range.end)]) {
                let gap = from..gap_end.max(from);
                if own_secret {
                    self.rest(sight, gap, &mut spans)?;
                } else if self.slice(gap.clone()).contains(char::is_alphanumeric) {
                    spans.push(Span::Found(finding.at(gap)));
                }
                from = from.max(next);
            }
        }
        // With those in a finding that goes on behind the limit.
        let ends = spans.iter().map(|span| span.range().end);
        let reach = ends.chain([limit]).max().unwrap_or(limit);
        let tokens = found.iter().filter(|token| token.range.start < reach);
        spans.extend(tokens.cloned().map(Span::Token));
        spans.sort_by_key(|span| span.range().start);
        Ok(spans)
    }

    /// What is found in a part of the text by itself: it is not the value of the key.
    fn rest(
        &self,
        sight: &Sight<'_>,
        range: Range<usize>,
        spans: &mut Vec<Span>,
    ) -> Result<(), ReplyRefusal> {
        let alone = Field {
            key: None,
            ..self.field()
        };
        let findings = sight.cx.engine.find(self.slice(range.clone()), alone)?;
        for Finding {
            start,
            end,
            label,
            rule,
            ..
        } in findings
        {
            spans.push(Span::Found(Found {
                range: range.start + start..range.start + end,
                label,
                rule,
                quotes: None,
            }));
        }
        Ok(())
    }

    /// What is put in the place of a span, if it is not left as it is, and whether that is a
    /// number literal.
    pub(super) fn replacement(
        &self,
        sight: &mut Sight<'_>,
        span: &Span,
    ) -> Result<Option<(String, bool)>, ReplyRefusal> {
        match span {
            Span::Token(Token { entry, form, .. }) => {
                let Some(entry) = sight.cx.vault.entry(*entry) else {
                    return Ok(None);
                };
                if !sight.cx.policy.restores(entry.label, sight.destination) {
                    sight.receipt.withhold(entry.label);
                    return Ok(None);
                }
                sight.receipt.restore(entry.label, sight.destination);
                let bare = *form == Form::Plain && entry.shape == Shape::Number;
                Ok(Some((form.written(&entry.value), bare)))
            }
            Span::Found(found) => {
                let range = &found.range;
                // The window's own text shows whether a mask of ours stands there.
                let whole = self.base..self.base + self.buffer.len();
                let local = range.start - self.base..range.end - self.base;
                if is_sealed(self.slice(whole), &local) {
                    return Ok(None);
                }
                let value = self.slice(range.clone());
                let mask = sight.masked(value, found.label, found.rule)?;
                let quote = found.quotes.map_or_else(String::new, slot::quote);
                Ok(mask.map(|mask| (format!("{quote}{mask}{quote}"), false)))
            }
        }
    }
}
