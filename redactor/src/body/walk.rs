//! The walk over a document: each leaf by its class, each key.

use super::edit::{Edit, Place, Search, settle};
use super::plain::How;
use super::receipt::{Receipt, Refusal};
use super::{Class, Grammar, Means, Schema, media};
use crate::finding::Field;
use crate::json::{Document, Kind, Node, Splice};
use crate::policy::{Action, Direction};
use crate::spans::tokens;
use crate::vault::{Shape, Vault};

pub(super) struct Walk<'w> {
    pub(super) document: &'w Document<'w>,
    pub(super) schema: &'w dyn Schema,
    pub(super) signed: &'w dyn Fn(&str) -> bool,
    /// Whether the walk goes to a leaf: always, but for tests that plant a skip.
    pub(super) reach: &'w dyn Fn(Node<'_>) -> bool,
}

impl Walk<'_> {
    pub(super) fn redact(
        &self,
        means: Means<'_>,
        vault: &mut Vault,
        splice: &mut Splice<'_>,
    ) -> Result<Receipt, Refusal> {
        let (edits, receipt) = settle(means, vault, |search| self.pass(search, splice))?;
        // Counted from what the reader put on its tape, not from what the walk thinks it saw.
        if receipt.unvisited > 0 {
            return Err(Refusal::Unvisited(receipt.unvisited));
        }
        for edit in edits {
            splice.replace(edit.range, edit.text);
        }
        Ok(receipt)
    }

    fn pass(&self, search: &mut Search<'_>, splice: &Splice<'_>) -> Result<Vec<Edit>, Refusal> {
        let mut edits = Vec::new();
        let mut removed = 0;
        for node in self.document.nodes() {
            if splice.is_removed(node) {
                removed += usize::from(node.is_leaf());
            } else if node.is_leaf() {
                if (self.reach)(node) {
                    self.leaf(node, search, &mut edits)?;
                }
            } else if node.kind() == Kind::Object {
                let direction = self.schema.key_direction(node);
                search.keys(node, direction, &Place::of(node), &mut edits)?;
            }
        }
        let receipt = &mut search.receipt;
        let seen = receipt.visited + receipt.checked + receipt.skipped;
        let all = u32::try_from(self.document.leaf_count() - removed).unwrap_or(u32::MAX);
        receipt.unvisited = all.saturating_sub(seen);
        Ok(edits)
    }

    fn leaf(
        &self,
        node: Node<'_>,
        search: &mut Search<'_>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Refusal> {
        let is_text = node.kind() == Kind::String;
        match self.schema.class(node) {
            Class::Edit(direction) => edit(node, direction, search, edits),
            Class::Skip(why) if !is_text => {
                search.receipt.skip(why);
                Ok(())
            }
            Class::Skip(_) => edit(node, Direction::Prompt, search, edits),
            Class::Check(grammar) => check(node, grammar, search),
            Class::Signed if is_text => self.signed(node, search),
            Class::Media { mime } if is_text => unread(node, &mime, search),
            Class::Signed | Class::Media { .. } => edit(node, Direction::Prompt, search, edits),
        }
    }

    /// Signed text is skipped only as the provider sent it; else it must hold nothing, because
    /// an edit would break the signature.
    fn signed(&self, node: Node<'_>, search: &mut Search<'_>) -> Result<(), Refusal> {
        let text = node.text().unwrap_or_default();
        if (self.signed)(&text) {
            search.receipt.skip("signed");
            return Ok(());
        }
        let own = tokens(&text, search.vault);
        let is_own = |start, end| {
            own.iter()
                .any(|(token, _)| token.start <= start && end <= token.end)
        };
        let field = Field {
            key: None,
            direction: Direction::Prompt,
        };
        let found = search.findings(&text, How::Full(field))?;
        let found = found
            .iter()
            .filter(|finding| !is_own(finding.start, finding.end));
        let mut found = found.map(|finding| (finding.label, finding.rule));
        let bad = found
            .find(|(label, _)| allowed(*label, search))
            .or_else(|| known(&text, false, search));
        match bad {
            Some((label, rule)) => Err(Refusal::SignedChanged {
                path: node.path(),
                label,
                rule,
            }),
            None => {
                search.receipt.checked += 1;
                Ok(())
            }
        }
    }
}

/// Whether the policy does anything about this type in prompts.
fn allowed(label: crate::label::Label, search: &Search<'_>) -> bool {
    search.means.policy.action(label, Direction::Prompt) != Action::Allow
}

/// A value of the session that stands in a text which is not edited.
fn known(
    text: &str,
    certain_only: bool,
    search: &Search<'_>,
) -> Option<(crate::label::Label, &'static str)> {
    search.known.find(text).into_iter().find_map(|range| {
        let index = search.vault.text(text.get(range)?)?;
        let entry = search.vault.entry(index)?;
        let counts = allowed(entry.label, search) && (entry.certain || !certain_only);
        counts.then_some((entry.label, super::edit::VAULT_RULE))
    })
}

fn edit(
    node: Node<'_>,
    direction: Direction,
    search: &mut Search<'_>,
    edits: &mut Vec<Edit>,
) -> Result<(), Refusal> {
    search.receipt.visited += 1;
    let key = search.key(node);
    let field = Field {
        key: key.as_deref(),
        direction,
    };
    let place = Place::of(node);
    match node.kind() {
        Kind::String => search.string(node, field, &place, edits),
        Kind::Number => number(node, field, search, edits),
        _ => Ok(()),
    }
}

/// A number cannot hold a token, so a finding is a refusal; except that a number which the model
/// was shown as a token, and wrote into a tool's arguments, goes back as that token.
fn number(
    node: Node<'_>,
    field: Field<'_>,
    search: &mut Search<'_>,
    edits: &mut Vec<Edit>,
) -> Result<(), Refusal> {
    let literal = node.number().unwrap_or_default();
    let Some(found) = search.number(literal, field)? else {
        return Ok(());
    };
    let known = search
        .vault
        .number(literal)
        .and_then(|index| search.vault.entry(index));
    match known {
        Some(entry)
            if field.direction == Direction::ToolArguments
                && entry.shape == Shape::Number
                && found.action == Action::Pseudonymize =>
        {
            edits.push(Edit {
                range: node.span(),
                text: format!("\"{}\"", entry.token),
            });
            search.receipt.count(found.label, found.action);
            Ok(())
        }
        _ => Err(Refusal::NumberLiteral {
            path: node.path(),
            label: found.label,
            rule: found.rule,
        }),
    }
}

fn check(node: Node<'_>, grammar: Grammar, search: &mut Search<'_>) -> Result<(), Refusal> {
    search.receipt.checked += 1;
    let text = match node.kind() {
        Kind::String => node.text().unwrap_or_default(),
        Kind::Number => node.number().unwrap_or_default().into(),
        _ => return Ok(()),
    };
    if node.kind() == Kind::String && !grammar.accepts(&text) {
        return Err(Refusal::Grammar { path: node.path() });
    }
    let found = search.means.engine.find_certain(&text)?;
    let mut found = found.iter().map(|finding| (finding.label, finding.rule));
    let bad = found
        .find(|(label, _)| allowed(*label, search))
        .or_else(|| known(&text, true, search));
    match bad {
        Some((label, rule)) => Err(Refusal::CheckFailed {
            path: node.path(),
            label,
            rule,
        }),
        None => Ok(()),
    }
}

fn unread(node: Node<'_>, mime: &str, search: &mut Search<'_>) -> Result<(), Refusal> {
    let text = node.text().unwrap_or_default();
    match media::verify_media(&text, mime, search.means.policy) {
        Ok(()) => {
            search.receipt.skip("unscanned media");
            Ok(())
        }
        Err(fault) => Err(Refusal::Media {
            path: node.path(),
            mime: media::shown(mime),
            fault,
        }),
    }
}
