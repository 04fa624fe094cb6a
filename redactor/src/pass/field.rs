//! Texts that are the whole value of a field: its key is their cue.

use super::{JUDGED, Search, Sink};
use crate::finding::ScanError;
use crate::key::Key;
use crate::label::Label;
use crate::pair::SEALED;
use crate::people;
use crate::rule::Hit;
use crate::rules;

/// The longest text that is read together with its key, in bytes.
const KEYED: usize = 160;

impl<'s> Search<'_, 's> {
    /// The key of a text that is all of its value, and what it says.
    fn over(&self) -> Option<(&'s str, &Key)> {
        let key = self.key.filter(|_| self.depth == 0)?;
        Some((key, self.says.as_deref()?))
    }

    /// A text that is the whole value of a key such as `password`.
    pub(super) fn field(&self, text: &str, sink: &mut Sink) {
        let Some((name, key)) = self.over() else {
            return;
        };
        let too_long = text.len() > JUDGED && (self.growing || name != SEALED);
        if too_long || !key.secret {
            return;
        }
        sink.settled = 0;
        let value = text.trim();
        if let Some((label, score)) = rules::under_key(name, value) {
            let start = text.len() - text.trim_start().len();
            let hit = Hit {
                start,
                end: start + value.len(),
                label,
                score,
                certain: false,
            };
            sink.hits.push((hit, "field"));
        }
    }

    /// A short text under a key that could head a column of dates or streets.
    pub(super) fn cell(&self, text: &str, sink: &mut Sink) {
        let column = self.over().and_then(|(_, key)| key.column.as_ref());
        let Some(column) = column.filter(|_| text.len() <= KEYED) else {
            return;
        };
        let value = text.trim();
        if !value.bytes().any(|b| b.is_ascii_digit()) {
            return;
        }
        sink.settled = 0;
        if let Some(found) = column.judge(value) {
            let start = text.len() - text.trim_start().len();
            let hit = Hit {
                start,
                end: start + found.length,
                label: found.label,
                score: found.score,
                certain: false,
            };
            sink.hits.push((hit, "field"));
        }
    }

    /// A short text under a key such as `dob`, `patient_name` or `cookie`: read as `dob: …`, as it
    /// would stand in prose.
    pub(super) fn keyed(&mut self, text: &str, sink: &mut Sink) -> Result<(), ScanError> {
        let Some((name, key)) = self.over() else {
            return Ok(());
        };
        let (named, secret) = (key.person, key.may_be_secret);
        let longest = if secret { JUDGED } else { KEYED };
        if text.len() > longest || !(named || secret || key.cue) {
            return Ok(());
        }
        sink.settled = 0;
        let before = name.len() + 2;
        let sentence = format!("{name}: {text}");
        let mut inner = Sink::new(sentence.len());
        self.heads(&sentence, &mut inner)?;
        self.people(&sentence, &mut inner);
        sink.steps += inner.steps;
        // Digits alone may be any number, and a number cannot be replaced in place: `…_id` says
        // too little of it.
        let doubtful =
            text.bytes().all(|b| b.is_ascii_digit()) && name.to_ascii_lowercase().ends_with("id");
        let hits = inner.hits.into_iter().filter_map(|(hit, rule)| {
            let start = hit.start.checked_sub(before)?;
            let sure = !doubtful || hit.score >= rules::CHECKED;
            let end = hit.end - before;
            sure.then_some((Hit { start, end, ..hit }, rule))
        });
        sink.hits.extend(hits);
        let value = text.trim();
        if named && people::may_be_name(value) {
            let start = text.len() - text.trim_start().len();
            let hit = Hit {
                start,
                end: start + value.len(),
                label: Label::PERSON,
                score: 87,
                certain: false,
            };
            sink.hits.push((hit, "field"));
        }
        Ok(())
    }
}
