//! What the echo needs to know of a request, in either protocol.

use serde_json::Value;

use super::Dialect;

/// A request as the echo understands it.
pub(super) struct Request {
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// The text of the last message.
    pub(super) last_text: String,
    /// The text of all messages.
    pub(super) text: String,
    /// Whether the last message brings what a tool returned.
    pub(super) last_is_tool_output: bool,
    /// The tool to call, if any may be called.
    pub(super) tool: Option<Tool>,
    /// The schema that the reply's text must fit.
    pub(super) reply_schema: Option<Value>,
}

/// A tool that the request offers.
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Value,
}

/// Why a request cannot be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The parameter at fault, if it is one.
    pub(super) param: Option<&'static str>,
    pub(super) message: &'static str,
}

impl Fault {
    fn of(param: &'static str, message: &'static str) -> Fault {
        Fault {
            param: Some(param),
            message,
        }
    }
}

impl Request {
    pub(super) fn read(dialect: Dialect, body: &[u8]) -> Result<Request, Fault> {
        let body: Value = serde_json::from_slice(body).map_err(|_| Fault {
            param: None,
            message: "The body is not JSON.",
        })?;
        let model = text_of(&body, "model").filter(|model| !model.is_empty());
        let model = model
            .ok_or(Fault::of("model", "A model must be named."))?
            .to_owned();
        let messages = body.get("messages").and_then(Value::as_array);
        let messages = messages.ok_or(Fault::of("messages", "Messages must be a list."))?;
        let last = messages.last();
        let last = last.ok_or(Fault::of("messages", "There must be at least one message."))?;
        if dialect == Dialect::Anthropic && body.get("max_tokens").and_then(Value::as_u64).is_none()
        {
            return Err(Fault::of("max_tokens", "max_tokens is required."));
        }
        if body.get("n").is_some_and(|n| n.as_u64() != Some(1)) {
            return Err(Fault::of("n", "The echo provider makes one choice only."));
        }
        let mut text = String::new();
        for message in messages {
            collect(message, &mut text);
        }
        let mut last_text = String::new();
        collect(last, &mut last_text);
        Ok(Request {
            model,
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            include_usage: body.pointer("/stream_options/include_usage")
                == Some(&Value::Bool(true)),
            last_text,
            text,
            last_is_tool_output: is_tool_output(last),
            tool: tool(&body),
            reply_schema: body.pointer("/response_format/json_schema/schema").cloned(),
        })
    }
}

/// The text of a message, whatever its content is made of, a line a part.
fn collect(message: &Value, out: &mut String) {
    match message.get("content") {
        Some(Value::Array(parts)) => parts.iter().for_each(|part| collect_part(part, out)),
        Some(Value::String(text)) => add(text, out),
        _ => {}
    }
}

fn collect_part(part: &Value, out: &mut String) {
    match text_of(part, "text") {
        Some(text) => add(text, out),
        // What a tool returned, in Anthropic's protocol: text, or parts again.
        None => collect(part, out),
    }
}

fn add(text: &str, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
}

fn is_tool_output(message: &Value) -> bool {
    let part_is = |part: &Value| text_of(part, "type") == Some("tool_result");
    matches!(text_of(message, "role"), Some("tool" | "function"))
        || message
            .get("content")
            .and_then(Value::as_array)
            .is_some_and(|parts| parts.iter().any(part_is))
}

/// The tool that `tool_choice` names, else the first one; none if the caller forbids it.
fn tool(body: &Value) -> Option<Tool> {
    let choice = body.get("tool_choice");
    let forbidden = [
        choice.and_then(Value::as_str),
        choice.and_then(|c| text_of(c, "type")),
    ];
    if forbidden.contains(&Some("none")) {
        return None;
    }
    let named = choice.and_then(|choice| {
        choice
            .pointer("/function/name")
            .or_else(|| choice.get("name"))
            .and_then(Value::as_str)
    });
    let mut tools = body.get("tools")?.as_array()?.iter().filter_map(read_tool);
    match named {
        Some(name) => tools.find(|tool| tool.name == name),
        None => tools.next(),
    }
}

/// OpenAI wraps a tool in `function` and calls its schema `parameters`; Anthropic does neither.
fn read_tool(tool: &Value) -> Option<Tool> {
    let tool = tool.get("function").unwrap_or(tool);
    let name = text_of(tool, "name")?.to_owned();
    let schema = tool.get("parameters").or_else(|| tool.get("input_schema"));
    Some(Tool {
        name,
        schema: schema.cloned().unwrap_or(Value::Null),
    })
}

fn text_of<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}
