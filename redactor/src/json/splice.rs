//! Edits to a document that leave every other byte as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::text::escaped;
use super::{Document, Kind, Node};

/// A list of edits to one document. Edits of one place must not overlap: a later one that does
/// is dropped, except that whatever lies inside a removed member goes with it.
pub struct Splice<'a> {
    document: &'a Document<'a>,
    edits: Vec<(Range<usize>, Vec<u8>)>,
    removed: BTreeSet<u32>,
    /// By object: the members to put in front of the others.
    inserted: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl<'a> Splice<'a> {
    /// No edits yet.
    #[must_use]
    pub fn new(document: &'a Document<'a>) -> Self {
        Self {
            document,
            edits: Vec::new(),
            removed: BTreeSet::new(),
            inserted: BTreeMap::new(),
        }
    }

    /// Puts `bytes` in the place of a range of the source. The caller keeps the JSON valid.
    pub fn replace(&mut self, span: Range<usize>, bytes: impl Into<Vec<u8>>) {
        self.edits.push((span, bytes.into()));
    }

    /// Makes a value the string `text`, escaped as JSON asks for.
    pub fn set_text(&mut self, node: Node<'_>, text: &str) {
        self.replace(node.span(), format!("\"{}\"", escaped(text)));
    }

    /// Gives a member another key; without a key nothing changes.
    pub fn set_key(&mut self, member: Node<'_>, key: &str) {
        if let Some(span) = member.key_span() {
            self.replace(span, format!("\"{}\"", escaped(key)));
        }
    }

    /// Takes a member out of its object, with its key and comma. Does nothing to a value that is
    /// not a member.
    pub fn remove_member(&mut self, node: Node<'_>) {
        if node.key_span().is_some() {
            self.removed.insert(node.at);
        }
    }

    /// Whether the value, or something that holds it, has been taken out.
    #[must_use]
    pub fn is_removed(&self, node: Node<'_>) -> bool {
        let mut here = (!self.removed.is_empty()).then_some(node);
        while let Some(node) = here {
            if self.removed.contains(&node.at) {
                return true;
            }
            here = node.parent();
        }
        false
    }

    /// Adds a member in front of an object's others; `json` is its value as JSON.
    pub fn insert_member(&mut self, object: Node<'_>, key: &str, json: &str) {
        if object.kind() == Kind::Object {
            let member = format!("\"{}\":{json}", escaped(key)).into_bytes();
            self.inserted.entry(object.at).or_default().push(member);
        }
    }

    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.removed.is_empty() && self.inserted.is_empty()
    }

    /// The edited document.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let mut gone = self.removals();
        gone.sort_by_key(|span| span.start);
        let mut edits = std::mem::take(&mut self.edits);
        edits.retain(|(span, _)| !inside(span, &gone));
        edits.extend(
            self.insertions()
                .into_iter()
                .filter(|(span, _)| !inside(span, &gone)),
        );
        edits.extend(gone.iter().map(|span| (span.clone(), Vec::new())));
        // Stable, so that an insertion stands before an edit that starts at the same byte.
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        let source = self.document.source().as_bytes();
        let mut out = Vec::with_capacity(source.len() + edits.len() * 16);
        let mut at = 0;
        for (span, bytes) in edits {
            if span.start < at {
                continue;
            }
            out.extend_from_slice(source.get(at..span.start).unwrap_or_default());
            out.extend_from_slice(&bytes);
            at = span.end;
        }
        out.extend_from_slice(source.get(at..).unwrap_or_default());
        out
    }

    /// The bytes that go with removed members: each takes the comma before it if a member before
    /// it stays, else the comma behind it.
    fn removals(&self) -> Vec<Range<usize>> {
        let mut first_kept = BTreeMap::new();
        let mut gone = Vec::new();
        for at in &self.removed {
            let node = Node {
                doc: self.document,
                at: *at,
            };
            let (Some(parent), Some(key)) = (node.parent(), node.key_span()) else {
                continue;
            };
            let kept = *first_kept
                .entry(parent.at)
                .or_insert_with(|| self.first_kept(parent));
            let siblings = node.entry().map_or(0, |entry| entry.next);
            let next = Node {
                doc: self.document,
                at: siblings,
            };
            let next_key = (next.parent() == Some(parent))
                .then(|| next.key_span())
                .flatten();
            let span = match (kept, next_key) {
                (Some(kept), _) if kept < *at => self.comma_before(key.start)..node.span().end,
                (_, Some(next)) => key.start..next.start,
                (_, None) => key.start..node.span().end,
            };
            gone.push(span);
        }
        gone
    }

    fn first_kept(&self, object: Node<'_>) -> Option<u32> {
        object
            .children()
            .map(|child| child.at)
            .find(|at| !self.removed.contains(at))
    }

    /// The comma between a member and the one before it: only white space stands around it.
    fn comma_before(&self, key: usize) -> usize {
        let before = self
            .document
            .source()
            .as_bytes()
            .get(..key)
            .unwrap_or_default();
        before.iter().rposition(|byte| *byte == b',').unwrap_or(key)
    }

    fn insertions(&self) -> Vec<(Range<usize>, Vec<u8>)> {
        let mut edits = Vec::new();
        for (object, members) in &self.inserted {
            let node = Node {
                doc: self.document,
                at: *object,
            };
            let mut bytes = members.join(&b","[..]);
            if self.first_kept(node).is_some() {
                bytes.push(b',');
            }
            let start = node.span().start + 1;
            edits.push((start..start, bytes));
        }
        edits
    }
}

/// Whether an edit lies in removed bytes; an insertion in front of them does not.
fn inside(edit: &Range<usize>, gone: &[Range<usize>]) -> bool {
    let before = gone.partition_point(|span| span.start <= edit.start);
    let Some(last) = before.checked_sub(1).and_then(|last| gone.get(last)) else {
        return false;
    };
    edit.end <= last.end && !(edit.is_empty() && edit.start == last.start)
}
