//! Tails without bound, read so that the work stays linear.

use crate::engine::Engine;
use crate::rule::Tail;
use crate::tail::{self, Extent};

/// What was read already.
#[derive(Default)]
pub(super) struct Memo {
    /// Starts inside one run of a class, or inside one block, share its end.
    shared: Vec<(Tail, usize, Extent)>,
    /// Where the last value that is a finding and too long to be read twice ends. Values that
    /// begin inside it end in it, and it wins over them.
    covered: usize,
    /// The last finding whose tail is a run: its rule, where it begins, where its run ends, and up
    /// to where no full stop stands behind its beginning.
    run: Option<(&'static str, usize, usize, usize)>,
    /// Bytes from here to there that neither end a value without quotes nor open a bracket.
    plain: (usize, usize),
}

/// How far a tail was read.
pub(super) enum Reading {
    /// To its end, or to the end of the text.
    Whole(Extent),
    /// As far as a verdict needs; the value goes on.
    Part(Extent),
    /// Inside a longer value that is a finding: it says nothing more.
    Covered,
}

impl Memo {
    /// Reads the tail at `head`, a value no further than a stream would hold it; adds the bytes
    /// read to `steps`.
    pub(super) fn read(
        &mut self,
        tail: Tail,
        text: &str,
        head: usize,
        steps: &mut usize,
    ) -> Reading {
        if tail == Tail::None {
            return Reading::Whole(tail::read(tail, text, head));
        }
        if tail == Tail::Value {
            let limit = head.saturating_add(Engine::LONGEST_UNDECIDED);
            let part = text.get(..text.floor_char_boundary(limit)).unwrap_or(text);
            let plain = self.plain(part.as_bytes(), head, steps);
            let rest = part.get(head..).unwrap_or_default();
            let extent = tail::value(rest, head, plain);
            *steps += extent.end.saturating_sub(head + plain);
            return match extent.open && part.len() < text.len() {
                true if head < self.covered => Reading::Covered,
                true => Reading::Part(extent),
                false => Reading::Whole(extent),
            };
        }
        if let Tail::Near(_) = tail {
            let extent = tail::read(tail, text, head);
            *steps += extent.end.saturating_sub(head);
            return Reading::Whole(extent);
        }
        let reusable = |(known, from, extent): &&(Tail, usize, Extent)| {
            *known == tail && *from <= head && head < extent.end
        };
        if let Some((.., extent)) = self.shared.iter().find(reusable) {
            return Reading::Whole(Extent {
                value: (head, extent.end),
                ..*extent
            });
        }
        let extent = tail::read(tail, text, head);
        *steps += extent.end.saturating_sub(head);
        self.shared.retain(|(known, ..)| *known != tail);
        self.shared.push((tail, head, extent));
        Reading::Whole(extent)
    }

    /// How many bytes from `head` on neither end a value without quotes nor open a bracket in it.
    /// Values may begin in one another, so what was read is not read again.
    fn plain(&mut self, part: &[u8], head: usize, steps: &mut usize) -> usize {
        let (from, to) = self.plain;
        let known = if from <= head && head < to { to } else { head };
        let rest = part.get(known..).unwrap_or_default();
        let more = rest.iter().position(|b| tail::may_end(*b));
        let more = more.unwrap_or(rest.len());
        *steps += more;
        if known == head {
            self.plain = (head, head);
        }
        self.plain.1 = known + more;
        (known + more).min(part.len()).saturating_sub(head)
    }

    /// Notes a finding of a rule whose tail is a run.
    pub(super) fn found_run(&mut self, rule: &'static str, start: usize, end: usize) {
        self.run = Some((rule, start, end, start));
    }

    /// Whether a finding of the same rule begins before in the same part of the same run: it ends
    /// where one from `start` would, and wins over it.
    pub(super) fn in_run(&mut self, rule: &'static str, text: &str, start: usize) -> bool {
        let Some((known, from, end, whole)) = &mut self.run else {
            return false;
        };
        if *known != rule || start <= *from || start >= *end {
            return false;
        }
        let more = text.as_bytes().get(*whole..start).unwrap_or_default();
        match more.contains(&b'.') {
            true => self.run = None,
            false => *whole = start.max(*whole),
        }
        self.run.is_some()
    }

    /// The rest of a value whose first part is a finding.
    pub(super) fn rest(
        &mut self,
        tail: Tail,
        text: &str,
        head: usize,
        steps: &mut usize,
    ) -> Extent {
        let extent = tail::read(tail, text, head);
        *steps += extent.end.saturating_sub(head);
        self.covered = extent.end;
        extent
    }
}
