//! How streams read as a whole: beside the same reply unstreamed, broken off, blocked, with what was
//! asked for, and with what the provider signed.

use serde_json::json;

use crate::gate::provider::End;
use crate::gate::{Gate, Script, only};
use crate::streams::{Speaks, at_every_split, event, text_of, whole};

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
