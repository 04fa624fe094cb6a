//! Texts that are the whole value of a field: its key is their cue.

use super::{JUDGED, Search, Sink};
use crate::columns;
use crate::finding::ScanError;
use crate::label::Label;
use crate::people;
use crate::rule::Hit;
use crate::rules;

/// The longest text that is read together with its key, in bytes.
const KEYED: usize = 160;

impl Search<'_, '_> {
    /// A text that is the whole value of a key such as `password`.
    pub(super) fn field(&self, text: &str, sink: &mut Sink) {
        let Some(key) = self.key.filter(|_| self.depth == 0) else {
            return;
        };
        if text.len() > JUDGED || !rules::names_secret(key) {
            return;
        }
        sink.settled = 0;
        let value = text.trim();
        if let Some((label, score)) = rules::under_key(key, value) {
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
        let Some(key) = self.key.filter(|_| self.depth == 0) else {
            return;
        };
        let value = text.trim();
        if text.len() > KEYED || !value.bytes().any(|b| b.is_ascii_digit()) {
            return;
        }
        let Some(column) = columns::Column::named(key).filter(|it| !it.needs_person()) else {
            return;
        };
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
        let Some(key) = self.key.filter(|_| self.depth == 0) else {
            return Ok(());
        };
        let secret = rules::may_name_secret(key);
        if text.len() > if secret { JUDGED } else { KEYED } {
            return Ok(());
        }
        let named = people::names_person(key);
        if !(named || secret || rules::names_value(key)) {
            return Ok(());
        }
        sink.settled = 0;
        let before = key.len() + 2;
        let sentence = format!("{key}: {text}");
        let mut inner = Sink::new(sentence.len());
        self.heads(&sentence, &mut inner)?;
        self.people(&sentence, &mut inner);
        sink.steps += inner.steps;
        // Digits alone may be any number, and a number cannot be replaced in place: `…_id` says
        // too little of it.
        let doubtful =
            text.bytes().all(|b| b.is_ascii_digit()) && key.to_ascii_lowercase().ends_with("id");
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
