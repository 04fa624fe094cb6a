//! The request's leaves. What is listed here is a name, a number, a medium or a signed blob; the
//! rest is text.

use gatehouse_redactor::Direction;
use gatehouse_redactor::body::{Class, Grammar, Schema};
use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::{Anthropic, kind};

const PARAMETER: Class = Class::Skip("parameter");

impl Schema for Anthropic {
    fn class(&self, leaf: Node<'_>) -> Class {
        if matches!(leaf.kind(), Kind::Bool | Kind::Null) {
            return Class::Skip("literal");
        }
        let place = Place::of(leaf);
        let words = place.words();
        let number = leaf.kind() == Kind::Number;
        match words.as_slice() {
            ["max_tokens" | "temperature" | "top_k" | "top_p"] | ["thinking", "budget_tokens"]
                if number =>
            {
                PARAMETER
            }
            ["model"] => Class::Check(Grammar::Model),
            ["service_tier" | "inference_geo"]
            | ["thinking", "type" | "display"]
            | ["output_config", "effort"]
            | ["tool_choice", "type"]
            | ["cache_control", "type" | "ttl"] => Class::Check(Grammar::Word),
            ["tool_choice", "name"] => Class::Check(Grammar::Name),
            ["container"] | ["container", "id"] => Class::Check(Grammar::Id),
            ["tools", "[]", rest @ ..] => tool(leaf, rest),
            ["system", "[]", rest @ ..] => block(leaf, &place, rest, 2, Direction::System),
            ["system", ..] => Class::Edit(Direction::System),
            ["messages", "[]", "role"] => Class::Check(Grammar::Word),
            ["messages", "[]", "content", "[]", rest @ ..] => {
                block(leaf, &place, rest, 4, role_direction(leaf, &place))
            }
            ["messages", "[]", ..] => Class::Edit(role_direction(leaf, &place)),
            ["output_config" | "output_format", "type"] | ["output_config", "format", "type"] => {
                Class::Check(Grammar::Word)
            }
            ["output_config" | "output_format", ..] => Class::Edit(Direction::ToolSchema),
            _ => Class::Edit(Direction::Prompt),
        }
    }

    fn tool_of(&self, leaf: Node<'_>) -> Option<String> {
        let place = Place::of(leaf);
        let words = place.words();
        let ["messages", "[]", "content", "[]", "input", ..] = words.as_slice() else {
            return None;
        };
        Some(ancestor(leaf, &place, 4)?.get("name")?.text()?.into_owned())
    }
}

/// A message may also be written by the system.
fn role_direction(leaf: Node<'_>, place: &Place<'_>) -> Direction {
    let role = ancestor(leaf, place, 2).and_then(|message| message.get("role")?.text());
    if role.as_deref() == Some("system") {
        Direction::System
    } else {
        Direction::Prompt
    }
}

fn tool(leaf: Node<'_>, rest: &[&str]) -> Class {
    let number = leaf.kind() == Kind::Number;
    match rest {
        ["name"] => Class::Check(Grammar::Name),
        ["type"] | ["cache_control", "type" | "ttl"] | ["allowed_callers", "[]"] => {
            Class::Check(Grammar::Word)
        }
        [
            "max_uses" | "display_width_px" | "display_height_px" | "display_number"
            | "max_content_tokens" | "max_characters",
        ] if number => PARAMETER,
        _ => Class::Edit(Direction::ToolSchema),
    }
}

/// A leaf of the content block that stands `depth` steps below the root.
fn block(
    leaf: Node<'_>,
    place: &Place<'_>,
    rest: &[&str],
    depth: usize,
    direction: Direction,
) -> Class {
    let holder = ancestor(leaf, place, depth);
    let kind = holder.and_then(kind).unwrap_or_default();
    match (kind.as_str(), rest) {
        (_, ["type"] | ["cache_control", "type" | "ttl"]) => Class::Check(Grammar::Word),
        ("thinking", ["thinking" | "signature"]) | ("redacted_thinking", ["data"]) => Class::Signed,
        (_, ["id" | "tool_use_id"]) => Class::Check(Grammar::Id),
        ("tool_use" | "server_tool_use" | "mcp_tool_use", ["name" | "server_name"]) => {
            Class::Check(Grammar::Name)
        }
        (_, ["caller", "type"]) => Class::Check(Grammar::Word),
        (_, ["caller", "tool_id"]) => Class::Check(Grammar::Id),
        ("tool_use" | "server_tool_use" | "mcp_tool_use", ["input", ..]) => {
            Class::Edit(Direction::ToolArguments)
        }
        ("tool_result" | "mcp_tool_result", ["content", "[]", inner @ ..]) => {
            block(leaf, place, inner, depth + 2, Direction::ToolOutput)
        }
        (kind, rest) if kind.ends_with("_tool_result") || kind == "tool_result" => {
            server_result(rest)
        }
        ("text", ["citations", "[]", rest @ ..]) => citation(leaf, rest, direction),
        ("container_upload", ["file_id"]) => unsearchable(),
        ("image", ["source", rest @ ..]) => source(leaf, rest, "image/*", direction),
        ("document", ["source", "content", "[]", inner @ ..]) => {
            block(leaf, place, inner, depth + 3, direction)
        }
        ("document", ["source", rest @ ..]) => source(leaf, rest, "application/pdf", direction),
        ("search_result", ["content", "[]", inner @ ..]) => {
            block(leaf, place, inner, depth + 2, Direction::ToolOutput)
        }
        ("search_result", _) => Class::Edit(Direction::ToolOutput),
        _ => Class::Edit(direction),
    }
}

/// Results of tools that the provider runs come back to it; their encrypted parts are signed.
fn server_result(rest: &[&str]) -> Class {
    match rest {
        [.., "encrypted_content" | "encrypted_stdout"] => Class::Signed,
        [.., "type"] => Class::Check(Grammar::Word),
        [.., "error_code"] => Class::Check(Grammar::Word),
        [.., "file_id"] => unsearchable(),
        _ => Class::Edit(Direction::ToolOutput),
    }
}

fn citation(leaf: Node<'_>, rest: &[&str], direction: Direction) -> Class {
    match rest {
        ["type"] => Class::Check(Grammar::Word),
        ["encrypted_index"] => Class::Signed,
        ["file_id"] => Class::Check(Grammar::Id),
        [
            "document_index"
            | "start_char_index"
            | "end_char_index"
            | "start_page_number"
            | "end_page_number"
            | "start_block_index"
            | "end_block_index"
            | "search_result_index",
        ] if leaf.kind() == Kind::Number => PARAMETER,
        _ => Class::Edit(direction),
    }
}

/// The source of a picture or document. Plain text in it is text; what lies behind a URL or a file
/// id is known to nobody here.
fn source(leaf: Node<'_>, rest: &[&str], otherwise: &str, direction: Direction) -> Class {
    let holder = leaf.parent();
    let kind = holder.and_then(kind).unwrap_or_default();
    match (kind.as_str(), rest) {
        (_, ["type"]) => Class::Check(Grammar::Word),
        // The one grammar that knows a slash.
        (_, ["media_type"]) => Class::Check(Grammar::Id),
        ("text" | "content", _) => Class::Edit(direction),
        (_, ["data"]) => Class::Media {
            mime: media_type(leaf, otherwise),
        },
        (_, ["file_id"]) => unsearchable(),
        (_, ["url"]) => Class::Media {
            mime: otherwise.to_owned(),
        },
        _ => Class::Edit(direction),
    }
}

fn media_type(leaf: Node<'_>, otherwise: &str) -> String {
    let named = leaf
        .parent()
        .and_then(|source| source.get("media_type")?.text());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.+-".contains(&byte);
    match named {
        Some(mime) if mime.len() < 80 && mime.contains('/') && mime.bytes().all(plain) => {
            mime.to_ascii_lowercase()
        }
        _ => otherwise.to_owned(),
    }
}

/// Nothing uploads files through us, so an id names a file that nobody has searched.
fn unsearchable() -> Class {
    Class::Media {
        mime: "application/octet-stream".to_owned(),
    }
}
