//! The echo's replies in Anthropic's shape.

use bytes::Bytes;
use serde_json::{Value, json};

use super::request::Fault;
use super::{Reply, Saying, pieces};

/// A whole message.
pub(super) fn message(reply: &Reply) -> Value {
    let block = match &reply.saying {
        Saying::Call { tool, arguments } => {
            json!({ "type": "tool_use", "id": call_id(reply), "name": tool, "input": arguments })
        }
        Saying::Text(text) => json!({ "type": "text", "text": text }),
    };
    let mut message = opening(reply);
    if let Some(fields) = message.as_object_mut() {
        fields.insert("content".to_owned(), json!([block]));
        fields.insert("stop_reason".to_owned(), json!(stop_reason(reply)));
        fields.insert("usage".to_owned(), usage(reply, reply.output_tokens));
    }
    message
}

/// The same as a stream of named events, closed by `message_stop`.
pub(super) fn events(reply: &Reply) -> Vec<Bytes> {
    let (block, deltas) = match &reply.saying {
        Saying::Call { tool, arguments } => {
            let block =
                json!({ "type": "tool_use", "id": call_id(reply), "name": tool, "input": {} });
            let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
            (
                block,
                pieces(&arguments.to_string())
                    .into_iter()
                    .map(delta)
                    .collect::<Vec<_>>(),
            )
        }
        Saying::Text(text) => {
            let delta = |piece| json!({ "type": "text_delta", "text": piece });
            let deltas = pieces(text).into_iter().map(delta).collect();
            (json!({ "type": "text", "text": "" }), deltas)
        }
    };
    let mut events = vec![
        event("message_start", json!({ "message": opening(reply) })),
        event(
            "content_block_start",
            json!({ "index": 0, "content_block": block }),
        ),
        event("ping", json!({})),
    ];
    for delta in deltas {
        events.push(event(
            "content_block_delta",
            json!({ "index": 0, "delta": delta }),
        ));
    }
    events.push(event("content_block_stop", json!({ "index": 0 })));
    let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
    let usage = json!({ "output_tokens": reply.output_tokens });
    events.push(event(
        "message_delta",
        json!({ "delta": delta, "usage": usage }),
    ));
    events.push(event("message_stop", json!({})));
    events
}

/// Anthropic's error object.
pub(super) fn error(fault: &Fault) -> Value {
    let message = match fault.param {
        Some(param) => format!("{param}: {}", fault.message),
        None => fault.message.to_owned(),
    };
    json!({
        "type": "error",
        "error": { "type": "invalid_request_error", "message": message },
    })
}

/// A message that has said nothing yet.
fn opening(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(reply, 0),
    })
}

fn event(name: &str, mut data: Value) -> Bytes {
    if let Some(fields) = data.as_object_mut() {
        fields.insert("type".to_owned(), json!(name));
    }
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

fn call_id(reply: &Reply) -> String {
    format!("toolu_{}", reply.id)
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.saying {
        Saying::Call { .. } => "tool_use",
        Saying::Text(_) => "end_turn",
    }
}

fn usage(reply: &Reply, output_tokens: u64) -> Value {
    json!({ "input_tokens": reply.input_tokens, "output_tokens": output_tokens })
}
