//! What a provider is sent, what the log says of that, and what comes back of its lists.

use serde_json::{Value, json};

use crate::gate::{Gate, Script, only};
use crate::streams::Speaks;

/// Strings, numbers, booleans and nulls, counted by a parser that shares nothing with ours.
fn leaves(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receipt_in_the_log_counts_the_leaves_that_were_sent() {
    let gate = Gate::up().await;
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}}}}]);
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let bodies = [
        json!({"model": "m", "messages": [{"role": "user", "content": "mail lena.fors@example.org"}]}),
        json!({"model": "m", "stream": true, "seed": 7, "tools": tools, "messages": [
            {"role": "system", "content": [{"type": "text", "text": "be kind"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
                "function": {"name": "f", "arguments": "{\"to\":\"lena.fors@example.org\",\"n\":[1,2]}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"}], "new_field": {"deep": [true, 1.5, "x"]}}),
        json!({"model": "m", "stream": true, "stream_options": {"include_usage": false}, "messages": []}),
        json!({"model": "m", "stream": true, "stream_options": null, "messages": []}),
        json!({"session_id": opened["session_id"], "model": "m", "messages": [{"role": "user", "content": "x"}]}),
    ];
    let mut counted = Vec::new();
    for body in &bodies {
        gate.provider.play(match body.get("stream") {
            Some(_) => Script::events(vec![b"data: [DONE]\n\n".to_vec()]),
            None => Script::json(r#"{"choices":[]}"#),
        });
        let answer = gate.caller().post("/v1/chat/completions", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let sent = gate.provider.received()[0].json();
        assert!(!sent.to_string().contains("lena"));
        counted.push(leaves(&sent));
    }
    let records = gate.records().await;
    let admitted = records
        .iter()
        .filter(|record| record["kind"] == "exchange.admitted");
    let receipts: Vec<u64> = admitted
        .map(|record| {
            let red = &record["red"];
            assert_eq!(red["unvisited"], 0);
            ["visited", "checked", "skipped"]
                .iter()
                .map(|key| red[key].as_u64().unwrap())
                .sum()
        })
        .collect();
    assert_eq!(receipts, counted);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_callers_head_reaches_a_provider() {
    let gate = Gate::up().await;
    gate.provider
        .play(Script::events(vec![b"data: [DONE]\n\n".to_vec()]));
    let body = Speaks::OpenAi.request("hi").to_string();
    let headers = "connection: close, authorization\r\nproxy-authorization: Basic eDp5\r\nte: trailers\r\nkeep-alive: 5\r\n\
        x-session-id: X\r\nmcp-session-id: X\r\ncookie: sid=1\r\nuser-agent: lena\r\naccept-encoding: br\r\n\
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
    let answer = gate
        .caller()
        .send(
            &gate
                .caller()
                .request("POST", "/v1/chat/completions", headers, body.as_bytes()),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let head = gate.provider.received()[0].head.to_ascii_lowercase();
    for name in [
        "proxy-authorization",
        "te:",
        "keep-alive",
        "session",
        "cookie",
        "lena",
        "br",
        &gate.token.to_lowercase(),
    ] {
        assert!(
            !head
                .lines()
                .skip(1)
                .any(|line| line.starts_with(name) || line.contains(&format!(" {name}"))),
            "{name}: {head}"
        );
    }
    assert!(head.contains("traceparent: 00-0af7651916cd43dd8448eb211c80319c-"));
    assert!(!head.contains("b7ad6b7169203331"));
    let records = gate.records().await;
    let admitted = only(&records, "exchange.admitted");
    assert_eq!(admitted["src"]["edge_ids"], 3);
    assert_eq!(admitted["trace"], "0af7651916cd43dd8448eb211c80319c");
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_without_a_providers_headers_or_members() {
    let gate = Gate::up().await;
    let list = r#"{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"x","secret":"s"}]}"#;
    gate.provider.play(
        Script::json(list)
            .header("etag", "\"v1\"")
            .header("cache-control", "public, max-age=600"),
    );
    let answer = gate.caller().get("/v1/models", "").await;
    assert_eq!(
        answer.json(),
        json!({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]})
    );
    assert_eq!(answer.header("cache-control").as_deref(), Some("no-store"));
    assert!(answer.header("etag").is_none());
    let answer = gate
        .caller()
        .get("/v1/models", "anthropic-version: 2023-06-01\r\n")
        .await;
    assert_eq!(answer.json()["data"][0]["type"], "model");
    assert_eq!(answer.json()["has_more"], false);
}
