//! Every event that can carry a text, at every cut.

use serde_json::Value;

use super::*;

/// A key, and events that can carry one text under it together: the first carries the first piece,
/// the last all others, `$` being where a piece stands.
type Case = (&'static str, &'static [&'static str]);

const MESSAGES: &[Case] = &[
    (
        "text",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"$"}}"#,
        ],
    ),
    (
        "text",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","text":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","zonk":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"zonk_delta","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"zonk","box":{"l":[{"zonk":"$"}]}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"zonk_delta","box":{"l":[{"zonk":"$"}]}}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"zonk","box":{"zonk":"$"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"zonk_delta","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"zonk":"$","content_block":{"type":"zonk"}}"#,
            r#"{"type":"content_block_delta","index":0,"zonk":"$","delta":{"type":"zonk_delta"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","zonk":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{},"zonk":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","zonk":"$"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"","zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[r#"{"type":"message_delta","delta":{"stop_reason":null,"zonk":"$"},"usage":{}}"#],
    ),
    (
        "zonk",
        &[r#"{"type":"message_delta","zonk":"$","delta":{"stop_reason":null},"usage":{}}"#],
    ),
    (
        "zonk",
        &[
            r#"{"type":"message_start","message":{"id":"m","zonk":"$"}}"#,
            r#"{"type":"message_delta","delta":{"zonk":"$"}}"#,
        ],
    ),
    ("zonk", &[r#"{"type":"ping","zonk":"$"}"#]),
    ("zonk", &[r#"{"type":"later","zonk":"$"}"#]),
    (
        "zonk",
        &[r#"{"type":"later","later":{"l":[{"index":4,"zonk":"$"}]}}"#],
    ),
    (
        "zonk",
        &[
            r#"{"type":"later_start","later":{"zonk":"$"}}"#,
            r#"{"type":"later_delta","delta":{"zonk":"$"}}"#,
        ],
    ),
    (
        "zonk",
        &[
            r#"{"type":"later.added","item":{"zonk":"$"}}"#,
            r#"{"type":"later.delta","zonk":"$"}"#,
        ],
    ),
];

const CHAT: &[Case] = &[
    (
        "content",
        &[r#"{"choices":[{"index":0,"delta":{"content":"$"}}]}"#],
    ),
    (
        "refusal",
        &[r#"{"choices":[{"index":0,"delta":{"refusal":"$"}}]}"#],
    ),
    (
        "reasoning",
        &[r#"{"choices":[{"index":0,"delta":{"reasoning":"$"}}]}"#],
    ),
    (
        "reasoning_content",
        &[r#"{"choices":[{"index":1,"delta":{"reasoning_content":"$"}}]}"#],
    ),
    (
        "transcript",
        &[r#"{"choices":[{"index":0,"delta":{"audio":{"transcript":"$"}}}]}"#],
    ),
    (
        "arguments",
        &[
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":2,"function":{"arguments":"$"}}]}}]}"#,
        ],
    ),
    (
        "zonk",
        &[r#"{"choices":[{"index":0,"delta":{"zonk":"$"}}]}"#],
    ),
    (
        "zonk",
        &[r#"{"choices":[{"index":0,"delta":{"box":{"zonk":"$"}},"finish_reason":null}]}"#],
    ),
    (
        "zonk",
        &[r#"{"choices":[{"index":0,"delta":{"l":[{"index":7,"zonk":"$"}]}}]}"#],
    ),
    (
        "zonk",
        &[r#"{"id":"c","choices":[{"index":0,"delta":{}}],"zonk":"$"}"#],
    ),
    (
        "zonk",
        &[r#"{"id":"c","choices":[],"box":{"l":[{"zonk":"$"}]}}"#],
    ),
    (
        "zonk",
        &[r#"{"id":"c","choices":[{"index":1,"delta":{},"zonk":"$"}]}"#],
    ),
    ("zonk", &[r#"{"later":{"zonk":"$"}}"#]),
    ("zonk", &[r#"{"type":"later","zonk":"$"}"#]),
    (
        "zonk",
        &[
            r#"{"type":"later.start","later":{"zonk":"$"}}"#,
            r#"{"type":"later.delta","delta":{"zonk":"$"}}"#,
        ],
    ),
];

/// What ends the choices, blocks and streams of the cases.
const ENDS_OF_MESSAGES: [&str; 3] = [
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_stop","index":3}"#,
    r#"{"type":"message_stop"}"#,
];
const ENDS_OF_CHAT: [&str; 3] = [
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

fn events(carriers: &[&str], pieces: &[&str], ends: &[&str]) -> Vec<String> {
    let mut events = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let carrier = carriers[at.min(carriers.len() - 1)];
        let piece = Value::from(*piece).to_string();
        events.push(carrier.replace("\"$\"", &piece));
    }
    events.extend(ends.iter().map(|end| (*end).to_owned()));
    events
}

/// All ways to cut a text that the cases run through: at every byte, at two, and everywhere.
fn cuts(text: &str) -> Vec<Vec<&str>> {
    let mut all = vec![text.split("").collect::<Vec<_>>()];
    for one in 0..=text.len() {
        let (head, rest) = text.split_at(one);
        all.push(vec![head, rest]);
        for two in (1..rest.len()).step_by(11).take(3) {
            let (middle, tail) = rest.split_at(two);
            all.push(vec![head, middle, tail]);
        }
    }
    all
}

/// Members that clients of the protocol read without asking whether they are there.
fn readable(event: &Value) {
    if event["object"] == "chat.completion.chunk" {
        assert!(event["choices"].is_array(), "{event}");
    }
    for choice in event["choices"].as_array().into_iter().flatten() {
        assert!(choice["delta"].is_object(), "{event}");
    }
    if event["type"] == "content_block_delta" {
        let (kind, delta) = (&event["delta"]["type"], &event["delta"]);
        let text = match kind.as_str().unwrap() {
            "text_delta" => &delta["text"],
            "input_json_delta" => &delta["partial_json"],
            "thinking_delta" => &delta["thinking"],
            _ => kind,
        };
        assert!(text.is_string(), "{event}");
    }
}

fn every_cut_reads_the_same(protocol: &dyn Protocol, cases: &[Case], ends: &[&str]) {
    let talk = Talk::new();
    for (key, carriers) in cases {
        for pieces in cuts(&talk.text) {
            let shown = talk.streamed(protocol, &events(carriers, &pieces, ends));
            let at = format!("{} as {pieces:?}: {shown:?}", carriers[0]);
            assert_eq!(joined(key, &shown), talk.wanted, "{at}");
            shown.iter().for_each(readable);
        }
        // A text that is complete in one event is complete without others.
        let shown = talk.streamed(protocol, &events(carriers, &[&talk.text], ends));
        let mut found = Vec::new();
        shown.iter().for_each(|event| under(key, event, &mut found));
        found.retain(|text| !text.is_empty());
        assert_eq!(found.concat(), talk.wanted, "{}", carriers[0]);
    }
}

#[test]
fn every_event_of_messages_reads_the_same_at_every_cut() {
    every_cut_reads_the_same(&Anthropic, MESSAGES, &ENDS_OF_MESSAGES);
}

#[test]
fn every_event_of_chat_reads_the_same_at_every_cut() {
    every_cut_reads_the_same(&OpenAiChat, CHAT, &ENDS_OF_CHAT);
}
