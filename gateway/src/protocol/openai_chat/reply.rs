//! The parts of replies and chunks. An object that is not listed is looked into, a string that is
//! not listed is a whole text, searched and restored.

use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::super::{ChannelId, Facts, FieldId, Part, count, is_complete};

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
            rest if is_name(rest) => Part::Keep,
            rest => match common(node, words.as_slice()) {
                Part::Whole if string && goes_on(rest) => Part::Piece {
                    owner: ancestor(node, place, 2)
                        .and_then(|choice| count(Some(choice), "index"))
                        .or(Some(0)),
                },
                part => part,
            },
        },
        words => match common(node, words) {
            Part::Whole if string && is_unknown(node, place) && goes_on(words) => {
                Part::Piece { owner: None }
            }
            part => part,
        },
    }
}

/// Whether another chunk may go on with a text of a delta.
fn goes_on(rest: &[&str]) -> bool {
    // The items of the former are whole, and the latter is encrypted.
    let whole = matches!(
        rest,
        ["annotations", ..] | ["reasoning_details", "[]", "data"]
    );
    !whole && !is_complete(rest)
}

/// An event that is neither a chunk nor an error.
fn is_unknown(node: Node<'_>, place: &Place<'_>) -> bool {
    ancestor(node, place, 0).is_some_and(|root| {
        let error = root.get("error");
        root.get("choices").is_none() && error.is_none_or(|error| error.kind() == Kind::Null)
    })
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
