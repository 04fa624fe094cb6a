//! What is replaced in a text of a reply: tokens of the session, and what the engine finds.

use std::ops::Range;

use super::text::Text;
use super::{ReplyRefusal, Sight};
use crate::finding::{Finding, Look};
use crate::label::Label;
use crate::spans::is_sealed;
use crate::vault::Shape;

/// A finding of the engine: where, what, by which rule.
pub(super) type Found = (Range<usize>, Label, &'static str);

/// Something to replace: a token of the session, or a finding.
pub(super) enum Span {
    Found(Range<usize>, Label, &'static str),
    Token(Range<usize>, usize),
}

impl Span {
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Found(range, ..) | Self::Token(range, _) => range.clone(),
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
        let (text, engine) = (self.slice(window), sight.cx.engine);
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
            .map(|found| {
                (
                    window + found.start..window + found.end,
                    found.label,
                    found.rule,
                )
            })
            .collect()
    }

    /// What is to be replaced among what starts before `limit`, in order. Tokens of the session
    /// come first: a finding that covers one is made of what stands beside it.
    pub(super) fn spans(
        &self,
        sight: &Sight<'_>,
        found: &[(Range<usize>, usize)],
        findings: Vec<Found>,
        limit: usize,
    ) -> Result<Vec<Span>, ReplyRefusal> {
        let mut spans: Vec<Span> = Vec::new();
        for (range, label, rule) in findings
            .into_iter()
            .filter(|(range, ..)| range.start < limit)
        {
            let mut inside = found
                .iter()
                .filter(|(token, _)| token.start < range.end && range.start < token.end)
                .peekable();
            if inside.peek().is_none() {
                spans.push(Span::Found(range, label, rule));
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
                    spans.push(Span::Found(gap, label, rule));
                }
                from = from.max(next);
            }
        }
        let tokens = found.iter().filter(|(range, _)| range.start < limit);
        spans.extend(tokens.map(|(range, entry)| Span::Token(range.clone(), *entry)));
        spans.sort_by_key(|span| span.range().start);
        Ok(spans)
    }

    fn rest(
        &self,
        sight: &Sight<'_>,
        range: Range<usize>,
        spans: &mut Vec<Span>,
    ) -> Result<(), ReplyRefusal> {
        for Finding {
            start,
            end,
            label,
            rule,
            ..
        } in sight
            .cx
            .engine
            .find(self.slice(range.clone()), self.field())?
        {
            spans.push(Span::Found(
                range.start + start..range.start + end,
                label,
                rule,
            ));
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
            Span::Token(_, entry) => {
                let Some(entry) = sight.cx.vault.entry(*entry) else {
                    return Ok(None);
                };
                if !sight.cx.policy.restores(entry.label, sight.destination) {
                    sight.receipt.withhold(entry.label);
                    return Ok(None);
                }
                sight.receipt.restore(entry.label, sight.destination);
                Ok(Some((entry.value.clone(), entry.shape == Shape::Number)))
            }
            Span::Found(range, label, rule) => {
                // The window's own text shows whether a mask of ours stands there.
                let whole = self.base..self.base + self.buffer.len();
                let local = range.start - self.base..range.end - self.base;
                if is_sealed(self.slice(whole), &local) {
                    return Ok(None);
                }
                let value = self.slice(range.clone());
                Ok(sight.masked(value, *label, rule)?.map(|text| (text, false)))
            }
        }
    }
}
