//! Sealed payloads through the whole gateway: what was sent and answered is in the place, opens with keys
//! that the gateway gives out and records, and whatever cannot be kept is not sent.

mod erased;
mod refused;
mod told;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse::admin::{Answer as Told, GivenKey, Request};
use gatehouse::config::{KeptReply, PayloadPlace, Payloads};
use gatehouse_envelope::payload::{Commitment, PayloadKey, Place};
use gatehouse_ledger::payload::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::gate::{Gate, Script, only};
use crate::streams::Speaks;

const MAIL: &str = "lena.fors@example.org";

/// A gateway that keeps payloads in its data directory.
pub(super) async fn keeping(reply: KeptReply) -> Gate {
    Gate::with("", |config| {
        config.ledger.payloads = Some(Arc::new(Payloads {
            place: PayloadPlace::Dir(folder(&config.data_dir)),
            retention_days: 30,
            reply,
            timeout: Duration::from_secs(20),
        }));
    })
    .await
}

pub(super) fn folder(data: &Path) -> PathBuf {
    data.join("payloads")
}

/// Asks over the admin socket.
pub(super) async fn ask(gate: &Gate, request: Request) -> Told {
    let socket = gate.data.path().join("admin.sock");
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    stream.write_all(&line).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}

pub(super) async fn keys(gate: &Gate, session: &str) -> Vec<GivenKey> {
    let request = Request::PayloadKeys {
        sessions: vec![session.to_owned()],
        name: Some("jane".into()),
        purpose: Some("audit:1".into()),
    };
    match ask(gate, request).await {
        Told::PayloadKeys(keys) => keys,
        Told::Failed { why } => panic!("{why}"),
        _ => panic!("no keys"),
    }
}

/// The one payload that a record names.
pub(super) fn body(record: &Value) -> Body {
    let mut bodies = Body::read(&record.to_string()).unwrap();
    assert_eq!(bodies.len(), 1, "{record}");
    bodies.remove(0)
}

/// The text of a payload.
fn open(data: &Path, key: &GivenKey, body: &Body) -> Vec<u8> {
    let object = std::fs::read(folder(data).join(body.location.name())).unwrap();
    let given = PayloadKey::from_grant(&key.kid, &key.key).unwrap();
    let place = Place {
        part: body.location.part.word(),
        tenant: &key.tenant,
        session: &body.location.session,
        number: body.location.number,
    };
    let commitment = Commitment {
        ct: &body.ct,
        len: body.len,
        kc: &body.kc,
        pm: &body.pm,
    };
    given.open(&place, &commitment, &object).unwrap().to_vec()
}

/// What the payloads of one exchange hold, the records, and what was received and told meanwhile.
struct Kept {
    request: Vec<u8>,
    reply: Vec<u8>,
    sent: Vec<u8>,
    told: Vec<u8>,
    records: Vec<Value>,
}

/// One exchange whose request names a mail address.
async fn exchange(reply: KeptReply, script: impl Fn(&str) -> Script, stream: bool) -> Kept {
    let gate = keeping(reply).await;
    // The token that stands for the address is the session's own, and the provider's answer holds it.
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let mut request = Speaks::OpenAi.request(&format!("Write to {MAIL}"));
    request["stream"] = stream.into();
    request["session_id"] = opened["session_id"].clone();
    gate.provider.play(Script::json("{}").status(500));
    gate.caller().post(Speaks::OpenAi.path(), &request).await;
    let first = gate.provider.received()[0].text();
    let at = first.find("<EMAIL_").unwrap();
    let token = &first[at..at + first[at..].find('>').unwrap() + 1];
    gate.provider.play(script(token));
    let answer = gate.caller().post(Speaks::OpenAi.path(), &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = gate.provider.received()[0].body.clone();
    let session = answer.header("x-gatehouse-session").unwrap();
    let key = keys(&gate, &session).await.remove(0);
    assert_eq!(key.session, session);
    let Gate {
        running,
        data,
        provider: _provider,
        ..
    } = gate;
    running.stop().await;
    let records = crate::gate::records(data.path());
    let last = |kind: &str| records.iter().rfind(|it| it["kind"] == kind).unwrap();
    let [request, reply] = ["exchange.admitted", "exchange.settled"].map(|kind| body(last(kind)));
    assert_eq!(
        request.location.number,
        last("exchange.admitted")["sseq"].as_u64().unwrap()
    );
    assert_eq!(reply.location.number, request.location.number);
    let [request, reply] = [request, reply].map(|it| open(data.path(), &key, &it));
    Kept {
        request,
        reply,
        sent,
        told: answer.body,
        records,
    }
}

fn whole(token: &str) -> Script {
    let text = format!("I wrote to {token}.");
    let reply = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
    Script::json(&reply.to_string())
}

fn events(token: &str) -> Script {
    let (begin, end) = token.split_at(5);
    let events = Speaks::OpenAi.texts(&["I wrote to ", begin, end, "."]);
    Script::events(events.into_iter().map(String::into_bytes).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_saw_and_said_is_kept() {
    for stream in [false, true] {
        let script = if stream { events } else { whole };
        let kept = exchange(KeptReply::Received, script, stream).await;
        assert_eq!(kept.request, kept.sent);
        let reply = String::from_utf8(kept.reply).unwrap();
        assert!(
            !reply.contains(MAIL) && reply.contains("I wrote to "),
            "{reply}"
        );
        assert!(String::from_utf8(kept.told).unwrap().contains(MAIL));
        let export = &only(&kept.records, "export.created")["export"];
        assert_eq!(
            (&export["what"], &export["name"]),
            (&json!("payload_keys"), &json!("jane"))
        );
        assert_eq!(
            (&export["purpose"], &export["sessions"]),
            (&json!("audit:1"), &json!(1))
        );
        assert!(export["by"].as_str().unwrap().starts_with("uid:"));
        // Nothing in the log opens anything.
        let text = kept
            .records
            .iter()
            .map(Value::to_string)
            .collect::<String>();
        assert!(!text.contains(MAIL));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_caller_got_is_kept_where_the_policy_says_so() {
    for stream in [false, true] {
        let script = if stream { events } else { whole };
        let kept = exchange(KeptReply::Restored, script, stream).await;
        assert_eq!(kept.request, kept.sent);
        let reply = String::from_utf8(kept.reply).unwrap();
        let told = String::from_utf8(kept.told).unwrap();
        assert!(reply.contains(MAIL));
        if stream {
            assert!(reply.ends_with("data: [DONE]\n\n"), "{reply}");
        } else {
            assert!(told.contains(&reply), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_nothing_is_kept() {
    let gate = Gate::up().await;
    gate.provider.play(whole("-"));
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let answer = gate.caller().post(Speaks::OpenAi.path(), &request).await;
    let session = answer.header("x-gatehouse-session").unwrap();
    assert_eq!(
        keys(&gate, &session).await.len(),
        1,
        "it has a key all the same"
    );
    assert!(!folder(gate.data.path()).exists());
    let records = gate.records().await;
    assert!(records.iter().all(|it| it.get("body").is_none()));
}
