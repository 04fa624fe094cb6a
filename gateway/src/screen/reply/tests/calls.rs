//! The calls that a reply makes are the same, whole or streamed, wherever their arguments are cut.

use serde_json::json;

use super::*;
use crate::protocol::Called as Call;
use crate::session::typed::PHASE_TOOL;

const ARGUMENTS: &str = r#"{"to":"wörk","why":"done"}"#;

fn calls() -> Vec<Call> {
    let call = |id: &str, tool: &str, arguments: Option<&str>| Call {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.map(str::to_owned),
    };
    vec![
        call("call_1", "look_up", None),
        call("call_2", PHASE_TOOL, Some(ARGUMENTS)),
    ]
}

/// The calls of a stream whose events begin both calls and bring the arguments of the second in two
/// pieces.
fn streamed(protocol: &dyn Protocol, events: &[Value]) -> Vec<Call> {
    let talk = Talk::new();
    let facts = facts(true);
    let rules = (&talk.engine, &talk.policy);
    let mut search = ReplySearch::new(protocol, &facts, rules, &talk.vault, Limits::default());
    for event in events {
        let event = Event {
            name: None,
            data: event.to_string().into(),
        };
        assert!(search.event(&event, &Names).is_ok());
    }
    assert!(search.flush_all(&Names).is_ok());
    let mut calls = search.into_findings().calls;
    // Of the other tool nobody asks.
    calls.iter_mut().for_each(|call| {
        call.arguments = call.arguments.take().filter(|_| call.tool == PHASE_TOOL);
    });
    calls
}

fn cuts() -> impl Iterator<Item = (&'static str, &'static str)> {
    (0..=ARGUMENTS.len()).filter_map(|at| ARGUMENTS.split_at_checked(at))
}

#[test]
fn openai() {
    let delta = |index: u64, call: Value| {
        let mut call = call;
        call["index"] = index.into();
        json!({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]})
    };
    let begins = |index, id: &str, name: &str| {
        delta(
            index,
            json!({"id": id, "function": {"name": name, "arguments": ""}}),
        )
    };
    let brings = |piece: &str| delta(1, json!({"function": {"arguments": piece}}));
    for (one, other) in cuts() {
        let events = [
            begins(0, "call_1", "look_up"),
            begins(1, "call_2", PHASE_TOOL),
            brings(one),
            brings(other),
        ];
        assert_eq!(streamed(&OpenAiChat, &events), calls(), "{one}|{other}");
    }
}

#[test]
fn anthropic() {
    let begins = |index: u64, id: &str, name: &str| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        json!({"type": "content_block_start", "index": index, "content_block": block})
    };
    let brings = |piece: &str| {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        json!({"type": "content_block_delta", "index": 1, "delta": delta})
    };
    let stops = |index: u64| json!({"type": "content_block_stop", "index": index});
    for (one, other) in cuts() {
        let events = [
            begins(0, "call_1", "look_up"),
            stops(0),
            begins(1, "call_2", PHASE_TOOL),
            brings(one),
            brings(other),
            stops(1),
        ];
        assert_eq!(streamed(&Anthropic, &events), calls(), "{one}|{other}");
    }
}

#[test]
fn arguments_without_end_are_not_kept() {
    let long = format!(r#"{{"to":"{}"}}"#, "x".repeat(2000));
    let begins = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "c", "name": PHASE_TOOL, "input": {}}});
    let mut events = vec![begins];
    for piece in long.as_bytes().chunks(100) {
        let piece = String::from_utf8_lossy(piece);
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    let calls = streamed(&Anthropic, &events);
    assert_eq!((calls.len(), &calls[0].arguments), (1, &None));
}
