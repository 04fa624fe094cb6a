//! A caller that writes bytes and reads bytes, so that nothing about framing is hidden.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A caller with a key.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// A reply, as the bytes say.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the framing says that the body is whole.
    pub(crate) complete: bool,
    /// Everything that came.
    pub(crate) raw: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }

    /// The events' names and data.
    pub(crate) fn events(&self) -> Vec<(Option<String>, String)> {
        let mut events = Vec::new();
        let text = String::from_utf8(self.body.clone()).unwrap();
        for block in text
            .split("\n\n")
            .filter(|block| !block.is_empty() && *block != ":")
        {
            let mut name = None;
            let mut data = Vec::new();
            for line in block.lines() {
                if let Some(value) = line.strip_prefix("event: ") {
                    name = Some(value.to_owned());
                } else if let Some(value) = line.strip_prefix("data: ") {
                    data.push(value);
                }
            }
            if !data.is_empty() {
                events.push((name, data.join("\n")));
            }
        }
        events
    }

    /// The events' data that is JSON.
    pub(crate) fn data(&self) -> Vec<Value> {
        self.events()
            .iter()
            .filter_map(|(_, data)| serde_json::from_str(data).ok())
            .collect()
    }

    /// Whether the protocol's own end marker was sent.
    pub(crate) fn ended(&self) -> bool {
        self.events()
            .iter()
            .any(|(_, data)| data == "[DONE]" || data.contains("\"message_stop\""))
    }

    /// Whether it is a reply to its end, and no error.
    pub(crate) fn error_free(&self, stream: bool) -> bool {
        self.error().is_none() && (!stream || self.ended())
    }

    /// The `code` of the error reply or error event, if there is one.
    pub(crate) fn error(&self) -> Option<String> {
        let data = if self.head.contains("text/event-stream") {
            self.data()
        } else {
            vec![self.json()]
        };
        data.iter()
            .find_map(|value| Some(value.get("error")?.get("code")?.as_str()?.to_owned()))
    }
}

impl Caller {
    /// A request's bytes.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = format!(
            "{method} {path} HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n",
            self.token,
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    /// Sends a JSON body to a path, on a connection of its own.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().as_bytes()).await
    }

    pub(crate) async fn post_bytes(&self, path: &str, body: &[u8]) -> Answer {
        self.send(&self.request("POST", path, "connection: close\r\n", body))
            .await
    }

    pub(crate) async fn get(&self, path: &str, headers: &str) -> Answer {
        self.send(&self.request("GET", path, &format!("connection: close\r\n{headers}"), b""))
            .await
    }

    /// Writes bytes, and reads until the connection ends or falls silent.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The gateway may answer and close before it has read everything.
        let _ = stream.write_all(bytes).await;
        read(&mut stream, Duration::from_secs(20)).await
    }
}

/// Reads until the connection ends, or until nothing has come for `patience`.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin), patience: Duration) -> Answer {
    let mut raw = Vec::new();
    let mut part = vec![0; 65536];
    while let Ok(Ok(count)) = tokio::time::timeout(patience, stream.read(&mut part)).await {
        if count == 0 {
            break;
        }
        raw.extend_from_slice(&part[..count]);
    }
    parse(raw)
}

/// Takes a reply apart.
pub(crate) fn parse(raw: Vec<u8>) -> Answer {
    let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") else {
        let head = String::from_utf8_lossy(&raw).into_owned();
        return Answer {
            status: 0,
            head,
            body: Vec::new(),
            complete: false,
            raw,
        };
    };
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let rest = &raw[end + 4..];
    let lower = head.to_ascii_lowercase();
    let (body, complete) = if lower.contains("transfer-encoding: chunked") {
        unchunk(rest)
    } else {
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
        (
            rest[..length.min(rest.len())].to_vec(),
            rest.len() >= length,
        )
    };
    Answer {
        status,
        head,
        body,
        complete,
        raw,
    }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else {
            return (body, false);
        };
        let Ok(size) = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16) else {
            return (body, false);
        };
        rest = &rest[end + 2..];
        if size == 0 {
            return (body, true);
        }
        if rest.len() < size + 2 {
            body.extend_from_slice(&rest[..rest.len().min(size)]);
            return (body, false);
        }
        body.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}
