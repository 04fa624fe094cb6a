//! Texts of unknown deltas and unknown events: what a client would join is searched as one text, at
//! every byte split, and reads as it does where the protocol knows it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, Script};
use crate::streams::{Speaks, at_every_split, chunk, event, text_of, whole};
use crate::wire::token;

const MAIL: &str = "lena.fors@example.org";
const WANTED: &str = "to <EMAIL> or lena.fors@example.org ok";

/// A text in three pieces: a new value is cut by the first cut, a token of ours by the second.
fn pieces(request: &str) -> [String; 3] {
    let token = token(request);
    let (head, tail) = token.split_at(token.len() / 2);
    [
        "to victim.per".to_owned(),
        format!("son@corp.example.com or {head}"),
        format!("{tail} ok"),
    ]
}

/// A stream that says the pieces in a known delta, in unknown ones, and in unknown events.
fn stream(speaks: Speaks, pieces: &[String]) -> Vec<String> {
    let mut events = Vec::new();
    if speaks == Speaks::OpenAi {
        for piece in pieces {
            let delta = json!({"content": piece, "zonk": {"t": piece}, "l": [piece]});
            events.push(chunk(0, &delta, Value::Null));
            events.push(format!("data: {}\n\n", json!({"later": {"t": piece}})));
        }
        events.push(chunk(0, &json!({}), json!("stop")));
        events.push("data: [DONE]\n\n".to_owned());
        return events;
    }
    for piece in pieces {
        for delta in [
            json!({"type": "text_delta", "text": piece}),
            json!({"type": "zonk_delta", "zonk": {"t": piece}, "l": [piece]}),
        ] {
            let index = u8::from(delta["type"] == "zonk_delta");
            events.push(event(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(event(json!({"type": "later", "later": {"t": piece}})));
    }
    events.push(event(json!({"type": "content_block_stop", "index": 0})));
    events.push(event(json!({"type": "content_block_stop", "index": 1})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

/// What a client joins, by place.
fn joined(answer: &Answer) -> BTreeMap<&'static str, String> {
    let mut texts = BTreeMap::from([("known", text_of(answer, 0))]);
    for data in answer.data() {
        let choice = &data["choices"][0]["delta"];
        for (name, part) in [
            ("zonk", &data["delta"]["zonk"]["t"]),
            ("zonk", &choice["zonk"]["t"]),
            ("list", &data["delta"]["l"][0]),
            ("list", &choice["l"][0]),
            ("later", &data["later"]["t"]),
        ] {
            let text: &mut String = texts.entry(name).or_default();
            text.push_str(part.as_str().unwrap_or_default());
        }
    }
    texts
}

async fn reads_the_same(speaks: Speaks) {
    let gate = Gate::up().await;
    let events = move |request: &str| stream(speaks, &pieces(request));
    let request = speaks.request(&format!("mail {MAIL}"));
    at_every_split(&gate, speaks, &request, events, |answer, at| {
        whole(answer, at);
        let raw = answer.text();
        for half in ["victim", "per\"", "son@", "corp.example"] {
            assert!(!raw.contains(half), "{at}: {half} in {raw}");
        }
        for (place, text) in joined(answer) {
            assert_eq!(text, WANTED, "{at}: {place} in {raw}");
        }
        // What was held comes before the end of what it belongs to.
        let events = answer.data();
        let last = |is: &dyn Fn(&Value) -> bool| events.iter().rposition(is).unwrap();
        let stop = last(&|data| {
            let stopped = data["type"] == "content_block_stop" && data["index"] == 1;
            stopped || data["choices"][0]["finish_reason"] == "stop"
        });
        let zonk = last(&|data| {
            !data["delta"]["zonk"].is_null() || !data["choices"][0]["delta"]["zonk"].is_null()
        });
        assert!(zonk < stop, "{at}: {raw}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_deltas_and_events_read_like_known_ones_in_chat() {
    reads_the_same(Speaks::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_deltas_and_events_read_like_known_ones_in_messages() {
    reads_the_same(Speaks::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_reply_reads_like_its_stream() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        gate.provider.play(Script::json("").made(move |request| {
            let text = pieces(&request.text()).concat();
            let body = match speaks {
                Speaks::OpenAi => {
                    json!({"choices": [{"index": 0, "message": {"zonk": {"t": text}}}]})
                }
                Speaks::Anthropic => json!({"content": [{"type": "zonk", "zonk": {"t": text}}]}),
            };
            vec![body.to_string().into_bytes()]
        }));
        let mut request = speaks.request(&format!("mail {MAIL}"));
        request["stream"] = json!(false);
        let body = gate.caller().post(speaks.path(), &request).await.json();
        let shown = match speaks {
            Speaks::OpenAi => &body["choices"][0]["message"]["zonk"]["t"],
            Speaks::Anthropic => &body["content"][0]["zonk"]["t"],
        };
        assert_eq!(shown, WANTED);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn choices_and_blocks_are_told_apart_by_their_index() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let piece = |index: u64, text: &str| match speaks {
            Speaks::OpenAi => chunk(index, &json!({"zonk": text}), Value::Null),
            Speaks::Anthropic => event(json!({"type": "content_block_delta", "index": index,
                "delta": {"type": "zonk_delta", "zonk": text}})),
        };
        let mut events = vec![
            piece(0, "to victim.per"),
            piece(1, "son@corp.example.com "),
            piece(0, "fect "),
        ];
        events.push(speaks.texts(&[]).pop().unwrap());
        gate.provider
            .play(Script::events(vec![events.concat().into_bytes()]));
        let answer = gate
            .caller()
            .post(speaks.path(), &speaks.request("hi"))
            .await;
        whole(&answer, "indexes");
        let mut texts = [String::new(), String::new()];
        for data in answer.data() {
            let (holder, delta) = match speaks {
                Speaks::OpenAi => (&data["choices"][0], &data["choices"][0]["delta"]),
                Speaks::Anthropic => (&data, &data["delta"]),
            };
            if let (Some(index), Some(text)) = (holder["index"].as_u64(), delta["zonk"].as_str()) {
                texts[usize::try_from(index).unwrap()].push_str(text);
            }
        }
        assert_eq!(texts, ["to victim.perfect ", "<EMAIL> "]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_stream_shows_what_was_held_and_no_more() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let piece = "to victim.per".to_owned();
        let mut events = stream(speaks, &[piece]);
        // Without the events that end blocks, choices and the stream.
        events.truncate(if speaks == Speaks::OpenAi { 2 } else { 3 });
        gate.provider
            .play(Script::events(vec![events.concat().into_bytes()]));
        let answer = gate
            .caller()
            .post(speaks.path(), &speaks.request("hi"))
            .await;
        assert_eq!(answer.error().as_deref(), Some("provider_truncated"));
        for (place, text) in joined(&answer) {
            assert_eq!(text, "to victim.per", "{place}: {}", answer.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_our_own_are_not_marked_with_what_is_masked() {
    let gate = Gate::up().await;
    let events: String = stream(Speaks::OpenAi, &["to victim.per".to_owned()]).concat();
    let events = events.replace("\"c1\"", "\"new.person@example.net\"");
    gate.provider
        .play(Script::events(vec![events.into_bytes()]));
    let answer = gate
        .caller()
        .post(Speaks::OpenAi.path(), &Speaks::OpenAi.request("hi"))
        .await;
    whole(&answer, "identity");
    assert!(!answer.text().contains("new.person"), "{}", answer.text());
    assert_eq!(joined(&answer)["zonk"], "to victim.per");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_unknown_texts_are_refused() {
    let gate = Gate::up().await;
    let many: Vec<String> = (0..1025).map(|at| format!("w{at}")).collect();
    let events = format!("data: {}\n\ndata: [DONE]\n\n", json!({"later": many}));
    gate.provider
        .play(Script::events(vec![events.into_bytes()]));
    let answer = gate
        .caller()
        .post("/v1/chat/completions", &Speaks::OpenAi.request("hi"))
        .await;
    assert_eq!(
        answer.error().as_deref(),
        Some("provider_too_large"),
        "{}",
        answer.text()
    );
    assert!(!answer.complete);
}
