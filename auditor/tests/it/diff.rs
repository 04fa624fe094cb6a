//! What `diff` says of two requests.

use std::sync::Arc;

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog, clock::SystemClock, event::Event, store::Dir,
};
use serde_json::Value;

use crate::{auditor, text};

/// An admitted request of a session: its system prompt's digest, its model and its messages.
type Admitted = (
    &'static str,
    &'static str,
    u8,
    &'static str,
    &'static [&'static str],
);

fn log(requests: &[Admitted]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.path().to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: Pace::default(),
    };
    let store = Arc::new(Dir::new(dir.path().join("ledger")));
    let (ledger, _) = Ledger::open(options, store, signer, Arc::new(SystemClock::new())).unwrap();
    for (sseq, (request, session, system, model, messages)) in requests.iter().enumerate() {
        let mut event = Event::kind("exchange.admitted");
        event.text("rid", request).text("sid", session);
        event.integer("sseq", sseq as u64).hex("sprev", &[0; 32]);
        event.object("up", |up| {
            up.text("model", model);
        });
        if *system > 0 {
            event.object("prompt", |prompt| {
                prompt.integer("n", messages.len() as u64);
                prompt
                    .hex("system_h", &[*system; 32])
                    .hex("rest_h", &[9; 32]);
                prompt.texts("messages", messages.iter().copied());
            });
        }
        let event = event.finish().unwrap();
        ledger.append(event, Durability::Durable).wait().unwrap();
    }
    ledger.flush().wait().unwrap();
    ledger.close().unwrap();
    let place = dir.path().join("ledger").to_str().unwrap().to_owned();
    (dir, place)
}

#[test]
fn it_names_what_changed_between_two_turns() {
    let (_dir, place) = log(&[
        ("r_1", "s_one", 1, "m-1", &["aaaa", "bbbb"]),
        ("r_2", "s_one", 2, "m-2", &["aaaa", "bbbb", "cccc", "dddd"]),
        ("r_3", "s_one", 2, "m-2", &["aaaa", "bbbb", "cccc", "dddd"]),
        ("r_4", "s_two", 1, "m-1", &["aaaa"]),
        ("r_5", "s_one", 0, "m-1", &[]),
    ]);
    let output = auditor(&["diff", &place, "r_1", "r_2"]);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "system: changed\nmodel: changed\nmessages[0] to [1]: same\nmessages[2] to [3]: added\n";
    assert_eq!(text(&output), expected);
    let json: Value =
        serde_json::from_str(&text(&auditor(&["diff", &place, "r_1", "r_2", "--json"]))).unwrap();
    assert_eq!(
        (&json["parts"]["system"], &json["parts"]["tools"]),
        (&"changed".into(), &"same".into())
    );
    assert_eq!(
        json["messages"][1],
        serde_json::json!({"change": "added", "first": 2, "count": 2})
    );

    assert_eq!(
        auditor(&["diff", &place, "r_2", "r_3"]).status.code(),
        Some(0)
    );
    for (one, other, why) in [
        ("r_1", "r_4", "different sessions"),
        ("r_1", "r_5", "prompt_parts"),
        ("r_1", "r_none", "no such request"),
    ] {
        let output = auditor(&["diff", &place, one, other]);
        assert_eq!(output.status.code(), Some(2), "{one} {other}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(why),
            "{one} {other}"
        );
    }
    assert_eq!(
        auditor(&["diff", &place, "r_1", "s_one"]).status.code(),
        Some(64)
    );
}
