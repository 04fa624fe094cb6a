//! The search of text that comes in pieces.
//!
//! What is decided about a place must not depend on how the text was cut into pieces. So each
//! finding is made in a window whose start depends only on where the finding starts (cells of
//! [`CELL`] bytes, with some left context), text behind [`Engine::undecided`] waits, and a match
//! that does not end is given up on at fixed offsets only ([`GRID`]).
//!
//! [`Engine::undecided`]: crate::Engine::undecided

use std::ops::Range;

use super::number::Number;
use super::receipt::LookAlikes;
use super::span::Span;
use super::tolerant::{Token, Tokens, tokens};
use super::{Decided, ReplyRefusal, Sight};
use crate::engine::Engine;
use crate::finding::{Field, Look, Open};
use crate::policy::Direction;

/// Findings that start in the same cell are made in windows with the same start.
const CELL: usize = 512;
/// Text before a cell that its windows begin with.
const LEFT: usize = 512;
/// Offsets at which an open match is given up on if it is longer than that.
const GRID: usize = 512;
/// Text behind a grid's offset that is looked at with what lies before it, if it is there: it says of nearly
/// everything before whether it is decided, so that no window is looked at twice.
const AHEAD: usize = 256;

const _: () = assert!(LEFT >= Engine::LEFT_CONTEXT && GRID >= Engine::LONGEST_UNDECIDED);

/// A text that is being searched. Offsets count from its first byte.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) buffer: String,
    /// Offset of the buffer's first byte.
    pub(super) base: usize,
    /// What was looked at so far.
    fed: usize,
    /// What is decided.
    pub(super) at: usize,
    /// Where the last masked match ended; windows do not reach before it.
    pub(super) floor: usize,
    /// A masked match that has not ended, and its last bytes.
    pub(super) open: Option<(Open, String)>,
    /// Where the last token of the session ended.
    pub(super) tag: Option<usize>,
    key: Option<String>,
    pub(super) certain_only: bool,
    alike: LookAlikes,
    /// What the engine saw last, and in which window: once a part is decided, the rest is looked at anew.
    seen: Option<Box<Seen>>,
}

/// What the engine saw in a window, and whether the text ends with it.
#[derive(Clone)]
struct Seen {
    window: Range<usize>,
    last: bool,
    look: Look,
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
            tag: None,
            key,
            certain_only: false,
            alike: LookAlikes::default(),
            seen: None,
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
            let (before, known) = (self.at, self.known(to));
            if let Some(look) = self.decide(sight, (to, known), last, out)? {
                if grid && to.saturating_sub(self.at) > GRID {
                    self.give_up(sight, to, look, out)?;
                }
                if self.at == before {
                    return Ok(());
                }
            }
        }
    }

    /// How far is looked to decide what lies before `to`: no further, if that might be given up on there.
    fn known(&self, to: usize) -> usize {
        match self.at + GRID < to {
            true => to,
            false => self.boundary(to + AHEAD).min(self.base + self.buffer.len()),
        }
    }

    /// Decides as much of the cell at hand as can be, by what is known. What the engine saw, if
    /// that is nothing.
    fn decide(
        &mut self,
        sight: &mut Sight<'_>,
        (to, known): (usize, usize),
        last: bool,
        out: &mut Decided,
    ) -> Result<Option<Look>, ReplyRefusal> {
        let (at, window) = (self.at, self.window());
        let look = match self.seen.take() {
            Some(seen) if seen.window == (window..known) && seen.last == last => seen.look,
            _ => self.look(sight, window..known, last)?,
        };
        let settled = if last { known } else { window + look.settled };
        let Tokens { found, hold } = self.tokens(sight, known, last);
        let cell = self.boundary((at / CELL + 1) * CELL).min(to);
        let mut limit = settled.min(hold).min(cell);
        if limit <= at {
            return Ok(Some(look));
        }
        let mut findings = self.findings(&look, window);
        // A span that is not whole yet waits, and so does everything behind it.
        for Token { range, .. } in &found {
            if range.start < limit && range.end > settled {
                limit = range.start;
            }
        }
        for found in &mut findings {
            let number = self.number(&found.range, known, last);
            let waits = number == Number::Perhaps;
            found.as_number(number);
            if found.range.start < limit && (found.range.end > settled.min(hold) || waits) {
                limit = found.range.start;
            }
        }
        let spans = self.spans(sight, &found, findings, limit)?;
        self.release(sight, spans, limit, out)?;
        if self.at == at {
            return Ok(Some(look));
        }
        self.seen = Some(Box::new(Seen {
            window: window..known,
            last,
            look,
        }));
        Ok(None)
    }

    /// The session's tokens in what is undecided up to `to`.
    pub(super) fn tokens(&self, sight: &Sight<'_>, to: usize, last: bool) -> Tokens {
        let at = self.at;
        let before = self.slice(self.base..at).chars().next_back();
        let mut tokens = tokens(self.slice(at..to), before, sight.cx.vault, last);
        tokens.hold += at;
        for token in &mut tokens.found {
            token.range = at + token.range.start..at + token.range.end;
        }
        if sight.cx.vault.has_numbers() {
            self.unquote(sight, to, last, &mut tokens);
        }
        tokens
    }

    /// Enters the replacements and counts the text up to `limit`, or the end of the last span,
    /// as decided.
    pub(super) fn release(
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
            if matches!(span, Span::Token(_)) {
                self.tag = Some(range.end);
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

    pub(super) fn field(&self) -> Field<'_> {
        Field {
            key: self.key.as_deref(),
            direction: Direction::Reply,
        }
    }

    /// Where the window of the cell at hand starts.
    pub(super) fn window(&self) -> usize {
        let start = (self.at / CELL * CELL).saturating_sub(LEFT);
        self.boundary(start.max(self.floor).max(self.base))
            .min(self.at)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        self.buffer
            .get(range.start - self.base..range.end - self.base)
            .unwrap_or_default()
    }

    /// The character boundary at or behind an offset, as far as there is text.
    pub(super) fn boundary(&self, offset: usize) -> usize {
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
pub(super) fn last_bytes(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}
