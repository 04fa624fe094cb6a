//! `rescan`: what it finds, with whose keys, in which log.

use serde_json::json;

use super::{Book, CLEAN, LATER, LEAK, Session};
use crate::auditor;

#[test]
fn a_rescan_says_what_and_where_and_never_the_text() {
    let book = Book::new();
    let mut session = book.session(0);
    let reply = r#"{"choices":[{"index":0,"message":{"content":"Call +1 212 555 0142"}}]}"#;
    book.exchange(&mut session, LEAK, reply, LATER);
    book.exchange(&mut session, CLEAN, "ok", LATER);
    let closed = book.close();
    let (code, json, said) = closed.rescan(&[&session], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(json["searched"], 4);
    let found = json["found"].as_array().unwrap();
    let mail = found.iter().find(|it| it["label"] == "EMAIL").unwrap();
    assert_eq!(
        (&mail["session"], &mail["sseq"], &mail["part"]),
        (&json!(session.name), &json!(1), &json!("req"))
    );
    let range = |name| usize::try_from(mail[name].as_u64().unwrap()).unwrap();
    assert_eq!(&LEAK[range("start")..range("end")], "jane.doe@example.org");
    assert!(
        found
            .iter()
            .any(|it| it["part"] == "rep" && it["label"] == "PHONE"),
        "{said}"
    );
    assert!(!said.contains("jane") && !said.contains("555"), "{said}");
    // Only what is asked for.
    let (code, json, _) = closed.rescan(&[&session], &["--to", "2020-01-01"]);
    assert_eq!((code, &json["searched"]), (Some(2), &json!(0)));
    let other = format!("s_{}", "z".repeat(26));
    let (code, _, _) = closed.rescan(&[&session], &["--session", &other]);
    assert_eq!(code, Some(2));
    // A policy that wants nothing of mail addresses and phones.
    let policy = closed.at("redaction.toml");
    std::fs::write(&policy, "profile = 'secrets-only'\n").unwrap();
    let (code, json, said) = closed.rescan(&[&session], &["--redaction", &policy]);
    assert_eq!((code, &json["searched"]), (Some(0), &json!(4)), "{said}");
}

#[test]
fn without_the_right_key_nothing_is_opened() {
    let book = Book::new();
    let (mut session, stranger) = (book.session(0), book.session(1));
    book.exchange(&mut session, LEAK, "ok", LATER);
    let closed = book.close();
    let (code, json, _) = closed.rescan(&[&stranger], &[]);
    assert_eq!(
        (code, &json["not_searched"]),
        (Some(2), &json!({"without a key": 2}))
    );
    let wrong = Session {
        name: session.name.clone(),
        ..stranger
    };
    let (code, json, _) = closed.rescan(&[&wrong], &[]);
    assert_eq!(
        (code, &json["not_searched"]),
        (Some(2), &json!({"with another key": 2}))
    );
    let keys = closed.at("odd");
    std::fs::write(&keys, "{\"session\":\"s_a\",\"key\":\"c2VjcmV0\"}\n").unwrap();
    let (ledger, payloads) = (closed.at("ledger"), closed.at("payloads"));
    let output = auditor(&["rescan", &ledger, "--payloads", &payloads, "--keys", &keys]);
    assert_eq!(output.status.code(), Some(64));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("c2VjcmV0"));
}

#[test]
fn a_broken_log_is_not_gone_by() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, LEAK, "ok", LATER);
    let closed = book.close();
    for segment in crate::segments(closed.dir.path()) {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[40] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    }
    let (code, _, said) = closed.rescan(&[&session], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the log is broken"), "{said}");
}
