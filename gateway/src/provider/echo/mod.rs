//! The built-in provider: answers in the shape of the caller's protocol without leaving the
//! process, so that everything can be tried without an account.
//!
//! It says back what it saw. If the request offers tools and the last word is the user's, it calls
//! a tool instead, with arguments built from the tool's schema and from the pseudonyms that it was
//! given. Pure functions of the request's bytes: the same request gets the same reply.

mod anthropic;
mod arguments;
mod openai;
mod request;
mod tokens;

use bytes::Bytes;
use gatehouse_envelope::digest;
use serde_json::{Value, json};

use request::{Fault, Request};

/// Which protocol the caller, and so the reply, speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/chat/completions`.
    OpenAi,
}

/// A whole reply, in the pieces in which a provider would send it: one, or one an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The value of `content-type`.
    pub content_type: &'static str,
    /// The body, never empty.
    pub chunks: Vec<Bytes>,
}

/// What the model of this provider is called.
const MODEL: &str = "echo-1";

/// Replies carry a moment. A pure function has no clock, so it is always the same one.
const CREATED: u64 = 1_767_225_600;

/// What the echo has to say, before it takes a protocol's shape.
enum Saying {
    Call { tool: String, arguments: Value },
    Text(String),
}

/// One reply's worth of facts, from which both protocols and both forms are written.
struct Reply {
    /// Letters that are different for every request; ids are made of it.
    id: String,
    model: String,
    saying: Saying,
    input_tokens: u64,
    output_tokens: u64,
}

/// Answers the body of `POST /v1/chat/completions` or `POST /v1/messages`, streamed if it asks
/// for that. What a provider would refuse gets the provider's own kind of error.
#[must_use]
pub fn answer(dialect: Dialect, body: &[u8]) -> Answer {
    let request = match Request::read(dialect, body) {
        Ok(request) => request,
        Err(fault) => return refuse(dialect, &fault),
    };
    let reply = Reply::new(&request, body);
    match (dialect, request.stream) {
        (Dialect::Anthropic, false) => whole(200, &anthropic::message(&reply)),
        (Dialect::Anthropic, true) => stream(anthropic::events(&reply)),
        (Dialect::OpenAi, false) => whole(200, &openai::completion(&reply)),
        (Dialect::OpenAi, true) => stream(openai::events(&reply, request.include_usage)),
    }
}

/// Answers `GET /v1/models`.
#[must_use]
pub fn models(dialect: Dialect) -> Answer {
    let list = match dialect {
        Dialect::Anthropic => json!({
            "data": [{
                "type": "model", "id": MODEL, "display_name": "Echo",
                "created_at": "2026-01-01T00:00:00Z",
            }],
            "first_id": MODEL, "last_id": MODEL, "has_more": false,
        }),
        Dialect::OpenAi => json!({
            "object": "list",
            "data": [{ "id": MODEL, "object": "model", "created": CREATED, "owned_by": "gatehouse" }],
        }),
    };
    whole(200, &list)
}

impl Reply {
    fn new(request: &Request, body: &[u8]) -> Reply {
        let saying = say(request);
        let said = match &saying {
            Saying::Call { arguments, .. } => arguments.to_string(),
            Saying::Text(text) => text.clone(),
        };
        Reply {
            id: letters(body),
            model: request.model.clone(),
            saying,
            input_tokens: count_tokens(&request.text),
            output_tokens: count_tokens(&said),
        }
    }
}

fn say(request: &Request) -> Saying {
    let tokens = tokens::in_order(&request.last_text, &request.text);
    if let (Some(tool), false) = (&request.tool, request.last_is_tool_output) {
        let arguments = arguments::build(&tool.schema, &tokens);
        return Saying::Call {
            tool: tool.name.clone(),
            arguments,
        };
    }
    if let Some(schema) = &request.reply_schema {
        return Saying::Text(arguments::build(schema, &tokens).to_string());
    }
    let lead = if request.last_is_tool_output {
        "The tool said: "
    } else {
        "You said: "
    };
    Saying::Text(format!("{lead}{}", request.last_text))
}

/// Sixteen letters of the request's digest. Letters only: an id with digits in it could be taken
/// for somebody's number.
fn letters(body: &[u8]) -> String {
    let digest = digest::sha256(&[body]);
    digest
        .iter()
        .take(8)
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(letter)
        .collect()
}

fn letter(nibble: u8) -> char {
    char::from(b'a' + nibble)
}

/// The usual rule of thumb: four characters a token, at least one.
fn count_tokens(text: &str) -> u64 {
    let characters = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    characters.div_ceil(4).max(1)
}

fn refuse(dialect: Dialect, fault: &Fault) -> Answer {
    let error = match dialect {
        Dialect::Anthropic => anthropic::error(fault),
        Dialect::OpenAi => openai::error(fault),
    };
    whole(400, &error)
}

fn whole(status: u16, body: &Value) -> Answer {
    let chunks = vec![Bytes::from(body.to_string())];
    Answer {
        status,
        content_type: "application/json",
        chunks,
    }
}

fn stream(chunks: Vec<Bytes>) -> Answer {
    Answer {
        status: 200,
        content_type: "text/event-stream; charset=utf-8",
        chunks,
    }
}

/// Pieces of a few characters, as a model would send them: a pseudonym never fits into one, so
/// whoever puts values back has to wait for the rest.
fn pieces(text: &str) -> Vec<String> {
    const LENGTH: usize = 7;
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(LENGTH)
        .map(|piece| piece.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests;
