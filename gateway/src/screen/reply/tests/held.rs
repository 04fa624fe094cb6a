//! Replies that the local model reads: shown when a text is whole, and never if it was not read.

use gatehouse_redactor::{Asked, Finding, ScanError};

use super::*;

/// Finds one name, as the model would; has too much to do where a text says so.
struct Zoran;

impl Finder for Zoran {
    fn gathers(&self) -> bool {
        true
    }

    fn find_all(&self, texts: &[Asked<'_>]) -> Result<Vec<Vec<Finding>>, ScanError> {
        texts
            .iter()
            .map(|asked| match asked.text.contains("overload") {
                true => Err(ScanError::Overloaded),
                false => Ok(asked
                    .text
                    .match_indices("Zoran")
                    .map(|(start, name)| Finding {
                        start,
                        end: start + name.len(),
                        label: Label::PERSON,
                        score: 90,
                        rule: "model",
                        certain: false,
                    })
                    .collect()),
            })
            .collect()
    }
}

fn talk() -> Talk {
    let policy: Policy = toml::from_str("[labels.PERSON]\nreply = 'mask'").unwrap();
    let mut talk = Talk {
        policy,
        ..Talk::new()
    };
    talk.text = format!("Zoran wrote {}, Zoran", talk.text);
    talk.wanted = format!("<PERSON> wrote {}, <PERSON>", talk.wanted);
    talk
}

/// What a stream shows before its text's end, what it shows in all, and why it ended.
fn streamed(
    talk: &Talk,
    protocol: &dyn Protocol,
    events: &[String],
) -> (String, String, Option<Code>) {
    let facts = facts(true);
    let rules = (&talk.engine, &talk.policy);
    let search = ReplySearch::new(protocol, &facts, rules, &talk.vault, Limits::default());
    let mut search = search.with_model(Zoran);
    let (mut early, mut out) = (String::new(), BytesMut::new());
    for (at, data) in events.iter().enumerate() {
        let event = Event {
            name: None,
            data: data.clone().into(),
        };
        match search.event(&event, &Names) {
            Ok(flow) => {
                out.extend_from_slice(&flow.frames);
                out.extend_from_slice(&flow.held.unwrap_or_default());
            }
            Err(refused) => return (early, text(&out), Some(refused.code())),
        }
        if at + 3 == events.len() {
            early = text(&out);
        }
    }
    (early, text(&out), None)
}

fn text(stream: &[u8]) -> String {
    let events = read(stream);
    joined("text", &events) + &joined("content", &events)
}

/// A text, a character a delta, and then two events that end it.
fn events(anthropic: bool, text: &str) -> Vec<String> {
    let mut events = Vec::new();
    if anthropic {
        let start =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        events.push(start.to_owned());
    }
    events.extend(text.chars().map(|c| {
        let c = Value::from(c.to_string());
        match anthropic {
            true => format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{c}}}}}"#),
            false => format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{c}}}}}]}}"#),
        }
    }));
    let ends = match anthropic {
        true => [
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_stop"}"#,
        ],
        false => [
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
    };
    events.extend(ends.map(str::to_owned));
    events
}

#[test]
fn a_held_stream_shows_its_text_when_it_is_whole() {
    let talk = talk();
    for (anthropic, protocol) in [(true, &Anthropic as &dyn Protocol), (false, &OpenAiChat)] {
        let (early, shown, refused) = streamed(&talk, protocol, &events(anthropic, &talk.text));
        assert!(refused.is_none());
        assert_eq!((early.as_str(), shown.as_str()), ("", talk.wanted.as_str()));
    }
}

#[test]
fn a_text_that_was_not_read_is_not_shown() {
    let talk = talk();
    for (anthropic, protocol) in [(true, &Anthropic as &dyn Protocol), (false, &OpenAiChat)] {
        let text = format!("{} overload", talk.text);
        let (_, shown, refused) = streamed(&talk, protocol, &events(anthropic, &text));
        assert_eq!((shown.as_str(), refused), ("", Some(Code::ScanFailed)));
    }
}

#[test]
fn whole_replies_and_arguments_are_read_too() {
    let talk = talk();
    let facts = facts(false);
    let rules = (&talk.engine, &talk.policy);
    let search = ReplySearch::new(&Anthropic, &facts, rules, &talk.vault, Limits::default());
    let mut search = search.with_model(Zoran);
    let body = r#"{"content":[{"type":"text","text":"by Zoran"},
        {"type":"tool_use","id":"t","name":"f","input":{"to":"Zoran","n":7}}]}"#;
    let shown = search.whole(body.as_bytes(), &Names).ok().unwrap();
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(shown["content"][0]["text"], "by <PERSON>");
    assert_eq!(
        shown["content"][1]["input"],
        serde_json::json!({"to": "<PERSON>", "n": 7})
    );
}
