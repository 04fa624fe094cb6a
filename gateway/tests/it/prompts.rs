//! What records say of prompts, and what policy pins of them.

use gatehouse::config::{Glob, Pin};
use serde_json::{Value, json};

use crate::gate::{Gate, Script};
use crate::state::Session;

const REPLY: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;

fn body(system: &str, texts: &[&str]) -> Value {
    let system = json!({"role": "system", "content": system});
    let messages = texts
        .iter()
        .map(|text| json!({"role": "user", "content": text}));
    let messages: Vec<_> = [system].into_iter().chain(messages).collect();
    json!({"model": "m", "messages": messages})
}

/// The `prompt` of each admitted exchange in one session.
async fn prompts(parts: bool, bodies: &[Value]) -> Vec<Value> {
    let gate = Gate::with("", |config| config.ledger.prompt_parts = parts).await;
    gate.provider.play(Script::json(REPLY));
    let session = Session::open(&gate).await;
    for body in bodies {
        let answer = session.turn("/v1/chat/completions", body.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let records = gate.records().await;
    let admitted = records
        .iter()
        .filter(|it| it["kind"] == "exchange.admitted");
    admitted.map(|it| it["prompt"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_prompts_can_be_compared() {
    let told = prompts(
        true,
        &[
            body("be kind", &["write to lena.fors@example.org"]),
            body("be kind", &["write to lena.fors@example.org", "and then?"]),
            body("be brief", &["write to lena.fors@example.org", "and then?"]),
        ],
    )
    .await;
    let messages = |at: usize| told[at]["messages"].as_array().unwrap().clone();
    assert_eq!(
        (told[0]["n"].as_u64(), told[1]["n"].as_u64()),
        (Some(2), Some(3))
    );
    assert_eq!(messages(0)[..], messages(1)[..2]);
    assert_eq!(messages(1)[1..], messages(2)[1..]);
    assert_eq!(told[0]["system_h"], told[1]["system_h"]);
    assert_ne!(told[1]["system_h"], told[2]["system_h"]);
    assert_eq!(told[0]["rest_h"], told[2]["rest_h"]);
    let other = prompts(
        true,
        &[body("be kind", &["write to lena.fors@example.org"])],
    )
    .await;
    assert_ne!(
        other[0]["messages"], told[0]["messages"],
        "of another session, under another key"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_of_prompts_unless_it_is_asked_for() {
    assert_eq!(
        prompts(false, &[body("be kind", &["go"])]).await,
        [Value::Null]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pinned_parameters_take_the_place_of_the_callers() {
    let pin = |models: &str, members: &[(&'static str, &str)]| Pin {
        models: vec![Glob::new(models)],
        members: members
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect(),
    };
    let pins = vec![
        pin("fixed-*", &[("temperature", "0"), ("seed", "7")]),
        pin("warm", &[("temperature", "0.5")]),
    ];
    let gate = Gate::with("", |config| config.pins = pins).await;
    gate.provider.play(Script::json(REPLY));
    for (asked, sent) in [
        (
            json!({"model": "fixed-1", "messages": []}),
            json!({"model": "fixed-1", "messages": [], "temperature": 0, "seed": 7}),
        ),
        (
            json!({"model": "fixed-1", "messages": [], "seed": 1, "temperature": "lena.fors@example.org"}),
            json!({"model": "fixed-1", "messages": [], "temperature": 0, "seed": 7}),
        ),
        (
            json!({"model": "warm", "messages": [], "seed": 1}),
            json!({"model": "warm", "messages": [], "seed": 1, "temperature": 0.5}),
        ),
        (
            json!({"model": "other", "messages": [], "temperature": 1}),
            json!({"model": "other", "messages": [], "temperature": 1}),
        ),
    ] {
        let answer = gate.caller().post("/v1/chat/completions", &asked).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(gate.provider.received().last().unwrap().json(), sent);
    }
    // What is right already goes out byte for byte.
    let bytes = br#"{"seed":7, "temperature":0,"model":"fixed-2","messages":[]}"#;
    assert_eq!(
        gate.caller()
            .post_bytes("/v1/chat/completions", bytes)
            .await
            .status,
        200
    );
    assert_eq!(
        gate.provider.received().last().unwrap().text().as_bytes(),
        bytes
    );
}
