//! Agents that send no session id: their conversations stay in one session, in both protocols,
//! streamed or not, through text and tool calls, and from one protocol to the other.

use serde_json::{Value, json};

use crate::gate::provider::Received;
use crate::gate::{Answer, Gate, Script};
use crate::streams::{Speaks, text_of};
use crate::wire::token;

const MAIL: &str = "lena.fors@example.org";

fn request(speaks: Speaks, streamed: bool, messages: &[Value]) -> Value {
    let mut request = speaks.request("");
    request["stream"] = json!(streamed);
    request["messages"] = json!(messages);
    request
}

/// A reply that names the address by the token that the provider was sent.
fn answering(speaks: Speaks, streamed: bool) -> Script {
    let base = if streamed {
        Script::events(Vec::new())
    } else {
        Script::json("")
    };
    base.made(move |received: &Received| {
        let text = format!("mailed {} now", token(&received.text()));
        let whole = match speaks {
            _ if streamed => {
                let (head, rest) = text.split_at(12);
                return vec![speaks.texts(&[head, rest]).concat().into_bytes()];
            }
            Speaks::Anthropic => json!({"type": "message", "role": "assistant",
                "content": [{"type": "text", "text": text}]}),
            Speaks::OpenAi => json!({"choices": [{"index": 0,
                "message": {"role": "assistant", "content": text}}]}),
        };
        vec![whole.to_string().into_bytes()]
    })
}

fn said(speaks: Speaks, streamed: bool, answer: &Answer) -> String {
    let text = match speaks {
        _ if streamed => text_of(answer, 0),
        Speaks::Anthropic => answer.json()["content"][0]["text"].as_str().unwrap().into(),
        Speaks::OpenAi => answer.json()["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .into(),
    };
    assert_eq!(text, format!("mailed {MAIL} now"));
    text
}

fn continuities(records: &[Value]) -> Vec<&str> {
    let admitted = records
        .iter()
        .filter(|record| record["kind"] == "exchange.admitted");
    admitted
        .map(|record| record["continuity"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_stays_in_its_session() {
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        for streamed in [false, true] {
            let gate = Gate::up().await;
            gate.provider.play(answering(speaks, streamed));
            let mut messages = vec![json!({"role": "user", "content": format!("I am {MAIL}")})];
            let mut sessions = Vec::new();
            for turn in 0..4 {
                let body = request(speaks, streamed, &messages);
                let answer = gate.caller().post(speaks.path(), &body).await;
                assert_eq!(answer.status, 200, "{}", answer.text());
                sessions.push(answer.header("x-gatehouse-session").unwrap());
                let said = said(speaks, streamed, &answer);
                messages.push(json!({"role": "assistant", "content": said}));
                messages.push(json!({"role": "user", "content": format!("and {turn}?")}));
            }
            sessions.dedup();
            assert_eq!(sessions.len(), 1);
            // The provider's prompt cache finds every prompt as the begin of the next.
            let received = gate.provider.received();
            for pair in received.windows(2) {
                let [before, after] = [&pair[0], &pair[1]].map(|it| it.json()["messages"].clone());
                let before = before.as_array().unwrap();
                assert_eq!(
                    &after.as_array().unwrap()[..before.len()],
                    before.as_slice()
                );
            }
            let records = gate.records().await;
            assert_eq!(
                continuities(&records),
                ["new", "matched", "matched", "matched"]
            );
        }
    }
}

/// Clients write the arguments of a call in their own way when they send it back.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_is_recognised() {
    for speaks in [Speaks::OpenAi, Speaks::Anthropic] {
        let gate = Gate::up().await;
        let call = speaks.arguments(&["{\"to\":\"a\",", "\"n\":[1,2]}"]);
        gate.provider
            .play(Script::events(vec![call.concat().into_bytes()]));
        let asked = json!({"role": "user", "content": "send it"});
        let body = request(speaks, true, std::slice::from_ref(&asked));
        let first = gate.caller().post(speaks.path(), &body).await;
        gate.provider.play(Script::events(vec![
            speaks.texts(&["sent"]).concat().into_bytes(),
        ]));
        let history = match speaks {
            Speaks::Anthropic => [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1",
                    "name": "send_mail", "input": {"n": [1, 2], "to": "a"}}]}),
                json!({"role": "user", "content": [{"type": "tool_result",
                    "tool_use_id": "toolu_1", "content": "ok"}]}),
            ],
            Speaks::OpenAi => [
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1",
                    "type": "function", "function": {"name": "send_mail",
                    "arguments": "{\"n\": [1, 2], \"to\": \"a\"}"}}]}),
                json!({"role": "tool", "tool_call_id": "call_1", "content": "ok"}),
            ],
        };
        let messages = [&[asked][..], &history].concat();
        let body = request(speaks, true, &messages);
        let second = gate.caller().post(speaks.path(), &body).await;
        assert_eq!(second.status, 200, "{}", second.text());
        let session = |answer: &Answer| answer.header("x-gatehouse-session").unwrap();
        assert_eq!(session(&first), session(&second));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_in_the_other_protocol() {
    let gate = Gate::up().await;
    gate.provider.play(answering(Speaks::OpenAi, false));
    let asked = json!({"role": "user", "content": format!("I am {MAIL}")});
    let body = request(Speaks::OpenAi, false, std::slice::from_ref(&asked));
    let first = gate.caller().post(Speaks::OpenAi.path(), &body).await;
    let reply = said(Speaks::OpenAi, false, &first);
    let one = token(&gate.provider.received()[0].text());
    gate.provider.play(answering(Speaks::Anthropic, true));
    let messages = [
        asked,
        json!({"role": "assistant", "content": [{"type": "text", "text": reply}]}),
        json!({"role": "user", "content": "again"}),
    ];
    let body = request(Speaks::Anthropic, true, &messages);
    let second = gate.caller().post(Speaks::Anthropic.path(), &body).await;
    said(Speaks::Anthropic, true, &second);
    let session = |answer: &Answer| answer.header("x-gatehouse-session").unwrap();
    assert_eq!(session(&first), session(&second));
    assert_eq!(one, token(&gate.provider.received()[0].text()));
}

/// Two people whose agents have one key: the client greets them itself, in the same words, and the
/// model says a token that it was not sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_in_the_same_words_tells_nobody_anothers_values() {
    for streamed in [false, true] {
        let gate = Gate::up().await;
        let speaks = Speaks::OpenAi;
        let hello = if streamed {
            Script::events(vec![speaks.texts(&["Hello!"]).concat().into_bytes()])
        } else {
            Script::json(
                r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"}}]}"#,
            )
        };
        gate.provider.play(hello);
        let ada = [
            json!({"role": "system", "content": format!("You talk to {MAIL}")}),
            json!({"role": "user", "content": "Hi"}),
        ];
        let body = request(speaks, streamed, &ada);
        let first = gate.caller().post(speaks.path(), &body).await;
        assert_eq!(first.status, 200, "{}", first.text());
        let leaked = token(&gate.provider.received()[0].text());
        let text = format!("it is {leaked}.");
        gate.provider.play(if streamed {
            Script::events(vec![speaks.texts(&[&text]).concat().into_bytes()])
        } else {
            Script::json(
                &json!({"choices": [{"index": 0,
                "message": {"role": "assistant", "content": text}}]})
                .to_string(),
            )
        });
        let bob = [
            json!({"role": "system", "content": "You talk to Bob"}),
            json!({"role": "user", "content": "Hi"}),
            json!({"role": "assistant", "content": "Hello!"}),
            json!({"role": "user", "content": "What do you know?"}),
        ];
        let body = request(speaks, streamed, &bob);
        let second = gate.caller().post(speaks.path(), &body).await;
        let session = |answer: &Answer| answer.header("x-gatehouse-session").unwrap();
        assert_ne!(session(&first), session(&second));
        assert!(!second.text().contains(MAIL), "{}", second.text());
        assert!(second.text().contains(&leaked), "{}", second.text());
    }
}

/// A window that has moved on: the session is the same, and still gives out only what was sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_given_back_only_what_it_holds() {
    let gate = Gate::up().await;
    let speaks = Speaks::Anthropic;
    let other = "new.person@example.net";
    gate.provider.play(answering(speaks, false));
    let asked = json!({"role": "user", "content": format!("I am {MAIL}, my boss is {other}")});
    let body = request(speaks, false, std::slice::from_ref(&asked));
    let first = gate.caller().post(speaks.path(), &body).await;
    let sent = gate.provider.received()[0].text();
    let reply = said(speaks, false, &first);
    let boss = token(&sent[sent.find("boss").unwrap()..]);
    let text = format!("your boss is {boss}");
    let script = json!({"type": "message", "role": "assistant",
        "content": [{"type": "text", "text": text}]});
    gate.provider.play(Script::json(&script.to_string()));
    let more = json!({"role": "user", "content": format!("{other} again, and then?")});
    let turn = |messages: &[Value]| request(speaks, false, messages);
    let messages = [
        asked,
        json!({"role": "assistant", "content": reply}),
        more.clone(),
    ];
    let second = gate.caller().post(speaks.path(), &turn(&messages)).await;
    assert!(second.text().contains(other), "{}", second.text());
    // The last two messages alone: who said so is no longer in them, nor the other address.
    let said = json!({"role": "assistant", "content": "your boss is"});
    let text = second.json()["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text.starts_with(said["content"].as_str().unwrap()));
    let mine = token(&sent);
    let script = json!({"type": "message", "role": "assistant",
        "content": [{"type": "text", "text": format!("{mine} and {boss}")}]});
    gate.provider.play(Script::json(&script.to_string()));
    let window = [
        more,
        json!({"role": "assistant", "content": text}),
        json!({"role": "user", "content": "who?"}),
    ];
    let third = gate.caller().post(speaks.path(), &turn(&window)).await;
    let session = |answer: &Answer| answer.header("x-gatehouse-session").unwrap();
    assert_eq!(session(&second), session(&third));
    let text = third.json()["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(text, format!("{mine} and {other}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_may_ask_for_an_id_or_do_without() {
    let messages = [json!({"role": "user", "content": MAIL})];
    let body = request(Speaks::OpenAi, false, &messages);
    let gate = Gate::with("", |config| config.sessions.require_session = true).await;
    let answer = gate.caller().post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.error().as_deref(), Some("session_required"));
    assert!(gate.provider.received().is_empty());

    let gate = Gate::with("", |config| config.sessions.continuity = false).await;
    gate.provider.play(answering(Speaks::OpenAi, false));
    let first = gate.caller().post("/v1/chat/completions", &body).await;
    let reply = said(Speaks::OpenAi, false, &first);
    let messages = [
        messages[0].clone(),
        json!({"role": "assistant", "content": reply}),
        json!({"role": "user", "content": "again"}),
    ];
    let body = request(Speaks::OpenAi, false, &messages);
    gate.caller().post("/v1/chat/completions", &body).await;
    assert_eq!(continuities(&gate.records().await), ["new", "new"]);
}
