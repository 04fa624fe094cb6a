//! TLS on the listener, with certificates made here: versions, both HTTPs, time limits, callers'
//! certificates.

mod authority;
mod half_closed;
mod reload;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse::config::Config;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ProtocolVersion};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::gate::{Gate, Script, caller, exchanges};
use authority::{Authority, tls};

async fn gate(authority: &Authority, change: impl FnOnce(&mut Config)) -> Gate {
    authority.install("one.example");
    let files = authority.files(None);
    Gate::with("", |config| {
        config.tls = Some(tls(files));
        change(config);
    })
    .await
}

fn chat() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "mail lena.fors@example.org"}]})
}

fn completion() -> String {
    json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    })
    .to_string()
}

async fn metrics(gate: &Gate) -> String {
    gate.running.gateway().metrics.render()
}

/// One request on a connection that stays open; its status.
async fn ask(gate: &Gate, stream: &mut TlsStream<TcpStream>) -> u16 {
    let body = chat().to_string();
    let bytes = gate
        .caller()
        .request("POST", "/v1/chat/completions", "", body.as_bytes());
    stream.write_all(&bytes).await.unwrap();
    let mut raw = Vec::new();
    loop {
        let mut part = vec![0; 4096];
        let count = stream.read(&mut part).await.unwrap();
        raw.extend_from_slice(&part[..count]);
        let answer = caller::parse(raw.clone());
        if (answer.status != 0 && answer.complete) || count == 0 {
            return answer.status;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http1_runs_over_tls_1_2_and_1_3() {
    let authority = Authority::new();
    let gate = gate(&authority, |_| {}).await;
    gate.provider.play(Script::json(&completion()));
    for (only, version) in [
        (&TLS12, ProtocolVersion::TLSv1_2),
        (&TLS13, ProtocolVersion::TLSv1_3),
    ] {
        for alpn in [&[][..], &["http/1.1"]] {
            let mut client = authority.client(alpn);
            client.versions = vec![only];
            let mut stream = client.connect(&gate, "one.example").await.unwrap();
            assert_eq!(stream.get_ref().1.protocol_version(), Some(version));
            assert_eq!(ask(&gate, &mut stream).await, 200);
            assert_eq!(ask(&gate, &mut stream).await, 200, "kept alive");
        }
    }
    let page = metrics(&gate).await;
    assert!(
        page.contains("gatehouse_tls_handshakes_total{outcome=\"done\"} 4"),
        "{page}"
    );
    assert_eq!(exchanges(&gate.records().await).len(), 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_run_over_h2() {
    let authority = Authority::new();
    let gate = gate(&authority, |_| {}).await;
    let message = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let cases = [
        ("/v1/chat/completions", completion()),
        ("/v1/messages", message.to_string()),
    ];
    let client = authority.client(&["h2", "http/1.1"]);
    let stream = client.connect(&gate, "one.example").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let io = TokioIo::new(stream);
    let (mut send, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    let ask = async {
        for (path, reply) in &cases {
            gate.provider.play(Script::json(reply));
            let mut body = chat();
            body["max_tokens"] = json!(10);
            let request = http::Request::post(format!("https://one.example{path}"))
                .header("authorization", format!("Bearer {}", gate.token))
                .header("content-type", "application/json")
                .body(Full::new(bytes::Bytes::from(body.to_string())))
                .unwrap();
            let response = send.send_request(request).await.unwrap();
            assert_eq!(response.version(), http::Version::HTTP_2);
            assert_eq!(response.status(), 200, "{path}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, *reply, "{path}");
        }
        drop(send);
    };
    let ((), ended) = tokio::join!(ask, connection);
    ended.unwrap();
    let records = gate.records().await;
    assert_eq!(
        exchanges(&records),
        ["exchange.admitted", "exchange.settled"].repeat(2)
    );
}

/// A ClientHello for at most the given version, in which nothing else is to be refused.
fn hello(minor: u8) -> Vec<u8> {
    // ECDHE with ECDSA: AES-128-GCM for TLS 1.2, AES-128-CBC for those before.
    let suites = [0xc0, 0x2b, 0xc0, 0x09];
    let groups = [0, 10, 0, 4, 0, 2, 0, 23];
    let points = [0, 11, 0, 2, 1, 0];
    let signatures = [0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = [&groups[..], &points, &signatures].concat();
    let mut body = vec![3, minor];
    body.extend([7; 32]);
    body.extend([0, 0, suites.len() as u8]);
    body.extend(suites);
    body.extend([1, 0, 0, extensions.len() as u8]);
    body.extend(extensions);
    let mut message = vec![1, 0, 0, body.len() as u8];
    message.extend(body);
    let mut record = vec![22, 3, 1, 0, message.len() as u8];
    record.extend(message);
    record
}

/// What comes until the connection ends, and how long that took.
async fn until_closed(gate: &Gate, bytes: &[u8]) -> (Vec<u8>, Duration) {
    let start = Instant::now();
    let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut came = Vec::new();
    let read = stream.read_to_end(&mut came);
    // A reset instead of an end is an end too.
    let _ = tokio::time::timeout(Duration::from_secs(10), read)
        .await
        .expect("closed");
    (came, start.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn older_versions_plain_http_and_unknown_alpn_are_refused() {
    let authority = Authority::new();
    let gate = gate(&authority, |_| {}).await;
    // TLS 1.2, and so the hello as such, is answered.
    let mut stream = TcpStream::connect(gate.running.address()).await.unwrap();
    stream.write_all(&hello(3)).await.unwrap();
    let mut came = [0; 6];
    stream.read_exact(&mut came).await.unwrap();
    assert_eq!((came[0], came[5]), (22, 2), "a ServerHello: {came:?}");
    drop(stream);
    for minor in [0, 1, 2] {
        let (came, _) = until_closed(&gate, &hello(minor)).await;
        // A fatal alert, protocol_version.
        assert_eq!(
            (came[0], &came[5..]),
            (21, &[2, 70][..]),
            "3.{minor}: {came:?}"
        );
    }
    let (came, took) = until_closed(&gate, b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(!came.starts_with(b"HTTP/"), "{came:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let error = authority
        .client(&["spdy/3"])
        .connect(&gate, "one.example")
        .await;
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("NoApplicationProtocol"), "{error}");
    seen(
        &gate,
        "gatehouse_tls_handshakes_total{outcome=\"failed\"} 6",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn h2_is_what_alpn_agreed_on_and_nothing_else() {
    let authority = Authority::new();
    let gate = gate(&authority, |_| {}).await;
    let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..];
    let get = &b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"[..];
    for (alpn, bytes) in [(&["h2"][..], get), (&["http/1.1"], preface), (&[], preface)] {
        let client = authority.client(alpn);
        let mut stream = client.connect(&gate, "one.example").await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut came = Vec::new();
        let _ = stream.read_to_end(&mut came).await;
        assert_eq!(came, b"", "{alpn:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_handshake_and_a_slow_head_share_one_deadline() {
    let authority = Authority::new();
    let limit = Duration::from_millis(700);
    let gate = gate(&authority, |config| config.timeouts.headers = limit).await;
    let within = |took: Duration| took >= limit - Duration::from_millis(50) && took < limit * 3;
    for bytes in [&b""[..], &[22], &hello(3)[..20]] {
        let (came, took) = until_closed(&gate, bytes).await;
        assert!(
            came.is_empty() && within(took),
            "{bytes:?}: {took:?} {came:?}"
        );
    }
    let page = metrics(&gate).await;
    assert!(
        page.contains("gatehouse_tls_handshakes_total{outcome=\"unfinished\"} 3"),
        "{page}"
    );
    // The handshake begins late: what it leaves of the time is all that the head has.
    let start = Instant::now();
    let tcp = TcpStream::connect(gate.running.address()).await.unwrap();
    tokio::time::sleep(limit / 2).await;
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(authority.client(&[]).roots)
        .with_no_client_auth();
    let name = ServerName::try_from("one.example").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, tcp).await.unwrap();
    stream.write_all(b"GET /v1/models HTT").await.unwrap();
    let mut came = Vec::new();
    let read = stream.read_to_end(&mut came);
    let _ = tokio::time::timeout(Duration::from_secs(10), read)
        .await
        .expect("closed");
    let took = start.elapsed();
    assert!(took < limit + limit / 2, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_count_against_the_connection_caps() {
    let authority = Authority::new();
    let gate = gate(&authority, |config| config.limits.connections_per_ip = 2).await;
    let client = authority.client(&[]);
    gate.provider.play(Script::json(&completion()));
    let mut speaking = Vec::new();
    for _ in 0..2 {
        let mut stream = client.connect(&gate, "one.example").await.unwrap();
        assert_eq!(ask(&gate, &mut stream).await, 200);
        speaking.push(stream);
    }
    assert!(
        client.connect(&gate, "one.example").await.is_err(),
        "no room"
    );
    assert_eq!(ask(&gate, &mut speaking[0]).await, 200);
}

/// Waits until the metrics page has a line.
async fn seen(gate: &Gate, line: &str) {
    for _ in 0..200 {
        if metrics(gate).await.lines().any(|it| it == line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{line} is not in\n{}", metrics(gate).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_client_ca_a_caller_needs_a_certificate_and_a_key() {
    let authority = Authority::new();
    authority.install("one.example");
    std::fs::write(authority.path("ca.pem"), &authority.pem).unwrap();
    let files = authority.files(Some(&authority.path("ca.pem")));
    let gate = Gate::with("", |config| config.tls = Some(tls(files))).await;
    gate.provider.play(Script::json(&completion()));
    let mut client = authority.client(&["http/1.1"]);
    for foreign in [None, Some(Authority::new().pair("caller"))] {
        client.certificate = foreign;
        // In TLS 1.3 the client is done before the server has looked: the refusal comes on read.
        if let Ok(mut stream) = client.connect(&gate, "one.example").await {
            let mut came = [0; 1];
            assert!(stream.read_exact(&mut came).await.is_err());
        }
    }
    client.certificate = Some(authority.pair("caller"));
    let mut stream = client.connect(&gate, "one.example").await.unwrap();
    assert_eq!(ask(&gate, &mut stream).await, 200);
    let no_key = b"GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(no_key).await.unwrap();
    let mut came = Vec::new();
    let _ = stream.read_to_end(&mut came).await;
    assert!(
        came.starts_with(b"HTTP/1.1 401 "),
        "{}",
        String::from_utf8_lossy(&came)
    );
}
