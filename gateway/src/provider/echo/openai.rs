//! The echo's replies in OpenAI's shape.

use bytes::Bytes;
use serde_json::{Value, json};

use super::request::Fault;
use super::{CREATED, Reply, Saying, pieces};

/// A whole `chat.completion`.
pub(super) fn completion(reply: &Reply) -> Value {
    let (message, finish) = match &reply.saying {
        Saying::Call { tool, arguments } => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let call = json!({ "id": call_id(reply), "type": "function", "function": function });
            (
                json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": [call] }),
                "tool_calls",
            )
        }
        Saying::Text(text) => (
            json!({ "role": "assistant", "content": text, "refusal": null }),
            "stop",
        ),
    };
    json!({
        "id": id(reply),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish }],
        "usage": usage(reply),
    })
}

/// The same as a stream of `chat.completion.chunk`, closed by `[DONE]`.
pub(super) fn events(reply: &Reply, include_usage: bool) -> Vec<Bytes> {
    let mut events = Vec::new();
    let mut delta = |delta: Value, finish: Option<&str>| {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        events.push(event(&chunk(reply, json!([choice]), Value::Null)));
    };
    let finish = match &reply.saying {
        Saying::Call { tool, arguments } => {
            let function = json!({ "name": tool, "arguments": "" });
            let call = json!({
                "index": 0, "id": call_id(reply), "type": "function", "function": function,
            });
            delta(
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                None,
            );
            for piece in pieces(&arguments.to_string()) {
                let call = json!({ "index": 0, "function": { "arguments": piece } });
                delta(json!({ "tool_calls": [call] }), None);
            }
            "tool_calls"
        }
        Saying::Text(text) => {
            delta(
                json!({ "role": "assistant", "content": "", "refusal": null }),
                None,
            );
            for piece in pieces(text) {
                delta(json!({ "content": piece }), None);
            }
            "stop"
        }
    };
    delta(json!({}), Some(finish));
    if include_usage {
        events.push(event(&chunk(reply, json!([]), usage(reply))));
    }
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

/// OpenAI's error object.
pub(super) fn error(fault: &Fault) -> Value {
    json!({ "error": {
        "message": fault.message,
        "type": "invalid_request_error",
        "param": fault.param,
        "code": null,
    }})
}

fn chunk(reply: &Reply, choices: Value, usage: Value) -> Value {
    json!({
        "id": id(reply),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": reply.model,
        "choices": choices,
        "usage": usage,
    })
}

fn event(data: &Value) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

fn id(reply: &Reply) -> String {
    format!("chatcmpl-{}", reply.id)
}

fn call_id(reply: &Reply) -> String {
    format!("call_{}", reply.id)
}

fn usage(reply: &Reply) -> Value {
    json!({
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    })
}
