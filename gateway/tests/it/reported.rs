//! What a provider reports, and replies that are not what was asked for: the caller's SDK raises its
//! own class with the provider's words, searched and restored, and nothing passes unsearched.

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, Script, exchanges, only};
use crate::streams::{Speaks, chunk, text_of};
use crate::wire::token;

const MAIL: &str = "lena.fors@example.org";
const NEW: &str = "new.person@example.net";

fn unstreamed(speaks: Speaks, content: &str) -> Value {
    let mut request = speaks.request(content);
    request["stream"] = json!(false);
    request
}

/// The error of a reply or of its last event, in the shape that the SDKs read.
fn error_of(speaks: Speaks, answer: &Answer) -> Value {
    let last = if answer.head.contains("text/event-stream") {
        answer.data().pop().unwrap()
    } else {
        answer.json()
    };
    let error = &last["error"];
    assert_eq!(error["blame"], "provider", "{last}");
    assert!(
        error["type"].is_string() && error["message"].is_string(),
        "{last}"
    );
    let holder = match speaks {
        Speaks::Anthropic => {
            assert_eq!(last["type"], "error");
            &last
        }
        Speaks::OpenAi => error,
    };
    let id = answer.header("x-request-id").unwrap();
    assert_eq!(holder["request_id"], id.as_str(), "{last}");
    error.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_keeps_its_status_and_its_words_searched_and_restored() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        for status in [400, 404, 413, 422, 429, 500, 503, 529] {
            gate.provider.play(Script::json("").status(status).header("retry-after", "7").made(
                |request| {
                    let message = format!("no {} nor {NEW}", token(&request.text()));
                    let body = json!({"type": "error", "request_id": "req_theirs", "error": {"type": "odd_error",
                        "message": message, "code": NEW, "param": NEW, "inner": {"about": [NEW]}}});
                    vec![body.to_string().into_bytes()]
                },
            ));
            for streamed in [false, true] {
                let mut request = speaks.request(MAIL);
                request["stream"] = json!(streamed);
                let answer = gate.caller().post(speaks.path(), &request).await;
                assert_eq!(answer.status, status, "{}", answer.text());
                assert_eq!(answer.header("retry-after").as_deref(), Some("7"));
                let error = error_of(speaks, &answer);
                let message = error["message"].as_str().unwrap();
                assert!(message.starts_with(&format!("no {MAIL} nor ")), "{message}");
                assert_eq!(error["type"], "odd_error");
                assert_eq!(error["code"], "provider_error");
                assert!(error["inner"]["about"][0].is_string(), "{error}");
                for hidden in ["new.person", "req_theirs"] {
                    assert!(!answer.text().contains(hidden), "{}", answer.text());
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_without_words_is_typed_all_the_same() {
    let gate = Gate::up().await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        for body in [
            "{}",
            "[]",
            "",
            "<html>",
            r#"{"error":{}}"#,
            r#"{"a":1,"a":2}"#,
            "\u{0}",
        ] {
            for status in [400, 429, 502, 529] {
                gate.provider.play(Script::json(body).status(status));
                let answer = gate
                    .caller()
                    .post(speaks.path(), &unstreamed(speaks, "hi"))
                    .await;
                assert_eq!(answer.status, status, "{body}: {}", answer.text());
                let error = error_of(speaks, &answer);
                assert_eq!(error["code"], "provider_error", "{body}");
                assert_eq!(error["message"], "The provider reported an error", "{body}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_in_the_other_framing_is_refused_and_settled() {
    let said = "hello out there";
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let whole = match speaks {
            Speaks::OpenAi => json!({"choices": [{"index": 0, "message": {"content": said}}]}),
            Speaks::Anthropic => {
                json!({"type": "message", "content": [{"type": "text", "text": said}]})
            }
        };
        let events = speaks.texts(&[said]).concat().into_bytes();
        let unlabelled = Script {
            headers: Vec::new(),
            ..Script::events(vec![events.clone()])
        };
        for (streamed, script) in [
            (true, Script::json(&whole.to_string())),
            (true, Script::json("{}")),
            (true, unlabelled.clone()),
            (false, Script::events(vec![events.clone()])),
            (false, unlabelled),
        ] {
            let gate = Gate::up().await;
            gate.provider.play(script);
            let mut request = speaks.request("hi");
            request["stream"] = json!(streamed);
            let answer = gate.caller().post(speaks.path(), &request).await;
            assert_eq!(answer.status, 502, "{}", answer.text());
            assert_eq!(answer.error().as_deref(), Some("provider_malformed"));
            error_of(speaks, &answer);
            assert!(!answer.text().contains("hello"), "{}", answer.text());
            let records = gate.records().await;
            assert_eq!(
                exchanges(&records),
                ["exchange.admitted", "exchange.settled"]
            );
            let settled = only(&records, "exchange.settled");
            assert_eq!(
                (&settled["ending"], &settled["status"]),
                (&json!("error"), &json!(502))
            );
            assert_eq!(settled["up_status"], 200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_event_comes_after_the_text_before_it_and_is_typed() {
    let gate = Gate::up().await;
    let report = json!({"error": {"message": format!("no {NEW}"), "code": NEW}});
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let mut events = speaks.texts(&["wait for new.per"]);
        let kept = events
            .iter()
            .position(|event| event.contains("new.per"))
            .unwrap()
            + 1;
        events.truncate(kept);
        events.push(format!("data: {report}\n\n"));
        gate.provider
            .play(Script::events(vec![events.concat().into_bytes()]));
        let answer = gate
            .caller()
            .post(speaks.path(), &speaks.request("hi"))
            .await;
        assert_eq!(text_of(&answer, 0), "wait for new.per", "{}", answer.text());
        assert!(!answer.complete && !answer.ended(), "{}", answer.text());
        let error = error_of(speaks, &answer);
        assert!(
            error["message"].as_str().unwrap().starts_with("no "),
            "{error}"
        );
        assert_eq!(error["code"], "provider_error");
        assert!(!answer.text().contains("new.person"), "{}", answer.text());
        let named = answer.events().pop().unwrap().0;
        let wanted = (speaks == Speaks::Anthropic).then(|| "error".to_owned());
        assert_eq!(named, wanted);
    }
    // One event that is both a piece of text and an error.
    let mut both: Value = serde_json::from_str(
        chunk(0, &json!({"content": " end"}), Value::Null).trim_start_matches("data: "),
    )
    .unwrap();
    both["error"] = json!({"message": "m", "code": 502});
    let first = chunk(0, &json!({"content": "the"}), Value::Null);
    let events = format!("{first}data: {both}\n\n");
    gate.provider
        .play(Script::events(vec![events.into_bytes()]));
    let answer = gate
        .caller()
        .post("/v1/chat/completions", &Speaks::OpenAi.request("hi"))
        .await;
    assert_eq!(text_of(&answer, 0), "the end");
    assert_eq!(error_of(Speaks::OpenAi, &answer)["code"], 502);
}
