//! JSON inside of texts stays JSON: numbers leave as strings that hold their tokens and come back as
//! numbers, and what a model made up is masked as a string.

use serde_json::Value;

use super::*;

const OTHER: &str = "5555555555554444";

/// The JSON in a text.
type Inside = fn(&str) -> Vec<String>;

/// Texts around JSON with two numbers, `1` and `2` standing for them, and the JSON in them as they
/// are read by who reads them.
fn texts() -> Vec<(&'static str, Inside)> {
    let lines: Inside = |text| {
        let lines = text.lines().filter(|line| line.starts_with('{'));
        lines.map(str::to_owned).collect()
    };
    let inner: Inside = |text| {
        let from = text.find(['{', '[']).unwrap();
        let to = text.rfind(['}', ']']).unwrap();
        vec![text[from..=to].to_owned()]
    };
    let printed: Inside = |text| {
        let from = text.find('{').unwrap();
        let to = text.rfind('}').unwrap();
        let string = format!("\"{}\"", &text[from..=to]);
        vec![serde_json::from_str::<String>(&string).unwrap()]
    };
    vec![
        ("Here is the result: {\"pan\": 1, \"n\": 5}", inner),
        ("Found {\"a\":{\"pan\":1},\"l\":[2]} and more.", inner),
        (
            "```json\n{\n  \"pan\": 1,\n  \"card\": 2\n}\n```\nok",
            inner,
        ),
        ("{\"pan\":1}\n{\"pan\":2,\"n\":1}\n", lines),
        ("rows:\n{\"pan\":1}\r\n{\"pan\":2}\r\nend", lines),
        ("cards: [1, 7, \"x, y\", 2] done", inner),
        ("cards: [\n 2,\n 1\n] done", inner),
        ("log: {\\\"pan\\\": 1, \\\"l\\\": [2,1]} end", printed),
        ("log: {\\n \\\"pan\\\": 1\\n} end", printed),
    ]
}

fn filled(text: &str) -> String {
    text.replace('1', CARD).replace('2', OTHER)
}

#[test]
fn numbers_in_texts_leave_as_strings_and_come_back() {
    for (text, json) in texts() {
        let text = filled(text);
        let mut session = Session::new();
        let sent = session.redact(&text);
        assert!(!sent.contains("4111") && !sent.contains("5555"), "{sent}");
        for json in json(&sent) {
            let parsed = serde_json::from_str::<Value>(&json);
            assert!(parsed.is_ok(), "{json}");
        }
        assert_eq!(session.text(&sent, &[]), text, "{sent}");
        // The next turn brings the same text, with values or with tokens.
        assert_eq!(session.redact(&text), sent);
        assert_eq!(session.redact(&sent), sent);
        // The same as the string of a document, such as a tool's output.
        let document = serde_json::json!({"content": text, "n": 1}).to_string();
        let held = session.redact(&document);
        let read: Value = serde_json::from_str(&held).unwrap();
        assert_eq!(read["content"], sent);
        assert_eq!(session.arguments(&held, &[]), document);
    }
}

#[test]
fn what_a_model_made_up_is_masked_as_a_string() {
    let session = Session::new();
    for (text, json) in texts() {
        let shown = session.text(&filled(text), &["4111", "5555", "1111"]);
        for json in json(&shown) {
            let parsed = serde_json::from_str::<Value>(&json);
            assert!(parsed.is_ok(), "{json}");
        }
    }
}

#[test]
fn numbers_of_prose_get_no_quotes() {
    let mut session = Session::new();
    for text in [
        "card 1, then 2",
        "pan: 1}",
        "('pan': 1, x)",
        "\"pan\": 1.",
        "{\"pan\": 1 2}",
    ] {
        let text = filled(text);
        let sent = session.redact(&text);
        let quoted = sent.contains("\"<") || sent.contains(">\"");
        assert!(!quoted && !sent.contains("4111"), "{sent}");
        assert_eq!(session.text(&sent, &[]), text);
    }
}

#[test]
fn a_string_with_a_token_of_text_stays_a_string() {
    let mut session = Session::new();
    let text = "so: {\"to\": \"lena.fors@example.org\", \"pan\": \"4111111111111111\"}";
    let sent = session.redact(text);
    assert_eq!(session.text(&sent, &[]), text);
}
