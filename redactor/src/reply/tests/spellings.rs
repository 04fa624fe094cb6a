//! Tokens as models write them back, at every cut: the value stands there as the token did.

use super::*;
use crate::json::escaped;

const VALUE: &str = "O'Hara & \"S\u{f6}n\" <o@x.example>";
const URL: &str = "O%27Hara%20%26%20%22S%C3%B6n%22%20%3Co%40x.example%3E";
const HTML: &str = "O&#39;Hara &amp; &quot;S\u{f6}n&quot; &lt;o@x.example&gt;";

/// Texts around a token (`<@>`, its word being `@`), and what they become.
fn texts() -> Vec<(&'static str, String)> {
    vec![
        ("to <@>.", format!("to {VALUE}.")),
        ("to < @ >.", format!("to {VALUE}.")),
        ("to @.", format!("to {VALUE}.")),
        ("to `@` or", format!("to `{VALUE}` or")),
        ("to `<@>` or", format!("to `{VALUE}` or")),
        ("to [@] or", format!("to [{VALUE}] or")),
        ("(@)", format!("({VALUE})")),
        ("to **@**", format!("to **{VALUE}**")),
        ("name=@, age=7", format!("name={VALUE}, age=7")),
        ("say \\u003c@\\u003e", format!("say {}", escaped(VALUE))),
        (
            "see https://x.example/?q=%3C@%3E&p=1",
            format!("see https://x.example/?q={URL}&p=1"),
        ),
        ("r=%253C@%253E ", format!("r={} ", URL.replace('%', "%25"))),
        ("<b>&lt;@&gt;</b>", format!("<b>{HTML}</b>")),
        ("<i>&#60;@&#62;</i>", format!("<i>{HTML}</i>")),
    ]
}

#[test]
fn values_stand_as_their_tokens_did() {
    let mut session = Session::new();
    let token = session.learn(Label::PERSON, VALUE);
    let word = token.trim_matches(['<', '>']).to_owned();
    for word in [word.clone(), word.to_ascii_lowercase()] {
        for (text, expected) in texts() {
            let text = text.replace('@', &word);
            assert_eq!(session.text(&text, &[]), expected, "{text}");
            let json = serde_json::json!({"t": text, "n": 1}).to_string();
            let shown = session.arguments(&json, &[]);
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read["t"], expected, "{shown}");
        }
    }
    let marked = word.replace('_', "\\_");
    for text in [
        marked.clone(),
        format!("<{marked}>"),
        format!("\\<{marked}\\>"),
    ] {
        let shown = session.text(&format!("to {text}."), &[]);
        assert_eq!(shown, format!("to {VALUE}."), "{text}");
    }
}

#[test]
fn look_alikes_stay_as_they_are() {
    let mut session = Session::new();
    let word = session.learn(Label::EMAIL, LENA);
    let word = word.trim_matches(['<', '>']).to_owned();
    for (text, _) in texts() {
        let unknown = text.replace('@', "EMAIL_zzzzzz");
        assert_eq!(session.text(&unknown, &[]), unknown);
        for near in [format!("x{word}"), format!("{word}7"), format!("{word}_")] {
            let near = text.replace('@', &near);
            assert_eq!(session.text(&near, &[]), near);
        }
    }
}

#[test]
fn what_may_not_be_restored_stays_in_every_spelling() {
    let mut session = Session::new();
    let token = session.learn(Label::PASSWORD, "hunter2-hunter2");
    let word = token.trim_matches(['<', '>']).to_owned();
    for (text, _) in texts() {
        let json = serde_json::json!({"t": text.replace('@', &word)}).to_string();
        assert_eq!(session.arguments(&json, &["hunter"]), json);
    }
}

#[test]
fn prompts_keep_every_spelling_of_a_token() {
    let mut session = Session::new();
    let word = session.learn(Label::EMAIL, LENA);
    let word = word.trim_matches(['<', '>']).to_owned();
    for (text, _) in texts() {
        let text = text.replace('@', &word);
        assert_eq!(session.redact(&text), text);
        // What a client keeps that was shown the value leads to the same bytes from then on.
        let shown = session.text(&text, &[]);
        let again = session.redact(&shown);
        assert!(!again.contains("lena"), "{again}");
        assert_eq!(session.redact(&shown), again);
        assert_eq!(session.text(&again, &[]), shown);
    }
}
