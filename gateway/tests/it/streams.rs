//! Streams through the whole gateway, at every byte split: what a caller reads cannot depend on how
//! a provider's bytes were cut, and no cut lets anything out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, Script};
use crate::wire::token;

const MAIL: &str = "lena.fors@example.org";

/// Which protocol a stream speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Anthropic,
    OpenAi,
}

impl Speaks {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Speaks::Anthropic => "/v1/messages",
            Speaks::OpenAi => "/v1/chat/completions",
        }
    }

    pub(crate) fn request(self, content: &str) -> Value {
        match self {
            Speaks::Anthropic => json!({"model": "c", "max_tokens": 64, "stream": true,
                "messages": [{"role": "user", "content": content}]}),
            Speaks::OpenAi => json!({"model": "m", "stream": true,
                "messages": [{"role": "user", "content": content}]}),
        }
    }

    /// A whole stream whose text comes in these pieces.
    pub(crate) fn texts(self, pieces: &[&str]) -> Vec<String> {
        let mut events = Vec::new();
        match self {
            Speaks::OpenAi => {
                for piece in pieces {
                    events.push(chunk(0, &json!({"content": piece}), Value::Null));
                }
                events.push(chunk(0, &json!({}), json!("stop")));
                events.push("data: [DONE]\n\n".to_owned());
            }
            Speaks::Anthropic => {
                events.push(event(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
                    "role": "assistant", "content": [], "model": "c", "usage": {"input_tokens": 7, "output_tokens": 1}}})));
                events.push(event(json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": ""}})));
                for piece in pieces {
                    events.push(event(json!({"type": "content_block_delta", "index": 0,
                        "delta": {"type": "text_delta", "text": piece}})));
                }
                events.push(event(json!({"type": "content_block_stop", "index": 0})));
                events.push(event(
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": 3}}),
                ));
                events.push(event(json!({"type": "message_stop"})));
            }
        }
        events
    }

    /// A whole stream with one tool call, whose arguments come in these pieces.
    pub(crate) fn arguments(self, pieces: &[&str]) -> Vec<String> {
        let mut events = Vec::new();
        match self {
            Speaks::OpenAi => {
                events.push(chunk(
                    0,
                    &json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "send_mail", "arguments": ""}}]}),
                    Value::Null,
                ));
                for piece in pieces {
                    let call =
                        json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]});
                    events.push(chunk(0, &call, Value::Null));
                }
                events.push(chunk(0, &json!({}), json!("tool_calls")));
                events.push("data: [DONE]\n\n".to_owned());
            }
            Speaks::Anthropic => {
                events.push(event(json!({"type": "content_block_start", "index": 1,
                    "content_block": {"type": "tool_use", "id": "toolu_1", "name": "send_mail", "input": {}}})));
                for piece in pieces {
                    events.push(event(json!({"type": "content_block_delta", "index": 1,
                        "delta": {"type": "input_json_delta", "partial_json": piece}})));
                }
                events.push(event(json!({"type": "content_block_stop", "index": 1})));
                events.push(event(
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
                ));
                events.push(event(json!({"type": "message_stop"})));
            }
        }
        events
    }
}

pub(crate) fn chunk(index: u64, delta: &Value, finish: Value) -> String {
    let data = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}]});
    format!("data: {data}\n\n")
}

pub(crate) fn event(data: Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap()
    )
}

/// The text that a client joins from the events, of one choice or of all blocks.
pub(crate) fn text_of(answer: &Answer, choice: u64) -> String {
    let mut text = String::new();
    for data in answer.data() {
        for part in data["choices"].as_array().into_iter().flatten() {
            if part["index"] == choice {
                text.push_str(part["delta"]["content"].as_str().unwrap_or_default());
            }
        }
        text.push_str(data["delta"]["text"].as_str().unwrap_or_default());
    }
    text
}

/// The tool arguments that a client joins.
pub(crate) fn arguments_of(answer: &Answer) -> String {
    let mut text = String::new();
    for data in answer.data() {
        let call = &data["choices"][0]["delta"]["tool_calls"][0];
        text.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        text.push_str(data["delta"]["partial_json"].as_str().unwrap_or_default());
    }
    text
}

/// Plays `events` whole, byte by byte, and cut once at every byte; gives each answer to `check`.
pub(crate) async fn at_every_split(
    gate: &Gate,
    speaks: Speaks,
    request: &Value,
    events: impl Fn(&str) -> Vec<String> + Send + Sync + Clone + 'static,
    check: impl Fn(&Answer, &str),
) {
    let caller = gate.caller();
    let size = Arc::new(AtomicUsize::new(0));
    let mut cut = 0;
    loop {
        let (events, size_seen) = (events.clone(), Arc::clone(&size));
        gate.provider
            .play(Script::events(Vec::new()).made(move |request| {
                let bytes = events(&request.text()).concat().into_bytes();
                size_seen.store(bytes.len(), Ordering::SeqCst);
                match cut {
                    0 => bytes.chunks(1).map(<[u8]>::to_vec).collect(),
                    cut => vec![
                        bytes[..cut.min(bytes.len())].to_vec(),
                        bytes[cut.min(bytes.len())..].to_vec(),
                    ],
                }
            }));
        let answer = caller.post(speaks.path(), request).await;
        check(&answer, &format!("cut at {cut}"));
        cut += 1;
        if cut > size.load(Ordering::SeqCst) {
            return;
        }
    }
}

pub(crate) fn whole(answer: &Answer, at: &str) {
    assert_eq!(answer.status, 200, "{at}: {}", answer.text());
    assert!(answer.complete && answer.ended(), "{at}: {}", answer.text());
    for (name, data) in answer.events() {
        if let (Some(name), Ok(data)) = (name, serde_json::from_str::<Value>(&data)) {
            assert_eq!(data["type"], name.as_str(), "{at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_value_is_masked_however_the_bytes_are_cut() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let events =
            move |_: &str| speaks.texts(&["write to new.per", "son@exam", "ple.net n\u{fc}n"]);
        at_every_split(
            &gate,
            speaks,
            &speaks.request("hi"),
            events,
            |answer, at| {
                whole(answer, at);
                let text = text_of(answer, 0);
                assert!(!answer.text().contains("new.per"), "{at}: {text}");
                assert!(
                    text.starts_with("write to ") && text.ends_with(" n\u{fc}n"),
                    "{at}: {text}"
                );
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_callers_own_value_comes_back_however_the_bytes_are_cut() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let events = move |request: &str| {
            let token = token(request);
            let (head, tail) = token.split_at(token.len() / 2);
            speaks.texts(&["to ", head, tail, " ok"])
        };
        let request = speaks.request(&format!("mail {MAIL}"));
        at_every_split(&gate, speaks, &request, events, |answer, at| {
            whole(answer, at);
            assert_eq!(text_of(answer, 0), format!("to {MAIL} ok"), "{at}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_arguments_stay_json_and_hold_the_value_however_the_bytes_are_cut() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let events = move |request: &str| {
            let json = format!(r#"{{"to":"{}","n":10,"q":"\u00e9"}}"#, token(request));
            let (head, tail) = json.split_at(json.len() / 2);
            speaks.arguments(&[head, tail])
        };
        let request = speaks.request(&format!("mail {MAIL}"));
        at_every_split(&gate, speaks, &request, events, |answer, at| {
            whole(answer, at);
            let arguments: Value = serde_json::from_str(&arguments_of(answer)).unwrap();
            assert_eq!(arguments, json!({"to": MAIL, "n": 10, "q": "é"}), "{at}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn choices_do_not_share_what_is_held() {
    let gate = Gate::up().await;
    let events = vec![
        chunk(0, &json!({"content": "SSN 512-"}), Value::Null),
        chunk(1, &json!({"content": "mail a.b@exam"}), Value::Null),
        chunk(0, &json!({"content": "48-3071"}), Value::Null),
        chunk(1, &json!({"content": "ple.net"}), Value::Null),
        "data: [DONE]\n\n".to_owned(),
    ];
    let play = move |_: &str| events.clone();
    at_every_split(
        &gate,
        Speaks::OpenAi,
        &Speaks::OpenAi.request("hi"),
        play,
        |answer, at| {
            whole(answer, at);
            let (one, two) = (text_of(answer, 0), text_of(answer, 1));
            assert!(
                one.starts_with("SSN ") && !one.contains("48-3071"),
                "{at}: {one}"
            );
            assert!(
                two.starts_with("mail ") && !two.contains("ple.net"),
                "{at}: {two}"
            );
        },
    )
    .await;
}
