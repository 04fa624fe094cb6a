//! What sessions learn from their own traffic: calls and results of tools in both protocols, streamed
//! and not, phases that the model proposes, and how far a turn is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gatehouse::config::Phases;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::gate::provider::End;
use crate::gate::{Gate, Script};
use crate::state::Session;

/// A protocol, as it says the same things.
struct Dialect {
    path: &'static str,
    /// A whole reply that calls `look_up` as `call_1` and proposes the phase `work` as `call_2`.
    calls: Value,
    /// The same as events.
    events: Vec<String>,
    /// A whole reply without calls.
    says: Value,
    /// The messages of a request with both results, the first of which failed if the protocol can
    /// say so.
    results: Value,
    tells_failures: bool,
}

fn openai() -> Dialect {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls = json!([
        call("call_1", "look_up", "{}"),
        call("call_2", "gatehouse_change_phase", r#"{"to":"work"}"#)
    ]);
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let delta = |delta: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
        format!("data: {}\n\n", json!({"id": "c", "choices": choices}))
    };
    let started = |index: u64, id: &str, name: &str| {
        let function = json!({"name": name, "arguments": ""});
        delta(
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
        )
    };
    let goes_on = |index: u64, arguments: &str| {
        delta(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
    };
    let ends =
        json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    Dialect {
        path: "/v1/chat/completions",
        calls: json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}),
        events: vec![
            started(0, "call_1", "look_up"),
            goes_on(0, "{}"),
            started(1, "call_2", "gatehouse_change_phase"),
            goes_on(1, "{\"to\""),
            goes_on(1, ":\"work\"}"),
            format!("data: {ends}\n\n"),
            "data: [DONE]\n\n".to_owned(),
        ],
        says: json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "so"}, "finish_reason": "stop"}]}),
        results: json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_1", "content": "3 seats"},
            {"role": "tool", "tool_call_id": "call_2", "content": "ok"}]),
        tells_failures: false,
    }
}

fn anthropic() -> Dialect {
    let used = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let to_work = json!({"to": "work"});
    let blocks = json!([
        used("call_1", "look_up", json!({})),
        used("call_2", "gatehouse_change_phase", to_work)
    ]);
    let reply = |content: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
               "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let event = |value: Value| {
        let kind = value["type"].as_str().unwrap().to_owned();
        format!("event: {kind}\ndata: {value}\n\n")
    };
    let start = |index: u64, block: Value| {
        event(json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta = |index: u64, json: &str| {
        let delta = json!({"type": "input_json_delta", "partial_json": json});
        event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let stop = |index: u64| event(json!({"type": "content_block_stop", "index": index}));
    Dialect {
        path: "/v1/messages",
        calls: reply(blocks.clone()),
        events: vec![
            event(json!({"type": "message_start", "message": reply(json!([]))})),
            start(0, used("call_1", "look_up", json!({}))),
            stop(0),
            start(1, used("call_2", "gatehouse_change_phase", json!({}))),
            delta(1, "{\"to\""),
            delta(1, ": \"work\"}"),
            stop(1),
            event(
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            ),
            event(json!({"type": "message_stop"})),
        ],
        says: reply(json!([{"type": "text", "text": "so"}])),
        results: json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "3 seats", "is_error": true},
                {"type": "tool_result", "tool_use_id": "call_2", "content": "ok"}]}]),
        tells_failures: true,
    }
}

/// in → work → done; the model may go to work.
async fn gate() -> Gate {
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|it| (*it).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let next = BTreeMap::from([
        ("in".to_owned(), set(&["work"])),
        ("work".to_owned(), set(&["done"])),
        ("done".to_owned(), set(&[])),
    ]);
    let phases = Phases {
        initial: Some("in".to_owned()),
        next,
        by_model: set(&["work"]),
    };
    Gate::with("", |config| config.phases = Arc::new(phases)).await
}

fn body(messages: Value, stream: bool) -> Value {
    json!({"model": "m", "max_tokens": 9, "stream": stream, "messages": messages})
}

/// The states of the calls, in order.
fn states(state: &Value) -> Vec<(String, String)> {
    let results = state["tool_results"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    results
        .map(|it| (word(&it["call"]), word(&it["state"])))
        .collect()
}

fn both(state: &str) -> Vec<(String, String)> {
    let of = |call: &str| (call.to_owned(), state.to_owned());
    vec![of("call_1"), of("call_2")]
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_results_are_seen_in_the_traffic() {
    for (dialect, stream) in [
        (openai(), false),
        (openai(), true),
        (anthropic(), false),
        (anthropic(), true),
    ] {
        let gate = gate().await;
        let session = Session::open(&gate).await;
        gate.provider.play(match stream {
            true => Script::events(vec![dialect.events.concat().into_bytes()]),
            false => Script::json(&dialect.calls.to_string()),
        });
        let ask = json!([{"role": "user", "content": "go"}]);
        let answer = session.turn(dialect.path, body(ask, stream)).await;
        assert!(
            answer.status == 200 && answer.error_free(stream),
            "{}",
            answer.text()
        );
        let state = session.get("state").await;
        assert_eq!(states(&state), both("pending"), "{} {stream}", dialect.path);
        assert_eq!(state["tool_results"][0]["tool"], "look_up");
        assert_eq!(state["phase"], "work");
        let proposal = json!({"to": "work", "accepted": true});
        assert_eq!(state["tool_results"][1]["proposal"], proposal);

        // The provider fails: the results are there, and nobody has answered them.
        gate.provider
            .play(Script::json(r#"{"error":{"message":"no"}}"#).status(500));
        let results = || body(dialect.results.clone(), false);
        assert_eq!(session.turn(dialect.path, results()).await.status, 500);
        let state = session.get("state").await;
        assert_eq!(states(&state), both("active"));
        assert_eq!(state["tool_results"][0]["failed"], dialect.tells_failures);
        assert_eq!(state["errors_total"], u64::from(dialect.tells_failures));

        gate.provider.play(Script::json(&dialect.says.to_string()));
        assert_eq!(session.turn(dialect.path, results()).await.status, 200);
        let state = session.get("state").await;
        assert_eq!(states(&state), both("consumed"));
        let records = gate.records().await;
        let settled: Vec<_> = records
            .iter()
            .filter(|it| it["kind"] == "exchange.settled")
            .collect();
        assert_eq!(settled[0]["phase"], json!({"from": "in", "to": "work"}));
        assert!(settled[1].get("phase").is_none());
        let log = serde_json::to_string(&records).unwrap();
        assert!(!log.contains("3 seats") && !log.contains("call_1"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phase_that_the_table_does_not_have_is_refused() {
    let gate = gate().await;
    let session = Session::open(&gate).await;
    let refused = session
        .refused("PUT", "phase", &json!({"to": "done"}))
        .await;
    assert_eq!(refused, (409, "transition_refused".to_owned()));
    session.change("PUT", "phase", &json!({"to": "work"})).await;
    // In it already: the model's proposal changes nothing.
    let dialect = openai();
    gate.provider.play(Script::json(&dialect.calls.to_string()));
    let ask = json!([{"role": "user", "content": "go"}]);
    assert_eq!(
        session.turn(dialect.path, body(ask, false)).await.status,
        200
    );
    let state = session.get("state").await;
    assert_eq!(state["phase"], "work");
    let proposal = json!({"to": null, "accepted": false});
    assert_eq!(state["tool_results"][1]["proposal"], proposal);
    let records = gate.records().await;
    let settled = records
        .iter()
        .find(|it| it["kind"] == "exchange.settled")
        .unwrap();
    assert_eq!(settled["phase"], json!({"from": "work"}));
    let changed = records
        .iter()
        .find(|it| it["kind"] == "phase.change")
        .unwrap();
    assert_eq!(
        (&changed["change"]["from"], &changed["change"]["to"]),
        (&"in".into(), &"work".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_tools_leaves_the_state_as_it_was() {
    let gate = gate().await;
    let session = Session::open(&gate).await;
    let dialect = openai();
    gate.provider.play(Script::json(&dialect.says.to_string()));
    let ask = json!([{"role": "user", "content": "go"}]);
    assert_eq!(
        session.turn(dialect.path, body(ask, false)).await.status,
        200
    );
    let state = session.get("state").await;
    assert_eq!((&state["version"], &state["steps"]), (&0.into(), &1.into()));
    assert_eq!(state["phase"], "in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_turn_says_how_far_it_is() {
    let gate = gate().await;
    let session = Arc::new(Session::open(&gate).await);
    assert_eq!(session.get("progress").await["status"], "idle");
    let dialect = openai();
    let first = dialect.events[..2].concat().into_bytes();
    gate.provider
        .play(Script::events(vec![first]).end(End::Hang));
    let ask = json!([{"role": "user", "content": "go"}]);
    let mut running = JoinSet::new();
    running.spawn({
        let session = Arc::clone(&session);
        let body = body(ask, true);
        async move { session.turn(dialect.path, body).await }
    });
    // However long the turn takes to begin.
    let turn = loop {
        let progress = session.get("progress").await;
        if progress["turn"]["events"] == 2 {
            break progress;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(
        (&turn["status"], &turn["turn"]["stage"]),
        (&"running".into(), &"replying".into())
    );
    assert!(turn["turn"]["bytes"].as_u64().unwrap() > 50);
    let mut telling = JoinSet::new();
    telling.spawn({
        let session = Arc::clone(&session);
        let accept = "accept: text/event-stream\r\n";
        async move { session.ask("GET", "progress", accept, &Value::Null).await }
    });
    tokio::time::sleep(Duration::from_millis(700)).await;
    // The caller hangs up.
    running.abort_all();
    let told = telling.join_next().await.unwrap().unwrap();
    assert_eq!(told.status, 200);
    assert!(told.complete);
    let (first, last) = (&told.data()[0], told.data().last().cloned().unwrap());
    assert_eq!(told.events()[0].0.as_deref(), Some("progress"));
    assert_eq!(
        (&first["status"], &last["status"]),
        (&"running".into(), &"idle".into())
    );
}
