//! The typed state of sessions over HTTP: whose it is, what is recorded, what a model's turn meets.

use serde_json::{Value, json};

use crate::gate::caller::Answer;
use crate::gate::{Caller, Gate, Script, only};

const REPLY: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;

/// A session over HTTP.
pub(crate) struct Session {
    pub(crate) caller: Caller,
    pub(crate) id: String,
    pub(crate) reference: String,
}

impl Session {
    pub(crate) async fn open(gate: &Gate) -> Session {
        let caller = gate.caller();
        let opened = caller.post("/v1/sessions", &json!({})).await.json();
        Session {
            caller,
            id: opened["session_id"].as_str().unwrap().to_owned(),
            reference: opened["reference"].as_str().unwrap().to_owned(),
        }
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        part: &str,
        headers: &str,
        body: &Value,
    ) -> Answer {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let path = format!("/v1/sessions/{}/{part}", self.reference);
        let headers = format!("connection: close\r\n{headers}");
        let request = self
            .caller
            .request(method, &path, &headers, body.as_bytes());
        self.caller.send(&request).await
    }

    /// What is there, as JSON.
    pub(crate) async fn get(&self, part: &str) -> Value {
        let answer = self.ask("GET", part, "", &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// A change that succeeds.
    pub(crate) async fn change(&self, method: &str, part: &str, body: &Value) -> Value {
        let answer = self.ask(method, part, "", body).await;
        assert_eq!(answer.status, 200, "{part}: {}", answer.text());
        answer.json()
    }

    /// One that is refused, and with which code.
    pub(crate) async fn refused(&self, method: &str, part: &str, body: &Value) -> (u16, String) {
        let answer = self.ask(method, part, "", body).await;
        (answer.status, answer.error().unwrap_or_default())
    }

    /// A model's turn in it.
    pub(crate) async fn turn(&self, path: &str, mut body: Value) -> Answer {
        body["session_id"] = self.id.as_str().into();
        self.caller.post(path, &body).await
    }
}

fn chat() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_written_read_and_recorded() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    let goal = "Write to lena.fors@example.org";
    let made = session
        .change(
            "PATCH",
            "state",
            &json!({"goal": goal, "entities": {"city": "Bern"}}),
        )
        .await;
    assert_eq!(made["version"], 1);
    let answer = session.ask("GET", "state", "", &Value::Null).await;
    assert_eq!(answer.header("etag").as_deref(), Some("\"1\""));
    assert_eq!(
        answer.header("x-gatehouse-session").as_ref(),
        Some(&session.reference)
    );
    let state = answer.json();
    assert_eq!(
        (&state["goal"], &state["entities"]["city"]),
        (&goal.into(), &"Bern".into())
    );

    let document = json!({"content": "# Plan", "media_type": "text/markdown", "author": "planner"});
    let made = session.change("PUT", "artifacts/plan.md", &document).await;
    assert_eq!(made["artifact"], json!({"name": "plan.md", "version": 1}));
    session
        .change(
            "PUT",
            "artifacts/plan.md/1/evaluation",
            &json!({"passed": true}),
        )
        .await;
    let plan = session.get("artifacts/plan.md").await;
    assert_eq!(plan["content"], "# Plan");
    assert_eq!(plan["artifact"]["evaluation"]["passed"], true);
    let text = session.ask("GET", "context", "", &Value::Null).await;
    assert_eq!(
        text.text(),
        format!(
            "--- session state, format 1 ---\n[goal]\n> {goal}\n[entity city]\n> Bern\n\
             [artifact plan.md version 1, 6 bytes, passed]\n--- end of session state ---\n"
        )
    );

    let records = gate.records().await;
    assert_eq!(only(&records, "session.artifact")["change"]["n"], 1);
    assert_eq!(
        only(&records, "session.evaluation")["change"]["mark"],
        "passed"
    );
    let log = serde_json::to_string(&records).unwrap();
    assert!(!log.contains("lena") && !log.contains("Bern") && !log.contains("plan"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_to_another_version_is_not_made() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    let body = json!({"goal": "x"});
    let with = |tag: &str| format!("if-match: {tag}\r\n");
    let first = session.ask("PATCH", "state", &with("\"0\""), &body).await;
    assert_eq!(first.status, 200);
    for tag in ["\"0\"", "W/\"1\"", "1"] {
        let late = session.ask("PATCH", "state", &with(tag), &body).await;
        assert_eq!(
            (late.status, late.error().unwrap().as_str()),
            (412, "version_mismatch")
        );
    }
    let again = session
        .ask("PATCH", "state", &with("\"7\", \"1\""), &body)
        .await;
    assert_eq!(again.json()["version"], 2);
    let any = session.ask("PATCH", "state", &with("*"), &body).await;
    assert_eq!(any.json()["version"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_not_told_apart() {
    let gate = Gate::up().await;
    let session = Session::open(&gate).await;
    let unknown = format!("s_{}", "a".repeat(26));
    let mut answers = Vec::new();
    for reference in [unknown.as_str(), session.id.as_str(), "x"] {
        let path = format!("/v1/sessions/{reference}/state");
        answers.push(gate.caller().get(&path, "").await);
    }
    let closed = format!("/v1/sessions/{}", session.reference);
    let delete = session
        .caller
        .request("DELETE", &closed, "connection: close\r\n", b"");
    assert_eq!(session.caller.send(&delete).await.status, 200);
    answers.push(session.ask("GET", "state", "", &Value::Null).await);
    for answer in answers {
        let error = answer.json()["error"].clone();
        assert_eq!(
            (answer.status, &error["code"]),
            (404, &"session_not_found".into())
        );
        assert_eq!(error["message"], "There is no such session");
    }
    let session = Session::open(&gate).await;
    let missing = (404, "state_item_unknown".to_owned());
    assert_eq!(
        session.refused("GET", "artifacts/none", &Value::Null).await,
        missing
    );
    assert_eq!(
        session
            .refused("GET", "tool-results/none", &Value::Null)
            .await,
        missing
    );
    assert_eq!(
        session
            .refused("POST", "checkpoints/none/restore", &Value::Null)
            .await,
        missing
    );
    let wrong = session.ask("PUT", "state", "", &json!({})).await;
    assert_eq!(wrong.error().as_deref(), Some("method_not_allowed"));
    assert_eq!(
        (wrong.status, wrong.header("allow").as_deref()),
        (405, Some("GET, PATCH"))
    );
    let wrong = session.refused("GET", "states", &Value::Null).await;
    assert_eq!(wrong, (404, "route_unknown".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_model_is_called_while_a_session_is_paused() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json(REPLY));
    let session = Session::open(&gate).await;
    session
        .change("POST", "pause", &json!({"question": "Which one?"}))
        .await;
    assert_eq!(session.get("progress").await["status"], "paused");
    for path in ["/v1/chat/completions", "/v1/messages"] {
        let refused = session.turn(path, chat()).await;
        assert_eq!(
            (refused.status, refused.error().unwrap().as_str()),
            (409, "session_paused")
        );
    }
    assert!(gate.provider.received().is_empty());
    session
        .change("POST", "answer", &json!({"answer": "The blue one."}))
        .await;
    session.change("POST", "resume", &Value::Null).await;
    assert_eq!(
        session.turn("/v1/chat/completions", chat()).await.status,
        200
    );
    let state = session.get("state").await;
    assert_eq!(state["answers"][0]["answer"], "The blue one.");
    assert_eq!(
        (&state["steps"], &state["pause"]),
        (&1.into(), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_block_is_searched_like_any_prompt() {
    let gate = Gate::up().await;
    gate.provider.play(Script::json(REPLY));
    let session = Session::open(&gate).await;
    let goal = json!({"goal": "Write to lena.fors@example.org"});
    session.change("PATCH", "state", &goal).await;
    let block = session.ask("GET", "context", "", &Value::Null).await.text();
    let messages = json!([{"role": "system", "content": block}, {"role": "user", "content": "go"}]);
    let body = json!({"model": "m", "messages": messages});
    assert_eq!(session.turn("/v1/chat/completions", body).await.status, 200);
    let sent = gate.provider.received()[0].text();
    assert!(
        sent.contains("> Write to <EMAIL_") && !sent.contains("lena"),
        "{sent}"
    );
}
