//! Why something would be replaced: place, label, rule and score of each value; never the value.

use std::io::Write;

use gatehouse_redactor::json::{Document, Kind, Limits, Node};
use gatehouse_redactor::{Action, Asked, Field, Finder, Finding, Policy};

use super::Failure;
use super::blocks::{Block, FIELD};
use super::headed::Headed;

/// Writes a line for each value of the block that the policy does not leave.
pub(super) fn block(
    block: Block<'_>,
    name: &str,
    policy: &Policy,
    finder: &dyn Finder,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let finder = Headed {
        finder,
        head: block.head,
    };
    let found = match Document::parse(block.text.as_bytes(), &Limits::default()) {
        Ok(document) => leaves(&finder, &document)?,
        Err(_) => text(&finder, block.text, None)?,
    };
    for Found { finding, keyed } in found {
        let action = policy.action(finding.label, FIELD.direction);
        if action == Action::Allow {
            continue;
        }
        let before = block.text.get(..finding.start).unwrap_or_default();
        let line = block.line + memchr::memchr_iter(b'\n', before.as_bytes()).count() as u64;
        let by = match (finding.certain, keyed) {
            (true, _) => "itself",
            (false, true) => "key",
            (false, false) => "words",
        };
        let told = serde_json::json!({
            "path": name,
            "line": line,
            "start": block.start + finding.start as u64,
            "end": block.start + finding.end as u64,
            "label": finding.label.as_str(),
            "rule": finding.rule,
            "score": finding.score,
            "by": by,
        });
        writeln!(out, "{told}")?;
    }
    Ok(())
}

struct Found {
    finding: Finding,
    /// Whether its text stands under a key.
    keyed: bool,
}

fn text(finder: &Headed<'_>, text: &str, key: Option<&str>) -> Result<Vec<Found>, Failure> {
    let field = Field { key, ..FIELD };
    let found = finder
        .find_all(&[Asked { text, field }])
        .map_err(|error| Failure::of("search", error))?;
    let keyed = key.is_some();
    let each = found.into_iter().flatten();
    Ok(each.map(|finding| Found { finding, keyed }).collect())
}

/// What stands in the strings and numbers of a document, in offsets of the document.
fn leaves(finder: &Headed<'_>, document: &Document<'_>) -> Result<Vec<Found>, Failure> {
    let mut all = Vec::new();
    for node in document.leaves() {
        let key = key_of(node);
        let key = key.as_deref();
        match node.kind() {
            Kind::String => {
                for Found { finding, keyed } in text(finder, &node.text().unwrap_or_default(), key)?
                {
                    let place = node.place_of(finding.start..finding.end);
                    let finding = Finding {
                        start: place.start,
                        end: place.end,
                        ..finding
                    };
                    all.push(Found { finding, keyed });
                }
            }
            Kind::Number => {
                let start = node.span().start;
                for Found { finding, keyed } in
                    text(finder, node.number().unwrap_or_default(), key)?
                {
                    let finding = Finding {
                        start: start + finding.start,
                        end: start + finding.end,
                        ..finding
                    };
                    all.push(Found { finding, keyed });
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

/// The key under which a leaf stands: its own, or that of the arrays around it.
fn key_of(node: Node<'_>) -> Option<String> {
    let mut here = Some(node);
    while let Some(node) = here {
        if let Some(key) = node.key() {
            return Some(key.into_owned());
        }
        here = node.parent();
    }
    None
}
