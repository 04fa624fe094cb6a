//! Callers that close their sending side of a TLS connection, with close_notify or without: as those
//! of plain connections, they get what is theirs if they read on, and are not waited for if they have
//! gone.

use std::time::{Duration, Instant};

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::authority::Authority;
use super::gate;
use crate::gate::caller::read;
use crate::gate::provider::End;
use crate::gate::{Gate, Script, exchanges, only};
use crate::half_closed::{BOTH, reply, request, slowly, without_interim};

const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

async fn connect(
    authority: &Authority,
    gate: &Gate,
    version: &'static SupportedProtocolVersion,
) -> TlsStream<TcpStream> {
    let mut client = authority.client(&["http/1.1"]);
    client.versions = vec![version];
    client.connect(gate, "one.example").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_reads_on_gets_its_reply() {
    let authority = Authority::new();
    for (at, (speaks, streamed)) in BOTH.into_iter().enumerate() {
        for slow in [false, true] {
            let gate = gate(&authority, |_| {}).await;
            let script = reply(speaks, streamed);
            gate.provider
                .play(if slow { slowly(script) } else { script });
            let mut stream = connect(&authority, &gate, VERSIONS[at % 2]).await;
            let bytes = request(&gate, speaks, streamed);
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            let answer = read(&mut stream, Duration::from_secs(20)).await;
            let (answer, interim) = without_interim(&answer);
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.complete, "{}", answer.text());
            assert!(answer.text().contains("llo"), "{}", answer.text());
            assert_eq!(answer.ended(), streamed);
            assert!(slow || !interim);
            let records = gate.records().await;
            assert_eq!(only(&records, "exchange.settled")["ending"], "done");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_has_gone_is_not_waited_for() {
    let authority = Authority::new();
    for (at, (speaks, streamed)) in BOTH.into_iter().enumerate() {
        for said_so in [false, true] {
            let gate = gate(&authority, |_| {}).await;
            let script = if streamed {
                Script::events(vec![speaks.texts(&["he"])[0].clone().into_bytes()])
            } else {
                Script::json("{")
            };
            gate.provider.play(script.end(End::Hang));
            let mut stream = connect(&authority, &gate, VERSIONS[at % 2]).await;
            let bytes = request(&gate, speaks, streamed);
            stream.write_all(&bytes).await.unwrap();
            while gate.provider.received().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if streamed {
                let mut part = [0; 4096];
                assert!(stream.read(&mut part).await.unwrap() > 0);
            }
            if said_so {
                stream.shutdown().await.unwrap();
            }
            drop(stream);
            let active = &gate.running.gateway().metrics.exchanges;
            let start = Instant::now();
            while active.get() > 0 {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{streamed} {said_so}"
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
    let authority = Authority::new();
    for (at, (speaks, streamed)) in BOTH.into_iter().enumerate() {
        let gate = gate(&authority, |_| {}).await;
        let mut stream = connect(&authority, &gate, VERSIONS[at % 2]).await;
        let bytes = request(&gate, speaks, streamed);
        stream.write_all(&bytes[..bytes.len() - 5]).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = read(&mut stream, Duration::from_secs(20)).await;
        let answered = (answer.status, answer.error());
        assert_eq!(
            answered,
            (400, Some("body_unreadable".to_owned())),
            "{}",
            answer.text()
        );
        assert_eq!(exchanges(&gate.records().await), ["exchange.refused"]);
    }
}
