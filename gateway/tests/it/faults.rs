//! What goes wrong behind the gateway: the caller's error, the number of requests that a provider
//! saw, and the ending in the log, in one table.

use std::io::Write;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::gate::provider::End;
use crate::gate::{Gate, Script, exchanges, only};
use crate::streams::Speaks;

const REPLY: &str = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"ssn 512-48-3071"}}]}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw(bytes: &[u8]) -> Script {
    let bytes = bytes.to_vec();
    Script::json("").made(move |_| vec![bytes.clone()])
}

struct Fault {
    name: &'static str,
    script: Script,
    status: u16,
    /// The code of our error; empty where the provider's own is passed on.
    code: &'static str,
    ending: &'static str,
}

fn fault(
    name: &'static str,
    script: Script,
    status: u16,
    code: &'static str,
    ending: &'static str,
) -> Fault {
    Fault {
        name,
        script,
        status,
        code,
        ending,
    }
}

fn faults() -> Vec<Fault> {
    let mut damaged = gzip(REPLY.as_bytes());
    damaged[10..24].fill(0xff);
    let error = r#"{"error":{"message":"no lena.fors@example.org","type":"x","code":"own"}}"#;
    vec![
        fault(
            "cut JSON, close-delimited",
            raw(&REPLY.as_bytes()[..50]).close_delimited(),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "cut chunks",
            raw(&REPLY.as_bytes()[..50]).end(End::Cut),
            502,
            "provider_truncated",
            "upstream_cut",
        ),
        fault(
            "reset",
            raw(&REPLY.as_bytes()[..50]).end(End::Reset),
            502,
            "provider_truncated",
            "upstream_cut",
        ),
        fault(
            "hang",
            raw(&REPLY.as_bytes()[..50]).end(End::Hang),
            504,
            "provider_timeout",
            "timeout",
        ),
        fault(
            "not JSON",
            Script::json("<html>"),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "no object",
            Script::json(r#"["hello"]"#),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "duplicate keys",
            Script::json(r#"{"a":1,"a":2}"#),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "brotli",
            Script::json(REPLY).header("content-encoding", "br"),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "damaged gzip",
            raw(&damaged).header("content-encoding", "gzip"),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "cut gzip",
            raw(&gzip(REPLY.as_bytes())[..40]).header("content-encoding", "gzip"),
            502,
            "provider_truncated",
            "upstream_cut",
        ),
        fault(
            "too large",
            Script::json(&format!("\"{}\"", "x".repeat(3 << 20))),
            502,
            "provider_too_large",
            "error",
        ),
        fault(
            "redirect",
            Script::json("{}")
                .status(302)
                .header("location", "http://127.0.0.1:1/"),
            502,
            "provider_malformed",
            "error",
        ),
        fault(
            "our key refused",
            Script::json(error).status(401),
            502,
            "provider_authentication",
            "error",
        ),
        fault(
            "our key forbidden",
            Script::json(error).status(403),
            502,
            "provider_authentication",
            "error",
        ),
        fault(
            "too many",
            Script::json(error).status(429).header("retry-after", "7"),
            429,
            "own",
            "error",
        ),
        fault(
            "bad request",
            Script::json(error).status(400),
            400,
            "own",
            "error",
        ),
        fault(
            "overloaded",
            Script::json("<html>")
                .status(503)
                .header("retry-after", "7"),
            503,
            "provider_error",
            "error",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_a_provider_has_its_error_and_its_ending() {
    let gate = Gate::with("", |config| {
        config.timeouts.idle = Duration::from_millis(700);
        config.limits.reply = 2 << 20;
    })
    .await;
    let faults = faults();
    for fault in &faults {
        gate.provider.play(fault.script.clone());
        let mut request = Speaks::OpenAi.request("hi");
        request["stream"] = json!(false);
        let answer = gate.caller().post("/v1/chat/completions", &request).await;
        assert_eq!(
            answer.status,
            fault.status,
            "{}: {}",
            fault.name,
            answer.text()
        );
        assert_eq!(answer.json()["error"]["code"], fault.code, "{}", fault.name);
        assert!(
            !answer.text().contains("512-48") && !answer.text().contains("lena"),
            "{}",
            fault.name
        );
        if matches!(answer.status, 429 | 503) {
            assert_eq!(
                answer.header("retry-after").as_deref(),
                Some("7"),
                "{}",
                fault.name
            );
        }
        assert_eq!(
            gate.provider.received().len(),
            1,
            "{}: sent again",
            fault.name
        );
    }
    let records = gate.records().await;
    let settled: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.settled")
        .collect();
    assert_eq!(settled.len(), faults.len());
    for (record, fault) in settled.iter().zip(&faults) {
        assert_eq!(record["ending"], fault.ending, "{}", fault.name);
        assert_eq!(record["status"], fault.status, "{}", fault.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_is_tried_and_reported() {
    let gate = Gate::with("", |config| {
        let closed = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        for provider in &mut config.providers {
            let changed = gatehouse::config::Provider {
                name: provider.name.clone(),
                protocol: provider.protocol,
                models: provider.models.clone(),
                base_url: format!("http://{closed}/v1").parse().ok(),
                api_key: None,
            };
            *provider = std::sync::Arc::new(changed);
        }
    })
    .await;
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let answer = gate
            .caller()
            .post(speaks.path(), &speaks.request("hi"))
            .await;
        assert_eq!(
            (answer.status, answer.error().as_deref()),
            (502, Some("provider_unreachable"))
        );
    }
    let records = gate.records().await;
    assert_eq!(
        exchanges(&records),
        ["exchange.admitted", "exchange.settled"].repeat(2)
    );
    let settled = records
        .iter()
        .find(|record| record["kind"] == "exchange.settled")
        .unwrap();
    assert_eq!(settled["attempts"], 3);
}

/// A provider can call tools what it likes and count as high as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_is_settled_whatever_a_provider_says() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json("").made(|received| {
        let sent = received.json();
        let token = sent["messages"][0]["content"].as_str().unwrap().to_owned();
        let arguments = json!({"to": token}).to_string();
        let call = json!({"id": "c", "type": "function",
            "function": {"name": "two words @ once", "arguments": arguments}});
        let reply = json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}],
            "usage": {"prompt_tokens": u64::MAX, "completion_tokens": 2},
        });
        vec![reply.to_string().into_bytes()]
    }));
    let mut request = Speaks::OpenAi.request("lena.fors@example.org");
    request["stream"] = json!(false);
    let answer = gate.caller().post("/v1/chat/completions", &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("lena.fors@example.org"));
    let records = gate.records().await;
    let settled = only(&records, "exchange.settled");
    assert_eq!(settled["use"]["in_tokens"], (1_u64 << 53) - 1);
    let restored = json!([{"to": "tool", "label": "EMAIL", "n": 1}]);
    assert_eq!(settled["reply"]["restored"], restored);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gzipped_reply_is_searched_and_sent_on_plain() {
    let gate = Gate::up().await;
    gate.provider
        .play(raw(&gzip(REPLY.as_bytes())).header("content-encoding", "gzip"));
    let mut request = Speaks::OpenAi.request("hi");
    request["stream"] = json!(false);
    let answer = gate.caller().post("/v1/chat/completions", &request).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-encoding").is_none());
    assert!(
        answer.text().contains("ssn ") && !answer.text().contains("512-48"),
        "{}",
        answer.text()
    );
    let events = Speaks::OpenAi.texts(&["one", "two"]).concat();
    gate.provider
        .play(Script::events(vec![gzip(events.as_bytes())]).header("content-encoding", "gzip"));
    let answer = gate
        .caller()
        .post("/v1/chat/completions", &Speaks::OpenAi.request("hi"))
        .await;
    assert!(answer.ended() && answer.complete, "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_is_settled_too() {
    for streamed in [false, true] {
        let gate = Gate::up().await;
        let script = if streamed {
            Script::events(vec![Speaks::OpenAi.texts(&["he"])[0].clone().into_bytes()])
        } else {
            raw(&REPLY.as_bytes()[..20])
        };
        gate.provider.play(script.end(End::Hang));
        let mut request = Speaks::OpenAi.request("hi");
        request["stream"] = json!(streamed);
        let body = request.to_string();
        let bytes = gate
            .caller()
            .request("POST", "/v1/chat/completions", "", body.as_bytes());
        let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        while gate.provider.received().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(stream);
        let records = gate.records().await;
        assert_eq!(
            exchanges(&records),
            ["exchange.admitted", "exchange.settled"]
        );
        assert_eq!(only(&records, "exchange.settled")["ending"], "caller_gone");
    }
}

/// What no table lists may hold anything, and names may hold more than names.
#[tokio::test(flavor = "multi_thread")]
async fn keys_names_and_numbers_of_replies_are_searched() {
    const NEW: &str = "new.person@example.net";
    let gate = Gate::up().await;
    let chat = json!({"id": NEW, "new": {NEW: 4111111111111111_u64, "n": 7}, "choices": [{"index": 0,
        "finish_reason": {"deep": NEW}, "message": {"role": "assistant", "tool_calls": [
            {"id": NEW, "type": "function", "function": {"name": NEW, "arguments": "{}"}}]}}]});
    let blocks = json!({"id": NEW, "type": "message", "new": {NEW: 4111111111111111_u64, "n": 7},
        "content": [{"type": "tool_use", "id": NEW, "name": NEW, "input": {}},
            {"type": "thinking", "thinking": "x", "signature": {"deep": NEW}}]});
    for (speaks, reply) in [(Speaks::OpenAi, chat), (Speaks::Anthropic, blocks)] {
        gate.provider.play(Script::json(&reply.to_string()));
        let mut request = speaks.request("hi");
        request["stream"] = json!(false);
        let answer = gate.caller().post(speaks.path(), &request).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (shown, text) = (answer.json(), answer.text());
        assert!(
            !text.contains("new.person") && !text.contains("41111111"),
            "{text}"
        );
        assert_eq!(shown["new"], json!({"<EMAIL>": "<CREDIT_CARD>", "n": 7}));
        assert_eq!(shown["id"], "<EMAIL>");
    }
}
