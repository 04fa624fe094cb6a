//! What has an inverse: restoring undoes redacting, and redacting twice is redacting once.

use proptest::prelude::*;
use serde_json::Value;

use super::try_redact;
use crate::label::Label;
use crate::testing::{CARD, LENA, Session};

/// Text with values, tokens, look-alikes and what could confuse a search among them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,8}",
        2 => Just(LENA.to_owned()),
        2 => Just("mira.okafor@example.com".to_owned()),
        1 => Just(" 4111 1111 1111 1111 ".to_owned()),
        1 => Just(format!(" {CARD} ")),
        1 => Just("Tobias Lindqvist".to_owned()),
        1 => Just("<EMAIL_zzzzzz>".to_owned()),
        1 => Just("<EMAIL>".to_owned()),
        1 => Just("C:\\Users\\".to_owned()),
        2 => "[<>&\\\\\"{}:, \u{e9}\u{200b}\u{1f600}\n]{0,4}",
        1 => "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A session whose replies put everything back and mask nothing.
fn open_session() -> Session {
    let mut policy = String::from("[restore]\narguments = \"all\"\n");
    for label in Label::BUILT_IN {
        policy.push_str(&format!("[labels.{label}]\nreply = \"allow\"\n"));
    }
    let mut session = Session::with(&policy);
    session.learn(Label::PERSON, "Tobias Lindqvist");
    session
}

proptest! {
    #[test]
    fn restoring_is_the_inverse_of_redacting(text in text()) {
        let mut session = open_session();
        let redacted = session.redact(&text);
        prop_assert!(!redacted.contains(LENA));
        let mut receipt = crate::reply::ReplyReceipt::default();
        let destination = crate::policy::Destination::ReplyText;
        let cx = session.context();
        let back = crate::reply::reply_text(&cx, &destination, &redacted, &mut receipt).unwrap();
        prop_assert_eq!(back, text);
    }

    #[test]
    fn redacting_twice_changes_nothing(text in text(), json: bool) {
        let mut session = open_session();
        let text = if json { serde_json::to_string(&serde_json::json!({"a": text, "b": [text]})).unwrap() } else { text };
        let once = session.redact(&text);
        prop_assert_eq!(session.redact(&once), once.clone());
        prop_assert_eq!(session.redact(&text), once);
    }

    #[test]
    fn bodies_come_back_whole(a in text(), b in text(), key in "[a-zé<>\\\\\"]{0,6}") {
        let mut session = open_session();
        let inner = serde_json::to_string(&serde_json::json!({key: b, "n": 4111111111111111_u64})).unwrap();
        let body = serde_json::json!({"a": a, "b": [inner]});
        let Ok((out, _)) = try_redact(&mut session, &body.to_string()) else {
            return Ok(());
        };
        prop_assert!(!out.contains(LENA) && !out.contains(CARD));
        let sent: Value = serde_json::from_str(&out).unwrap();
        let mut receipt = crate::reply::ReplyReceipt::default();
        let destination = crate::policy::Destination::ReplyText;
        let cx = session.context();
        for (sent, was) in [(&sent["a"], &body["a"]), (&sent["b"][0], &body["b"][0])] {
            let back =
                crate::reply::reply_text(&cx, &destination, sent.as_str().unwrap(), &mut receipt);
            prop_assert_eq!(&Value::from(back.unwrap()), was);
        }
        prop_assert_eq!(try_redact(&mut session, &out).unwrap().0, out);
    }

    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), text in text()) {
        let mut session = open_session();
        let _ = session.redact(&String::from_utf8_lossy(&bytes));
        let cx = session.context();
        for mut channel in [crate::reply::Channel::text(), crate::reply::Channel::json_arguments("t")] {
            for piece in [text.as_str(), &String::from_utf8_lossy(&bytes), "\"}"] {
                let _ = channel.push(&cx, piece);
            }
            let _ = channel.finish(&cx);
        }
    }
}
