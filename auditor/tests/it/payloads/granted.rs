//! That a session's keys were given out is a part of its story.

use gatehouse_ledger::{
    Durability,
    export::{Export, Exported},
};

use super::{Book, CLEAN, LATER};
use crate::{auditor, text};

#[test]
fn a_session_s_timeline_and_proof_say_to_whom_its_keys_were_given() {
    let book = Book::new();
    let (mut session, mut other) = (book.session(0), book.session(1));
    book.exchange(&mut session, CLEAN, "ok", LATER);
    book.exchange(&mut other, CLEAN, "ok", LATER);
    for of in [Some(&session), Some(&other), None] {
        let export = Export {
            session: of.map(|it| it.name.clone()),
            ..Export::of(Exported::PayloadKeys)
        };
        let event = export.event("uid:1000").unwrap();
        let ticket = book.ledger.append(event, Durability::Durable);
        ticket.wait().unwrap();
    }
    let closed = book.close();
    let [ledger, trust, out] = ["ledger", "trust.policy", "proof"].map(|it| closed.at(it));
    let of = ["--session", session.name.as_str()];

    let shown = text(&auditor(&[&["timeline", &ledger], &of[..]].concat()));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    let last = lines[3];
    assert!(last.contains("export.created"), "{shown}");
    for told in ["export.what=payload_keys", "export.by=uid:1000"] {
        assert!(last.contains(told), "{shown}");
    }

    let by = ["--trust", &trust, "--out", &out];
    let made = auditor(&[&["prove", &ledger], &of[..], &by].concat());
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let said = text(&made);
    assert!(
        said.contains("\n  and 1 about it outside of its chain"),
        "{said}"
    );
    let checked = auditor(&["check-proof", &out, "--trust", &trust, "--json"]);
    let checked: serde_json::Value = serde_json::from_str(&text(&checked)).unwrap();
    assert_eq!(
        (&checked["verdict"], &checked["outside"]),
        (&"holds".into(), &1.into())
    );
}
