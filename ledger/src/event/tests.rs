//! Events are written as the format has them, or not at all.

use proptest::prelude::*;

use super::*;

#[test]
fn fields_keep_their_order_and_form() {
    let mut event = Event::kind("exchange.admitted");
    event
        .text("rid", "r_1")
        .some_text("agent", None)
        .integer("sseq", 17)
        .flag("ok", true);
    event.hex("sprev", &[0xab; 32]).object("red", |red| {
        red.integer("visited", 3)
            .objects("found", [("EMAIL", 2), ("IBAN", 1)], |item, (label, n)| {
                item.text("label", label).integer("n", n);
            })
            .object("empty", |_| {});
    });
    event.texts("models", ["a", "b"]).sha256("cfg", &[1; 32]);
    let text = String::from_utf8(event.finish().unwrap().bytes().to_vec()).unwrap();
    assert_eq!(
        text,
        format!(
            concat!(
                r#"{{"kind":"exchange.admitted","rid":"r_1","sseq":17,"ok":true,"sprev":"{}","#,
                r#""red":{{"visited":3,"found":[{{"label":"EMAIL","n":2}},"#,
                r#"{{"label":"IBAN","n":1}}],"empty":{{}}}},"models":["a","b"],"#,
                r#""cfg":"sha256:{}"}}"#
            ),
            "ab".repeat(32),
            "01".repeat(32)
        )
    );
}

#[test]
fn faults_are_reported_and_the_first_one_stands() {
    let build = |fill: &dyn Fn(&mut Builder)| {
        let mut event = Event::kind("a.b");
        fill(&mut event);
        event.finish().err()
    };
    let long = "x".repeat(MAX_TEXT + 1);
    let full = "x".repeat(MAX_TEXT);
    assert_eq!(build(&|e| _ = e.integer("a", MAX_INTEGER)), None);
    assert_eq!(
        build(&|e| _ = e.integer("a", MAX_INTEGER + 1)),
        Some(EventError::Integer)
    );
    assert_eq!(
        build(&|e| _ = e.flag("a", true).flag("a", true).integer("b", u64::MAX)),
        Some(EventError::DuplicateKey("a"))
    );
    assert_eq!(
        build(&|e| _ = e.text("kind", "c")),
        Some(EventError::DuplicateKey("kind"))
    );
    assert_eq!(build(&|e| _ = e.text("Key", "")), Some(EventError::Name));
    assert_eq!(
        build(&|e| _ = e.text("a", &long)),
        Some(EventError::TextTooLong)
    );
    assert_eq!(
        build(&|e| _ = e.texts("a", std::iter::repeat_n(full.as_str(), 40))),
        Some(EventError::TooLarge)
    );
    assert_eq!(Event::kind("No").finish().err(), Some(EventError::Name));
}

#[test]
fn the_same_key_may_stand_in_different_objects() {
    let mut event = Event::kind("a");
    event
        .object("x", |x| _ = x.flag("n", true))
        .object("y", |y| _ = y.flag("n", false));
    event.flag("n", true);
    assert!(event.finish().is_ok());
}

proptest! {
    #[test]
    fn strings_and_integers_come_back(text in "\\PC{0,60}|[\\x00-\\x7f]{0,60}", n in 0..=MAX_INTEGER) {
        let mut event = Event::kind("a");
        event.text("t", &text).integer("n", n);
        let event = event.finish().unwrap();
        let value: serde_json::Value = serde_json::from_slice(event.bytes()).unwrap();
        prop_assert_eq!(value["t"].as_str(), Some(text.as_str()));
        prop_assert_eq!(value["n"].as_u64(), Some(n));
        prop_assert!(!event.bytes().contains(&b'\n'));
    }
}
