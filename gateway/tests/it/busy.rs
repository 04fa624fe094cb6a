//! A second turn while the first is under way: it waits, is refused, or ends the first.

use std::time::Duration;

use gatehouse::config::OnBusy;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::gate::caller::read;
use crate::gate::provider::End;
use crate::gate::{Answer, Gate, Script};
use crate::streams::Speaks;

/// A gate, and a request of a session in it.
async fn gate(on_busy: OnBusy, speaks: Speaks, streamed: bool) -> (Gate, Value) {
    let gate = Gate::with("", |config| {
        config.sessions.on_busy = on_busy;
        config.sessions.wait = Duration::from_secs(20);
    })
    .await;
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let mut request = speaks.request("hi");
    request["stream"] = json!(streamed);
    request["session_id"] = opened["session_id"].clone();
    (gate, request)
}

/// The provider begins to answer, and then says nothing more.
fn endless(speaks: Speaks, streamed: bool) -> Script {
    let begun = speaks.texts(&["Once upon a time there was "])[..2].concat();
    match streamed {
        true => Script::events(vec![begun.into_bytes()]).end(End::Hang),
        false => Script::json("{\"choices\"").end(End::Hang),
    }
}

fn whole(speaks: Speaks) -> Script {
    Script::events(vec![speaks.texts(&["the end"]).concat().into_bytes()])
}

/// Sends a request whose reply is read later, once the provider has it.
async fn begun(gate: &Gate, speaks: Speaks, request: &Value) -> TcpStream {
    let caller = gate.caller();
    let mut stream = TcpStream::connect(caller.address).await.unwrap();
    let body = request.to_string();
    let bytes = caller.request(
        "POST",
        speaks.path(),
        "connection: close\r\n",
        body.as_bytes(),
    );
    stream.write_all(&bytes).await.unwrap();
    while gate.provider.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    stream
}

async fn rest(mut stream: TcpStream) -> Answer {
    read(&mut stream, Duration::from_secs(20)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_turn_is_refused_at_once() {
    let (gate, request) = gate(OnBusy::Reject, Speaks::OpenAi, true).await;
    gate.provider.play(endless(Speaks::OpenAi, true));
    let first = begun(&gate, Speaks::OpenAi, &request).await;
    let second = gate.caller().post(Speaks::OpenAi.path(), &request).await;
    assert_eq!(second.status, 409);
    assert_eq!(second.error().as_deref(), Some("session_busy"));
    assert_eq!(second.header("x-should-retry").as_deref(), Some("false"));
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_turn_ends_the_first_and_goes_on() {
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        for streamed in [true, false] {
            let (gate, mut request) = gate(OnBusy::Interrupt, speaks, streamed).await;
            gate.provider.play(endless(speaks, streamed));
            let first = begun(&gate, speaks, &request).await;
            gate.provider.play(whole(speaks));
            request["stream"] = json!(true);
            let second = gate.caller().post(speaks.path(), &request).await;
            assert_eq!(second.status, 200, "{}", second.text());
            assert!(second.ended() && second.complete);
            let first = rest(first).await;
            assert_eq!(first.error().as_deref(), Some("session_interrupted"));
            assert!(!first.ended());
            assert_eq!(first.status, if streamed { 200 } else { 409 });
            // Whoever reads on must not take it for a whole reply.
            assert_eq!(first.complete, !streamed);

            let records = gate.records().await;
            let settled: Vec<_> = records
                .iter()
                .filter(|record| record["kind"] == "exchange.settled")
                .collect();
            assert_eq!(settled[0]["ending"], "interrupted");
            assert_eq!(settled[1]["ending"], "done");
            // Both in the session's chain, one behind the other.
            let places: Vec<_> = records
                .iter()
                .filter_map(|record| record["sseq"].as_u64())
                .collect();
            assert_eq!(places, [0, 1, 2, 3, 4]);
        }
    }
}
