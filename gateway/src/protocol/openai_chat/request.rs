//! The request's leaves. What is listed here is a name, a number or a medium; the rest is text.

use gatehouse_redactor::Direction;
use gatehouse_redactor::body::{Class, Grammar, Schema, data_url_type};
use gatehouse_redactor::json::{Kind, Node};

use super::super::place::{Place, ancestor};
use super::OpenAiChat;

const PARAMETER: Class = Class::Skip("parameter");

impl Schema for OpenAiChat {
    fn class(&self, leaf: Node<'_>) -> Class {
        if matches!(leaf.kind(), Kind::Bool | Kind::Null) {
            return Class::Skip("literal");
        }
        let place = Place::of(leaf);
        let words = place.words();
        let number = leaf.kind() == Kind::Number;
        match words.as_slice() {
            [
                "frequency_penalty"
                | "max_completion_tokens"
                | "max_tokens"
                | "n"
                | "presence_penalty"
                | "seed"
                | "temperature"
                | "top_logprobs"
                | "top_p"
                | "top_k"
                | "min_p"
                | "repetition_penalty",
            ] if number => PARAMETER,
            ["logit_bias", _] if number => PARAMETER,
            ["model"] => Class::Check(Grammar::Model),
            ["reasoning_effort" | "service_tier" | "verbosity" | "prompt_cache_retention"]
            | ["modalities", "[]"]
            | ["response_format", "type"]
            | ["audio", "format"]
            | ["reasoning", "effort"] => Class::Check(Grammar::Word),
            ["audio", "voice"] | ["response_format", "json_schema", "name"] => {
                Class::Check(Grammar::Name)
            }
            ["response_format", "json_schema", ..] => Class::Edit(Direction::ToolSchema),
            ["tool_choice", rest @ ..] | ["function_call", rest @ ..] => choice(rest),
            ["tools", "[]", rest @ ..] => tool(rest),
            ["functions", "[]", rest @ ..] => function(rest),
            ["messages", "[]", rest @ ..] => message(leaf, &place, rest),
            _ => Class::Edit(Direction::Prompt),
        }
    }

    fn tool_of(&self, leaf: Node<'_>) -> Option<String> {
        let place = Place::of(leaf);
        let holder = match place.words().as_slice() {
            [
                "messages",
                "[]",
                "tool_calls",
                "[]",
                "function" | "custom",
                ..,
            ] => 5,
            ["messages", "[]", "function_call", ..] => 3,
            _ => return None,
        };
        Some(
            ancestor(leaf, &place, holder)?
                .get("name")?
                .text()?
                .into_owned(),
        )
    }
}

fn choice(rest: &[&str]) -> Class {
    match rest {
        [] | ["type"] | ["allowed_tools", "mode"] | ["allowed_tools", "tools", "[]", "type"] => {
            Class::Check(Grammar::Word)
        }
        ["name"]
        | ["function" | "custom", "name"]
        | [
            "allowed_tools",
            "tools",
            "[]",
            "function" | "custom",
            "name",
        ] => Class::Check(Grammar::Name),
        _ => Class::Edit(Direction::ToolSchema),
    }
}

fn tool(rest: &[&str]) -> Class {
    match rest {
        ["type"] => Class::Check(Grammar::Word),
        ["function" | "custom", rest @ ..] => function(rest),
        _ => Class::Edit(Direction::ToolSchema),
    }
}

fn function(rest: &[&str]) -> Class {
    match rest {
        ["name"] => Class::Check(Grammar::Name),
        ["format", "type"] | ["format", "grammar", "syntax"] => Class::Check(Grammar::Word),
        _ => Class::Edit(Direction::ToolSchema),
    }
}

fn message(leaf: Node<'_>, place: &Place<'_>, rest: &[&str]) -> Class {
    match rest {
        ["role"] => Class::Check(Grammar::Word),
        ["name"] => Class::Check(Grammar::Name),
        ["tool_call_id"] | ["audio", "id"] | ["tool_calls", "[]", "id"] => {
            Class::Check(Grammar::Id)
        }
        ["tool_calls", "[]", "type"] => Class::Check(Grammar::Word),
        ["tool_calls", "[]", "index"] if leaf.kind() == Kind::Number => PARAMETER,
        ["tool_calls", "[]", "function" | "custom", "name"] | ["function_call", "name"] => {
            Class::Check(Grammar::Name)
        }
        ["tool_calls" | "function_call", ..] => Class::Edit(Direction::ToolArguments),
        ["content", "[]", rest @ ..] => part(leaf, place, rest),
        _ => Class::Edit(direction(leaf, place)),
    }
}

fn part(leaf: Node<'_>, place: &Place<'_>, rest: &[&str]) -> Class {
    match rest {
        ["type"]
        | ["image_url", "detail"]
        | ["input_audio", "format"]
        | ["cache_control", "type" | "ttl"] => Class::Check(Grammar::Word),
        ["image_url"] | ["image_url", "url"] | ["video_url", "url"] => media(leaf, "image/*"),
        ["input_audio", "data"] => Class::Media {
            mime: audio_type(leaf),
        },
        // Nothing uploads files through us, so an id names a file that nobody has searched.
        ["file", "file_data" | "file_id"] => media(leaf, "application/octet-stream"),
        _ => Class::Edit(direction(leaf, place)),
    }
}

/// Whose words a message's text is.
fn direction(leaf: Node<'_>, place: &Place<'_>) -> Direction {
    let role = ancestor(leaf, place, 2).and_then(|message| message.get("role")?.text());
    match role.as_deref() {
        Some("system" | "developer") => Direction::System,
        Some("tool" | "function") => Direction::ToolOutput,
        _ => Direction::Prompt,
    }
}

fn audio_type(data: Node<'_>) -> String {
    let format = data.parent().and_then(|audio| audio.get("format")?.text());
    match format.as_deref() {
        Some(word @ ("wav" | "mp3" | "flac" | "opus" | "pcm16" | "aac")) => format!("audio/{word}"),
        _ => "audio/*".to_owned(),
    }
}

/// A `data:` URL says what it holds; what any other URL holds is unknown until the provider has
/// fetched it, which is a way out that nobody searches.
fn media(leaf: Node<'_>, otherwise: &str) -> Class {
    let mime = leaf.text().and_then(|text| data_url_type(&text));
    Class::Media {
        mime: mime.unwrap_or_else(|| otherwise.to_owned()),
    }
}
