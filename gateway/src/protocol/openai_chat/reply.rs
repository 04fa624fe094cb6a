//! The parts of replies and chunks. An object that is not listed is looked into, a string that is
//! not listed is a whole text, searched and restored.

use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::super::{ChannelId, Facts, FieldId, Part, count, is_complete, is_start};

/// A whole reply, or an error.
pub(super) fn whole(node: Node<'_>, place: &Place<'_>) -> Part {
    let words = place.words();
    match words.as_slice() {
        ["choices", "[]", "logprobs"] => Part::Drop,
        [
            "choices",
            "[]",
            "message",
            "tool_calls",
            "[]",
            "function" | "custom",
            "arguments" | "input",
        ]
        | ["choices", "[]", "message", "function_call", "arguments"]
            if node.kind() == Kind::String =>
        {
            let tool = node.parent().and_then(|call| call.get("name")?.text());
            Part::Arguments {
                tool: tool.unwrap_or_default().into_owned(),
            }
        }
        ["choices", "[]", "message", rest @ ..] if is_name(rest) => Part::Keep,
        words => common(node, words),
    }
}

/// One chunk of a stream.
pub(super) fn event(node: Node<'_>, place: &Place<'_>, facts: &Facts) -> Part {
    let words = place.words();
    let string = node.kind() == Kind::String;
    let channel = |field| {
        let choice = ancestor(node, place, 2);
        Part::Delta(ChannelId {
            owner: count(choice, "index").unwrap_or(0),
            field,
        })
    };
    match words.as_slice() {
        ["usage"] if !facts.usage_wanted => Part::Drop,
        ["choices", "[]", "logprobs"] => Part::Drop,
        ["choices", "[]", "delta", rest @ ..] => match rest {
            ["content"] if string => channel(FieldId::Text),
            ["refusal"] if string => channel(FieldId::Refusal),
            ["reasoning"] if string => channel(FieldId::Reasoning),
            ["reasoning_content"] if string => channel(FieldId::ReasoningContent),
            ["audio", "transcript"] if string => channel(FieldId::Transcript),
            ["function_call", "arguments"] if string => channel(FieldId::FunctionCall),
            [
                "tool_calls",
                "[]",
                "function" | "custom",
                "arguments" | "input",
            ] if string => {
                let call = ancestor(node, place, 5);
                let index = count(call, "index").unwrap_or(0);
                channel(FieldId::Tool(index))
            }
            rest if string && is_joined(rest) => Part::Called { certain: true },
            rest if is_name(rest) => Part::Keep,
            rest => match common(node, words.as_slice()) {
                Part::Whole if string && goes_on(rest) => Part::Piece {
                    owner: ancestor(node, place, 2)
                        .and_then(|choice| count(Some(choice), "index"))
                        .or(Some(0)),
                },
                Part::Whole if string && !is_item(rest) => Part::Called { certain: false },
                part => part,
            },
        },
        words => match common(node, words) {
            Part::Whole if string && !is_complete(words) => unlisted(node, place, words),
            part => part,
        },
    }
}

/// A text outside of deltas that no table names, by the events that may go on with it. Members of
/// a chunk are no fragments to most providers, who say the same in every chunk, so they are only
/// compared with those of the next one.
fn unlisted(node: Node<'_>, place: &Place<'_>, words: &[&str]) -> Part {
    match ancestor(node, place, 0) {
        // Letters by chance, so that all chunks are of one length.
        _ if words == ["obfuscation"] => Part::Whole,
        Some(root) if has_error(root) => Part::Whole,
        Some(root) if root.get("choices").is_some() => {
            let choice = ancestor(node, place, 2).filter(|_| words.first() == Some(&"choices"));
            Part::Head {
                owner: choice.and_then(|choice| count(Some(choice), "index")),
            }
        }
        Some(root) if starts(root) => Part::Head { owner: None },
        _ => Part::Piece { owner: None },
    }
}

/// Whether an event may hold a text that only the next one goes on with.
pub(super) fn may_be_head(event: Node<'_>) -> bool {
    const CHUNK: [&str; 9] = [
        "choices",
        "created",
        "id",
        "model",
        "object",
        "obfuscation",
        "service_tier",
        "system_fingerprint",
        "usage",
    ];
    const CHOICE: [&str; 4] = ["delta", "finish_reason", "index", "logprobs"];
    let more = |node: Node<'_>, known: &[&str]| {
        node.children().any(|member| {
            member
                .key()
                .is_none_or(|key| !known.contains(&key.as_ref()))
        })
    };
    match event.get("choices") {
        Some(choices) => {
            more(event, &CHUNK) || choices.children().any(|choice| more(choice, &CHOICE))
        }
        None => starts(event),
    }
}

fn starts(event: Node<'_>) -> bool {
    let kind = event.get("type").or_else(|| event.get("object"));
    kind.and_then(Node::text)
        .is_some_and(|kind| is_start(&kind))
}

/// Whether another chunk may go on with a text of a delta.
fn goes_on(rest: &[&str]) -> bool {
    !is_item(rest) && !is_complete(rest)
}

/// Whether a text of a delta is whole: the items of the former are, and the latter is encrypted.
fn is_item(rest: &[&str]) -> bool {
    matches!(
        rest,
        ["annotations", ..] | ["reasoning_details", "[]", "data"]
    )
}

/// Names and ids that clients join from several deltas.
fn is_joined(rest: &[&str]) -> bool {
    is_name(rest) && rest.last() != Some(&"type")
}

fn has_error(event: Node<'_>) -> bool {
    event
        .get("error")
        .is_some_and(|error| error.kind() != Kind::Null)
}

/// Names and ids in a message or a delta.
fn is_name(rest: &[&str]) -> bool {
    matches!(
        rest,
        ["role"]
            | ["tool_calls", "[]", "id" | "index" | "type"]
            | ["tool_calls", "[]", "function" | "custom", "name"]
            | ["function_call", "name"]
            | ["audio", "id"]
            | ["annotations", "[]", "type"]
    )
}

fn common(node: Node<'_>, words: &[&str]) -> Part {
    match (node.kind(), words) {
        (Kind::Object | Kind::Array, _) => Part::Descend,
        (Kind::Bool | Kind::Null, _) => Part::Keep,
        (_, ["id" | "object" | "created" | "model" | "service_tier" | "system_fingerprint"]) => {
            Part::Keep
        }
        (_, ["choices", "[]", "finish_reason" | "index"] | ["usage", ..]) => Part::Keep,
        // Sound cannot be searched; it is only asked for where policy lets media pass.
        (Kind::String, ["choices", "[]", "message" | "delta", "audio", "data"]) => Part::Opaque,
        (Kind::String | Kind::Number, _) => Part::Whole,
    }
}
