//! What was searched before anything was sent.

use std::collections::BTreeMap;

use gatehouse_ledger::event::Builder;
use gatehouse_redactor::Label;

use super::parts::counts;

/// The coverage receipt of a screened request.
pub struct Redaction<'a> {
    /// Leaves searched.
    pub visited: u64,
    /// Leaves held to a grammar and the certain rules.
    pub checked: u64,
    /// Leaves that are safe by their place.
    pub skipped: u64,
    /// Leaves that nothing looked at; the gateway forwards nothing unless this is 0.
    pub unvisited: u64,
    /// Digest of the rules.
    pub rules: [u8; 32],
    /// Digest of the neural model, where one ran.
    pub model: Option<[u8; 32]>,
    /// What was found, by label.
    pub found: &'a BTreeMap<Label, u32>,
    /// Keyed digest of the body as received.
    pub input: [u8; 32],
    /// Keyed digest of the exact bytes sent, under the session's commitment key.
    pub output: [u8; 32],
}

impl Redaction<'_> {
    pub(super) fn write(&self, red: &mut Builder) {
        red.text("status", "done").integer("visited", self.visited);
        red.integer("checked", self.checked)
            .integer("skipped", self.skipped);
        red.integer("unvisited", self.unvisited)
            .sha256("rules", &self.rules);
        if let Some(model) = &self.model {
            red.sha256("model", model);
        }
        counts(red, "found", self.found);
        red.hex("in_h", &self.input).hex("out_h", &self.output);
    }
}
