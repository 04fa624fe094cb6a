//! The demo's agent: an ordinary client of the gateway, over HTTP, with an ordinary history.

use std::net::SocketAddr;

use bytes::Bytes;
use gatehouse_envelope::secret::Secret;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::script::{Message, SYSTEM, Turn};

/// A client with its key, its session and the history of its conversation.
pub(super) struct Agent {
    http: Client<HttpConnector, Full<Bytes>>,
    gateway: SocketAddr,
    key: Secret<String>,
    session: Option<Value>,
    history: Vec<Value>,
}

/// What came back in one turn.
pub(super) struct Reply {
    /// The model's text, or the call that it made, for people.
    pub(super) shown: String,
    /// Name and arguments of the tool that the model called.
    pub(super) call: Option<(String, String)>,
}

impl Agent {
    pub(super) fn new(gateway: SocketAddr, key: Secret<String>) -> Agent {
        let http = Client::builder(TokioExecutor::new()).build_http();
        let history = vec![json!({ "role": "system", "content": SYSTEM })];
        Agent {
            http,
            gateway,
            key,
            session: None,
            history,
        }
    }

    /// Opens a session and returns its public reference.
    pub(super) async fn open_session(&mut self) -> Result<String, String> {
        let opened = self.post("/v1/sessions", &json!({})).await?;
        let opened: Value = serde_json::from_slice(&opened).map_err(|error| error.to_string())?;
        self.session = opened.get("session_id").cloned();
        let reference = opened.get("reference").and_then(Value::as_str);
        reference
            .map(str::to_owned)
            .ok_or_else(|| "no session came back".to_owned())
    }

    /// Says one turn's message and takes the reply into the history.
    pub(super) async fn say(&mut self, turn: &Turn) -> Result<Reply, String> {
        let message = self.message(&turn.message);
        self.history.push(message);
        let mut body = json!({
            "model": "demo", "messages": self.history, "tools": turn.tools, "stream": turn.stream,
        });
        if let (Some(fields), Some(session)) = (body.as_object_mut(), &self.session) {
            fields.insert("session_id".to_owned(), session.clone());
        }
        let bytes = self.post("/v1/chat/completions", &body).await?;
        let message = if turn.stream {
            joined(&bytes)?
        } else {
            whole(&bytes)?
        };
        self.history.push(message.clone());
        Ok(Reply::of(&message))
    }

    fn message(&self, message: &Message) -> Value {
        match message {
            Message::Customer(text) => json!({ "role": "user", "content": text }),
            Message::Tool(text) => {
                let call = self
                    .history
                    .last()
                    .and_then(|last| last.pointer("/tool_calls/0/id"));
                json!({ "role": "tool", "tool_call_id": call, "content": text })
            }
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Bytes, String> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{}{path}", self.gateway))
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.key.expose()))
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| error.to_string())?;
        let reply = self
            .http
            .request(request)
            .await
            .map_err(|error| error.to_string())?;
        let status = reply.status();
        let body = reply
            .into_body()
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(format!("POST {path} was answered with {status}"));
        }
        Ok(body.to_bytes())
    }
}

impl Reply {
    fn of(message: &Value) -> Reply {
        let call = message.pointer("/tool_calls/0/function").map(|function| {
            let part = |name: &str| text(function, name).to_owned();
            (part("name"), part("arguments"))
        });
        let shown = match &call {
            Some((name, arguments)) => format!("calls {name} {arguments}"),
            None => text(message, "content").to_owned(),
        };
        Reply { shown, call }
    }
}

fn whole(bytes: &[u8]) -> Result<Value, String> {
    let reply: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let message = reply.pointer("/choices/0/message");
    message
        .cloned()
        .ok_or_else(|| "the reply holds no message".to_owned())
}

/// The message that a stream's deltas add up to, as an SDK would put it together.
fn joined(bytes: &[u8]) -> Result<Value, String> {
    let stream = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut said = String::new();
    let mut call: Option<Value> = None;
    let mut arguments = String::new();
    for data in stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
    {
        if data == "[DONE]" {
            return Ok(match call {
                Some(mut call) => {
                    if let Some(slot) = call.pointer_mut("/function/arguments") {
                        *slot = json!(arguments);
                    }
                    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
                }
                None => json!({ "role": "assistant", "content": said }),
            });
        }
        let event: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
        let Some(delta) = event.pointer("/choices/0/delta") else {
            continue;
        };
        said.push_str(text(delta, "content"));
        if let Some(part) = delta.pointer("/tool_calls/0") {
            arguments.push_str(
                part.pointer("/function/arguments")
                    .and_then(Value::as_str)
                    .unwrap_or(""),
            );
            call.get_or_insert_with(|| call_of(part));
        }
    }
    Err("the stream broke off".to_owned())
}

/// The call that a stream's first delta opens. Its place in the stream is no part of it.
fn call_of(delta: &Value) -> Value {
    let mut call = delta.clone();
    if let Some(fields) = call.as_object_mut() {
        fields.remove("index");
    }
    call
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::echo::{Dialect, answer};

    fn ask(stream: bool, tools: bool) -> Vec<u8> {
        let tools = if tools {
            json!([{"function": {"name": "t", "parameters": {
            "properties": {"email": {"type": "string"}}}}}])
        } else {
            json!([])
        };
        let body = json!({"model": "m", "stream": stream, "tools": tools,
            "messages": [{"role": "user", "content": "I am <EMAIL_abcdef>."}]});
        answer(Dialect::OpenAi, body.to_string().as_bytes())
            .chunks
            .concat()
    }

    #[test]
    fn a_stream_adds_up_to_what_comes_unstreamed() {
        let message = joined(&ask(true, false)).expect("a message");
        assert_eq!(
            message["content"],
            whole(&ask(false, false)).expect("a message")["content"]
        );
        let call = |message: Value| message["tool_calls"][0]["function"].clone();
        let streamed = call(joined(&ask(true, true)).expect("a message"));
        assert_eq!(streamed, call(whole(&ask(false, true)).expect("a message")));
        assert_eq!(streamed["arguments"], r#"{"email":"<EMAIL_abcdef>"}"#);
    }

    #[test]
    fn a_stream_without_its_end_is_no_reply() {
        let bytes = ask(true, false);
        let cut = bytes.len() - 10;
        assert!(joined(&bytes[..cut]).is_err());
    }
}
