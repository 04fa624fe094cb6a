//! From segments to windows, from windows to batches, and from windows back to words.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::WINDOW;
use super::network::{CLASSES, Chances, Numbers};
use super::segment::{Segment, Setting};
use super::wordpiece::{Id, Vocabulary, Word};

/// Pieces that two windows of one segment share.
const OVERLAP: usize = 16;
/// Pieces that a batch holds, padding included: more make no piece cheaper.
const BATCH: usize = 512;
/// Pieces of a key that are shown to the network in front of its value.
const CONTEXT: usize = 12;
/// Longer sentences of one line are read apart, shorter ones together up to this many pieces.
const TOGETHER: usize = 64;

/// What the network is shown at a time.
pub(super) struct Window {
    /// The number of the text.
    pub(super) item: usize,
    /// Where the segment begins that the window is part of.
    pub(super) segment: usize,
    /// Marks of beginning and end included.
    pub(super) ids: Vec<Id>,
    /// Pieces in front of the first word: the mark, and the context.
    lead: usize,
    /// Where each word stands in the text, and how many pieces it has.
    words: Vec<(Range<usize>, usize)>,
    setting: Setting,
}

impl Window {
    pub(super) fn setting(&self) -> Setting {
        self.setting
    }

    /// Where each word stands in the text, and which pieces are its own.
    #[cfg(test)]
    pub(super) fn words(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let mut at = self.lead;
        let pieces = self.words.iter().map(|(_, count)| {
            at += count;
            at - count..at
        });
        let pieces = pieces.collect();
        (
            self.words.iter().map(|(range, _)| range.clone()).collect(),
            pieces,
        )
    }
}

/// A word and what the network says about it.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) range: Range<usize>,
    pub(super) chances: Chances,
}

/// Cuts a segment into windows and adds them.
pub(super) fn cut(
    vocabulary: &Vocabulary,
    text: &str,
    segment: &Segment<'_>,
    item: usize,
    windows: &mut Vec<Window>,
) {
    let mut words = vocabulary.words(text, segment.body.clone());
    words.retain(|word| !segment.is_opaque(word.range.start));
    let mut lead = vec![vocabulary.begin];
    if !segment.context.is_empty() {
        let context = vocabulary.words(segment.context, 0..segment.context.len());
        lead.extend(context.iter().flat_map(|word| &word.ids).take(CONTEXT));
        let colon = vocabulary.words(":", 0..1);
        lead.extend(colon.iter().flat_map(|word| &word.ids));
    }
    let room = WINDOW + 1 - lead.len();
    for part in parts(text, &words, room) {
        let own = words.get(part).unwrap_or_default();
        let mut ids = lead.clone();
        ids.extend(own.iter().flat_map(|word| &word.ids));
        ids.push(vocabulary.end);
        windows.push(Window {
            item,
            segment: segment.body.start,
            ids,
            lead: lead.len(),
            words: own
                .iter()
                .map(|word| (word.range.clone(), word.ids.len()))
                .collect(),
            setting: segment.setting,
        });
    }
}

/// Which words go together: all, if they fit; else sentences; else overlapping stretches. A part
/// depends on nothing that comes after it but its own words.
fn parts(text: &str, words: &[Word], room: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if words.is_empty() {
        return parts;
    }
    let length = |range: Range<usize>| -> usize {
        let own = words.get(range).unwrap_or_default();
        own.iter().map(|word| word.ids.len()).sum()
    };
    if length(0..words.len()) <= room {
        parts.push(0..words.len());
        return parts;
    }
    let mut start = 0;
    let mut end = 0;
    for sentence in sentences(text, words) {
        if end > start && length(start..sentence.end) > TOGETHER.min(room) {
            stretches(words, start..end, room, &mut parts);
            start = sentence.start;
        }
        end = sentence.end;
    }
    stretches(words, start..end, room, &mut parts);
    parts
}

/// Stretches of at most `room` pieces, each sharing its first words with the one before.
fn stretches(words: &[Word], range: Range<usize>, room: usize, parts: &mut Vec<Range<usize>>) {
    let size = |at: usize| words.get(at).map_or(0, |word| word.ids.len());
    let mut start = range.start;
    while start < range.end {
        let (mut end, mut length) = (start, 0);
        while end < range.end && (length + size(end) <= room || end == start) {
            length += size(end);
            end += 1;
        }
        parts.push(start..end);
        if end == range.end {
            break;
        }
        let (mut next, mut shared) = (end, 0);
        while next > start + 1 && shared < OVERLAP {
            next -= 1;
            shared += size(next);
        }
        start = next;
    }
}

/// Sentences end behind a mark that a space follows, unless what it stands behind is as short as
/// an abbreviation.
fn sentences(text: &str, words: &[Word]) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, pair) in words.windows(2).enumerate() {
        let [mark, next] = pair else { continue };
        let apart = next.range.start > mark.range.end;
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let short = before.is_none_or(|word| word.range.len() <= 3);
        let ends = match text.get(mark.range.clone()) {
            Some("." | ":") => apart && !short,
            Some("!" | "?" | ";") => apart,
            _ => false,
        };
        if ends {
            sentences.push(start..at + 1);
            start = at + 1;
        }
    }
    sentences.push(start..words.len());
    sentences
}

/// Rows of about the same length that are run together.
pub struct Batch {
    pub(super) rows: Vec<(usize, Vec<Id>)>,
}

impl Batch {
    pub(super) fn longest(&self) -> usize {
        self.rows
            .iter()
            .map(|(_, ids)| ids.len())
            .max()
            .unwrap_or(0)
    }

    /// How many pieces the network goes through, padding included.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.rows.len() * self.longest()
    }
}

/// All windows in batches, the short ones first.
pub(super) fn batches(windows: &[Window]) -> Vec<Arc<Batch>> {
    let mut order: Vec<(usize, &Window)> = windows.iter().enumerate().collect();
    order.sort_by_key(|(number, window)| (window.ids.len(), *number));
    let mut batches = Vec::new();
    let mut rows: Vec<(usize, Vec<Id>)> = Vec::new();
    for (number, window) in order {
        if !rows.is_empty() && (rows.len() + 1) * window.ids.len() > BATCH {
            let full = std::mem::take(&mut rows);
            batches.push(Arc::new(Batch { rows: full }));
        }
        rows.push((number, window.ids.clone()));
    }
    if !rows.is_empty() {
        batches.push(Arc::new(Batch { rows }));
    }
    batches
}

/// The words of one segment's windows. Where windows overlap, the one with the most context on
/// both sides is believed. `None` if the numbers are not those of the windows.
pub(super) fn words(windows: &[Window], numbers: &[&Numbers]) -> Option<Vec<Read>> {
    let mut best: BTreeMap<usize, (usize, Read)> = BTreeMap::new();
    for (window, numbers) in windows.iter().zip(numbers) {
        if numbers.len() != window.ids.len() {
            return None;
        }
        let mut piece = window.lead;
        for (at, (range, count)) in window.words.iter().enumerate() {
            let own = numbers.get(piece..piece + count)?;
            piece += count;
            let context = at.min(window.words.len() - 1 - at);
            let read = Read {
                range: range.clone(),
                chances: mean(own),
            };
            let known = best.get(&range.start);
            if known.is_none_or(|(known, _)| *known < context) {
                best.insert(range.start, (context, read));
            }
        }
    }
    Some(best.into_values().map(|(_, read)| read).collect())
}

fn mean(pieces: &[Chances]) -> Chances {
    let mut sum = [0.0; CLASSES];
    for piece in pieces {
        for (total, chance) in sum.iter_mut().zip(piece) {
            *total += chance;
        }
    }
    // No word has more pieces than characters, so the count is exact.
    let count = u16::try_from(pieces.len().max(1)).map_or(1.0, f32::from);
    sum.map(|total| total / count)
}
