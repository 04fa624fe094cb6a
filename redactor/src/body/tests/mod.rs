//! Tests of redaction, with receipts counted against an independent parser.

mod inverse;
mod keys;

use serde_json::Value;

use super::walk::Walk;
use super::*;
use crate::json::Limits;
use crate::label::Label;
use crate::testing::{CARD, LENA, Names, Session};

/// A protocol with one field of each class.
struct Protocol;

impl Schema for Protocol {
    fn class(&self, leaf: Node<'_>) -> Class {
        match leaf.key().as_deref() {
            Some("role") => Class::Check(Grammar::Word),
            Some("id") => Class::Check(Grammar::Id),
            Some("seed") => Class::Skip("numeric parameter"),
            Some("thinking" | "signature") => Class::Signed,
            Some("image") => Class::Media {
                mime: "image/png".to_owned(),
            },
            Some("input") => Class::Edit(Direction::ToolArguments),
            _ => match leaf.parent().and_then(Node::key).as_deref() {
                Some("input") => Class::Edit(Direction::ToolArguments),
                _ => Class::Edit(Direction::Prompt),
            },
        }
    }
}

fn redact_signed(
    session: &mut Session,
    json: &str,
    signed: &dyn Fn(&str) -> bool,
) -> Result<(String, Receipt), Refusal> {
    let document = Document::parse(json.as_bytes(), &Limits::default()).unwrap();
    let mut splice = Splice::new(&document);
    if let Some(id) = document.root().get("session_id") {
        splice.remove_member(id);
    }
    let Session {
        policy,
        engine,
        vault,
    } = session;
    let receipt = redact_body(
        &document,
        &Protocol,
        super::Means::of_rules(engine, policy, &Names),
        vault,
        signed,
        &mut splice,
    )?;
    Ok((String::from_utf8(splice.finish()).unwrap(), receipt))
}

fn try_redact(session: &mut Session, json: &str) -> Result<(String, Receipt), Refusal> {
    redact_signed(session, json, &|_| false)
}

fn redact(session: &mut Session, json: &str) -> String {
    try_redact(session, json).unwrap().0
}

fn token(session: &Session, value: &str) -> String {
    session.vault.token(value).unwrap().to_owned()
}

/// Leaves as an independent parser of the bytes that are sent sees them.
fn leaves(value: &Value) -> u32 {
    match value {
        Value::Array(values) => values.iter().map(leaves).sum(),
        Value::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    }
}

const BODY: &str = r#"{ "session_id":"gs_x", "model":"m","seed":7,"stream":true,"stop":null,
 "messages":[{"role":"user","content":"mail lena.fors@example.org \u00e9\/"},
 {"role":"assistant","id":"call_1","content":[{"text":"and lena.fors\u0040example.org"},{}]},
 {"role":"tool","id":"call_1","content":"{\"to\": \"lena.fors\\u0040example.org\", \"n\":[1,2.50],\"lena.fors@example.org\":true}"}] }"#;

#[test]
fn values_are_replaced_and_all_other_bytes_stay() {
    let mut session = Session::new();
    let (out, receipt) = try_redact(&mut session, BODY).unwrap();
    let mail = token(&session, LENA);
    let want = BODY
        .replace("\"session_id\":\"gs_x\", ", "")
        .replace("lena.fors@example.org", &mail)
        .replace("lena.fors\\u0040example.org", &mail)
        .replace("lena.fors\\\\u0040example.org", &mail);
    assert_eq!(out, want);
    assert_eq!(receipt.found[&Label::EMAIL], 4);
    assert_eq!(receipt.nested, 4);
}

#[test]
fn receipts_count_what_an_independent_parser_counts() {
    let mut session = Session::new();
    let (out, receipt) = try_redact(&mut session, BODY).unwrap();
    let sent: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        receipt.visited + receipt.checked + receipt.skipped,
        leaves(&sent)
    );
    assert_eq!(receipt.unvisited, 0);
    assert_eq!(receipt.skipped_why.values().sum::<u32>(), receipt.skipped);
    assert_eq!((receipt.checked, receipt.skipped), (5, 1));
}

#[test]
fn a_planted_skip_is_a_refusal() {
    let document = Document::parse(BODY.as_bytes(), &Limits::default()).unwrap();
    for planted in document.leaves() {
        let mut session = Session::new();
        let mut splice = Splice::new(&document);
        let means = Means::of_rules(&session.engine, &session.policy, &Names);
        let reach = |node: Node<'_>| node != planted;
        let walk = Walk {
            document: &document,
            schema: &Protocol,
            signed: &|_| false,
            reach: &reach,
        };
        let refused = walk.redact(means, &mut session.vault, &mut splice);
        assert_eq!(refused, Err(Refusal::Unvisited(1)), "{}", planted.path());
        assert!(splice.is_empty());
    }
}

#[test]
fn a_history_leads_to_the_same_bytes_with_values_and_with_tokens() {
    let mut session = Session::new();
    let values = format!(r#"{{"a":"I am {LENA}.","b":"{{\"x\":\"{LENA}\"}}","c":"ok"}}"#);
    let first = redact(&mut session, &values);
    assert!(!first.contains("lena"));
    assert_eq!(redact(&mut session, &values), first);
    assert_eq!(redact(&mut session, &first), first);
    let later = first.replace("ok", "and mira.okafor@example.com");
    let second = redact(&mut session, &later);
    assert_eq!(
        second[..first.find("ok").unwrap()],
        first[..first.find("ok").unwrap()]
    );
}

#[test]
fn a_value_learned_late_is_replaced_in_earlier_text() {
    let mut session = Session::new();
    session.learn(Label::PERSON, "Tobias Lindqvist");
    let out = redact(
        &mut session,
        r#"{"a":"Tobias Lindqvist's car","b":"Tobias Lindqvist"}"#,
    );
    let name = token(&session, "Tobias Lindqvist");
    assert_eq!(out, format!(r#"{{"a":"{name}'s car","b":"{name}"}}"#));
}

#[test]
fn look_alikes_stay_literal() {
    let mut session = Session::new();
    session.learn(Label::EMAIL, LENA);
    let json = r#"{"a":"<EMAIL_zzzzzz> <EMAIL> <b> <PERSON_k7q2mz>"}"#;
    assert_eq!(redact(&mut session, json), json);
}

#[test]
fn a_number_that_is_a_value_is_refused_by_its_path() {
    let mut session = Session::new();
    for number in [CARD, "4111111111111111.0", "4.111111111111111e15"] {
        let json = format!(r#"{{"params":{{"arguments":{{"pan":{number},"amount":12.5}}}}}}"#);
        let refused = try_redact(&mut session, &json).unwrap_err();
        assert_eq!(refused.path(), Some("params.arguments.pan"));
        assert_eq!(refused.label(), Some(Label::CREDIT_CARD));
        assert!(!refused.to_string().contains("4111"));
    }
    let json = r#"{"amount":12.5,"ts":1748500000123,"max":-1e9}"#;
    assert_eq!(redact(&mut session, json), json);
}

#[test]
fn a_number_in_json_in_a_string_becomes_a_quoted_token_and_returns() {
    let mut session = Session::new();
    let json = format!(r#"{{"r":"{{\"pan\": {CARD},\"n\":1.0}}"}}"#);
    let out = redact(&mut session, &json);
    let sent: Value = serde_json::from_str(&out).unwrap();
    let inner: Value = serde_json::from_str(sent["r"].as_str().unwrap()).unwrap();
    let pan = inner["pan"].as_str().unwrap().to_owned();
    assert!(pan.starts_with("<CREDIT_CARD_"));
    assert_eq!(redact(&mut session, &out), out);
    let back = session.text(sent["r"].as_str().unwrap(), &[]);
    assert_eq!(back, format!("{{\"pan\": {CARD},\"n\":1.0}}"));
    // The model used the token in a call, and the client sends the call back with the number.
    let call = format!(r#"{{"input":{{"pan":{CARD}}}}}"#);
    assert_eq!(
        redact(&mut session, &call),
        format!(r#"{{"input":{{"pan":"{pan}"}}}}"#)
    );
    assert!(try_redact(&mut session, &format!(r#"{{"x":{CARD}}}"#)).is_err());
}

#[test]
fn fixed_words_are_checked_and_never_edited() {
    let mut session = Session::new();
    let mail = session.learn(Label::EMAIL, LENA);
    for (json, path) in [
        (r#"{"role":"two words"}"#.to_owned(), "role"),
        (format!(r#"{{"x":[{{"id":"{mail}"}}]}}"#), "x[0].id"),
    ] {
        let refused = try_redact(&mut session, &json).unwrap_err();
        assert_eq!(
            refused,
            Refusal::Grammar {
                path: path.to_owned()
            }
        );
    }
    let refused = try_redact(&mut session, r#"{"id":"new.person@example.net"}"#).unwrap_err();
    assert!(
        matches!(
            refused,
            Refusal::CheckFailed {
                label: Label::EMAIL,
                ..
            }
        ),
        "{refused}"
    );
    assert!(try_redact(&mut session, r#"{"id":"call_1","role":"user"}"#).is_ok());
}

#[test]
fn text_is_never_skipped_whatever_the_schema_says() {
    let mut session = Session::new();
    let out = redact(&mut session, &format!(r#"{{"seed":"{LENA}"}}"#));
    assert_eq!(out, format!(r#"{{"seed":"{}"}}"#, token(&session, LENA)));
}

#[test]
fn signed_text_passes_only_untouched_or_empty_of_values() {
    let mut session = Session::new();
    let json = format!(r#"{{"thinking":"mail is {LENA}","signature":"c2ln"}}"#);
    let refused = try_redact(&mut session, &json).unwrap_err();
    assert!(matches!(
        refused,
        Refusal::SignedChanged {
            label: Label::EMAIL,
            ..
        }
    ));
    let signed = |text: &str| text.ends_with(LENA);
    let (out, receipt) = redact_signed(&mut session, &json, &signed).unwrap();
    assert_eq!((out, receipt.skipped, receipt.checked), (json, 1, 1));
    let mail = session.learn(Label::EMAIL, LENA);
    let json = format!(r#"{{"thinking":"mail is {mail} or <EMAIL_zzzzzz>"}}"#);
    assert_eq!(redact(&mut session, &json), json);
    session.learn(Label::PERSON, "Tobias Lindqvist");
    let refused = try_redact(&mut session, r#"{"thinking":"ask Tobias Lindqvist"}"#).unwrap_err();
    assert_eq!(refused.label(), Some(Label::PERSON));
}

#[test]
fn media_pass_only_by_policy() {
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let json = format!(r#"{{"image":"{png}"}}"#);
    let refused = try_redact(&mut Session::new(), &json).unwrap_err();
    assert!(
        matches!(&refused, Refusal::Media { path, mime, .. } if path == "image" && mime == "image/png")
    );
    let mut session = Session::with("[media]\nallow = [\"image/*\"]\n");
    assert_eq!(redact(&mut session, &json), json);
    let refused = try_redact(&mut session, r#"{"image":"bGVuYQ=="}"#).unwrap_err();
    assert!(matches!(
        refused,
        Refusal::Media {
            fault: MediaFault::OtherType,
            ..
        }
    ));
}

#[test]
fn keys_change_only_for_what_shows_by_itself() {
    let mut session = Session::new();
    session.vault.insert(
        "Mira",
        Label::PERSON,
        crate::vault::Shape::Text,
        false,
        &Names,
    );
    let out = redact(
        &mut session,
        &format!(r#"{{"Mira":1,"{LENA}":{{"b":2}},"password":"x"}}"#),
    );
    let mail = token(&session, LENA);
    assert!(
        out.starts_with(&format!(r#"{{"Mira":1,"{mail}":{{"b":2}},"#)),
        "{out}"
    );
    let both = format!(r#"{{"o":{{"{LENA}":1,"{mail}":2}}}}"#);
    let refused = try_redact(&mut session, &both).unwrap_err();
    assert_eq!(
        refused,
        Refusal::KeyCollision {
            path: "o".to_owned()
        }
    );
}

#[test]
fn actions_other_than_tokens() {
    let mut session = Session::with("[labels.EMAIL]\ndefault = \"mask\"\n");
    let json = format!(r#"{{"a":"x {LENA} y"}}"#);
    let masked = redact(&mut session, &json);
    assert_eq!(masked, r#"{"a":"x <EMAIL> y"}"#);
    assert_eq!(redact(&mut session, &masked), masked);
    assert!(session.vault.is_empty());
    let mut session = Session::with("[labels.EMAIL]\ndefault = \"hash\"\n");
    let hashed = redact(&mut session, &json);
    assert!(hashed.contains("<EMAIL#") && session.vault.is_empty());
    assert_eq!(redact(&mut session, &json), hashed);
    assert_eq!(redact(&mut session, &hashed), hashed);
    let mut session = Session::with("[labels.EMAIL]\ndefault = \"block\"\n");
    let refused = try_redact(&mut session, &json).unwrap_err();
    assert!(matches!(&refused, Refusal::Blocked { path, .. } if path == "a"));
    let inside = format!(r#"{{"a":"{{\"b\":[\"{LENA}\"]}}"}}"#);
    assert_eq!(
        try_redact(&mut session, &inside).unwrap_err().path(),
        Some("a:b[0]")
    );
    let mut session = Session::with("[labels.EMAIL]\ndefault = \"allow\"\n");
    assert_eq!(redact(&mut session, &json), json);
}

/// A finder that gathers, as one with a model does, and says what the rules say.
struct Together<'e>(&'e crate::Engine);

impl crate::Finder for Together<'_> {
    fn gathers(&self) -> bool {
        true
    }

    fn find_all(
        &self,
        texts: &[crate::Asked<'_>],
    ) -> Result<Vec<Vec<crate::Finding>>, crate::finding::ScanError> {
        self.0.find_all(texts)
    }
}

#[test]
fn texts_that_are_gathered_first_lead_to_the_same_bytes() {
    let text = r#"{"a":"lena.fors@example.org","b":[{"c":"{\"d\":\"4111111111111111\"}"},7],
        "e":"lena.fors@example.org and <EMAIL_aaaaaa>"}"#;
    let document = Document::parse(text.as_bytes(), &Limits::default()).unwrap();
    let redacted = |together: bool| {
        let mut session = Session::new();
        let finder = Together(&session.engine);
        let means = Means {
            finder: if together { &finder } else { &session.engine },
            ..Means::of_rules(&session.engine, &session.policy, &Names)
        };
        let mut splice = Splice::new(&document);
        let receipt = redact_body(
            &document,
            &Protocol,
            means,
            &mut session.vault,
            &|_| false,
            &mut splice,
        );
        (receipt.unwrap(), splice.finish())
    };
    assert_eq!(redacted(true), redacted(false));
}
