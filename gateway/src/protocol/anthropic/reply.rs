//! The parts of replies and events. An object that is not listed is looked into, a string that is
//! not listed is a whole text, searched and restored.

use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::super::{ChannelId, FieldId, Part, count, is_complete};
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
        Part::Whole if node.kind() == Kind::String && goes_on(node, place, &words) => Part::Piece {
            owner: ancestor(node, place, 0).and_then(|root| count(Some(root), "index")),
        },
        part => part,
    }
}

/// Whether another event may go on with a text: a delta, or an event nobody knows.
fn goes_on(node: Node<'_>, place: &Place<'_>, words: &[&str]) -> bool {
    let root = ancestor(node, place, 0);
    match root.and_then(kind).as_deref() {
        Some(
            "content_block_start"
            | "content_block_stop"
            | "error"
            | "message_delta"
            | "message_start"
            | "message_stop"
            | "ping",
        ) => return false,
        // It holds all of a citation.
        Some("content_block_delta") => {
            let delta = root.and_then(|root| root.get("delta"));
            if delta.and_then(kind).as_deref() == Some("citations_delta") {
                return false;
            }
        }
        None if root.is_some_and(has_error) => return false,
        _ => {}
    }
    !is_complete(words)
}

fn listed(node: Node<'_>, place: &Place<'_>, words: &[&str]) -> Part {
    match words {
        ["index"] => Part::Keep,
        ["delta", rest @ ..] if !rest.is_empty() => delta(node, place, rest),
        // What a block starts with is the head of its channel's text.
        ["content_block", "text"] if node.kind() == Kind::String => {
            Part::Delta(channel(node, place, FieldId::Text))
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
