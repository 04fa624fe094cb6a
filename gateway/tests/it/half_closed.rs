//! Callers that close their sending side: those that read on get their reply, or a typed error;
//! those that have gone are not waited for; and none of them holds a connection for long.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::gate::caller::{parse, read};
use crate::gate::provider::End;
use crate::gate::{Answer, Gate, Script, exchanges, only};
use crate::streams::Speaks;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
pub(crate) const BOTH: [(Speaks, bool); 4] = [
    (Speaks::OpenAi, false),
    (Speaks::OpenAi, true),
    (Speaks::Anthropic, false),
    (Speaks::Anthropic, true),
];

/// Longer than the gateway takes to notice that a caller has closed its side.
const SLOW: Duration = Duration::from_millis(900);

pub(crate) fn reply(speaks: Speaks, streamed: bool) -> Script {
    if streamed {
        return Script::events(vec![speaks.texts(&["he", "llo"]).concat().into_bytes()]);
    }
    Script::json(match speaks {
        Speaks::Anthropic => {
            r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hello"}]}"#
        }
        Speaks::OpenAi => {
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"}}]}"#
        }
    })
}

/// A provider that takes its time before it says anything.
pub(crate) fn slowly(script: Script) -> Script {
    let writes = match &script.writes {
        crate::gate::provider::Writes::Fixed(writes) => writes.clone(),
        crate::gate::provider::Writes::Made(_) => Vec::new(),
    };
    script.made(move |_| {
        std::thread::sleep(SLOW);
        writes.clone()
    })
}

pub(crate) fn request(gate: &Gate, speaks: Speaks, streamed: bool) -> Vec<u8> {
    let mut request = speaks.request("hi");
    request["stream"] = json!(streamed);
    let body = request.to_string();
    gate.caller()
        .request("POST", speaks.path(), "", body.as_bytes())
}

/// The final answer, and whether interim ones came before it.
pub(crate) fn without_interim(answer: &Answer) -> (Answer, bool) {
    match answer.raw.strip_prefix(CONTINUE) {
        Some(rest) => (parse(rest.to_vec()), true),
        None => (parse(answer.raw.clone()), false),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_reads_on_gets_its_reply() {
    for (speaks, streamed) in BOTH {
        for slow in [false, true] {
            let gate = Gate::up().await;
            let script = reply(speaks, streamed);
            let script = if slow { slowly(script) } else { script };
            gate.provider.play(script);
            let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
            let bytes = request(&gate, speaks, streamed);
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let start = Instant::now();
            let answer = read(&mut stream, Duration::from_secs(20)).await;
            assert!(start.elapsed() < Duration::from_secs(15), "not closed");
            let (answer, interim) = without_interim(&answer);
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.complete, "{}", answer.text());
            if streamed {
                assert!(answer.ended(), "{}", answer.text());
            } else {
                assert!(answer.text().contains("hello"), "{}", answer.text());
            }
            // Only who may have gone is asked.
            assert!(slow || !interim);
            let records = gate.records().await;
            assert_eq!(only(&records, "exchange.settled")["ending"], "done");
        }
    }
}

/// HTTP/1.0 knows no interim responses.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_caller_is_sent_nothing_but_its_reply() {
    let gate = Gate::up().await;
    gate.provider.play(slowly(reply(Speaks::OpenAi, false)));
    let bytes = request(&gate, Speaks::OpenAi, false);
    let text = String::from_utf8(bytes).unwrap();
    let bytes = text.replacen("HTTP/1.1", "HTTP/1.0", 1);
    let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = read(&mut stream, Duration::from_secs(20)).await;
    assert!(answer.head.starts_with("HTTP/1.0 200"), "{}", answer.head);
    assert!(answer.text().contains("hello"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_has_gone_is_not_waited_for() {
    for (speaks, streamed) in BOTH {
        for reset in [false, true] {
            let gate = Gate::up().await;
            let script = if streamed {
                // The caller has read all that came, so that closing sends no reset.
                Script::events(vec![speaks.texts(&["he"])[0].clone().into_bytes()])
            } else {
                Script::json("{")
            };
            gate.provider.play(script.end(End::Hang));
            let bytes = request(&gate, speaks, streamed);
            let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            while gate.provider.received().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if streamed {
                let mut part = [0; 4096];
                assert!(stream.read(&mut part).await.unwrap() > 0);
            }
            if reset {
                stream.set_zero_linger().unwrap();
            }
            drop(stream);
            let active = &gate.running.gateway().metrics.exchanges;
            let start = Instant::now();
            while active.get() > 0 {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{streamed} {reset}: still waited for"
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let records = gate.records().await;
            assert_eq!(only(&records, "exchange.settled")["ending"], "caller_gone");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_body_is_a_typed_error() {
    for (speaks, streamed) in BOTH {
        let gate = Gate::up().await;
        let bytes = request(&gate, speaks, streamed);
        let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
        stream.write_all(&bytes[..bytes.len() - 5]).await.unwrap();
        stream.shutdown().await.unwrap();
        let start = Instant::now();
        let answer = read(&mut stream, Duration::from_secs(20)).await;
        assert!(start.elapsed() < Duration::from_secs(15), "not closed");
        assert_eq!(
            (answer.status, answer.error().as_deref()),
            (400, Some("body_unreadable")),
            "{}",
            answer.text()
        );
        assert_eq!(answer.header("connection").as_deref(), Some("close"));
        let records = gate.records().await;
        assert_eq!(exchanges(&records), ["exchange.refused"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_holds_a_connection_that_only_one_side_uses() {
    let gate = Gate::with("", |config| {
        config.timeouts.headers = Duration::from_millis(500);
        config.timeouts.idle = Duration::from_millis(500);
    })
    .await;
    let large = format!(r#"{{"choices":[],"x":"{}"}}"#, "word ".repeat(800 << 10));
    gate.provider.play(Script::json(&large));
    let mut held = Vec::new();
    // Silent from the start; after a whole request; with a reply that is never read, the sending side
    // open; in the middle of a head.
    for sent in ["", "whole", "unread", "GET / HT"] {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(gate.running.address()).await.unwrap();
        let bytes = match sent {
            "whole" => gate.caller().request("GET", "/none", "", b""),
            "unread" => request(&gate, Speaks::OpenAi, false),
            other => other.as_bytes().to_vec(),
        };
        stream.write_all(&bytes).await.unwrap();
        if sent != "unread" {
            stream.shutdown().await.unwrap();
        }
        held.push(stream);
    }
    let open = &gate.running.gateway().metrics.connections;
    let start = Instant::now();
    tokio::time::sleep(Duration::from_millis(100)).await;
    while open.get() > 0 {
        assert!(start.elapsed() < Duration::from_secs(120), "{}", open.get());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(held);
}
