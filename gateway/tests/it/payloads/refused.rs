//! A place that takes nothing: nothing is sent, nothing is told, and the log says so.

use std::path::Path;

use gatehouse::config::KeptReply;
use gatehouse_ledger::store::Dir;
use gatehouse_ledger::trust::Trust;
use gatehouse_ledger::verify::{Verdict, Verifier};
use serde_json::{Value, json};

use super::{body, events, folder, keeping, whole};
use crate::gate::{Gate, exchanges};
use crate::streams::Speaks;

/// Puts a file where the folder is, or takes it away again.
fn take(data: &Path, away: bool) {
    let (folder, aside) = (folder(data), data.join("aside"));
    if away {
        std::fs::rename(&folder, &aside).unwrap();
        std::fs::write(&folder, b"in the way").unwrap();
    } else {
        std::fs::remove_file(&folder).unwrap();
        std::fs::rename(&aside, &folder).unwrap();
    }
}

/// The records of a gateway that was stopped, whose log must hold.
async fn stopped(gate: Gate) -> Vec<Value> {
    let Gate {
        running,
        data,
        provider: _provider,
        ..
    } = gate;
    running.stop().await;
    let trust = std::fs::read_to_string(data.path().join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let log = Dir::new(data.path().join("ledger"));
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    assert_eq!(
        report.verdict(),
        Verdict::Holds,
        "{:?} {:?}",
        report.faults,
        report.doubts
    );
    crate::gate::records(data.path())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_kept_is_not_sent() {
    let gate = keeping(KeptReply::Received).await;
    gate.provider.play(whole("-"));
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let request = json!({"model": "m", "session_id": opened["session_id"],
        "messages": [{"role": "user", "content": "hi"}]});
    let ask = async || gate.caller().post(Speaks::OpenAi.path(), &request).await;
    assert_eq!(ask().await.status, 200);
    take(gate.data.path(), true);
    gate.provider.play(whole("-"));
    for _ in 0..2 {
        let answer = ask().await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.error().as_deref(), Some("payload_unavailable"));
    }
    assert!(gate.provider.received().is_empty());
    // The session goes on when the place is back.
    take(gate.data.path(), false);
    assert_eq!(ask().await.status, 200);
    let records = stopped(gate).await;
    let expected = [
        "exchange.admitted",
        "exchange.settled",
        "exchange.refused",
        "exchange.refused",
        "exchange.admitted",
        "exchange.settled",
    ];
    assert_eq!(exchanges(&records), expected);
    let refused = records.iter().filter(|it| it["kind"] == "exchange.refused");
    for record in refused {
        assert_eq!(record["code"], "payload_unavailable");
        assert_eq!(record["blame"], "gateway");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_cannot_be_kept_is_withheld_and_the_log_says_so() {
    for stream in [false, true] {
        let gate = keeping(KeptReply::Received).await;
        let data = gate.data.path().to_owned();
        let script = if stream {
            events("secret answer")
        } else {
            whole("secret answer")
        };
        // Between the request and its reply the place is lost.
        let writes = match &script.writes {
            crate::gate::provider::Writes::Fixed(writes) => writes.clone(),
            crate::gate::provider::Writes::Made(_) => unreachable!("fixed"),
        };
        gate.provider.play(script.made(move |_| {
            take(&data, true);
            writes.clone()
        }));
        let mut request = Speaks::OpenAi.request("hi");
        request["stream"] = stream.into();
        let answer = gate.caller().post(Speaks::OpenAi.path(), &request).await;
        assert_eq!(
            answer.error().as_deref(),
            Some("reply_unrecorded"),
            "{}",
            answer.text()
        );
        assert!(!answer.error_free(stream));
        assert!(stream || answer.status == 503);
        let records = stopped(gate).await;
        assert_eq!(
            exchanges(&records),
            ["exchange.admitted", "exchange.settled"]
        );
        let settled = records.iter().find(|it| it["kind"] == "exchange.settled");
        let settled = settled.unwrap();
        assert_eq!(settled["unstored"], "rep");
        assert!(settled.get("body").is_none());
        let admitted = records.iter().find(|it| it["kind"] == "exchange.admitted");
        assert_eq!(body(admitted.unwrap()).location.part.word(), "req");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_too_long_to_be_kept_is_cut() {
    let gate = Gate::with("", |config| {
        config.limits.reply = 4096;
        config.ledger.payloads = Some(std::sync::Arc::new(gatehouse::config::Payloads {
            place: gatehouse::config::PayloadPlace::Dir(folder(&config.data_dir)),
            retention_days: 30,
            reply: KeptReply::Received,
            timeout: std::time::Duration::from_secs(20),
        }));
    })
    .await;
    let words = vec!["many more words"; 100];
    let script = Speaks::OpenAi.texts(&words);
    let script = script.into_iter().map(String::into_bytes).collect();
    gate.provider.play(crate::gate::Script::events(script));
    let request = Speaks::OpenAi.request("hi");
    let answer = gate.caller().post(Speaks::OpenAi.path(), &request).await;
    assert_eq!(
        answer.error().as_deref(),
        Some("provider_too_large"),
        "{}",
        answer.text()
    );
    let records = stopped(gate).await;
    let settled = records.iter().find(|it| it["kind"] == "exchange.settled");
    // What came is kept.
    assert!(body(settled.unwrap()).len > 4096);
}
