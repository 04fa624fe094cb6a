//! Inputs of the size and the kind that broke other gateways: a crowd of connections that say nothing,
//! bodies far past the limit, fragments that are cut inside of an escape.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::gate::{Answer, Gate, Script, exchanges};
use crate::streams::{Speaks, arguments_of, at_every_split, whole};

/// More than may be open from one address.
const CROWD: usize = 1100;
/// Text that is more than a body may hold, in mebibytes.
const TOO_MUCH: usize = 40;

/// Opens a crowd, of which every other one begins the preface of HTTP/2 and stops.
async fn crowd(gate: &Gate) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for number in 0..CROWD {
        // One whose turn has come to give way may be closed already.
        if let Ok(mut stream) = TcpStream::connect(gate.running.address()).await {
            if number % 2 == 1 {
                let _ = stream.write_all(b"PRI * HT").await;
            }
            streams.push(stream);
        }
    }
    streams
}

/// Waits until the gateway has closed all of them.
async fn closed(streams: Vec<TcpStream>) {
    let mut waiting = JoinSet::new();
    for mut stream in streams {
        waiting.spawn(async move {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        });
    }
    while waiting.join_next().await.is_some() {}
}

async fn is_served(gate: &Gate) {
    let caller = gate.caller();
    let answer = caller.post(Speaks::OpenAi.path(), &chat("hi")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn chat(content: &str) -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_are_closed_in_time_and_keep_nobody_out() {
    let headers = Duration::from_secs(3);
    let gate = Gate::with("", |config| config.timeouts.headers = headers).await;
    gate.provider.play(Script::json(r#"{"choices":[]}"#));
    // The second crowd shows that the first one's places were given back.
    for _ in 0..2 {
        let streams = crowd(&gate).await;
        assert!(streams.len() > CROWD / 2, "{}", streams.len());
        is_served(&gate).await;
        let started = Instant::now();
        let all = timeout(headers * 4, closed(streams)).await;
        assert!(all.is_ok(), "some were held for {:?}", started.elapsed());
        is_served(&gate).await;
    }
}

fn too_large(answer: &Answer, speaks: Speaks, how: &str) {
    assert_eq!(answer.status, 413, "{how}: {}", answer.head);
    assert!(answer.complete, "{how}");
    let error = answer.json();
    assert_eq!(error["error"]["code"], "body_too_large", "{how}");
    match speaks {
        Speaks::Anthropic => assert_eq!(error["type"], "error", "{how}"),
        Speaks::OpenAi => assert!(error["error"]["message"].is_string(), "{how}"),
    }
    // Nobody should send so much again.
    assert_eq!(answer.header("x-should-retry").as_deref(), Some("false"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_forty_mebibytes_gets_an_answer_that_can_be_read() {
    let gate = Gate::up().await;
    let body = chat(&"word ".repeat((TOO_MUCH << 20) / 5)).to_string();
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let path = speaks.path();
        let announced = gate.caller().post_bytes(path, body.as_bytes()).await;
        too_large(&announced, speaks, "announced");
        let mut chunked = format!(
            "POST {path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            gate.token
        )
        .into_bytes();
        for piece in body.as_bytes().chunks(65536) {
            chunked.extend(format!("{:x}\r\n", piece.len()).bytes());
            chunked.extend_from_slice(piece);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\n\r\n");
        too_large(&gate.caller().send(&chunked).await, speaks, "chunked");
    }
    assert!(gate.provider.received().is_empty());
    assert_eq!(exchanges(&gate.records().await), ["exchange.refused"; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_cut_inside_of_an_escape_are_searched_through_it() {
    let gate = Gate::up().await;
    let pieces = [
        r#"{"to":"lena.fors\u00"#,
        "40example.or",
        r#"g","n":1"#,
        "0}",
    ];
    for speaks in [Speaks::Anthropic, Speaks::OpenAi] {
        let events = move |_: &str| speaks.arguments(&pieces);
        let request = speaks.request("hi");
        at_every_split(&gate, speaks, &request, events, |answer, at| {
            whole(answer, at);
            assert!(
                !answer.text().contains("lena.fors"),
                "{at}: {}",
                answer.text()
            );
            let arguments: Value = serde_json::from_str(&arguments_of(answer)).unwrap();
            assert_eq!(arguments, json!({"to": "<EMAIL>", "n": 10}), "{at}");
            // A number could go on until what stands behind it is there.
            let early = |data: &Value| {
                let openai = &data["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"];
                let texts = [openai, &data["delta"]["partial_json"]];
                texts
                    .iter()
                    .filter_map(|text| text.as_str())
                    .any(|text| text.ends_with(['1', '0']))
            };
            assert!(!answer.data().iter().any(early), "{at}: {}", answer.text());
        })
        .await;
    }
}
