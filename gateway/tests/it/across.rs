//! One session across protocols: an agent that moves from the OpenAI route to the Anthropic route, or
//! back, keeps its vault and its tokens, streamed or not, tools included.

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, Script};
use crate::streams::Speaks;
use crate::wire::token;

const MAIL: &str = "lena.fors@example.org";

/// A conversation in which a tool was called with the address and gave it back.
fn conversation(speaks: Speaks) -> Value {
    let arguments = json!({ "to": MAIL });
    match speaks {
        Speaks::OpenAi => json!([
            {"role": "user", "content": format!("Write to {MAIL}.")},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "send_mail", "arguments": arguments.to_string()}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": format!("sent to {MAIL}")},
            {"role": "user", "content": "Once more."}]),
        Speaks::Anthropic => json!([
            {"role": "user", "content": format!("Write to {MAIL}.")},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1",
                "name": "send_mail", "input": arguments}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": format!("sent to {MAIL}")},
                {"type": "text", "text": "Once more."}]}]),
    }
}

/// A reply that calls the tool with the token that the provider was sent.
fn calling(speaks: Speaks, streamed: bool) -> Script {
    let base = match streamed {
        true => Script::events(Vec::new()),
        false => Script::json(""),
    };
    base.made(move |received| {
        let token = token(&received.text());
        let arguments = json!({ "to": token }).to_string();
        let whole = match speaks {
            _ if streamed => {
                let (head, rest) = arguments.split_at(12);
                let mut events = speaks.arguments(&[head, rest]);
                if speaks == Speaks::Anthropic {
                    // What comes before the first block.
                    events.insert(0, speaks.texts(&[]).remove(0));
                }
                return vec![events.concat().into_bytes()];
            }
            Speaks::Anthropic => json!({"type": "message", "role": "assistant",
                "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "toolu_2",
                    "name": "send_mail", "input": {"to": token}}]}),
            Speaks::OpenAi => json!({"choices": [{"index": 0, "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "call_2",
                    "type": "function", "function": {"name": "send_mail", "arguments": arguments}}]}}]}),
        };
        vec![whole.to_string().into_bytes()]
    })
}

/// The arguments of the call as the caller got them.
fn called(speaks: Speaks, streamed: bool, answer: &Answer) -> Value {
    let piece = |event: &Value| match speaks {
        Speaks::Anthropic => event["delta"]["partial_json"].as_str().map(str::to_owned),
        Speaks::OpenAi => event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .map(str::to_owned),
    };
    let text: String = match speaks {
        _ if streamed => answer.data().iter().filter_map(piece).collect(),
        Speaks::Anthropic => answer.json()["content"][0]["input"].to_string(),
        Speaks::OpenAi => {
            answer.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_in_both_protocols() {
    let directions = [
        [Speaks::OpenAi, Speaks::Anthropic],
        [Speaks::Anthropic, Speaks::OpenAi],
    ];
    for order in directions {
        for streamed in [false, true] {
            let gate = Gate::up().await;
            let opened = gate.caller().post("/v1/sessions", &json!({})).await.json();
            let mut tokens = Vec::new();
            // There, over, and back again.
            for speaks in [order[0], order[1], order[0]] {
                gate.provider.play(calling(speaks, streamed));
                let mut request = speaks.request("");
                request["stream"] = json!(streamed);
                request["messages"] = conversation(speaks);
                request["session_id"] = opened["session_id"].clone();
                let answer = gate.caller().post(speaks.path(), &request).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                let session = answer.header("x-gatehouse-session");
                assert_eq!(session.as_deref(), opened["reference"].as_str());
                assert_eq!(called(speaks, streamed, &answer), json!({ "to": MAIL }));
                let sent = gate.provider.received().pop().unwrap().text();
                let token = token(&sent);
                assert_eq!(sent.matches(&token).count(), 3, "{sent}");
                assert!(
                    !sent.contains("lena") && !sent.contains("session_id"),
                    "{sent}"
                );
                tokens.push(token);
            }
            tokens.dedup();
            assert_eq!(tokens.len(), 1, "one value, one token");
            let records = gate.records().await;
            let apis: Vec<_> = records
                .iter()
                .filter(|record| record["kind"] == "exchange.admitted")
                .map(|record| record["up"]["api"].as_str().unwrap())
                .collect();
            assert!(
                apis.len() == 3 && apis[0] == apis[2] && apis[0] != apis[1],
                "{apis:?}"
            );
        }
    }
}
