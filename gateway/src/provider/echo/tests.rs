//! The echo as a client sees it.

use serde_json::{Value, json};

use super::*;

fn ask(dialect: Dialect, body: &Value) -> Answer {
    answer(dialect, body.to_string().as_bytes())
}

fn object(answer: &Answer) -> Value {
    assert_eq!(answer.chunks.len(), 1);
    serde_json::from_slice(&answer.chunks[0]).expect("JSON")
}

/// The data of every event but `[DONE]`.
fn data(answer: &Answer) -> Vec<Value> {
    let lines = answer
        .chunks
        .iter()
        .map(|chunk| std::str::from_utf8(chunk).expect("UTF-8"));
    lines
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("JSON"))
        .collect()
}

fn openai_tools() -> Value {
    json!([{"type": "function", "function": {"name": "refund", "parameters": {
        "type": "object",
        "properties": {"iban": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["iban", "amount"],
    }}}])
}

fn anthropic_tools() -> Value {
    json!([{"name": "refund", "input_schema": {
        "type": "object",
        "properties": {"iban": {"type": "string"}, "amount": {"type": "number"}},
    }}])
}

const SAID: &str = "My IBAN is <IBAN_k7q2mz>, mail <EMAIL_abcdef>.";

#[test]
fn openai_says_back_what_it_saw() {
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": SAID}]},
    ]});
    let answer = ask(Dialect::OpenAi, &body);
    assert_eq!(answer.status, 200);
    let reply = object(&answer);
    assert_eq!(
        reply["choices"][0]["message"]["content"],
        format!("You said: a\n{SAID}")
    );
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(reply["model"], "m");
    let usage = &reply["usage"];
    let sum = usage["prompt_tokens"]
        .as_u64()
        .zip(usage["completion_tokens"].as_u64());
    assert_eq!(sum.map(|(a, b)| a + b), usage["total_tokens"].as_u64());
}

#[test]
fn a_stream_joins_to_the_whole_reply_openai() {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": SAID}]});
    let whole = object(&ask(Dialect::OpenAi, &body));
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let answer = ask(Dialect::OpenAi, &body);
    assert!(answer.content_type.starts_with("text/event-stream"));
    assert_eq!(
        answer.chunks.last().map(|c| &c[..]),
        Some(&b"data: [DONE]\n\n"[..])
    );
    let events = data(&answer);
    let text: String = events
        .iter()
        .filter_map(|e| e["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, whole["choices"][0]["message"]["content"]);
    assert_eq!(events.last().map(|e| &e["usage"]), Some(&whole["usage"]));
    assert!(events.len() > 5, "several pieces");
}

#[test]
fn usage_is_streamed_only_when_asked_for() {
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]});
    assert!(
        data(&ask(Dialect::OpenAi, &body))
            .iter()
            .all(|event| event["usage"].is_null())
    );
}

#[test]
fn openai_calls_the_tool_and_then_says_what_it_returned() {
    let mut body = json!({"model": "m", "tools": openai_tools(),
        "messages": [{"role": "user", "content": SAID}]});
    let call = object(&ask(Dialect::OpenAi, &body))["choices"][0].clone();
    assert_eq!(call["finish_reason"], "tool_calls");
    let call = call["message"]["tool_calls"][0].clone();
    assert_eq!(call["function"]["name"], "refund");
    let arguments: Value =
        serde_json::from_str(call["function"]["arguments"].as_str().expect("text")).expect("JSON");
    assert_eq!(arguments, json!({"iban": "<IBAN_k7q2mz>", "amount": 1}));

    body["stream"] = json!(true);
    let events = data(&ask(Dialect::OpenAi, &body));
    let streamed: String = events
        .iter()
        .filter_map(|e| e["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str())
        .collect();
    assert_eq!(
        serde_json::from_str::<Value>(&streamed).expect("JSON"),
        arguments
    );

    body["stream"] = json!(false);
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call.clone()]}));
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "done"}));
    let reply = object(&ask(Dialect::OpenAi, &body));
    assert_eq!(
        reply["choices"][0]["message"]["content"],
        "The tool said: done"
    );
}

#[test]
fn anthropic_calls_the_tool_and_then_says_what_it_returned() {
    let mut body = json!({"model": "c", "max_tokens": 10, "tools": anthropic_tools(),
        "messages": [{"role": "user", "content": [{"type": "text", "text": SAID}]}]});
    let reply = object(&ask(Dialect::Anthropic, &body));
    assert_eq!(reply["stop_reason"], "tool_use");
    let block = reply["content"][0].clone();
    assert_eq!(
        block["input"],
        json!({"iban": "<IBAN_k7q2mz>", "amount": 1})
    );

    body["stream"] = json!(true);
    let events = data(&ask(Dialect::Anthropic, &body));
    let streamed: String = events
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str())
        .collect();
    assert_eq!(
        serde_json::from_str::<Value>(&streamed).expect("JSON"),
        block["input"]
    );
    assert_eq!(
        events.last().map(|event| &event["type"]),
        Some(&json!("message_stop"))
    );

    body["stream"] = json!(false);
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.push(json!({"role": "assistant", "content": [block.clone()]}));
    messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}]}));
    let reply = object(&ask(Dialect::Anthropic, &body));
    assert_eq!(reply["content"][0]["text"], "The tool said: done");
    assert_eq!(reply["stop_reason"], "end_turn");
}

#[test]
fn a_stream_joins_to_the_whole_reply_anthropic() {
    let mut body =
        json!({"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": SAID}]});
    let whole = object(&ask(Dialect::Anthropic, &body));
    body["stream"] = json!(true);
    let answer = ask(Dialect::Anthropic, &body);
    assert!(
        answer
            .chunks
            .iter()
            .all(|chunk| chunk.starts_with(b"event: "))
    );
    let events = data(&answer);
    let text: String = events
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, whole["content"][0]["text"]);
    assert_eq!(text, format!("You said: {SAID}"));
}

#[test]
fn tool_choice_is_obeyed() {
    let tools = json!([
        {"type": "function", "function": {"name": "first"}},
        {"type": "function", "function": {"name": "second"}},
    ]);
    let mut body = json!({"model": "m", "tools": tools, "tool_choice": "none",
        "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(
        object(&ask(Dialect::OpenAi, &body))["choices"][0]["finish_reason"],
        "stop"
    );
    body["tool_choice"] = json!({"type": "function", "function": {"name": "second"}});
    let reply = object(&ask(Dialect::OpenAi, &body));
    let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call, &json!({"name": "second", "arguments": "{}"}));
}

#[test]
fn structured_output_fits_its_schema() {
    let schema = json!({"type": "object", "properties": {"email": {"type": "string"}}});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": SAID}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}});
    let reply = object(&ask(Dialect::OpenAi, &body));
    let text = reply["choices"][0]["message"]["content"]
        .as_str()
        .expect("text");
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(value, json!({"email": "<EMAIL_abcdef>"}));
}

#[test]
fn what_a_provider_would_refuse_is_refused_in_its_shape() {
    let bad = [
        json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}),
        json!({"model": "m", "max_tokens": 1}),
        json!({"model": "m", "messages": [], "max_tokens": 1}),
        json!({"model": "m", "messages": "x", "max_tokens": 1}),
        json!([]),
    ];
    for body in bad {
        for dialect in [Dialect::Anthropic, Dialect::OpenAi] {
            let answer = ask(dialect, &body);
            assert_eq!(answer.status, 400, "{body}");
            assert_eq!(object(&answer)["error"]["type"], "invalid_request_error");
        }
    }
    assert_eq!(answer(Dialect::OpenAi, b"{").status, 400);
    let missing = ask(
        Dialect::Anthropic,
        &json!({"model": "c", "messages": [{"role": "user"}]}),
    );
    assert_eq!(object(&missing)["type"], "error");
}

#[test]
fn ids_are_letters_and_differ_between_requests() {
    let ids: Vec<String> = (0..50)
        .map(|n| {
            let text = format!("message {n}");
            let body = json!({"model": "m", "messages": [{"role": "user", "content": text}]});
            object(&ask(Dialect::OpenAi, &body))["id"]
                .as_str()
                .expect("text")
                .to_owned()
        })
        .collect();
    assert!(
        ids.iter()
            .all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
    );
    let distinct: std::collections::HashSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn models_are_listed_in_both_shapes() {
    assert_eq!(
        object(&models(Dialect::OpenAi))["data"][0]["object"],
        "model"
    );
    assert_eq!(object(&models(Dialect::Anthropic))["has_more"], false);
}
