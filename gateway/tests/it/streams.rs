//! Streams through the whole gateway, at every byte split: what a caller reads cannot depend on how
//! a provider's bytes were cut, and no cut lets anything out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::gate::provider::End;
use crate::gate::{Answer, Gate, Script, only};
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

#[tokio::test(flavor = "multi_thread")]
async fn streamed_and_whole_replies_read_the_same() {
    let gate = Gate::up().await;
    let said =
        "ask new.person@example.net or 512-48-3071, key AKIAIOSFODNN7EXAMPLE, then <EMAIL_zzzzzz>";
    let mut shown = Vec::new();
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let events = speaks.texts(&[said]).concat().into_bytes();
        gate.provider.play(Script::events(vec![events]));
        shown.push(text_of(
            &gate
                .caller()
                .post(speaks.path(), &speaks.request("hi"))
                .await,
            0,
        ));
        let whole = match speaks {
            Speaks::OpenAi => {
                json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]})
            }
            Speaks::Anthropic => {
                json!({"type": "message", "content": [{"type": "text", "text": said}]})
            }
        };
        gate.provider.play(Script::json(&whole.to_string()));
        let mut request = speaks.request("hi");
        request["stream"] = json!(false);
        let answer = gate.caller().post(speaks.path(), &request).await.json();
        let text = match speaks {
            Speaks::OpenAi => &answer["choices"][0]["message"]["content"],
            Speaks::Anthropic => &answer["content"][0]["text"],
        };
        shown.push(text.as_str().unwrap().to_owned());
    }
    assert!(shown.iter().all(|text| *text == shown[0]), "{shown:?}");
    assert!(
        !shown[0].contains("new.person") && !shown[0].contains("512-48"),
        "{}",
        shown[0]
    );
    assert!(shown[0].ends_with("<EMAIL_zzzzzz>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_never_ends_cleanly() {
    for (end, speaks) in [
        (End::Clean, Speaks::OpenAi),
        (End::Cut, Speaks::OpenAi),
        (End::Reset, Speaks::OpenAi),
        (End::Clean, Speaks::Anthropic),
        (End::Reset, Speaks::Anthropic),
    ] {
        let gate = Gate::up().await;
        let mut events = speaks.texts(&["he", "llo"]);
        let kept = events
            .iter()
            .position(|event| event.contains("llo"))
            .unwrap()
            + 1;
        events.truncate(kept);
        // The last event is not even closed by its blank line.
        let bytes = events.concat().trim_end().as_bytes().to_vec();
        gate.provider.play(Script::events(vec![bytes]).end(end));
        let answer = gate
            .caller()
            .post(speaks.path(), &speaks.request("hi"))
            .await;
        assert_eq!(text_of(&answer, 0), "hello");
        assert_eq!(
            answer.error().as_deref(),
            Some("provider_truncated"),
            "{}",
            answer.text()
        );
        assert!(!answer.ended() && !answer.complete, "{}", answer.text());
        let records = gate.records().await;
        assert_eq!(only(&records, "exchange.settled")["ending"], "upstream_cut");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_reply_ends_in_one_error_and_no_stop() {
    let policy = r#"
        [[dictionary]]
        label = "CODENAME"
        terms = ["quince"]

        [labels.CODENAME]
        reply = "block"
    "#;
    let gate = Gate::with(policy, |_| {}).await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let events = move |_: &str| speaks.texts(&["qui", "nce", " pie"]);
        at_every_split(
            &gate,
            speaks,
            &speaks.request("hi"),
            events,
            |answer, at| {
                let text = answer.text();
                assert!(!text_of(answer, 0).contains("quince"), "{at}: {text}");
                assert!(
                    !text.contains("\"stop\"") && !text.contains("end_turn"),
                    "{at}: {text}"
                );
                assert_eq!(
                    answer.error().as_deref(),
                    Some("reply_blocked"),
                    "{at}: {text}"
                );
                assert!(!answer.complete && !answer.ended(), "{at}: {text}");
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_asked_for_and_shown_only_to_those_who_asked() {
    let gate = Gate::up().await;
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3});
    let mut events = Speaks::OpenAi.texts(&["hi"]);
    let last = events.len() - 1;
    events.insert(
        last,
        format!(
            "data: {}\n\n",
            json!({"id": "c1", "choices": [], "usage": usage})
        ),
    );
    events[0] = events[0].replace("{\"choices\"", "{\"usage\":null,\"choices\"");
    gate.provider
        .play(Script::events(vec![events.concat().into_bytes()]));
    let mut request = Speaks::OpenAi.request("hi");
    let answer = gate.caller().post("/v1/chat/completions", &request).await;
    whole(&answer, "unasked");
    assert!(!answer.text().contains("usage"), "{}", answer.text());
    let sent = gate.provider.received()[0].json();
    assert_eq!(sent["stream_options"]["include_usage"], true);
    request["stream_options"] = json!({"include_usage": true, "other": 1});
    let answer = gate.caller().post("/v1/chat/completions", &request).await;
    assert_eq!(
        answer
            .data()
            .iter()
            .filter(|data| data["usage"] == usage)
            .count(),
        1
    );
    assert_eq!(
        gate.provider.received()[1].json()["stream_options"]["other"],
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_thinking_passes_untouched_and_is_known_when_it_comes_back() {
    let gate = Gate::up().await;
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let thinking = "the mail is new.person@example.net";
    let events = [
        event(
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        ),
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": &thinking[..16]}}),
        ),
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": &thinking[16..]}}),
        ),
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        ),
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "message_stop"})),
    ];
    gate.provider
        .play(Script::events(vec![events.concat().into_bytes()]));
    let mut request = Speaks::Anthropic.request("q");
    request["session_id"] = opened["session_id"].clone();
    let answer = gate.caller().post("/v1/messages", &request).await;
    whole(&answer, "thinking");
    let shown: String = answer
        .data()
        .iter()
        .filter_map(|data| data["delta"]["thinking"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(shown, thinking);
    // It comes back, and goes out as it was; changed, it is refused.
    let mut back = |text: &str| {
        request["messages"] = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": [
            {"type": "thinking", "thinking": text, "signature": "c2ln"}]}, {"role": "user", "content": "go on"}]);
        request.clone()
    };
    let answer = gate.caller().post("/v1/messages", &back(thinking)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(gate.provider.received()[1].text().contains(thinking));
    let answer = gate
        .caller()
        .post(
            "/v1/messages",
            &back("the mail is other.person@example.net"),
        )
        .await;
    assert_eq!(
        answer.error().as_deref(),
        Some("signed_content_changed"),
        "{}",
        answer.text()
    );
    assert_eq!(gate.provider.received().len(), 2);
}
