//! What a caller reads is the same for every protocol, event and block, known or invented, streamed
//! or whole: a text is cut at every byte over the events that can carry it, and what a client joins
//! of the same field must read as the search of the whole text.

mod calls;
mod cuts;
mod held;
mod told;

use gatehouse_redactor::Label;
use serde_json::Value;

use super::*;
use crate::protocol::{Anthropic, OpenAiChat, Role};
use crate::wire::sse::{Event, Item, Reader};

/// Digests that only tell values apart.
struct Names;

impl Pseudonyms for Names {
    fn digest(&self, label: Label, text: &str) -> [u8; 32] {
        gatehouse_envelope::digest::sha256(&[label.as_str().as_bytes(), text.as_bytes()])
    }
}

const OWN: &str = "lena.fors@example.org";
const NEW: &str = "victim.person@corp.example.com";

/// A session that knows one address, and a text with that one's token and a new address.
struct Talk {
    engine: Engine,
    policy: Policy,
    vault: Vault,
    text: String,
    wanted: String,
}

impl Talk {
    fn new() -> Self {
        let policy = Policy::default();
        let engine = Engine::new(&policy).unwrap();
        let mut vault = Vault::new();
        let field = gatehouse_redactor::Field {
            key: None,
            direction: gatehouse_redactor::Direction::Prompt,
        };
        let means = gatehouse_redactor::body::Means::of_rules(&engine, &policy, &Names);
        let redacted = gatehouse_redactor::body::redact_text(OWN, field, means, &mut vault);
        let (token, _) = redacted.unwrap();
        Self {
            engine,
            policy,
            vault,
            text: format!("to {NEW} or {token} ok"),
            wanted: format!("to <EMAIL> or {OWN} ok"),
        }
    }

    /// The events that a caller gets for these.
    fn streamed(&self, protocol: &dyn Protocol, events: &[String]) -> Vec<Value> {
        let (shown, refused) = self.tried(protocol, events);
        assert!(refused.is_none(), "{events:?}");
        shown
    }

    /// The same, up to where the reply is refused, if it is.
    fn tried(&self, protocol: &dyn Protocol, events: &[String]) -> (Vec<Value>, Option<Rejection>) {
        let facts = facts(true);
        let rules = (&self.engine, &self.policy);
        let mut search = ReplySearch::new(protocol, &facts, rules, &self.vault, Limits::default());
        let mut out = BytesMut::new();
        for data in events {
            let event = Event {
                name: None,
                data: data.clone().into(),
            };
            match search.event(&event, &Names) {
                Ok(flow) => {
                    out.extend_from_slice(&flow.frames);
                    out.extend_from_slice(&flow.held.unwrap_or_default());
                    assert!(flow.role != Role::Error, "{data}");
                }
                Err(refused) => return (read(&out), Some(refused)),
            }
        }
        let refused = match search.flush_all(&Names) {
            Ok(rest) => {
                out.extend_from_slice(&rest);
                None
            }
            Err(refused) => Some(refused),
        };
        (read(&out), refused)
    }

    fn whole(&self, protocol: &dyn Protocol, body: &str) -> Value {
        let facts = facts(false);
        let rules = (&self.engine, &self.policy);
        let mut search = ReplySearch::new(protocol, &facts, rules, &self.vault, Limits::default());
        let body = search.whole(body.as_bytes(), &Names).ok().unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

/// The JSON events of a stream.
fn read(stream: &[u8]) -> Vec<Value> {
    let mut reader = Reader::new(1 << 20);
    assert!(reader.push(stream).is_ok());
    let read = std::iter::from_fn(|| reader.pop()).filter_map(|item| match item {
        Item::Event(event) if event.data.starts_with(b"{") => {
            Some(serde_json::from_slice(&event.data).unwrap())
        }
        _ => None,
    });
    read.collect()
}

fn facts(stream: bool) -> Facts {
    Facts {
        model: "m".to_owned(),
        stream,
        usage_wanted: true,
        brought: Vec::new(),
        most: None,
        answers: None,
    }
}

/// Every string under the key, wherever it stands, in order.
fn under<'v>(key: &str, value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| under(key, item, found)),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == key => found.push(text),
                    member => under(key, member, found),
                }
            }
        }
        _ => {}
    }
}

/// What a client has that joins whatever stands under the key.
fn joined(key: &str, events: &[Value]) -> String {
    let mut found = Vec::new();
    events
        .iter()
        .for_each(|event| under(key, event, &mut found));
    found.concat()
}

#[test]
fn whole_replies_read_like_their_streams() {
    let talk = Talk::new();
    let messages: &[(&str, &str)] = &[
        ("text", r#"{"content":[{"type":"text","text":"$"}]}"#),
        ("text", r#"{"content":[{"type":"zonk","text":"$"}]}"#),
        (
            "zonk",
            r#"{"content":[{"type":"zonk","box":{"l":[{"zonk":"$"}]}}]}"#,
        ),
        (
            "zonk",
            r#"{"content":[{"type":"text","text":"","zonk":"$"}]}"#,
        ),
        (
            "zonk",
            r#"{"content":[{"type":"thinking","thinking":"","zonk":"$"}]}"#,
        ),
        ("zonk", r#"{"content":[],"zonk":"$"}"#),
        ("zonk", r#"{"content":[],"later":{"zonk":"$"}}"#),
    ];
    let chat: &[(&str, &str)] = &[
        ("content", r#"{"choices":[{"message":{"content":"$"}}]}"#),
        ("refusal", r#"{"choices":[{"message":{"refusal":"$"}}]}"#),
        (
            "transcript",
            r#"{"choices":[{"message":{"audio":{"transcript":"$"}}}]}"#,
        ),
        (
            "arguments",
            r#"{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"$"}}]}}]}"#,
        ),
        ("zonk", r#"{"choices":[{"message":{"box":{"zonk":"$"}}}]}"#),
        ("zonk", r#"{"choices":[{"message":{},"zonk":"$"}]}"#),
        ("zonk", r#"{"choices":[],"zonk":"$"}"#),
    ];
    let protocols: [(&dyn Protocol, _); 2] = [(&Anthropic, messages), (&OpenAiChat, chat)];
    for (protocol, cases) in protocols {
        for (key, body) in cases {
            let shown = talk.whole(protocol, &body.replace('$', &talk.text));
            assert_eq!(joined(key, &[shown]), talk.wanted, "{body}");
        }
    }
}

#[test]
fn what_is_complete_in_an_event_stays_in_it() {
    let talk = Talk::new();
    let result = r#"{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","content":[{"type":"web_search_result","title":"An example","url":"https://example.com/a"}]}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let ping = r#"{"type":"ping"}"#;
    let shown = talk.streamed(&Anthropic, &[result, ping, stop].map(str::to_owned));
    // A ping says nothing that has an order.
    let expected = [ping, result, stop].map(|event| serde_json::from_str::<Value>(event).unwrap());
    assert_eq!(shown, expected);

    let chunks = ["a", "b", "c"].map(|text| {
        format!(
            r#"{{"choices":[{{"delta":{{"content":"{text} "}},"index":0}}],"provider":"Novita","sources":["https://example.com/a"]}}"#
        )
    });
    let shown = talk.streamed(&OpenAiChat, &chunks);
    assert_eq!(joined("content", &shown), "a b c ");
    for (chunk, shown) in chunks.iter().zip(&shown) {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        assert_eq!(chunk["provider"], shown["provider"]);
        assert_eq!(chunk["sources"], shown["sources"]);
    }
}

#[test]
fn chunks_that_say_the_same_again_do_not_wait() {
    let talk = Talk::new();
    let facts = facts(true);
    let rules = (&talk.engine, &talk.policy);
    let mut search = ReplySearch::new(&OpenAiChat, &facts, rules, &talk.vault, Limits::default());
    let mut waited = Vec::new();
    for provider in ["Novita", "Novita", "Novita", "Other", "Other", "Other"] {
        let data = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"a b. "}}}}],"provider":"{provider}","obfuscation":"k3Jd"}}"#
        );
        let event = Event {
            name: None,
            data: data.into(),
        };
        let flow = search.event(&event, &Names).ok().unwrap();
        let shown = String::from_utf8(flow.frames.to_vec()).unwrap();
        waited.push(!shown.contains(provider));
    }
    assert_eq!(waited, [true, false, false, true, false, false]);
}

#[test]
fn members_whose_keys_are_masked_alike_are_all_shown() {
    let talk = Talk::new();
    let members = r#"{"a@one.example":1,"b@two.example":2,"c":3}"#;
    let shown = serde_json::json!({"<EMAIL>": 1, "<EMAIL>_2": 2, "c": 3});
    let whole = talk.whole(
        &Anthropic,
        &format!(r#"{{"content":[],"later":{members}}}"#),
    );
    assert_eq!(whole["later"], shown);
    let event = format!(r#"{{"type":"later","later":{members}}}"#);
    let streamed = talk.streamed(&Anthropic, &[event]);
    assert_eq!(streamed[0]["later"], shown);
}

#[test]
fn a_stream_that_breaks_off_shows_what_waited() {
    let talk = Talk::new();
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","zonk":"to victim.per"}}"#;
    let shown = talk.streamed(&Anthropic, &[start.to_owned()]);
    assert_eq!(shown, [serde_json::from_str::<Value>(start).unwrap()]);
}
