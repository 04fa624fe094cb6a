//! The search of text that comes in pieces.
//!
//! What is decided about a place must not depend on how the text was cut into pieces. So each
//! finding is made in a window whose start depends only on where the finding starts (cells of
//! [`CELL`] bytes, with some left context), text behind [`Engine::undecided`] waits, and a match
//! that does not end is given up on at fixed offsets only ([`GRID`]).
//!
//! [`Engine::undecided`]: crate::Engine::undecided

use std::ops::Range;

use super::receipt::LookAlikes;
use super::tolerant::{Tokens, tokens};
use super::{Decided, ReplyRefusal, Sight};
use crate::engine::Engine;
use crate::finding::{Field, Finding, Open};
use crate::label::Label;
use crate::policy::{Action, Direction};
use crate::spans::is_sealed;
use crate::token;
use crate::vault::Shape;

/// Findings that start in the same cell are made in windows with the same start.
const CELL: usize = 1024;
/// Text before a cell that its windows begin with.
const LEFT: usize = 512;
/// Offsets at which an open match is given up on if it is that long.
const GRID: usize = 512;
/// Masked text that is shown again to the match it belongs to.
const TAIL: usize = 128;

const _: () = assert!(LEFT >= Engine::LEFT_CONTEXT && GRID >= Engine::LONGEST_UNDECIDED);

/// A text that is being searched. Offsets count from its first byte.
pub(super) struct Text {
    buffer: String,
    /// Offset of the buffer's first byte.
    base: usize,
    /// What was looked at so far.
    fed: usize,
    /// What is decided.
    at: usize,
    /// Where the last masked match ended; windows do not reach before it.
    floor: usize,
    /// A masked match that has not ended, and its last bytes.
    open: Option<(Open, String)>,
    key: Option<String>,
    certain_only: bool,
    alike: LookAlikes,
}

/// A finding of the engine: where, what, by which rule.
type Found = (Range<usize>, Label, &'static str);

/// Something to replace: a token of the session, or a finding.
enum Span {
    Found(Range<usize>, Label, &'static str),
    Token(Range<usize>, usize),
}

impl Span {
    fn range(&self) -> Range<usize> {
        match self {
            Self::Found(range, ..) | Self::Token(range, _) => range.clone(),
        }
    }
}

impl Text {
    /// A text that stands under a key.
    pub(super) fn new(key: Option<String>) -> Self {
        Self {
            buffer: String::new(),
            base: 0,
            fed: 0,
            at: 0,
            floor: 0,
            open: None,
            key,
            certain_only: false,
            alike: LookAlikes::default(),
        }
    }

    /// A JSON key: only what shows by itself is found in it.
    pub(super) fn of_key() -> Self {
        Self {
            certain_only: true,
            ..Self::new(None)
        }
    }

    /// A text that goes on at `at` behind text which was decided elsewhere and is only context.
    pub(super) fn behind(context: &str, at: usize) -> Self {
        let context = last_bytes(context, LEFT);
        let base = at - context.len();
        Self {
            buffer: context.to_owned(),
            base,
            fed: at,
            at,
            ..Self::new(None)
        }
    }

    /// Takes the next piece; `last` says that there is no other.
    pub(super) fn push(
        &mut self,
        sight: &mut Sight<'_>,
        piece: &str,
        last: bool,
    ) -> Result<Decided, ReplyRefusal> {
        self.buffer.push_str(piece);
        let end = self.base + self.buffer.len();
        let mut out = Decided::default();
        loop {
            let grid = self.boundary((self.fed / GRID + 1) * GRID);
            let to = grid.min(end);
            self.step(sight, to, grid <= end, last && to == end, &mut out)?;
            self.fed = to;
            if to == end {
                break;
            }
        }
        out.upto = self.at;
        self.forget();
        Ok(out)
    }

    /// Looks at the text up to `to`.
    fn step(
        &mut self,
        sight: &mut Sight<'_>,
        to: usize,
        grid: bool,
        last: bool,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        loop {
            if self.open.is_some() && !self.close(to, out) {
                return Ok(());
            }
            if self.at >= to {
                return Ok(());
            }
            let before = self.at;
            self.decide(sight, to, last, out)?;
            if self.at == before {
                if !grid || to - self.at < GRID {
                    return Ok(());
                }
                self.give_up(sight, to, out)?;
            }
        }
    }

    /// Decides as much of the cell at hand as can be.
    fn decide(
        &mut self,
        sight: &mut Sight<'_>,
        to: usize,
        last: bool,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        let (at, window) = (self.at, self.window());
        let text = self.slice(window..to);
        let engine = sight.cx.engine;
        let settled = if last {
            to
        } else {
            window + engine.undecided(text, self.field())
        };
        let Tokens { found, hold } = tokens(self.slice(at..to), sight.cx.vault, last);
        let found: Vec<_> = found
            .into_iter()
            .map(|(r, entry)| (at + r.start..at + r.end, entry))
            .collect();
        let cell = self.boundary((at / CELL + 1) * CELL).min(to);
        let mut limit = settled.min(at + hold).min(cell);
        if limit <= at {
            return Ok(());
        }
        let findings = self.findings(sight, window..to)?;
        // A span that is not whole yet waits, and so does everything behind it.
        for (range, _) in &found {
            if range.start < limit && range.end > settled {
                limit = range.start;
            }
        }
        for (range, ..) in &findings {
            if range.start < limit && range.start >= at && range.end > settled.min(at + hold) {
                limit = range.start;
            }
        }
        let spans = self.spans(sight, &found, findings, limit)?;
        self.release(sight, spans, limit, out)
    }

    /// A match of which no end is in sight is masked from its start, and what follows dropped
    /// until it ends.
    fn give_up(
        &mut self,
        sight: &mut Sight<'_>,
        to: usize,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        let window = self.window();
        let open = sight.cx.engine.open(self.slice(window..to), self.field());
        let start = open
            .as_ref()
            .map_or(to, |open| (window + open.start).clamp(self.at, to));
        let Tokens { found, .. } = tokens(self.slice(self.at..to), sight.cx.vault, true);
        let found: Vec<_> = found
            .into_iter()
            .map(|(r, entry)| (self.at + r.start..self.at + r.end, entry))
            .filter(|(range, _)| range.end <= start)
            .collect();
        let mut findings = self.findings(sight, window..to)?;
        findings.retain(|(range, ..)| range.end <= start);
        let spans = self.spans(sight, &found, findings, start)?;
        self.release(sight, spans, start, out)?;
        let Some(open) = open else { return Ok(()) };
        match sight.cx.policy.action(open.label, Direction::Reply) {
            Action::Allow => self.at = to,
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

    /// Drops text that belongs to the open match. Whether it ended.
    fn close(&mut self, to: usize, out: &mut Decided) -> bool {
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

    /// The engine's findings from what is undecided on.
    fn findings(
        &self,
        sight: &Sight<'_>,
        window: Range<usize>,
    ) -> Result<Vec<Found>, ReplyRefusal> {
        let found = sight
            .cx
            .engine
            .find(self.slice(window.clone()), self.field())?;
        let found = found
            .into_iter()
            .filter(|finding| finding.certain || !self.certain_only);
        let found = found.map(
            |Finding {
                 start,
                 end,
                 label,
                 rule,
                 ..
             }| { (window.start + start..window.start + end, label, rule) },
        );
        Ok(found.filter(|(range, ..)| range.start >= self.at).collect())
    }

    /// What is to be replaced among what starts before `limit`, in order. Tokens of the session
    /// come first: what a finding covers beside one is searched again on its own.
    fn spans(
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
            let inside: Vec<&Range<usize>> = found
                .iter()
                .map(|(token, _)| token)
                .filter(|token| token.start < range.end && range.start < token.end)
                .collect();
            if inside.is_empty() {
                spans.push(Span::Found(range, label, rule));
                continue;
            }
            let mut from = range.start;
            for gap_end in inside.iter().map(|token| token.start).chain([range.end]) {
                if from < gap_end {
                    self.rest(sight, from..gap_end, &mut spans)?;
                }
                let next = inside.iter().find(|token| token.start == gap_end);
                from = from.max(next.map_or(gap_end, |token| token.end));
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

    /// Enters the replacements and counts the text up to `limit`, or the end of the last span,
    /// as decided.
    fn release(
        &mut self,
        sight: &mut Sight<'_>,
        spans: Vec<Span>,
        limit: usize,
        out: &mut Decided,
    ) -> Result<(), ReplyRefusal> {
        for span in spans {
            let range = span.range();
            if range.start < self.at {
                continue;
            }
            if let Some((text, number)) = self.replacement(sight, &span)? {
                self.keep(sight, range.start);
                out.replace(range.clone(), text, number);
                self.at = range.end;
            } else {
                self.keep(sight, range.end);
            }
        }
        if limit > self.at {
            self.keep(sight, limit);
        }
        Ok(())
    }

    fn keep(&mut self, sight: &mut Sight<'_>, to: usize) {
        let text = self
            .buffer
            .get(self.at - self.base..to - self.base)
            .unwrap_or_default();
        let vault = sight.cx.vault;
        sight.receipt.unresolved += self.alike.count(text, |token| vault.exact(token).is_some());
        self.at = to;
    }

    /// What is put in the place of a span, if it is not left as it is, and whether that is a
    /// number literal.
    fn replacement(
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

    fn field(&self) -> Field<'_> {
        Field {
            key: self.key.as_deref(),
            direction: Direction::Reply,
        }
    }

    /// Where the window of the cell at hand starts.
    fn window(&self) -> usize {
        let start = (self.at / CELL * CELL).saturating_sub(LEFT);
        self.boundary(start.max(self.floor).max(self.base))
            .min(self.at)
    }

    fn slice(&self, range: Range<usize>) -> &str {
        self.buffer
            .get(range.start - self.base..range.end - self.base)
            .unwrap_or_default()
    }

    /// The character boundary at or behind an offset, as far as there is text.
    fn boundary(&self, offset: usize) -> usize {
        let mut local = offset.saturating_sub(self.base);
        while local < self.buffer.len() && !self.buffer.is_char_boundary(local) {
            local += 1;
        }
        self.base + local
    }

    /// Lets go of text that no window will reach again.
    fn forget(&mut self) {
        let start = self.window();
        if start - self.base >= CELL {
            self.buffer.drain(..start - self.base);
            self.base = start;
        }
    }
}

/// The last bytes of a text, on a character boundary.
fn last_bytes(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}
