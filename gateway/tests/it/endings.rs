//! Endings that nobody wants: sessions that are somebody else's, refusals of our own API, and
//! exchanges that the end of the gateway cuts off. Each leaves its record.

use std::time::{Duration, Instant};

use gatehouse::admin::{Answer, Request};
use gatehouse::auth::NewCaller;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::gate::caller::read;
use crate::gate::provider::End;
use crate::gate::{Caller, Gate, Script, exchanges, only};
use crate::streams::Speaks;

/// A caller with another key of the same tenant.
async fn another(gate: &Gate) -> Caller {
    let request = Request::KeyCreate(NewCaller {
        name: "another".to_owned(),
        tenant: "default".to_owned(),
        agent: None,
    });
    let socket = gate.data.path().join("admin.sock");
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    stream.write_all(&line).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    match serde_json::from_str(&answer).unwrap() {
        Answer::Created { token, .. } => Caller {
            token,
            ..gate.caller()
        },
        _ => panic!("no key"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_whose_session_was_asked_for() {
    let gate = Gate::up().await;
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let (id, reference) = (&opened["session_id"], opened["reference"].as_str().unwrap());
    let path = format!("/v1/sessions/{reference}");
    let other = another(&gate).await;
    let mut request = Speaks::OpenAi.request("hi");
    request["session_id"] = id.clone();
    let delete = other.request("DELETE", &path, "connection: close\r\n", b"");
    let answers = [
        other.post("/v1/chat/completions", &request).await,
        other.get(&path, "").await,
        other.send(&delete).await,
    ];
    for answer in &answers {
        assert_eq!(answer.error().as_deref(), Some("session_not_found"));
    }
    let unknown = other
        .get("/v1/sessions/s_aaaaaaaaaaaaaaaaaaaaaaaaaa", "")
        .await;
    assert_eq!(unknown.status, 404);
    let bodies: Vec<_> = answers.iter().chain([&unknown]).map(without_id).collect();
    assert!(bodies.iter().all(|body| body == &bodies[0]), "{bodies:?}");

    let records = gate.records().await;
    let opener = only(&records, "session.open")["prin"].clone();
    let refused: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "exchange.refused")
        .collect();
    assert_eq!(refused.len(), 4);
    for record in &refused[..3] {
        assert_eq!(record["absent"]["reason"], "session_owner_mismatch");
        assert_eq!(record["absent"]["session"], reference);
        assert_eq!(record["absent"]["owner"], opener);
        assert!(record.get("sid").is_none() && record["prin"] != opener);
    }
    assert_eq!(refused[3]["absent"], json!({"reason": "unknown"}));
}

fn without_id(answer: &crate::gate::Answer) -> Value {
    let mut body = answer.json();
    body["error"]["request_id"] = Value::Null;
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_our_own_api_are_recorded() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json("{}").status(500));
    let caller = gate.caller();
    let codes = [
        caller.post("/v1/sessions", &json!({"x": 1})).await,
        caller.post_bytes("/v1/sessions", b"{").await,
        caller.get("/v1/models", "").await,
    ]
    .map(|answer| answer.error().unwrap());
    assert_eq!(codes, ["json_unexpected", "json_invalid", "provider_error"]);
    let records = gate.records().await;
    assert_eq!(exchanges(&records), ["exchange.refused"; 3]);
    let refused = records
        .iter()
        .filter(|record| record["kind"] == "exchange.refused");
    for (record, code) in refused.zip(&codes) {
        assert_eq!(record["code"], code.as_str());
        assert!(record["prin"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_drain_cuts_off_is_settled_and_told() {
    for streamed in [false, true] {
        let gate = Gate::with("", |config| {
            config.timeouts.drain = Duration::from_millis(200);
        })
        .await;
        let script = if streamed {
            Script::events(vec![Speaks::OpenAi.texts(&["he"])[0].clone().into_bytes()])
        } else {
            Script::json("{")
        };
        gate.provider.play(script.end(End::Hang));
        let mut request = Speaks::OpenAi.request("hi");
        request["stream"] = json!(streamed);
        let body = request.to_string();
        let caller = gate.caller();
        let bytes = caller.request("POST", "/v1/chat/completions", "", body.as_bytes());
        let mut stream = TcpStream::connect(caller.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        while gate.provider.received().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let start = Instant::now();
        let (records, answer) =
            tokio::join!(gate.records(), read(&mut stream, Duration::from_secs(20)));
        assert!(start.elapsed() < Duration::from_secs(15));
        assert_eq!(answer.error().as_deref(), Some("shutting_down"));
        assert!(!answer.ended());
        assert_eq!(
            exchanges(&records),
            ["exchange.admitted", "exchange.settled"]
        );
        assert_eq!(only(&records, "exchange.settled")["ending"], "error");
    }
}
