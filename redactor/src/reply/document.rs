//! A whole document of a reply, or of one event of a stream.

use super::{Channel, ReplyContext, ReplyReceipt, ReplyRefusal, Sight, whole};
use crate::finding::Finding;
use crate::json::{Document, Kind, Node, Splice};
use crate::policy::Destination;

/// What a value of a reply is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyClass {
    /// The arguments of a call to this tool: a string that holds JSON, or the JSON itself.
    Arguments(String),
    /// Passed as it is, with all that it holds, for this reason: ids, usage, signed text.
    Keep(&'static str),
    /// Complete text, searched alone. An array or object is looked into. The class of anything
    /// unknown.
    Text,
}

/// Where text and arguments stand in the replies of one protocol.
pub trait ReplySchema {
    /// The class of a value; asked for arrays and objects before the values they hold.
    fn class(&self, node: Node<'_>) -> ReplyClass;
}

/// Puts the session's values back into a document and masks what else is found. Bytes that do
/// not change are those of the document.
///
/// # Errors
/// If the policy blocks what was found, or the search did not come to its end.
pub fn reply_document(
    cx: &ReplyContext<'_>,
    document: &Document<'_>,
    schema: &dyn ReplySchema,
    receipt: &mut ReplyReceipt,
) -> Result<Vec<u8>, ReplyRefusal> {
    let mut splice = Splice::new(document);
    let mut pass = Pass {
        cx,
        schema,
        receipt,
        splice: &mut splice,
    };
    pass.value(document.root())?;
    Ok(splice.finish())
}

struct Pass<'p, 'd> {
    cx: &'p ReplyContext<'p>,
    schema: &'p dyn ReplySchema,
    receipt: &'p mut ReplyReceipt,
    splice: &'p mut Splice<'d>,
}

impl Pass<'_, '_> {
    /// Recursion is bounded by the depth limit of the reader.
    fn value(&mut self, node: Node<'_>) -> Result<(), ReplyRefusal> {
        match (self.schema.class(node), node.kind()) {
            (ReplyClass::Keep(_), _) | (_, Kind::Bool | Kind::Null) => Ok(()),
            (ReplyClass::Arguments(tool), Kind::String) => {
                self.text(node, Channel::json_arguments(&tool))
            }
            (ReplyClass::Arguments(tool), _) => {
                let raw = std::str::from_utf8(node.raw()).unwrap_or_default();
                let new = whole(self.cx, Channel::json_arguments(&tool), raw, self.receipt)?;
                if new != raw {
                    self.splice.replace(node.span(), new);
                }
                Ok(())
            }
            (ReplyClass::Text, Kind::String) => self.text(node, Channel::text()),
            (ReplyClass::Text, Kind::Number) => self.number(node),
            (ReplyClass::Text, Kind::Array | Kind::Object) => {
                for child in node.children() {
                    self.key(child)?;
                    self.value(child)?;
                }
                Ok(())
            }
        }
    }

    fn text(&mut self, node: Node<'_>, channel: Channel) -> Result<(), ReplyRefusal> {
        let text = node.text().unwrap_or_default();
        let new = whole(self.cx, channel, &text, self.receipt)?;
        if new != text {
            self.splice.set_text(node, &new);
        }
        Ok(())
    }

    fn key(&mut self, member: Node<'_>) -> Result<(), ReplyRefusal> {
        let (Some(key), Some(span)) = (member.key(), member.key_span()) else {
            return Ok(());
        };
        let new = whole(self.cx, Channel::key(), &key, self.receipt)?;
        if new != key {
            self.splice
                .replace(span, format!("\"{}\"", crate::json::escaped(&new)));
        }
        Ok(())
    }

    /// A number that shows by itself what it is becomes a string that holds its mask.
    fn number(&mut self, node: Node<'_>) -> Result<(), ReplyRefusal> {
        let literal = node.number().unwrap_or_default();
        let destination = Destination::ReplyText;
        for Finding { label, rule, .. } in self.cx.engine.find_certain(literal)? {
            let mut sight = Sight {
                cx: self.cx,
                destination: &destination,
                receipt: self.receipt,
            };
            if let Some(mask) = sight.masked(literal, label, rule)? {
                self.splice.set_text(node, &mask);
                break;
            }
        }
        Ok(())
    }
}
