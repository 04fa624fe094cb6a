//! What exchanges cost: set aside at the worst before a provider is asked, settled by what it counts,
//! and refused where a cap does not allow it.

use serde_json::{Value, json};

use crate::gate::provider::End;
use crate::gate::{Gate, Script, exchanges, only};
use crate::state::Session;

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

fn chat(most: u64) -> Value {
    json!({"model": "m", "max_tokens": most, "messages": [{"role": "user", "content": "hello"}]})
}

/// What OpenAI counts: cached tokens are among those of the prompt.
fn openai(usage: &str) -> Script {
    Script::json(&format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"hi"}},"finish_reason":"stop"}}]{usage}}}"#
    ))
}

const OPENAI: &str = r#","usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":5}}"#;

/// What Anthropic counts: cached tokens are apart.
const ANTHROPIC: &str = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":40,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":7}}"#;

async fn spend(session: &Session) -> Value {
    session.get("state").await["spend"].clone()
}

/// The sum of what the settled records say, and which of them are estimates.
fn settled(records: &[Value]) -> (u64, Vec<&str>) {
    let settled: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.settled")
        .collect();
    let sum = settled
        .iter()
        .map(|record| record["budget"]["settled_tokens"].as_u64().unwrap());
    let basis = settled
        .iter()
        .map(|record| record["budget"]["basis"].as_str().unwrap());
    (sum.sum(), basis.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_s_own_count_is_what_counts() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    assert_eq!(spend(&session).await["tokens"], 0);
    gate.provider.play(openai(OPENAI));
    assert_eq!(session.turn(CHAT, chat(500)).await.status, 200);
    let now = spend(&session).await;
    assert_eq!(
        now,
        json!({
            "tokens": 107, "input_tokens": 40, "cache_read_tokens": 60, "cache_write_tokens": 0,
            "output_tokens": 7, "unsettled_tokens": 0, "reserved_tokens": 0
        })
    );
    gate.provider.play(Script::json(ANTHROPIC));
    assert_eq!(session.turn(MESSAGES, chat(500)).await.status, 200);
    let now = spend(&session).await;
    assert_eq!(
        (now["tokens"].clone(), now["cache_write_tokens"].clone()),
        (224.into(), 10.into())
    );
    // The session itself says the same.
    let path = format!("/v1/sessions/{}", session.reference);
    let shown = session
        .caller
        .get(&path, "connection: close\r\n")
        .await
        .json();
    assert_eq!(shown["spend"], now);

    let records = gate.records().await;
    let reserved: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.admitted")
        .map(|record| record["budget"]["reserved_tokens"].as_u64().unwrap())
        .collect();
    // More than the answer may have and the body has bytes.
    assert!(
        reserved.iter().all(|tokens| *tokens > 500 + 80),
        "{reserved:?}"
    );
    assert_eq!(settled(&records), (224, vec!["usage", "usage"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted_by_their_last_word() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    let mut body = chat(500);
    body["stream"] = true.into();
    let chunk =
        r#"data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let usage = format!("data: {{\"choices\":[]{OPENAI}}}");
    let openai = format!("{chunk}\n\n{usage}\n\ndata: [DONE]\n\n");
    gate.provider
        .play(Script::events(vec![openai.into_bytes()]));
    assert!(session.turn(CHAT, body.clone()).await.complete);
    assert_eq!(spend(&session).await["tokens"], 107);

    let start = r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":1}}}"#;
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
    let event = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
    let whole = [
        event("message_start", start),
        event("message_delta", delta),
        event("message_stop", r#"{"type":"message_stop"}"#),
    ];
    gate.provider
        .play(Script::events(vec![whole.concat().into_bytes()]));
    assert!(session.turn(MESSAGES, body.clone()).await.complete);
    assert_eq!(spend(&session).await["tokens"], 107 + 109);

    // One that breaks off may have cost all that it was allowed to.
    gate.provider
        .play(Script::events(vec![whole[0].clone().into_bytes()]).end(End::Cut));
    session.turn(MESSAGES, body).await;
    let now = spend(&session).await;
    assert_eq!(now["tokens"], 107 + 109 + 100 + 500);
    let records = gate.records().await;
    assert_eq!(settled(&records).1, ["usage", "usage", "estimate"]);
}

/// Where the provider does not say, the upward estimate stands; where nobody was asked, nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_said_is_estimated_and_what_was_not_sent_costs_nothing() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    gate.provider.play(openai(""));
    assert_eq!(session.turn(CHAT, chat(500)).await.status, 200);
    let silent = spend(&session).await["tokens"].as_u64().unwrap();
    assert!(silent > 500, "{silent}");

    // An error: the request was read at most.
    gate.provider
        .play(Script::json(r#"{"error":{"message":"busy"}}"#).status(429));
    assert_eq!(session.turn(CHAT, chat(500)).await.status, 429);
    let refused = spend(&session).await["tokens"].as_u64().unwrap();
    assert_eq!(refused - silent, silent - 500);

    // A word that must not leave: no provider is asked, and nothing is set aside.
    let mut bad = chat(500);
    bad["messages"][0]["role"] = "lena.fors@example.org".into();
    assert_eq!(session.turn(CHAT, bad).await.status, 400);
    let now = spend(&session).await;
    assert_eq!(
        (now["tokens"].as_u64(), now["reserved_tokens"].as_u64()),
        (Some(refused), Some(0))
    );
    let records = gate.records().await;
    assert_eq!(settled(&records), (refused, vec!["estimate", "estimate"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_costs_nothing() {
    let gate = Gate::with("", |config| {
        let provider = std::sync::Arc::get_mut(&mut config.providers[0]).unwrap();
        provider.base_url = Some("http://127.0.0.1:1/v1".parse().unwrap());
        config.caps.session_tokens = Some(3000);
    })
    .await;
    let session = Session::open(&gate).await;
    for _ in 0..5 {
        let answer = session.turn(CHAT, chat(500)).await;
        assert_eq!(answer.error().as_deref(), Some("provider_unreachable"));
    }
    assert_eq!(spend(&session).await["tokens"], 0);
}

/// A cap of each kind: near it a warning, at it 402, and the provider sees nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_cap_is_kept_and_said_before_it_is_reached() {
    for scope in ["session", "key", "tenant"] {
        let gate = Gate::with("", |config| {
            let caps = &mut config.caps;
            let cap = match scope {
                "session" => &mut caps.session_tokens,
                "key" => &mut caps.key_tokens_per_day,
                _ => &mut caps.tenant_tokens_per_day,
            };
            *cap = Some(4000);
        })
        .await;
        let session = Session::open(&gate).await;
        let usage = OPENAI.replace("\"completion_tokens\":7", "\"completion_tokens\":900");
        gate.provider.play(openai(&usage));
        let mut warned = Vec::new();
        let refused = loop {
            let answer = session.turn(CHAT, chat(950)).await;
            if answer.status != 200 {
                break answer;
            }
            warned.push(answer.header("x-gatehouse-budget-warning"));
        };
        assert_eq!(refused.status, 402, "{}", refused.text());
        assert_eq!(refused.error().as_deref(), Some("budget_exceeded"));
        assert_eq!(refused.header("x-should-retry").as_deref(), Some("false"));
        assert!(
            refused
                .text()
                .contains(&format!("of 4000 tokens of this {scope}"))
        );
        // A thousand were spent each time, and two thousand set aside.
        assert_eq!(warned.len(), 2, "{scope}");
        assert_eq!(warned[0], None);
        let told = warned[1].as_deref();
        assert!(told.is_none_or(|told| told.starts_with(scope)), "{told:?}");
        assert_eq!(gate.provider.received().len(), 2);
        // Another session of the same caller is refused by the caps that are not the session's own.
        let other = Session::open(&gate).await;
        let answer = other.turn(MESSAGES, chat(2500)).await;
        let expected = match scope {
            "session" => 200,
            _ => 402,
        };
        if expected == 402 {
            assert_eq!(answer.status, expected);
            assert_eq!(answer.json()["error"]["type"], "billing_error");
        }
        assert_eq!(spend(&session).await["tokens"], 2000);
        assert_eq!(spend(&session).await["reserved_tokens"], 0);

        let records = gate.records().await;
        let of_session = records
            .iter()
            .filter(|it| it["sid"] == session.reference.as_str());
        let of_session: Vec<_> = of_session.cloned().collect();
        let numbers: Vec<_> = of_session
            .iter()
            .map(|it| it["sseq"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        let refusal = only(&of_session, "exchange.refused");
        assert_eq!(refusal["code"], "budget_exceeded");
        assert_eq!(
            exchanges(&of_session),
            [
                "exchange.admitted",
                "exchange.settled",
                "exchange.admitted",
                "exchange.settled",
                "exchange.refused"
            ]
        );
    }
}

/// Near a cap of 4,000, an exchange that sets aside more than 80 % of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_warned_near_a_cap() {
    let gate = Gate::with("", |config| config.caps.key_tokens_per_day = Some(4000)).await;
    let session = Session::open(&gate).await;
    gate.provider.play(openai(OPENAI));
    let first = session.turn(CHAT, chat(100)).await;
    assert_eq!(first.header("x-gatehouse-budget-warning"), None);
    let second = session.turn(CHAT, chat(2600)).await;
    let warning = second.header("x-gatehouse-budget-warning").unwrap();
    let used = warning
        .strip_prefix("key; used=")
        .unwrap()
        .strip_suffix("; limit=4000")
        .unwrap();
    let used: u64 = used.parse().unwrap();
    assert!((3200..=4000).contains(&used), "{used}");
}

/// What was spent is not forgotten by a gateway that starts anew, nor given back by a checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_gives_back_what_was_spent() {
    let gate = Gate::with("", |config| config.caps.key_tokens_per_day = Some(2000)).await;
    let session = Session::open(&gate).await;
    session
        .change("POST", "checkpoints", &json!({"name": "start"}))
        .await;
    let usage = OPENAI.replace("\"completion_tokens\":7", "\"completion_tokens\":1500");
    gate.provider.play(openai(&usage));
    assert_eq!(session.turn(CHAT, chat(500)).await.status, 200);
    session
        .change("POST", "checkpoints/start/restore", &json!({}))
        .await;
    assert_eq!(spend(&session).await["tokens"], 1600);
    let again = gate
        .again(|config| config.caps.key_tokens_per_day = Some(2000))
        .await;
    let session = Session {
        caller: again.caller(),
        ..session
    };
    assert_eq!(spend(&session).await["tokens"], 1600);
    let answer = session.turn(CHAT, chat(500)).await;
    assert_eq!(
        answer.error().as_deref(),
        Some("budget_exceeded"),
        "{}",
        answer.text()
    );
}
