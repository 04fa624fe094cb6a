//! A request body on its way out: every leaf is searched, checked or skipped for a reason, and
//! what must not leave is replaced by splicing.

mod check;
mod edit;
mod form;
mod gather;
mod key;
mod listed;
mod media;
mod plain;
mod receipt;
mod walk;

use crate::engine::Engine;
use crate::finder::Finder;
use crate::finding::Field;
use crate::json::{Document, Node, Splice};
use crate::policy::{Direction, Policy};
use crate::vault::{Pseudonyms, Vault};

pub use self::check::Grammar;
pub(crate) use self::check::integer;
pub(crate) use self::media::media_types;
pub use self::media::{data_url_type, verify_media};
pub use self::receipt::{MediaFault, Receipt, Refusal};

/// What is done with a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Fixed by the protocol: must match a grammar and hold nothing; never edited.
    Check(Grammar),
    /// Searched and rewritten. The class of anything unknown.
    Edit(Direction),
    /// Base64 or a `data:` URL of this declared type: refused unless the policy lets it pass.
    Media {
        /// The declared type, such as `image/png`.
        mime: String,
    },
    /// Thinking text, signature or redacted data: passed only as the provider sent it.
    Signed,
    /// Safe by what it is, for this reason. Holds for numbers, booleans and nulls only; a string
    /// is searched as a prompt whatever a schema says.
    Skip(&'static str),
}

/// Where text, names and parameters stand in the bodies of one protocol.
pub trait Schema: Send + Sync {
    /// The class of a string, number, boolean or null.
    fn class(&self, leaf: Node<'_>) -> Class;

    /// The direction that decides what is done with a value found in a key.
    fn key_direction(&self, member: Node<'_>) -> Direction {
        let _ = member;
        Direction::Prompt
    }

    /// The tool whose arguments or output a leaf belongs to, if any.
    fn tool_of(&self, leaf: Node<'_>) -> Option<String> {
        let _ = leaf;
        None
    }
}

/// What a redaction needs beside the document.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The rules; they alone judge what must show by itself, such as keys and ids.
    pub engine: &'a Engine,
    /// Who searches texts: the rules, or they and the model.
    pub finder: &'a dyn Finder,
    /// What to do with findings.
    pub policy: &'a Policy,
    /// How values are named.
    pub names: &'a dyn Pseudonyms,
}

impl<'a> Means<'a> {
    /// Rules alone.
    #[must_use]
    pub fn of_rules(engine: &'a Engine, policy: &'a Policy, names: &'a dyn Pseudonyms) -> Self {
        Self {
            engine,
            finder: engine,
            policy,
            names,
        }
    }
}

/// Searches a body and enters the replacements into `splice`; what the splice removes already is
/// neither searched nor counted. New values are added to the vault, also if the body is refused
/// in the end.
///
/// `signed` says whether a text is byte for byte what the provider sent in this session.
///
/// # Errors
/// If the body must not be sent; then the splice is to be thrown away.
pub fn redact_body(
    document: &Document<'_>,
    schema: &dyn Schema,
    means: Means<'_>,
    vault: &mut Vault,
    signed: &dyn Fn(&str) -> bool,
    splice: &mut Splice<'_>,
) -> Result<Receipt, Refusal> {
    walk::Walk {
        document,
        schema,
        signed,
        reach: &|_| true,
    }
    .redact(means, vault, splice)
}

/// Searches a text that stands in no document, as `gatehouse redact` does. JSON is searched leaf
/// by leaf.
///
/// # Errors
/// If the text must not leave.
pub fn redact_text(
    text: &str,
    field: Field<'_>,
    means: Means<'_>,
    vault: &mut Vault,
) -> Result<(String, Receipt), Refusal> {
    let (document, place) = (edit::document_in(text), edit::Place::bare());
    let (mut edits, receipt) = edit::settle(means, vault, |search| {
        search.receipt.visited = 1;
        match &document {
            Some(document) => search.json(document, field, &place),
            None => search.plain(text, plain::How::Full(field), &place),
        }
    })?;
    edits.sort_by_key(|edit| edit.range.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        out.push_str(text.get(at..edit.range.start).unwrap_or_default());
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Ok((out, receipt))
}

#[cfg(test)]
mod tests;
