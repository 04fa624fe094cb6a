//! What a long conversation costs: its new text, not its history again and again. Counted in bytes
//! that were searched, with the real model in the path, across a restart.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gate::{Gate, Script};
use crate::model::{get, model};

const CHAT: &str = "/v1/chat/completions";
const TURNS: usize = 20;

/// Texts of an agent's conversation, the same in every turn: instructions, tools.
fn head() -> (Value, Value) {
    let system = "You are the help desk of a parcel service. Your supervisor is Oluwaseun Adebayo. \
                  Answer briefly and call a tool when you need the state of an order.";
    let tools = json!([{"type": "function", "function": {
        "name": "find_order",
        "description": "Finds an order by its number and says where it is and who waits for it.",
        "parameters": {"type": "object", "properties": {
            "number": {"type": "string", "description": "The order's number."},
            "recipient": {"type": "string", "description": "Who waits for it, if known."}}}}}]);
    (json!({"role": "system", "content": system}), tools)
}

/// What a turn adds in front of the model's answer: a question, a call of a tool, its output.
fn asked(turn: usize) -> [Value; 3] {
    let id = format!("call_{turn}");
    let arguments = json!({"number": format!("A-{turn}4"), "recipient": "Tomasz Wójcik"});
    let output = json!({"state": "on its way", "recipient": "Tomasz Wójcik", "stop": turn});
    [
        json!({"role": "user", "content":
            format!("Hello, Priya Raghunathan again: where is parcel {turn} for my uncle?")}),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "find_order", "arguments": arguments.to_string()}}]}),
        json!({"role": "tool", "tool_call_id": id, "content": output.to_string()}),
    ]
}

/// Names the caller by the token that stands in the request.
fn answer(turn: usize) -> Script {
    Script::json("").made(move |request| {
        let text = request.text();
        let start = text.rfind("<PERSON_").unwrap();
        let token = &text[start..start + text[start..].find('>').unwrap() + 1];
        let content = format!("Dear {token}, parcel {turn} will be there in {turn} days.");
        let reply = json!({"id": "c", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content},
             "finish_reason": "stop"}]});
        vec![reply.to_string().into_bytes()]
    })
}

/// What the members that hold text say, each thing once; JSON in strings leaf by leaf. Roles, ids
/// and names of tools are no text.
fn texts(value: &Value, is_text: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_text => match serde_json::from_str::<Value>(text) {
            Ok(inner @ Value::Object(_)) => texts(&inner, true, found),
            _ => drop(found.insert(text.clone())),
        },
        Value::Array(items) => items.iter().for_each(|item| texts(item, is_text, found)),
        Value::Object(members) => {
            for (key, value) in members {
                let holds = ["arguments", "content", "description"].contains(&key.as_str());
                texts(value, is_text || holds, found);
            }
        }
        _ => {}
    }
}

async fn searched(gate: &Gate) -> usize {
    let metrics = get(gate.running.admin_address(), "/metrics").await;
    let name = "gatehouse_verdict_searched_bytes_total ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_turns_cost_their_new_text() {
    let mut gate = Gate::with("", |config| config.model = model()).await;
    let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
    let (system, tools) = head();
    let mut body = json!({"model": "m", "session_id": opened["session_id"], "tools": tools,
        "messages": [system]});
    let mut spent = 0;
    for turn in 1..=TURNS {
        if turn % 7 == 0 {
            // As on another replica: what this process remembers is gone.
            spent += searched(&gate).await;
            gate = gate.again(|config| config.model = model()).await;
        }
        let messages = body["messages"].as_array_mut().unwrap();
        messages.extend(asked(turn));
        gate.provider.play(answer(turn));
        let replied = gate.caller().post(CHAT, &body).await;
        assert_eq!(replied.status, 200, "{}", replied.text());
        let message = replied.json()["choices"][0]["message"].clone();
        // The caller's own values came back, and go out again with the history.
        assert!(
            message["content"]
                .as_str()
                .unwrap()
                .contains("Tomasz Wójcik"),
            "{message}"
        );
        body["messages"].as_array_mut().unwrap().push(message);
        let sent = gate.provider.received().pop().unwrap().text();
        for name in ["Raghunathan", "Adebayo", "Wójcik"] {
            assert!(!sent.contains(name), "{sent}");
        }
    }
    spent += searched(&gate).await;
    let mut said = BTreeSet::new();
    texts(&body, false, &mut said);
    let new: usize = said.iter().map(String::len).sum();
    assert!(
        (new * 9..=new * 12).contains(&(spent * 10)),
        "{spent} bytes searched for {new} of new text"
    );
}
