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
}

/// How far a tail was read.
pub(super) enum Reading {
    /// To its end, or to the end of the text.
    Whole(Extent),
    /// As far as a verdict needs; the value goes on.
    Part(Extent),
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
        if tail == Tail::Value {
            let limit = head.saturating_add(Engine::LONGEST_UNDECIDED);
            let part = text.get(..text.floor_char_boundary(limit)).unwrap_or(text);
            let extent = tail::read(tail, part, head);
            *steps += extent.end.saturating_sub(head);
            return match extent.open && part.len() < text.len() {
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
        if tail != Tail::None {
            self.shared.retain(|(known, ..)| *known != tail);
            self.shared.push((tail, head, extent));
        }
        Reading::Whole(extent)
    }

    /// The rest of a value whose first part is a finding; nothing if it lies inside a longer one.
    pub(super) fn rest(
        &mut self,
        tail: Tail,
        text: &str,
        head: usize,
        steps: &mut usize,
    ) -> Option<Extent> {
        if head < self.covered {
            return None;
        }
        let extent = tail::read(tail, text, head);
        *steps += extent.end.saturating_sub(head);
        self.covered = extent.end;
        Some(extent)
    }
}
