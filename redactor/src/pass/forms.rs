//! Forms in which the place of a value says what it is: tables, manifests, records, mailboxes.

use super::{Search, Sink};
use crate::label::Label;
use crate::people::mailbox;
use crate::rule::Hit;
use crate::{columns, manifest, records};

/// What is known of a name before a mail address.
const MAILBOX: u8 = 80;

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

    /// Names before the addresses that were found.
    pub(super) fn mailboxes(&self, text: &str, sink: &mut Sink) {
        if self.depth > 0 {
            return;
        }
        let names = sink
            .hits
            .iter()
            .filter(|(_, rule)| *rule == "mail")
            .filter_map(|(hit, _)| {
                let open = hit.start.checked_sub(1)?;
                let inside =
                    text.get(open..hit.start)? == "<" && text.get(hit.end..)?.starts_with('>');
                let local = text.get(hit.start..hit.end)?.split('@').next()?;
                let name = inside.then(|| mailbox::name(text, open, local))??;
                Some(Hit {
                    start: name.start,
                    end: name.end,
                    label: Label::PERSON,
                    score: MAILBOX,
                    certain: false,
                })
            });
        let names: Vec<Hit> = names.collect();
        sink.hits.extend(names.into_iter().map(|hit| (hit, "name")));
        if self.growing {
            sink.settled = sink.settled.min(mailbox::begun(text));
        }
    }
}
