//! Texts, names and ids that go on when they were shown already: what a client joins either reads as
//! the search of the whole text, or the reply ends before the value does.

use serde_json::Value;

use super::*;

/// A key, the event that carries the text's first piece, others that do not go on with it, and the
/// event that carries the rest.
type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const MESSAGES: &[Case] = &[
    (
        "zonk",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","zonk":"$"}}"#,
        &[r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#],
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"zonk_delta","zonk":"$"}}"#,
    ),
    (
        "zonk",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","box":{"zonk":"$"}}}"#,
        &[
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
        ],
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"zonk_delta","zonk":"$"}}"#,
    ),
    (
        "zonk",
        r#"{"type":"message_start","message":{"id":"m","zonk":"$"}}"#,
        &[r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#],
        r#"{"type":"message_delta","delta":{"zonk":"$"}}"#,
    ),
    (
        "zonk",
        r#"{"type":"later_start","later":{"zonk":"$"}}"#,
        &[r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#],
        r#"{"type":"later_delta","delta":{"zonk":"$"}}"#,
    ),
];

const CHAT: &[Case] = &[
    (
        "zonk",
        r#"{"id":"c","choices":[{"index":0,"delta":{}}],"zonk":"$"}"#,
        &[r#"{"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}"#],
        r#"{"id":"c","choices":[{"index":0,"delta":{}}],"zonk":"$"}"#,
    ),
    (
        "name",
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"$"}}]}}]}"#,
        &[],
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"$"}}]}}]}"#,
    ),
    (
        "id",
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"$"}]}}]}"#,
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}"#,
        ],
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"$"}]}}]}"#,
    ),
    (
        "name",
        r#"{"choices":[{"index":2,"delta":{"function_call":{"name":"$"}}}]}"#,
        &[r#"{"choices":[{"index":2,"delta":{"content":"a"}}]}"#],
        r#"{"choices":[{"index":2,"delta":{"function_call":{"name":"$"}}}]}"#,
    ),
    (
        "name",
        r#"{"choices":[{"index":0,"delta":{"box":{"name":"$"}}}]}"#,
        &[],
        r#"{"choices":[{"index":0,"delta":{"box":{"name":"$"}}}]}"#,
    ),
];

fn goes_on_after_others(protocol: &dyn Protocol, cases: &[Case]) {
    let talk = Talk::new();
    let text = format!("to_{NEW} ok");
    for (key, first, between, rest) in cases {
        let mut refusals = 0;
        for cut in 1..text.len() {
            let (head, tail) = text.split_at(cut);
            let piece =
                |event: &str, text: &str| event.replace("\"$\"", &Value::from(text).to_string());
            let mut events = vec![piece(first, head)];
            events.extend(between.iter().map(|event| (*event).to_owned()));
            // All at once, and byte by byte.
            for tails in [
                vec![tail],
                tail.split("").filter(|byte| !byte.is_empty()).collect(),
            ] {
                let behind = tails.iter().map(|tail| piece(rest, tail));
                let events: Vec<_> = events.iter().cloned().chain(behind).collect();
                let (shown, refused) = talk.tried(protocol, &events);
                let read = joined(key, &shown);
                // As far as this it is an address.
                assert!(!read.contains("person@corp.ex"), "{events:?}: {read}");
                if let Some(refused) = refused {
                    refusals += 1;
                    assert_eq!(refused.code(), Code::ReplyBlocked, "{events:?}");
                } else {
                    assert!(read.ends_with("ok"), "{events:?}: {read}");
                }
            }
        }
        assert!(refusals > 0, "{first}");
    }
}

#[test]
fn a_text_of_messages_may_go_on_after_others() {
    goes_on_after_others(&Anthropic, MESSAGES);
}

#[test]
fn a_text_of_chat_may_go_on_after_others() {
    goes_on_after_others(&OpenAiChat, CHAT);
}

/// Some providers send the whole name and id with every fragment of the arguments.
#[test]
fn names_that_are_said_again_stay() {
    let talk = Talk::new();
    let chunk = |arguments: &str| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"41234567","function":{{"name":"mail","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let shown = talk.streamed(&OpenAiChat, &["{", "}", " ", " "].map(chunk));
    assert_eq!(joined("name", &shown), "mail".repeat(4));
    assert_eq!(joined("id", &shown), "41234567".repeat(4));
    assert_eq!(joined("arguments", &shown), "{}  ");
}

/// Where arguments may be put back depends on the tool's whole name.
#[test]
fn a_tools_name_may_come_in_parts_but_before_its_arguments() {
    let talk = Talk::new();
    let chunk = |(name, arguments): (&str, &str)| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"name":"{name}","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let parts = [("get_", ""), ("mail", ""), ("", "{}")].map(chunk);
    let shown = talk.streamed(&OpenAiChat, &parts);
    assert_eq!(joined("name", &shown), "get_mail");
    assert_eq!(joined("arguments", &shown), "{}");
    let late = [("get_", "{"), ("mail", "}")].map(chunk);
    let (_, refused) = talk.tried(&OpenAiChat, &late);
    assert_eq!(refused.unwrap().code(), Code::ProviderMalformed);
}
