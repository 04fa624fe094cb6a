//! Anthropic Messages, as the official SDKs speak it.

mod reply;
mod request;

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Kind, Node, Splice};

use super::{
    ChannelId, Closes, Facts, FieldId, Memory, Part, Place, Protocol, Role, Usage, count, flag,
    is_start, json_text, required_text, take_count,
};
use crate::reject::{Code, Rejection, Shape};

/// The protocol; it has no state.
pub struct Anthropic;

impl Protocol for Anthropic {
    fn api(&self) -> &'static str {
        "messages"
    }

    fn shape(&self) -> Shape {
        Shape::Anthropic
    }

    fn upstream_path(&self) -> &'static str {
        "/v1/messages"
    }

    fn facts(&self, root: Node<'_>) -> Result<Facts, Rejection> {
        if root.kind() != Kind::Object {
            return Err(Rejection::new(Code::JsonUnexpected).detail("an object is needed"));
        }
        Ok(Facts {
            model: required_text(root, "model")?,
            stream: flag(root, "stream")?,
            // Usage is part of every stream of this protocol.
            usage_wanted: true,
            brought: super::brought(root),
            most: count(Some(root), "max_tokens"),
            answers: None,
        })
    }

    fn adjust(&self, _document: &Document<'_>, _facts: &Facts, _splice: &mut Splice<'_>) -> u32 {
        0
    }

    fn reply_part(&self, node: Node<'_>, place: &Place<'_>, _facts: &Facts) -> Part {
        reply::whole(node, place)
    }

    fn event_part(&self, node: Node<'_>, place: &Place<'_>, _facts: &Facts) -> Part {
        reply::event(node, place)
    }

    fn learn(&self, event: Node<'_>, memory: &mut Memory) {
        let Some(block) = event.get("content_block") else {
            return;
        };
        let channel = ChannelId {
            owner: count(Some(event), "index").unwrap_or(0),
            field: FieldId::Input,
        };
        if let Some(name) = block.get("name").and_then(|name| name.text()) {
            memory.tools.insert(channel, name.into_owned());
        }
        // The provider's own tools are answered by itself.
        if kind(block).as_deref() == Some("tool_use")
            && let Some(id) = block.get("id").and_then(|id| id.text())
        {
            super::calls::note(memory, channel, &id);
        }
    }

    fn closes(&self, event: Node<'_>) -> Closes {
        match kind(event).as_deref() {
            Some("content_block_stop") => {
                Closes::Owners(vec![count(Some(event), "index").unwrap_or(0)])
            }
            Some("message_delta" | "message_stop") => Closes::All,
            _ if self.role(event) == Role::Error => Closes::All,
            _ => Closes::Nothing,
        }
    }

    fn role(&self, event: Node<'_>) -> Role {
        match kind(event).as_deref() {
            Some("error") => Role::Error,
            Some("message_stop") => Role::Last,
            // Compatible providers may leave the type out of an error.
            None if has_error(event) => Role::Error,
            _ => Role::Middle,
        }
    }

    fn is_hidden(&self, _event: Node<'_>, _facts: &Facts) -> bool {
        false
    }

    fn reply_message<'d>(&self, root: Node<'d>) -> Option<Node<'d>> {
        root.get("content").map(|_| root)
    }

    fn may_be_head(&self, event: Node<'_>) -> bool {
        match kind(event).as_deref() {
            Some("content_block_delta") => reply::has_signature(event),
            Some("message_delta") => true,
            Some(kind) => is_start(kind),
            None => false,
        }
    }

    fn is_idle(&self, event: Node<'_>) -> bool {
        kind(event).as_deref() == Some("ping")
    }

    /// The SDKs show nothing of an event whose name is not its type.
    fn event_name(&self, event: Node<'_>) -> Option<String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte == b'.';
        kind(event).filter(|kind| kind.len() <= 64 && kind.bytes().all(plain))
    }

    fn end_marker(&self) -> Option<&'static [u8]> {
        None
    }

    fn delta(
        &self,
        channel: ChannelId,
        text: &str,
        _memory: &Memory,
    ) -> (Option<&'static str>, Bytes) {
        let (kind, key) = match channel.field {
            FieldId::Input => ("input_json_delta", "partial_json"),
            _ => ("text_delta", "text"),
        };
        let data = format!(
            r#"{{"type":"content_block_delta","index":{},"delta":{{"type":"{kind}","{key}":{}}}}}"#,
            channel.owner,
            json_text(text)
        );
        (Some("content_block_delta"), data.into())
    }

    fn counts_cached_apart(&self) -> bool {
        true
    }

    fn usage(&self, root: Node<'_>, usage: &mut Usage) {
        let message = root.get("message").and_then(|message| message.get("usage"));
        for reported in [message, root.get("usage")] {
            take_count(&mut usage.input, reported, "input_tokens");
            take_count(&mut usage.output, reported, "output_tokens");
            take_count(&mut usage.cache_read, reported, "cache_read_input_tokens");
            take_count(
                &mut usage.cache_write,
                reported,
                "cache_creation_input_tokens",
            );
        }
    }
}

/// Whether an event without a type is an error.
fn has_error(event: Node<'_>) -> bool {
    event
        .get("error")
        .is_some_and(|error| error.kind() != Kind::Null)
}

/// The `type` of an event or block.
fn kind(node: Node<'_>) -> Option<String> {
    Some(node.get("type")?.text()?.into_owned())
}
