//! A provider that takes its time, and notices two requests of one session at one time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::gate::provider::spawn;
use crate::streams::Speaks;
use crate::wire::token;

/// How long an answer takes.
const TIME: Duration = Duration::from_millis(15);
/// And if the request asks for time.
const LONG: Duration = Duration::from_secs(8);

#[derive(Default)]
struct Sessions {
    under_way: BTreeMap<String, usize>,
    /// What each session's address is called.
    tokens: BTreeMap<String, String>,
    /// The numbers of each session's turns, in the order in which they came.
    turns: BTreeMap<String, Vec<usize>>,
    wrong: Vec<String>,
}

pub(super) struct Provider {
    pub(super) address: SocketAddr,
    sessions: Arc<Mutex<Sessions>>,
    /// Answers that are held back go when they are told to.
    told: Arc<Semaphore>,
}

impl Provider {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = Arc::new(Mutex::new(Sessions::default()));
        let told = Arc::new(Semaphore::new(0));
        let (all, tells) = (Arc::clone(&sessions), Arc::clone(&told));
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (all, tells) = (Arc::clone(&all), Arc::clone(&tells));
                spawn(async move {
                    let _gone = serve(stream, &all, &tells).await;
                });
            }
        });
        Self {
            address,
            sessions,
            told,
        }
    }

    /// Lets one answer go that is held back.
    pub(super) fn tell(&self) {
        self.told.add_permits(1);
    }

    /// The numbers of a session's turns, in the order in which they came.
    pub(super) fn turns(&self, session: &str) -> Vec<usize> {
        let sessions = self.sessions.lock();
        sessions.turns.get(session).cloned().unwrap_or_default()
    }

    /// How many requests of a session are being answered.
    pub(super) fn under_way(&self, session: &str) -> usize {
        let sessions = self.sessions.lock();
        sessions.under_way.get(session).copied().unwrap_or(0)
    }

    /// Every session was seen, under one name for its one value, and never twice at one time.
    pub(super) fn check(&self, count: usize) {
        let sessions = self.sessions.lock();
        assert!(sessions.wrong.is_empty(), "{:?}", sessions.wrong);
        assert_eq!(sessions.tokens.len(), count);
        let mut tokens: Vec<_> = sessions.tokens.values().collect();
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(
            tokens.len(),
            count,
            "no two sessions have a token in common"
        );
    }
}

impl Sessions {
    fn begin(&mut self, session: &str, token: &str, text: &str) {
        let under_way = self.under_way.entry(session.to_owned()).or_default();
        *under_way += 1;
        if *under_way > 1 {
            self.wrong.push(format!("two turns at once of {session}"));
        }
        let known = self.tokens.entry(session.to_owned());
        if known.or_insert_with(|| token.to_owned()) != token {
            self.wrong.push(format!("another token in {session}"));
        }
        if let Some((_, rest)) = text.split_once("Turn ") {
            let number = rest.split(' ').next().unwrap().parse().unwrap();
            self.turns
                .entry(session.to_owned())
                .or_default()
                .push(number);
        }
        if text.contains("ann.") {
            self.wrong.push(format!("an address of {session} went out"));
        }
    }

    fn end(&mut self, session: &str) {
        if let Some(under_way) = self.under_way.get_mut(session) {
            *under_way -= 1;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    sessions: &Mutex<Sessions>,
    told: &Semaphore,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some(body) = read(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        let text = String::from_utf8(body).unwrap();
        let start = text.find("session-").unwrap();
        let session = text[start..].split(':').next().unwrap().to_owned();
        let token = token(&text);
        sessions.lock().begin(&session, &token, &text);
        if text.contains("when told") {
            told.acquire().await.unwrap().forget();
        }
        let long = text.contains("slowly");
        tokio::time::sleep(if long { LONG } else { TIME }).await;
        sessions.lock().end(&session);
        let request: Value = serde_json::from_str(&text).unwrap();
        let said = format!("written to {token}");
        let (kind, reply) = match request["stream"] == json!(true) {
            true => {
                let (head, rest) = said.split_at(14);
                (
                    "text/event-stream",
                    Speaks::OpenAi.texts(&[head, rest]).concat(),
                )
            }
            false => {
                let whole = json!({"choices": [{"index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": said}}]});
                ("application/json", whole.to_string())
            }
        };
        let length = reply.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(reply.as_bytes()).await?;
    }
}

/// The body of the next request.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Ok(Some(body));
            }
        }
        let mut part = vec![0; 16384];
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&part[..count]);
    }
}
