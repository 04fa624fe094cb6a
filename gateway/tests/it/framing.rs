//! Requests on the wire: framing that two parsers could read differently, hosts, limits of size and
//! time, and crowds.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bad::{CHAT, chat, is_typed};
use crate::gate::caller::read;
use crate::gate::{Gate, Script, exchanges};

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
