//! A provider that does exactly what a script says, byte for byte, and keeps what it received.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a provider received.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// How a reply ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the last chunk.
    Clean,
    /// The connection is closed without the last chunk.
    Cut,
    /// The connection is reset.
    Reset,
    /// The connection stays open and silent.
    Hang,
}

/// What the provider does with a request.
#[derive(Clone)]
pub(crate) struct Script {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) writes: Writes,
    pub(crate) chunked: bool,
    pub(crate) end: End,
}

type Make = Arc<dyn Fn(&Received) -> Vec<Vec<u8>> + Send + Sync>;

#[derive(Clone)]
pub(crate) enum Writes {
    Fixed(Vec<Vec<u8>>),
    Made(Make),
}

impl Script {
    pub(crate) fn json(body: &str) -> Script {
        Script {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            writes: Writes::Fixed(vec![body.as_bytes().to_vec()]),
            chunked: true,
            end: End::Clean,
        }
    }

    pub(crate) fn events(writes: Vec<Vec<u8>>) -> Script {
        Script {
            headers: vec![("content-type", "text/event-stream".into())],
            writes: Writes::Fixed(writes),
            ..Script::json("")
        }
    }

    pub(crate) fn made(
        mut self,
        make: impl Fn(&Received) -> Vec<Vec<u8>> + Send + Sync + 'static,
    ) -> Script {
        self.writes = Writes::Made(Arc::new(make));
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Script {
        self.status = status;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Script {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn end(mut self, end: End) -> Script {
        self.end = end;
        self
    }

    /// The end of the body is the end of the connection.
    pub(crate) fn close_delimited(mut self) -> Script {
        self.chunked = false;
        self
    }
}

/// The provider.
pub(crate) struct FakeProvider {
    pub(crate) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl FakeProvider {
    pub(crate) async fn start() -> FakeProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script::json("{}")));
        let received = Arc::new(Mutex::new(Vec::new()));
        let (scripts, inbox) = (Arc::clone(&script), Arc::clone(&received));
        spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (scripts, inbox) = (Arc::clone(&scripts), Arc::clone(&inbox));
                spawn(async move {
                    let _ = serve(stream, &scripts, &inbox).await;
                });
            }
        });
        FakeProvider {
            address,
            script,
            received,
        }
    }

    /// Plays this from now on, and forgets what was received.
    pub(crate) fn play(&self, script: Script) {
        *self.script.lock() = script;
        self.received.lock().clear();
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test's tasks end with its runtime"
)]
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

async fn serve(
    mut stream: TcpStream,
    script: &Mutex<Script>,
    inbox: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let Some(request) = read(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        inbox.lock().push(request.clone());
        let script = script.lock().clone();
        let writes = match &script.writes {
            Writes::Fixed(writes) => writes.clone(),
            Writes::Made(make) => make(&request),
        };
        let mut head = format!("HTTP/1.1 {} X\r\n", script.status);
        for (name, value) in &script.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(if script.chunked {
            "transfer-encoding: chunked\r\n\r\n"
        } else {
            "connection: close\r\n\r\n"
        });
        stream.write_all(head.as_bytes()).await?;
        for write in writes.iter().filter(|write| !write.is_empty()) {
            if script.chunked {
                stream
                    .write_all(format!("{:x}\r\n", write.len()).as_bytes())
                    .await?;
            }
            stream.write_all(write).await?;
            if script.chunked {
                stream.write_all(b"\r\n").await?;
            }
            stream.flush().await?;
            // So that the gateway reads what was written apart.
            tokio::task::yield_now().await;
        }
        match script.end {
            End::Clean if script.chunked => stream.write_all(b"0\r\n\r\n").await?,
            End::Clean | End::Cut => return stream.shutdown().await,
            End::Reset => {
                tokio::time::sleep(Duration::from_millis(30)).await;
                stream.set_zero_linger()?;
                return Ok(());
            }
            End::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Received>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Ok(Some(Received { head, body }));
            }
        }
        let mut part = vec![0; 65536];
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(None);
        }
        buffer.extend_from_slice(&part[..count]);
    }
}
