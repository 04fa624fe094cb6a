//! Bad input: whatever comes, the caller gets one typed error, the log one record, and nobody else
//! anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::gate::caller::{parse, read};
use crate::gate::{Answer, Caller, Gate, Script, exchanges, only};

const CHAT: &str = "/v1/chat/completions";
const MAIL: &str = "lena.fors@example.org";

fn chat(content: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]}).to_string()
}

/// A request, the status and code it must get.
struct Case {
    name: &'static str,
    path: &'static str,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
}

fn case(name: &'static str, body: impl Into<Vec<u8>>, status: u16, code: &'static str) -> Case {
    Case {
        name,
        path: CHAT,
        body: body.into(),
        status,
        code,
    }
}

fn cases() -> Vec<Case> {
    let deep = format!(
        "{{\"model\":\"m\",\"x\":{}1{}}}",
        "[".repeat(400),
        "]".repeat(400)
    );
    let mut cases = vec![
        case("empty", "", 400, "json_invalid"),
        case("cut", &chat(MAIL)[..40], 400, "json_invalid"),
        case("trailing bytes", chat(MAIL) + "x", 400, "json_invalid"),
        case(
            "duplicate key",
            r#"{"model":"m","model":"m","messages":[]}"#,
            400,
            "json_invalid",
        ),
        case(
            "nested duplicate",
            r#"{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}"#,
            400,
            "json_invalid",
        ),
        case(
            "not UTF-8",
            b"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}"
                .to_vec(),
            400,
            "json_invalid",
        ),
        case(
            "lone surrogate",
            r#"{"model":"m","messages":[{"role":"user","content":"\ud83d"}]}"#,
            400,
            "json_invalid",
        ),
        case(
            "byte-order mark",
            "\u{feff}{\"model\":\"m\"}",
            400,
            "json_invalid",
        ),
        case("too deep", deep, 400, "json_invalid"),
        case("no object", "[]", 400, "json_unexpected"),
        case("no model", r#"{"messages":[]}"#, 400, "json_unexpected"),
        case(
            "stream is no flag",
            r#"{"model":"m","stream":"yes","messages":[]}"#,
            400,
            "json_unexpected",
        ),
        case(
            "session is no text",
            r#"{"model":"m","session_id":7,"messages":[]}"#,
            400,
            "json_unexpected",
        ),
        case(
            "unknown session",
            format!(
                r#"{{"model":"m","session_id":"gs_{}","messages":[]}}"#,
                "A".repeat(43)
            ),
            404,
            "session_not_found",
        ),
        case(
            "malformed session",
            r#"{"model":"m","session_id":"x","messages":[]}"#,
            404,
            "session_not_found",
        ),
        case(
            "log probabilities",
            r#"{"model":"m","logprobs":true,"messages":[]}"#,
            400,
            "parameter_refused",
        ),
        case(
            "card in a number",
            r#"{"model":"m","messages":[],"x":4111111111111111}"#,
            400,
            "finding_in_number",
        ),
        case(
            "mail in an id",
            format!(
                r#"{{"model":"m","messages":[{{"role":"tool","tool_call_id":"{MAIL}","content":"x"}}]}}"#
            ),
            400,
            "finding_in_name",
        ),
        case(
            "role is a sentence",
            r#"{"model":"m","messages":[{"role":"the user","content":"x"}]}"#,
            400,
            "name_malformed",
        ),
        case(
            "file",
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"p.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}]}]}"#,
            422,
            "media_refused",
        ),
        case(
            "picture by address",
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}]}"#,
            422,
            "media_refused",
        ),
    ];
    cases.push(Case {
        path: "/v1/messages",
        ..case("picture", r#"{"model":"c","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}"#, 422, "media_refused")
    });
    for path in [
        "/v1/embeddings",
        "/v1/messages/count_tokens",
        "/v2/anything",
        "//v1/chat/completions",
        "/v1/chat/completions/",
        "/V1/chat/completions",
        "/v1/%63hat/completions",
        "/v1/models/m",
    ] {
        cases.push(Case {
            path,
            ..case("unknown route", chat(MAIL), 404, "route_unknown")
        });
    }
    cases
}

fn is_typed(answer: &Answer, status: u16, code: &str, name: &str) {
    assert_eq!(answer.status, status, "{name}: {}", answer.text());
    assert!(answer.complete, "{name}");
    let json = answer.json();
    assert_eq!(json["error"]["code"], code, "{name}: {json}");
    assert!(
        ["caller", "policy", "gateway", "provider"]
            .contains(&json["error"]["blame"].as_str().unwrap())
    );
    assert!(
        !answer.text().contains("lena") && !answer.text().contains("4111"),
        "{name}: {json}"
    );
    assert!(answer.header("x-request-id").is_some(), "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_request_gets_its_error_and_one_record() {
    let gate = Gate::up().await;
    let caller = gate.caller();
    let cases = cases();
    for case in &cases {
        let answer = caller.post_bytes(case.path, &case.body).await;
        is_typed(&answer, case.status, case.code, case.name);
    }
    assert!(gate.provider.received().is_empty());
    let records = gate.records().await;
    let refused: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.refused")
        .collect();
    assert_eq!(refused.len(), cases.len());
    for (record, case) in refused.iter().zip(&cases) {
        assert_eq!(record["code"], case.code, "{}", case.name);
        assert_eq!(record["status"], case.status, "{}", case.name);
    }
    assert_eq!(exchanges(&records).len(), cases.len());
    let text = serde_json::to_string(&records).unwrap();
    assert!(!text.contains("lena") && !text.contains("4111"));
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_counted_not_recorded_and_all_told_the_same() {
    let gate = Gate::up().await;
    let mut bodies = Vec::new();
    let good = gate.token.clone();
    for token in [
        "gk_typo",
        "",
        "abc",
        &format!(" {good}"),
        &format!("{good}.x"),
        "eyJhbGciOiJub25lIn0.e30.",
    ] {
        let caller = Caller {
            token: token.to_owned(),
            ..gate.caller()
        };
        let answer = caller.post_bytes(CHAT, chat(MAIL).as_bytes()).await;
        is_typed(&answer, 401, "authentication_failed", token);
        let mut json = answer.json();
        json["error"]["request_id"] = Value::Null;
        bodies.push(json);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert!(gate.provider.received().is_empty());
    let records = gate.records().await;
    assert!(exchanges(&records).is_empty());
    let denied: u64 = records
        .iter()
        .filter(|record| record["kind"] == "auth.deny")
        .map(|record| record["n"].as_u64().or(record["count"].as_u64()).unwrap())
        .sum();
    assert_eq!(denied, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn doubtful_framing_is_refused_once_and_ends_the_connection() {
    let gate = Gate::up().await;
    let head = |lines: &str| {
        format!(
            "POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n{lines}\r\n\r\n",
            gate.token
        )
    };
    let body = chat("hi");
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let smuggled = "0\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: g\r\n\r\n";
    for (lines, body) in [
        ("content-length: 5\r\ntransfer-encoding: chunked", smuggled),
        ("transfer-encoding: chunked\r\ncontent-length: 5", smuggled),
        ("transfer-encoding : chunked", &chunked),
        ("transfer-encoding: gzip, chunked", &chunked),
        ("transfer-encoding: identity", &chunked),
        ("transfer-encoding: xchunked", &chunked),
        (
            "transfer-encoding: chunked\r\ntransfer-encoding: identity",
            &chunked,
        ),
        (
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            &chunked,
        ),
        ("content-length: 5\r\ncontent-length: 6", smuggled),
        ("content-length: +5", smuggled),
    ] {
        let began = Instant::now();
        let answer = gate
            .caller()
            .send(format!("{}{body}", head(lines)).as_bytes())
            .await;
        assert_eq!(answer.status, 400, "{lines}: {}", answer.head);
        let text = String::from_utf8_lossy(&answer.raw).into_owned();
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{lines}: {text}");
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{lines}: left open"
        );
    }
    assert!(gate.provider.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_exactly_one_host_is_refused_before_anything_else() {
    let gate = Gate::up().await;
    let known = format!("authorization: Bearer {}\r\n", gate.token);
    for (hosts, key) in [
        ("", known.as_str()),
        ("host: a\r\nhost: b\r\n", &known),
        ("host: a\r\nHost: a\r\n", &known),
        ("host: a b\r\n", &known),
        ("", ""),
        (
            "host: a\r\nhost: b\r\n",
            "authorization: Bearer gk_none\r\n",
        ),
    ] {
        for path in [CHAT, "/v1/models", "/nowhere"] {
            let body = chat("hi");
            // Another request behind it must not be answered.
            let bytes = format!(
                "POST {path} HTTP/1.1\r\n{hosts}{key}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}\
                 GET /v1/models HTTP/1.1\r\nhost: g\r\n{known}\r\n",
                body.len()
            );
            let began = Instant::now();
            let answer = gate.caller().send(bytes.as_bytes()).await;
            is_typed(&answer, 400, "host_malformed", hosts);
            assert_eq!(answer.header("connection").as_deref(), Some("close"));
            let text = String::from_utf8_lossy(&answer.raw).into_owned();
            assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{hosts}: {text}");
            assert!(
                began.elapsed() < Duration::from_secs(8),
                "{hosts}: left open"
            );
        }
    }
    assert!(gate.provider.received().is_empty());
    let records = gate.records().await;
    assert!(!exchanges(&records).contains(&"exchange.admitted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chunked_and_pipelined_requests_are_served() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json(
        r#"{"choices":[{"index":0,"message":{"content":"ok"}}]}"#,
    ));
    let body = chat("hi");
    let chunked = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        gate.token,
        body.len()
    );
    assert_eq!(gate.caller().send(chunked.as_bytes()).await.status, 200);
    let mut two = gate.caller().request("POST", CHAT, "", body.as_bytes());
    two.extend(
        gate.caller()
            .request("POST", CHAT, "connection: close\r\n", body.as_bytes()),
    );
    let answer = gate.caller().send(&two).await;
    let text = String::from_utf8_lossy(&answer.raw).into_owned();
    assert_eq!(text.matches("HTTP/1.1 200 ").count(), 2, "{text}");
    assert_eq!(gate.provider.received().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_past_the_limit_is_refused_and_the_answer_can_be_read() {
    let gate = Gate::with("", |config| config.limits.body = 1 << 20).await;
    let big = chat(&"word ".repeat(1 << 20));
    let announced = gate.caller().post_bytes(CHAT, big.as_bytes()).await;
    is_typed(&announced, 413, "body_too_large", "announced");
    let mut chunked = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\n\r\n", gate.token
    ).into_bytes();
    for piece in big.as_bytes().chunks(65536) {
        chunked.extend(format!("{:x}\r\n", piece.len()).bytes());
        chunked.extend_from_slice(piece);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    is_typed(
        &gate.caller().send(&chunked).await,
        413,
        "body_too_large",
        "chunked",
    );
    let records = gate.records().await;
    assert_eq!(exchanges(&records), ["exchange.refused"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_half_sent_requests_end_in_time() {
    let gate = Gate::with("", |config| {
        config.timeouts.headers = Duration::from_millis(400);
        config.timeouts.idle = Duration::from_millis(400);
    })
    .await;
    // Heads that never come to an end, the preface of HTTP/2 included.
    for begun in ["", "PRI * HT", "POST / HTTP/1.1\r\nx: "] {
        let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
        stream.write_all(begun.as_bytes()).await.unwrap();
        let start = Instant::now();
        let answer = read(&mut stream, Duration::from_secs(5)).await;
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{begun:?} was held"
        );
        assert!(
            answer.status == 0 || answer.status == 408,
            "{begun:?}: {}",
            answer.status
        );
    }
    // A body that stops half-way.
    let whole = gate
        .caller()
        .request("POST", CHAT, "", chat("hi").as_bytes());
    let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
    stream.write_all(&whole[..whole.len() - 5]).await.unwrap();
    let answer = read(&mut stream, Duration::from_secs(6)).await;
    is_typed(&answer, 408, "body_timeout", "stalled body");
    // One whose sender closes its side in the middle.
    let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
    stream.write_all(&whole[..whole.len() - 5]).await.unwrap();
    stream.shutdown().await.unwrap();
    read(&mut stream, Duration::from_secs(6)).await;
    let records = gate.records().await;
    assert_eq!(exchanges(&records), ["exchange.refused"; 2]);
    assert_eq!(
        records
            .iter()
            .filter(|record| record["code"] == "body_unreadable")
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_silent_connections_keeps_nobody_out() {
    let gate = Gate::with("", |config| {
        config.limits.connections = 64;
        config.limits.connections_per_ip = 64;
    })
    .await;
    gate.provider.play(Script::json(r#"{"choices":[]}"#));
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(gate.running.address()).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    let answer = gate.caller().post_bytes(CHAT, chat("hi").as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_belongs_to_its_caller_and_paths_take_references_only() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json(r#"{"choices":[]}"#));
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let (id, reference) = (
        opened["session_id"].as_str().unwrap(),
        opened["reference"].as_str().unwrap(),
    );
    let show = gate
        .caller()
        .get(&format!("/v1/sessions/{reference}"), "")
        .await;
    assert_eq!(show.json()["reference"], reference);
    for path in [
        format!("/v1/sessions/{id}"),
        "/v1/sessions/s_unknown".to_owned(),
    ] {
        is_typed(
            &gate.caller().get(&path, "").await,
            404,
            "session_not_found",
            &path,
        );
    }
    let mut body: Value = serde_json::from_str(&chat(MAIL)).unwrap();
    body["session_id"] = json!(id);
    let answer = gate.caller().post(CHAT, &body).await;
    assert_eq!(
        answer.header("x-gatehouse-session").as_deref(),
        Some(reference)
    );
    let sent = gate.provider.received()[0].text();
    assert!(!sent.contains("session_id") && !sent.contains(id), "{sent}");
    let raw = parse(answer.raw).text();
    assert!(!raw.contains(id));
    let bytes = gate.caller().request(
        "DELETE",
        &format!("/v1/sessions/{reference}"),
        "connection: close\r\n",
        b"",
    );
    assert_eq!(gate.caller().send(&bytes).await.status, 200);
    is_typed(
        &gate.caller().post(CHAT, &body).await,
        404,
        "session_not_found",
        "closed",
    );
    let records = gate.records().await;
    only(&records, "exchange.settled");
}
