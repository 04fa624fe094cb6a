//! Matches that do not end: masked from their start, dropped until they end.

use super::span::Span;
use super::text::{Text, last_bytes};
use super::tolerant::Tokens;
use super::{Decided, ReplyRefusal, Sight};
use crate::finding::Look;
use crate::label::Label;
use crate::policy::{Action, Direction};
use crate::token;

/// Masked text that is shown again to the match it belongs to.
const TAIL: usize = 128;
/// More undecided text than this is not held.
const MOST_HELD: usize = 2048;

impl Text {
    /// A match of which no end is in sight is masked from its start, and what follows dropped
    /// until it ends.
    pub(super) fn give_up(
        &mut self,
        sight: &mut Sight<'_>,
        to: usize,
        look: Look,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        let window = self.window();
        let mut findings = self.findings(&look, window);
        let Some(open) = look.open else {
            self.hold(sight, to, out);
            return Ok(());
        };
        let start = (window + open.start).clamp(self.at, to);
        let Tokens { mut found, .. } = self.tokens(sight, to, true);
        found.retain(|token| token.range.end <= start);
        for found in &mut findings {
            found.as_number(self.number(&found.range, to, true));
        }
        findings.retain(|found| found.range.end <= start);
        let spans = self.spans(sight, &found, findings, start)?;
        self.release(sight, spans, start, out)?;
        match sight.cx.policy.action(open.label, Direction::Reply) {
            Action::Allow => self.pass(sight, to, out)?,
            Action::Block => {
                return Err(ReplyRefusal::Blocked {
                    label: open.label,
                    rule: open.rule,
                });
            }
            // A hash would need the whole value.
            Action::Hash | Action::Mask | Action::Pseudonymize => {
                sight.receipt.mask(open.label);
                out.replace(start..to, token::mask(open.label), false);
                let tail = last_bytes(self.slice(start..to), TAIL).to_owned();
                self.open = Some((open, tail));
                self.at = to;
            }
        }
        Ok(())
    }

    /// Lets an open match pass up to `to`, but for the session's tokens in it.
    fn pass(
        &mut self,
        sight: &mut Sight<'_>,
        to: usize,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        let Tokens { mut found, hold } = self.tokens(sight, to, false);
        let limit = hold.min(to);
        found.retain(|token| token.range.end <= limit);
        let spans = found.into_iter().map(Span::Token).collect();
        self.release(sight, spans, limit, out)
    }

    /// Undecided text that belongs to no open match goes on waiting: for a token to end beside
    /// it, say. The engine promises that this is never for long; if it were, the text is masked
    /// rather than kept without bound or let go.
    fn hold(&mut self, sight: &mut Sight<'_>, to: usize, out: &mut Decided) {
        if to - self.at > MOST_HELD {
            sight.receipt.mask(Label::ENCODED);
            out.replace(self.at..to, token::mask(Label::ENCODED), false);
            self.at = to;
        }
    }

    /// Drops text that belongs to the open match. Whether it ended.
    pub(super) fn close(&mut self, to: usize, out: &mut Decided) -> bool {
        let Some((open, tail)) = self.open.take() else {
            return true;
        };
        let more = format!("{tail}{}", self.slice(self.at..to));
        let end = open
            .end(&more)
            .map(|end| self.boundary(self.at + end.saturating_sub(tail.len())));
        let dropped = end.unwrap_or(to).min(to);
        if dropped > self.at {
            out.replace(self.at..dropped, String::new(), false);
        }
        self.at = dropped;
        if end.is_none() {
            let tail = last_bytes(&more, TAIL).to_owned();
            self.open = Some((open, tail));
            return false;
        }
        self.floor = dropped;
        true
    }
}
