//! Tests of channels. Each text goes through whole, one character at a time and cut at every
//! place (see [`Session::streamed`]).

mod embedded;
mod open;
mod search;
mod spellings;

use super::*;
use crate::testing::{CARD, LENA, Names, Session};

#[test]
fn plain_text_passes_and_is_not_held() {
    let session = Session::new();
    for text in [
        "",
        "hello",
        "北京 😀.",
        "a < b && c \\ d <div>",
        "[1] see {x}",
        "{\"a\": 1} then text",
    ] {
        assert_eq!(session.text(text, &[]), text);
    }
    let mut channel = Channel::text();
    let cx = session.context();
    let released = channel
        .push(&cx, "The quick brown fox jumps over ")
        .unwrap();
    assert!(released.starts_with("The quick brown fox"), "{released}");
}

/// A window that reaches behind what came is an error, not a text without findings.
#[test]
fn what_is_not_there_is_not_taken_for_searched() {
    let session = Session::new();
    let cx = session.context();
    let mut sight = Sight {
        cx: &cx,
        destination: &Destination::ReplyText,
        receipt: &mut ReplyReceipt::default(),
    };
    let mut text = text::Text::new(None);
    text.push(&mut sight, "to lena.fors@example.org and on", false)
        .unwrap();
    let end = text.base + text.buffer.len();
    assert!(text.look(&sight, text.base..end, false).is_ok());
    for window in [text.base..end + 1, end + 1..end + 9] {
        let refused = text.look(&sight, window, false).map(|_| ());
        assert_eq!(refused, Err(crate::ScanError::Unanswered.into()));
    }
}

#[test]
fn tokens_come_back_and_unknown_ones_do_not() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    assert_eq!(
        session.text(&format!("to {token}!"), &["<EM"]),
        format!("to {LENA}!")
    );
    assert_eq!(
        session.text(&format!("{token}{token}"), &["<"]),
        format!("{LENA}{LENA}")
    );
    let text = "write to <EMAIL_zzzzzz> or <EMAIL>";
    assert_eq!(session.text(text, &[]), text);
    let mut receipt = ReplyReceipt::default();
    let cx = session.context();
    reply_text(
        &cx,
        &Destination::ReplyText,
        &format!("{text} {token}"),
        &mut receipt,
    )
    .unwrap();
    assert_eq!(receipt.unresolved, 1);
    assert_eq!(receipt.restored["text"][&Label::EMAIL], 1);
}

#[test]
fn new_values_are_masked_and_restored_ones_are_not() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    let out = session.text(
        &format!("to {token} and new.person@example.net"),
        &["new.", "person@"],
    );
    assert_eq!(out, format!("to {LENA} and <EMAIL>"));
    let out = session.text(&format!("{token}, {LENA}, x@example.net"), &["x@"]);
    assert_eq!(out, format!("{LENA}, {LENA}, <EMAIL>"));
}

#[test]
fn values_go_only_where_the_policy_sends_them() {
    let mut session = Session::with("[restore.tools]\nvault = \"all\"\n");
    let secret = session.learn(Label::PASSWORD, "hunter2-\"quoted\"");
    let mail = session.learn(Label::EMAIL, LENA);
    let json = format!("{{\"to\":\"{mail}\",\"p\":\"{secret}\"}}");
    assert_eq!(
        session.arguments(&json, &["hunter"]),
        format!("{{\"to\":\"{LENA}\",\"p\":\"{secret}\"}}")
    );
    let named = session.streamed(|| Channel::json_arguments("vault"), &json, &[]);
    assert_eq!(
        named,
        format!("{{\"to\":\"{LENA}\",\"p\":\"hunter2-\\\"quoted\\\"\"}}")
    );
    assert_eq!(session.text(&secret, &[]), "hunter2-\"quoted\"");
    let mut receipt = ReplyReceipt::default();
    reply_arguments(&session.context(), "tool", &json, &mut receipt).unwrap();
    assert_eq!(receipt.withheld[&Label::PASSWORD], 1);
    assert_eq!(receipt.restored["tool:tool"][&Label::EMAIL], 1);
}

#[test]
fn values_are_escaped_for_every_layer_of_json() {
    let mut session = Session::new();
    let value = "O\"Hara \\ \n tab\t";
    let token = session.learn(Label::PERSON, value);
    let inner = format!("{{\"name\":\"{token}\"}}");
    let json = format!(
        "{{\"a\":\"{token}\",\"b\":{},\"c\":[\"x{token}\"]}}",
        serde_json::to_string(&inner).unwrap()
    );
    let out = session.arguments(&json, &[]);
    let read: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(read["a"], value);
    assert_eq!(read["c"][0], format!("x{value}"));
    let nested: serde_json::Value = serde_json::from_str(read["b"].as_str().unwrap()).unwrap();
    assert_eq!(nested["name"], value);
    // Structured output is text that is JSON.
    let read: serde_json::Value = serde_json::from_str(&session.text(&inner, &[])).unwrap();
    assert_eq!(read["name"], value);
    let keys = session.arguments(&format!("{{\"{token}\":1}}"), &[]);
    let read: serde_json::Value = serde_json::from_str(&keys).unwrap();
    assert_eq!(read[value], 1);
}

#[test]
fn what_begins_like_json_is_escaped_as_json_until_it_is_none() {
    let mut session = Session::new();
    let value = "O\"Hara\nII";
    let token = session.learn(Label::PERSON, value);
    // The string never ends: nobody could have known.
    let open = session.text(&format!("[\"to {token}, and"), &[]);
    assert_eq!(open, "[\"to O\\\"Hara\\nII, and");
    let closed = session.text(&format!("[see {token}]"), &[]);
    assert_eq!(closed, format!("[see {value}]"));
    let behind = session.text(&format!("[\"{token}\" see {token}"), &[]);
    assert_eq!(behind, format!("[\"O\\\"Hara\\nII\" see {value}"));
}

#[test]
fn arguments_are_searched_through_their_escapes() {
    let session = Session::new();
    let out = session.arguments(
        "{\"to\":\"new.person\\u0040example.net\",\"n\":10}",
        &["new.", "person"],
    );
    assert_eq!(out, "{\"to\":\"<EMAIL>\",\"n\":10}");
    let untouched = "{\"t\":\"caf\\u00e9 \\/ \\ud83d\\ude00\",\"n\":-1.50e3,\"b\":[true,null]}";
    assert_eq!(session.arguments(untouched, &[]), untouched);
    for odd in [
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"cut \\u00",
        "not json",
        "{'a': 1}",
        "[1,2",
        "{\"a\" 1}}",
        "12",
        "\"x\"",
        // Strings that end before their first character.
        "{\"",
        "[\"",
        "{\"a\":\"",
        "{\"a\":\"{\\\"",
    ] {
        assert_eq!(session.arguments(odd, &[]), odd);
    }
    let out = session.arguments("{'to': 'new.person@example.net'", &["new.", "person"]);
    assert_eq!(out, "{'to': '<EMAIL>'");
}

#[test]
fn numbers_wait_for_their_end_and_are_masked_whole() {
    let session = Session::new();
    let cx = session.context();
    let mut channel = Channel::json_arguments("tool");
    assert_eq!(channel.push(&cx, "{\"n\":1").unwrap(), "{\"n\":");
    assert_eq!(channel.push(&cx, "0").unwrap(), "");
    assert_eq!(channel.push(&cx, "}").unwrap(), "10}");
    let out = session.arguments(&format!("{{\"pan\":{CARD},\"n\":5}}"), &["4111", "1111"]);
    assert_eq!(out, "{\"pan\":\"<CREDIT_CARD>\",\"n\":5}");
}

#[test]
fn numbers_come_back_without_quotes() {
    let mut session = Session::new();
    let token = session.learn_number(Label::CREDIT_CARD, CARD);
    let out = session.arguments(
        &format!("{{\"pan\":\"{token}\",\"t\":\"a {token}\",\"u\":\"{token}.\"}}"),
        &[],
    );
    assert_eq!(
        out,
        format!("{{\"pan\":{CARD},\"t\":\"a {CARD}\",\"u\":\"{CARD}.\"}}")
    );
    let inner = format!("{{\"pan\":\"{token}\"}}");
    let outer = format!("{{\"j\":{}}}", serde_json::to_string(&inner).unwrap());
    assert_eq!(
        session.arguments(&outer, &[]),
        format!("{{\"j\":\"{{\\\"pan\\\":{CARD}}}\"}}")
    );
    assert_eq!(session.text(&token, &[]), CARD);
}

#[test]
fn a_refusal_is_typed_and_final() {
    let session = Session::with("[labels.EMAIL]\nreply = \"block\"\n");
    let cx = session.context();
    let mut channel = Channel::text();
    let mut released = channel.push(&cx, "mail new.per").unwrap();
    assert!(!released.contains("new"));
    let refused = ["son@example", ".net now", " and more"]
        .iter()
        .find_map(|piece| match channel.push(&cx, piece) {
            Ok(more) => {
                released.push_str(&more);
                None
            }
            Err(refusal) => Some(refusal),
        });
    let refused = refused.or_else(|| channel.finish(&cx).err()).unwrap();
    assert_eq!(refused.label(), Some(Label::EMAIL));
    assert!(!released.contains("new"));
    assert_eq!(channel.push(&cx, "x"), Err(refused));
    assert_eq!(channel.finish(&cx), Err(refused));
}

#[test]
fn long_texts_are_cut_anywhere_with_the_same_outcome() {
    let mut session = Session::new();
    let token = session.learn(Label::EMAIL, LENA);
    let mut text = String::new();
    for n in 0..14 {
        text.push_str(&format!(
            "Ünïcode line {n}: {token}, n{n}@example.net <EMAIL_zzzzzz> \\ & < é\n"
        ));
    }
    let out = session.text(&text, &["@example.net"]);
    assert_eq!(out.matches(LENA).count(), 14);
    assert_eq!(out.matches("<EMAIL>").count(), 14);
}

#[test]
fn channels_hold_little() {
    let mut session = Session::new();
    session.learn(Label::EMAIL, LENA);
    let cx = session.context();
    for mut channel in [Channel::text(), Channel::json_arguments("t")] {
        channel.push(&cx, "{\"a\":\"").unwrap();
        for n in 0..2000 {
            channel
                .push(&cx, &format!("word {n} <EMAIL_ \\u00e9 "))
                .unwrap();
            assert!(channel.held() <= 1024, "{}", channel.held());
        }
    }
}

#[test]
fn names_and_numbers_show_by_themselves_or_pass() {
    let mut session = Session::new();
    let mail = session.learn(Label::EMAIL, LENA);
    let mut receipt = ReplyReceipt::default();
    let cx = session.context();
    for (name, shown) in [
        ("call_9f3", "call_9f3"),
        ("x@example.net", "<EMAIL>"),
        (mail.as_str(), LENA),
    ] {
        assert_eq!(reply_name(&cx, name, &mut receipt).unwrap(), shown);
    }
    for (literal, shown) in [
        ("1.50", None),
        ("1795961100", None),
        (CARD, Some("<CREDIT_CARD>")),
        ("4.111111111111111e15", Some("<CREDIT_CARD>")),
    ] {
        let mask = reply_number(&cx, literal, &mut receipt).unwrap();
        assert_eq!(mask.as_deref(), shown, "{literal}");
    }
    assert_eq!(receipt.masked[&Label::EMAIL], 1);
    assert_eq!(receipt.masked[&Label::CREDIT_CARD], 2);
}

#[test]
fn names_are_only_needed_for_hashes() {
    let session = Session::with("[labels.EMAIL]\nreply = \"hash\"\n");
    let out = session.text("x@example.net", &["x@"]);
    assert_eq!(
        out,
        token::hash(Label::EMAIL, &Names.digest(Label::EMAIL, "x@example.net"))
    );
}
