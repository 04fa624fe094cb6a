//! The search of one text: tokens put back, values found, spans replaced; JSON in strings leaf
//! by leaf.

use std::collections::HashSet;
use std::ops::Range;

use super::Means;
use super::check::integer;
use super::receipt::{Receipt, Refusal};
use crate::finding::{Field, Finding};
use crate::json::{Document, Kind, Limits, Node, escaped};
use crate::known::Known;
use crate::label::Label;
use crate::policy::{Action, Direction};
use crate::spans::{Candidate, Expanded, is_sealed, united};
use crate::token;
use crate::vault::{Shape, Vault};

/// JSON in JSON in JSON … is searched leaf by leaf down to here, as plain text below.
const DEEPEST_NESTING: usize = 8;
/// Passes until no new value is learned. Two are usual; the bound only guards against faults.
const MOST_PASSES: usize = 8;
/// Every text is searched for every value of the session; more would make requests slow.
const MOST_VALUES: usize = 50_000;
/// The rule under which the session's own values are found again.
pub(crate) const VAULT_RULE: &str = "vault";

/// A replacement, in bytes of the text that was searched.
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Where a text stands, for refusals.
pub(crate) struct Place<'p> {
    node: Option<Node<'p>>,
    outer: Option<&'p Place<'p>>,
    depth: usize,
}

impl<'p> Place<'p> {
    pub(crate) fn bare() -> Self {
        Self {
            node: None,
            outer: None,
            depth: 0,
        }
    }

    pub(crate) fn of(node: Node<'p>) -> Self {
        Self {
            node: Some(node),
            outer: None,
            depth: 0,
        }
    }

    fn inside(&'p self, node: Node<'p>) -> Self {
        Self {
            node: Some(node),
            outer: Some(self),
            depth: self.depth + 1,
        }
    }

    pub(crate) fn path(&self) -> String {
        let own = self.node.map(Node::path).unwrap_or_default();
        match self.outer.map(Place::path) {
            Some(outer) if !outer.is_empty() => format!("{outer}:{own}"),
            _ => own,
        }
    }
}

/// Which search a text gets.
#[derive(Clone, Copy)]
enum How<'a> {
    /// Only what shows by itself: keys.
    Certain(Direction),
    Full(Field<'a>),
}

impl How<'_> {
    fn direction(self) -> Direction {
        match self {
            Self::Certain(direction) => direction,
            Self::Full(field) => field.direction,
        }
    }
}

/// One pass over the texts of a body.
pub(crate) struct Search<'a> {
    pub(crate) means: Means<'a>,
    pub(crate) vault: &'a mut Vault,
    pub(crate) known: Known,
    pub(crate) receipt: Receipt,
    /// Entries whose tokens are put back: those from before this body.
    expandable: usize,
    /// Findings of the engine by text, in the order of the first pass.
    findings: Vec<Vec<Finding>>,
    next: usize,
}

/// Runs a pass until the vault stops growing: a value learned in the last message is then also
/// replaced in the first, as it will be when the same history comes again.
pub(crate) fn settle<T>(
    means: Means<'_>,
    vault: &mut Vault,
    mut pass: impl FnMut(&mut Search<'_>) -> Result<T, Refusal>,
) -> Result<(T, Receipt), Refusal> {
    let expandable = vault.len();
    let mut findings = Vec::new();
    let mut passes = 0;
    loop {
        let before = vault.len();
        let known = Known::new(vault)?;
        let receipt = Receipt::default();
        let mut search = Search {
            means,
            vault,
            known,
            receipt,
            expandable,
            findings,
            next: 0,
        };
        let out = pass(&mut search)?;
        let (receipt, after) = (search.receipt, search.vault.len());
        findings = search.findings;
        passes += 1;
        if after > MOST_VALUES {
            return Err(Refusal::TooManyValues);
        }
        if after == before || passes == MOST_PASSES {
            return Ok((out, receipt));
        }
    }
}

impl Search<'_> {
    /// The replacements in a text, which may be JSON.
    pub(crate) fn text(
        &mut self,
        text: &str,
        field: Field<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Edit>, Refusal> {
        if place.depth < DEEPEST_NESTING && text.trim_start().starts_with(['{', '[', '"']) {
            // What the strict reader refuses is plain text: searched as a whole.
            if let Ok(document) = Document::parse(text.as_bytes(), &Limits::default()) {
                return self.json(&document, field, place);
            }
        }
        self.plain(text, How::Full(field), place)
    }

    fn json(
        &mut self,
        document: &Document<'_>,
        field: Field<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Edit>, Refusal> {
        let mut edits = Vec::new();
        for node in document.nodes() {
            let here = place.inside(node);
            let key = nearest_key(node);
            let field = Field {
                key: key.as_deref().or(field.key),
                ..field
            };
            match node.kind() {
                Kind::Object => self.keys(node, field.direction, &here, &mut edits)?,
                Kind::String => self.string(node, field, &here, &mut edits)?,
                Kind::Number => edits.extend(self.quoted_number(node, field, &here)?),
                Kind::Array | Kind::Bool | Kind::Null => {}
            }
            self.receipt.nested += u32::from(node.is_leaf());
        }
        Ok(edits)
    }

    /// Edits of a string, in bytes of the document that holds it.
    pub(crate) fn string(
        &mut self,
        node: Node<'_>,
        field: Field<'_>,
        place: &Place<'_>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Refusal> {
        let (decoded, start) = (node.decoded(), node.span().start + 1);
        for edit in self.text(&decoded.text, field, place)? {
            let range = start + decoded.raw(edit.range.start)..start + decoded.raw(edit.range.end);
            edits.push(Edit {
                range,
                text: escaped(&edit.text).into_owned(),
            });
        }
        Ok(())
    }

    /// Edits of an object's keys, in bytes of the document that holds it.
    pub(crate) fn keys(
        &mut self,
        object: Node<'_>,
        direction: Direction,
        place: &Place<'_>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Refusal> {
        let mut changed = Vec::new();
        for child in object.children() {
            let (Some(key), Some(span)) = (child.key_decoded(), child.key_span()) else {
                continue;
            };
            self.receipt.keys += 1;
            let own = self.plain(&key.text, How::Certain(direction), place)?;
            if own.is_empty() {
                continue;
            }
            changed.push((child.index(), applied(&key.text, &own)));
            for edit in own {
                let raw = key.raw(edit.range.start)..key.raw(edit.range.end);
                let range = span.start + 1 + raw.start..span.start + 1 + raw.end;
                edits.push(Edit {
                    range,
                    text: escaped(&edit.text).into_owned(),
                });
            }
        }
        if changed.is_empty() || still_distinct(object, changed) {
            return Ok(());
        }
        Err(Refusal::KeyCollision { path: place.path() })
    }

    /// A number in JSON that a string holds: a finding becomes a quoted token.
    fn quoted_number(
        &mut self,
        node: Node<'_>,
        field: Field<'_>,
        place: &Place<'_>,
    ) -> Result<Option<Edit>, Refusal> {
        let literal = node.number().unwrap_or_default();
        let Some(found) = self.number(literal, field)? else {
            return Ok(None);
        };
        let text = match found.action {
            Action::Block => return Err(blocked(&found, place)),
            Action::Pseudonymize => {
                let names = self.means.names;
                let entry =
                    self.vault
                        .insert(literal, found.label, Shape::Number, found.certain, names);
                self.vault
                    .entry(entry)
                    .map(|entry| entry.token.clone())
                    .unwrap_or_default()
            }
            _ => self.sealed(&found, literal),
        };
        self.receipt.count(found.label, found.action);
        Ok(Some(Edit {
            range: node.span(),
            text: format!("\"{text}\""),
        }))
    }

    /// What a number literal is, if it must not leave as it stands.
    pub(crate) fn number(
        &mut self,
        literal: &str,
        field: Field<'_>,
    ) -> Result<Option<Candidate>, Refusal> {
        let mut spelled = vec![literal.to_owned()];
        spelled.extend(integer(literal).filter(|digits| digits != literal));
        let mut found = Vec::new();
        for text in &spelled {
            let findings = self.findings(text, How::Full(field))?;
            found.extend(
                findings
                    .iter()
                    .filter_map(|finding| self.candidate(finding, field.direction)),
            );
            found.extend(self.known_in(text, How::Full(field)));
        }
        let strictest = found
            .into_iter()
            .max_by_key(|candidate| candidate.range.len());
        Ok(strictest)
    }

    fn plain(&mut self, text: &str, how: How<'_>, place: &Place<'_>) -> Result<Vec<Edit>, Refusal> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let expanded = Expanded::new(text, self.vault, self.expandable);
        let findings = self.findings(&expanded.text, how)?;
        let direction = how.direction();
        let mut candidates: Vec<Candidate> = findings
            .iter()
            .filter(|finding| !is_sealed(&expanded.text, &(finding.start..finding.end)))
            .filter_map(|finding| self.candidate(finding, direction))
            .collect();
        self.learn(&expanded.text, &candidates);
        candidates.extend(self.known_in(&expanded.text, how));
        candidates.extend(expanded.placed.iter().filter_map(|placed| {
            let entry = self.vault.entry(placed.entry)?;
            let action = Action::Pseudonymize;
            Some(candidate(
                placed.value.clone(),
                entry.label,
                action,
                entry.certain,
            ))
        }));
        let mut edits = Vec::new();
        for span in united(candidates) {
            if let Some(text) = self.replacement(&span, &expanded, place)? {
                let range = expanded.original(span.range.start)..expanded.original(span.range.end);
                edits.push(Edit { range, text });
            }
        }
        Ok(edits)
    }

    /// Every finding that will become a token is a value of the session from now on, also if a
    /// longer one covers it here.
    fn learn(&mut self, text: &str, candidates: &[Candidate]) {
        for found in candidates
            .iter()
            .filter(|found| found.action == Action::Pseudonymize)
        {
            let value = text.get(found.range.clone()).unwrap_or_default();
            self.vault.insert(
                value,
                found.label,
                Shape::Text,
                found.certain,
                self.means.names,
            );
        }
    }

    /// What is put in the place of a span; nothing if the session's token stands there already.
    fn replacement(
        &mut self,
        span: &Candidate,
        expanded: &Expanded<'_>,
        place: &Place<'_>,
    ) -> Result<Option<String>, Refusal> {
        let value = expanded.text.get(span.range.clone()).unwrap_or_default();
        let standing = expanded.entry_at(&span.range);
        if span.action == Action::Block {
            return Err(blocked(span, place));
        }
        self.receipt.count(span.label, span.action);
        if standing.is_some() {
            return Ok(None);
        }
        if span.action != Action::Pseudonymize {
            return Ok(Some(self.sealed(span, value)));
        }
        let names = self.means.names;
        let entry = self
            .vault
            .insert(value, span.label, Shape::Text, span.certain, names);
        Ok(self.vault.entry(entry).map(|entry| entry.token.clone()))
    }

    /// What cannot be restored: a hash if the action asks for one, else a mask.
    fn sealed(&self, span: &Candidate, value: &str) -> String {
        match span.action {
            Action::Hash => token::hash(span.label, &self.means.names.digest(span.label, value)),
            _ => token::mask(span.label),
        }
    }

    /// The engine's findings: searched in the first pass, remembered in later ones.
    fn findings(&mut self, text: &str, how: How<'_>) -> Result<Vec<Finding>, Refusal> {
        if self.next == self.findings.len() {
            let found = match how {
                How::Full(field) => self.means.engine.find(text, field)?,
                How::Certain(_) => self.means.engine.find_certain(text)?,
            };
            self.findings.push(found);
        }
        let found = self.findings.get(self.next).cloned().unwrap_or_default();
        self.next += 1;
        Ok(found)
    }

    fn candidate(&self, finding: &Finding, direction: Direction) -> Option<Candidate> {
        let Finding {
            label,
            rule,
            certain,
            ..
        } = *finding;
        let action = self.means.policy.action(label, direction);
        let range = finding.start..finding.end;
        (action != Action::Allow && !range.is_empty()).then_some(Candidate {
            range,
            label,
            action,
            rule,
            certain,
        })
    }

    /// The session's values that stand in a text. In keys only those that show by themselves.
    fn known_in(&self, text: &str, how: How<'_>) -> Vec<Candidate> {
        let certain_only = matches!(how, How::Certain(_));
        let found = self.known.find(text).into_iter().filter_map(|range| {
            let value = text.get(range.clone())?;
            let entry = self
                .vault
                .text(value)
                .and_then(|index| self.vault.entry(index))?;
            let action = self.means.policy.action(entry.label, how.direction());
            let wanted = action != Action::Allow && (entry.certain || !certain_only);
            wanted.then(|| candidate(range, entry.label, action, entry.certain))
        });
        found.collect()
    }
}

fn candidate(range: Range<usize>, label: Label, action: Action, certain: bool) -> Candidate {
    Candidate {
        range,
        label,
        action,
        rule: VAULT_RULE,
        certain,
    }
}

fn blocked(span: &Candidate, place: &Place<'_>) -> Refusal {
    Refusal::Blocked {
        path: place.path(),
        label: span.label,
        rule: span.rule,
    }
}

/// The key under which a value stands: its own, or that of the arrays around it.
pub(crate) fn nearest_key(node: Node<'_>) -> Option<String> {
    let mut here = Some(node);
    while let Some(node) = here {
        if let Some(key) = node.key() {
            return Some(key.into_owned());
        }
        here = node.parent();
    }
    None
}

fn applied(text: &str, edits: &[Edit]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for edit in edits {
        out.push_str(text.get(at..edit.range.start).unwrap_or_default());
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Whether an object's keys differ once those that changed are as they will be.
fn still_distinct(object: Node<'_>, changed: Vec<(usize, String)>) -> bool {
    let mut changed = changed.into_iter().peekable();
    let mut seen = HashSet::new();
    object.children().all(|child| {
        let new = changed
            .next_if(|(index, _)| *index == child.index())
            .map(|(_, key)| key);
        let key = new.or_else(|| child.key().map(|key| key.into_owned()));
        key.is_none_or(|key| seen.insert(key))
    })
}
