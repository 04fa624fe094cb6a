//! The search of one text: tokens put back, values found, spans replaced; JSON in strings leaf
//! by leaf.

use std::collections::HashSet;
use std::ops::Range;

use super::Means;
use super::gather::{Answers, LONGEST_KEY};
use super::plain::How;
use super::receipt::{Receipt, Refusal};
use crate::finding::Field;
use crate::fnv;
use crate::json::{Document, Kind, Limits, Node, escaped};
use crate::known::Known;
use crate::policy::Direction;
use crate::vault::Vault;

/// JSON in JSON in JSON … is searched leaf by leaf down to here, as plain text below.
const DEEPEST_NESTING: usize = 8;
/// Passes until no new value is learned. Two are usual; each one more needs a text in which a value
/// learned in the pass before overlaps with another. A body that needs more is refused.
const MOST_PASSES: usize = 16;
/// Every text is searched for every value of the session; more would make requests slow.
const MOST_VALUES: usize = 50_000;
/// Keys in which nothing stands that a pass remembers.
const MOST_BARE: usize = 256;
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

/// One pass over the texts of a body.
pub(crate) struct Search<'a> {
    pub(crate) means: Means<'a>,
    pub(crate) vault: &'a mut Vault,
    pub(crate) known: Known,
    pub(crate) receipt: Receipt,
    /// Entries whose tokens are put back: those from before this body.
    pub(super) expandable: usize,
    /// What is found in each text; those that must show what they are by themselves are searched
    /// in every pass.
    pub(super) answers: Answers,
    /// Keys in which nothing stands, this pass.
    bare: HashSet<String, fnv::Build>,
}

/// Runs a pass until the vault stops growing: a value learned in the last message is then also
/// replaced in the first, as it will be when the same history comes again.
///
/// # Errors
/// What a pass refuses, and a vault that grows too large or does not stop growing.
pub(crate) fn settle<T>(
    means: Means<'_>,
    vault: &mut Vault,
    mut pass: impl FnMut(&mut Search<'_>) -> Result<T, Refusal>,
) -> Result<(T, Receipt), Refusal> {
    let expandable = vault.len();
    let mut answers = Answers::default();
    if means.finder.gathers() {
        let mut search = Search {
            means,
            known: Known::new(vault)?,
            vault,
            receipt: Receipt::default(),
            expandable,
            answers: Answers::gathering(),
            bare: HashSet::default(),
        };
        pass(&mut search)?;
        answers = search.answers.ask(means.finder)?;
    }
    let mut passes = 0;
    loop {
        let before = vault.len();
        let mut search = Search {
            means,
            known: Known::new(vault)?,
            vault,
            receipt: Receipt::default(),
            expandable,
            answers: answers.again(),
            bare: HashSet::default(),
        };
        let out = pass(&mut search)?;
        let (receipt, after) = (search.receipt, search.vault.len());
        answers = search.answers;
        passes += 1;
        if after > MOST_VALUES {
            return Err(Refusal::TooManyValues);
        }
        if after == before {
            return Ok((out, receipt));
        }
        // What was learned last has not been looked for in the other texts.
        if passes == MOST_PASSES {
            return Err(Refusal::Unsettled);
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
        let nested = (place.depth < DEEPEST_NESTING).then(|| document_in(text));
        match nested.flatten() {
            Some(document) => self.json(&document, field, place),
            None => self.plain(text, How::Full(field), place),
        }
    }

    /// The replacements in a document that is a text of its own.
    pub(super) fn json(
        &mut self,
        document: &Document<'_>,
        field: Field<'_>,
        place: &Place<'_>,
    ) -> Result<Vec<Edit>, Refusal> {
        let mut edits = Vec::new();
        for node in document.nodes() {
            self.receipt.nested += u32::from(node.is_leaf());
            let here = place.inside(node);
            match node.kind() {
                Kind::Object => self.keys(node, field.direction, &here, &mut edits)?,
                Kind::String | Kind::Number => self.nested(node, field, &here, &mut edits)?,
                Kind::Array | Kind::Bool | Kind::Null => {}
            }
        }
        Ok(edits)
    }

    /// Edits of a string or number of a document that stands in a field.
    fn nested(
        &mut self,
        node: Node<'_>,
        field: Field<'_>,
        place: &Place<'_>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Refusal> {
        let key = self.key(node);
        let field = Field {
            key: key.as_deref().or(field.key),
            ..field
        };
        if node.kind() == Kind::String {
            return self.string(node, field, place, edits);
        }
        edits.extend(self.quoted_number(node, field, place)?);
        Ok(())
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
            if self.bare.contains(key.text.as_ref()) {
                continue;
            }
            let own = self.plain(&key.text, How::Certain(direction), place)?;
            if own.is_empty() {
                self.keep_if_bare(&key.text)?;
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

    /// Remembers a key that holds nothing: the objects of a list have the same ones.
    fn keep_if_bare(&mut self, key: &str) -> Result<(), Refusal> {
        if key.len() <= LONGEST_KEY && self.bare.len() < MOST_BARE && self.is_bare(key)? {
            self.bare.insert(key.to_owned());
        }
        Ok(())
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
        let text = self.string_for_number(&found, literal, place)?;
        Ok(Some(Edit {
            range: node.span(),
            text: format!("\"{text}\""),
        }))
    }
}

/// The document that a text is. What the strict reader refuses is plain text: searched as a whole.
pub(super) fn document_in(text: &str) -> Option<Document<'_>> {
    let begins = text.trim_start().starts_with(['{', '[', '"']);
    let read = begins.then(|| Document::parse(text.as_bytes(), &Limits::default()));
    read?.ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::testing::{Names, Session};
    use crate::vault::Shape;

    /// Runs passes of which each of the first `growing` learns a value, and counts them.
    fn passes(growing: usize) -> (Result<(), Refusal>, usize) {
        let mut session = Session::new();
        let means = Means::of_rules(&session.engine, &session.policy, &Names);
        let mut passes = 0;
        let settled = settle(means, &mut session.vault, |search| {
            if passes < growing {
                let value = format!("value {passes}");
                search
                    .vault
                    .insert(&value, Label::PERSON, Shape::Text, false, &Names);
            }
            passes += 1;
            Ok(())
        });
        (settled.map(|_| ()), passes)
    }

    #[test]
    fn a_body_is_sent_only_when_a_pass_learns_nothing() {
        assert_eq!(passes(0), (Ok(()), 1));
        assert_eq!(passes(1), (Ok(()), 2));
        assert_eq!(passes(MOST_PASSES - 1), (Ok(()), MOST_PASSES));
        for growing in [MOST_PASSES, MOST_PASSES + 1, usize::MAX] {
            assert_eq!(passes(growing), (Err(Refusal::Unsettled), MOST_PASSES));
        }
    }
}
