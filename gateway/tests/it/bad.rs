//! Bad input: whatever comes, the caller gets one typed error, the log one record, and nobody else
//! anything.

use serde_json::{Value, json};

use crate::gate::caller::parse;
use crate::gate::{Answer, Caller, Gate, Script, exchanges, only};

pub(crate) const CHAT: &str = "/v1/chat/completions";
const MAIL: &str = "lena.fors@example.org";

pub(crate) fn chat(content: &str) -> String {
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

pub(crate) fn is_typed(answer: &Answer, status: u16, code: &str, name: &str) {
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
    // Four digits alone stand in many a digest.
    assert!(!text.contains("lena") && !text.contains("41111111"));
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
