//! The parts of replies and events. An object that is not listed is looked into, a string that is
//! not listed is a whole text, searched and restored.

use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::super::{ChannelId, FieldId, Part, count, is_complete, is_start};
use super::{has_error, kind};

/// A whole reply, or an error.
pub(super) fn whole(node: Node<'_>, place: &Place<'_>) -> Part {
    let words = place.words();
    match words.as_slice() {
        ["content", "[]", rest @ ..] if !rest.is_empty() => block(node, place, rest, 2),
        words => common(node, words),
    }
}

/// One event of a stream.
pub(super) fn event(node: Node<'_>, place: &Place<'_>) -> Part {
    let words = place.words();
    match listed(node, place, &words) {
        Part::Whole if node.kind() == Kind::String && !is_complete(&words) => unlisted(node, place),
        part => part,
    }
}

/// A text that no table names, by the events that may go on with it.
fn unlisted(node: Node<'_>, place: &Place<'_>) -> Part {
    let Some(root) = ancestor(node, place, 0) else {
        return Part::Whole;
    };
    let owner = count(Some(root), "index");
    match kind(root).as_deref() {
        // Nothing comes behind these.
        Some("content_block_stop" | "error" | "message_stop") => Part::Whole,
        None if has_error(root) => Part::Whole,
        Some("message_delta" | "message_start") => Part::Head { owner: None },
        Some("content_block_delta") => match root.get("delta").and_then(kind).as_deref() {
            // It holds all of a citation.
            Some("citations_delta") => Part::Whole,
            // A second one would replace the signature.
            Some("signature_delta") => Part::Head { owner },
            _ => Part::Piece { owner },
        },
        Some(kind) if is_start(kind) => Part::Head { owner },
        _ => Part::Piece { owner },
    }
}

/// Whether an event is the delta that carries a signature.
pub(super) fn has_signature(event: Node<'_>) -> bool {
    event.get("delta").and_then(kind).as_deref() == Some("signature_delta")
}

fn listed(node: Node<'_>, place: &Place<'_>, words: &[&str]) -> Part {
    match words {
        ["index"] => Part::Keep,
        ["delta", rest @ ..] if !rest.is_empty() => delta(node, place, rest),
        // What a block starts with is the head of its channel's text.
        ["content_block", "text"] if node.kind() == Kind::String => {
            Part::Delta(channel(node, place, FieldId::Text))
        }
        ["content_block", "partial_json"] if node.kind() == Kind::String => {
            Part::Delta(channel(node, place, FieldId::Input))
        }
        ["content_block", "thinking"] if node.kind() == Kind::String => {
            Part::SignedDelta(channel(node, place, FieldId::Thinking))
        }
        ["content_block", rest @ ..] if !rest.is_empty() => block(node, place, rest, 1),
        ["message", "content", "[]", rest @ ..] if !rest.is_empty() => block(node, place, rest, 3),
        ["message", rest @ ..] if !rest.is_empty() => common(node, rest),
        words => common(node, words),
    }
}

fn channel(node: Node<'_>, place: &Place<'_>, field: FieldId) -> ChannelId {
    let root = ancestor(node, place, 0);
    ChannelId {
        owner: count(root, "index").unwrap_or(0),
        field,
    }
}

fn delta(node: Node<'_>, place: &Place<'_>, rest: &[&str]) -> Part {
    let holder = ancestor(node, place, 1).and_then(kind).unwrap_or_default();
    let string = node.kind() == Kind::String;
    match (holder.as_str(), rest) {
        ("text_delta", ["text"]) if string => Part::Delta(channel(node, place, FieldId::Text)),
        ("input_json_delta", ["partial_json"]) if string => {
            Part::Delta(channel(node, place, FieldId::Input))
        }
        ("thinking_delta", ["thinking"]) if string => {
            Part::SignedDelta(channel(node, place, FieldId::Thinking))
        }
        ("signature_delta", ["signature"]) => Part::Signed,
        (_, ["type" | "stop_reason"]) => Part::Keep,
        ("citations_delta", ["citation", rest @ ..]) if !rest.is_empty() => citation(node, rest),
        (_, rest) => common(node, rest),
    }
}

fn block(node: Node<'_>, place: &Place<'_>, rest: &[&str], depth: usize) -> Part {
    let holder = ancestor(node, place, depth);
    let kind = holder.and_then(kind).unwrap_or_default();
    match (kind.as_str(), rest) {
        ("thinking", ["thinking" | "signature"]) | ("redacted_thinking", ["data"]) => Part::Signed,
        ("tool_use" | "server_tool_use" | "mcp_tool_use", ["input"]) => {
            let tool = holder.and_then(|block| block.get("name")?.text());
            Part::Arguments {
                tool: tool.unwrap_or_default().into_owned(),
            }
        }
        (_, ["type" | "id" | "tool_use_id"])
        | ("tool_use" | "server_tool_use" | "mcp_tool_use", ["name" | "server_name"]) => Part::Keep,
        ("text", ["citations", "[]", rest @ ..]) if !rest.is_empty() => citation(node, rest),
        (_, [.., "encrypted_content" | "encrypted_stdout"]) => Part::Signed,
        (_, [.., "error_code"]) | (_, ["content", "type"] | ["content", "[]", "type"]) => {
            Part::Keep
        }
        (_, rest) => common(node, rest),
    }
}

fn citation(node: Node<'_>, rest: &[&str]) -> Part {
    match rest {
        ["encrypted_index"] => Part::Signed,
        ["type" | "file_id"] => Part::Keep,
        rest => common(node, rest),
    }
}

fn common(node: Node<'_>, words: &[&str]) -> Part {
    match (node.kind(), words) {
        (Kind::Object | Kind::Array, _) => Part::Descend,
        (Kind::Bool | Kind::Null, _) | (Kind::Number, ["usage", ..]) => Part::Keep,
        (
            Kind::String,
            ["id" | "type" | "role" | "model" | "stop_reason" | "request_id"]
            | ["usage", ..]
            | ["container", "id" | "expires_at"],
        ) => Part::Keep,
        (Kind::String | Kind::Number, _) => Part::Whole,
    }
}
