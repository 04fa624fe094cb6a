//! Keys outlive their sessions for as long as payloads do, unless they are erased.

use gatehouse::admin::{Answer as Told, Request};
use gatehouse::config::KeptReply;
use serde_json::json;

use super::{ask, keeping, keys, whole};
use crate::gate::{Gate, Script};
use crate::streams::Speaks;

/// A session with one exchange.
pub(super) async fn used(gate: &Gate) -> String {
    gate.provider.play(whole("-"));
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let answer = gate.caller().post(Speaks::OpenAi.path(), &request).await;
    assert_eq!(answer.status, 200);
    answer.header("x-gatehouse-session").unwrap()
}

async fn close(gate: &Gate, session: &str) {
    let caller = gate.caller();
    let path = format!("/v1/sessions/{session}");
    let bytes = caller.request("DELETE", &path, "connection: close\r\n", b"");
    assert_eq!(caller.send(&bytes).await.status, 200);
}

async fn erase(gate: &Gate, session: &str) -> bool {
    let reference = session.to_owned();
    match ask(gate, Request::SessionErase { reference }).await {
        Told::Done {} => true,
        Told::Failed { .. } => false,
        _ => panic!("something else"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stays_after_the_session_and_goes_when_it_is_erased() {
    let gate = keeping(KeptReply::Received).await;
    let (closed, live, revoked) = (used(&gate).await, used(&gate).await, used(&gate).await);
    close(&gate, &closed).await;
    let reference = revoked.clone();
    assert!(matches!(
        ask(&gate, Request::SessionRevoke { reference }).await,
        Told::Done {}
    ));
    for session in [&closed, &live, &revoked] {
        assert_eq!(keys(&gate, session).await.len(), 1);
    }
    // It is of no use for anything else.
    let path = format!("/v1/sessions/{closed}");
    assert_eq!(gate.caller().get(&path, "").await.status, 404);
    for session in [&closed, &live] {
        assert!(erase(&gate, session).await);
        assert_eq!(keys(&gate, session).await.len(), 0);
        assert!(
            !erase(&gate, session).await,
            "there is nothing left to erase"
        );
    }
    assert_eq!(keys(&gate, &revoked).await.len(), 1);

    // All of that is still so after a restart.
    let gate = gate.again(|config| {
        config.ledger.payloads = Some(std::sync::Arc::new(gatehouse::config::Payloads {
            place: gatehouse::config::PayloadPlace::Dir(super::folder(&config.data_dir)),
            retention_days: 30,
            reply: KeptReply::Received,
            timeout: std::time::Duration::from_secs(20),
        }));
    });
    let gate = gate.await;
    assert_eq!(keys(&gate, &closed).await.len(), 0);
    assert_eq!(keys(&gate, &revoked).await.len(), 1);
    let records = gate.records().await;
    let erased: Vec<_> = records
        .iter()
        .filter(|it| it["kind"] == "session.erase.request")
        .collect();
    assert_eq!(erased.len(), 2);
    // The chain of the one had ended.
    assert_eq!(erased[0]["outside"]["session"], closed.as_str());
    assert!(erased[0].get("sid").is_none());
    assert_eq!(erased[1]["sid"], live.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_payloads_a_key_goes_with_its_session() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json("{}"));
    let session = used(&gate).await;
    assert_eq!(keys(&gate, &session).await.len(), 1);
    close(&gate, &session).await;
    assert_eq!(keys(&gate, &session).await.len(), 0);
}

/// The command that writes keys into a file, beside a gateway that runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_writes_keys_into_a_file() {
    let gate = keeping(KeptReply::Received).await;
    let (session, gone) = (used(&gate).await, used(&gate).await);
    assert!(erase(&gate, &gone).await);
    let data = gate.data.path().to_owned();
    let grant = async |session: &str, file: &str, more: &[&str]| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_gatehouse"));
        command.args(["session", "grant", session, "--out", file, "--data", "."]);
        let output = command.args(more).current_dir(&data).output().await;
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let words = ["--as", "jane", "--purpose", "audit:1"];
    let (code, said) = grant(&session, "granted", &words).await;
    assert_eq!(code, Some(0), "{said}");
    let file = data.join("granted");
    let text = std::fs::read_to_string(&file).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    let key = keys(&gate, &session).await.remove(0);
    assert_eq!(line["key"], key.key.as_str());
    assert_eq!(line["session"], session.as_str());
    let mode = std::fs::metadata(&file).unwrap().permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o600
    );
    // Never over another file; not for text; and it says what is not there.
    assert_eq!(grant(&session, "granted", &[]).await.0, Some(1));
    let (code, said) = grant(&session, "more", &["--purpose", "for Jane"]).await;
    assert_eq!(code, Some(64));
    assert!(
        said.contains("no plain word") || said.contains("not a plain word"),
        "{said}"
    );
    assert!(!data.join("more").exists());
    let (code, said) = grant(&gone, "none", &[]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("destroyed"), "{said}");
    assert_eq!(grant("s_x", "odd", &[]).await.0, Some(64));
    // Of several, each has a record of its own.
    let more = used(&gate).await;
    let (code, said) = grant(&session, "both", &[&words[..], &[&more]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let records = gate.records().await;
    let exports: Vec<_> = records
        .iter()
        .filter(|it| it["kind"] == "export.created" && it["export"]["name"] == "jane")
        .collect();
    // Two by the command, one by this test.
    let of = |session: &str| {
        let of = exports.iter().map(|it| &it["export"]);
        of.filter(|it| it["session"] == session && it["sessions"] == 1)
            .count()
    };
    assert_eq!((exports.len(), of(&session), of(&more)), (4, 3, 1));
}
