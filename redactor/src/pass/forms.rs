//! Forms in which the place of a value says what it is: tables, manifests, records.

use super::{Search, Sink};
use crate::{columns, manifest, records};

impl Search<'_, '_> {
    /// Cells of tables. An encoded run that holds one is found by what else is in it.
    pub(super) fn columns(&self, text: &str, sink: &mut Sink) {
        if self.depth > 0 {
            return;
        }
        let found = columns::find(text);
        sink.settled = sink.settled.min(found.settled);
        let hits = found.hits.into_iter();
        sink.hits.extend(hits.map(|hit| (hit, columns::RULE)));
    }

    /// Values of manifests of secrets.
    pub(super) fn manifests(&self, text: &str, sink: &mut Sink) {
        if self.depth > 0 {
            return;
        }
        let found = manifest::find(text, self.growing);
        sink.settled = sink.settled.min(found.settled);
        let hits = found.hits.into_iter();
        sink.hits.extend(hits.map(|hit| (hit, manifest::RULE)));
    }

    /// Fields of records.
    pub(super) fn records(&self, text: &str, sink: &mut Sink) {
        if self.depth > 0 {
            return;
        }
        let found = records::find(text, self.growing);
        sink.settled = sink.settled.min(found.settled);
        let hits = found.hits.into_iter();
        sink.hits.extend(hits.map(|hit| (hit, records::RULE)));
    }
}
