//! CPU time of an exchange through the gateway, all on (keys, sessions, rules, pseudonyms, sealing,
//! log), beside a bare hyper pass-through in the same run. CPU time counts, not wall time: it is
//! summed over the threads of the side that is measured, from the kernel's own accounting, so that
//! neither the load generator nor the provider are in it.
//!
//! No two requests or replies of a run are the same text, so that no verdict comes from a cache.
//!
//! `-- --redis HOST:PORT` keeps the sessions in that Redis, and sends each connection's requests as the
//! turns of one session.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench is a program for people"
)]

#[path = "../../redactor/benches/texts/mod.rs"]
#[allow(dead_code, reason = "other benches use the other kinds")]
mod texts;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use gatehouse::config::{Config, Environment, Overrides};
use gatehouse::serve::{Running, up};
use gatehouse::wire::body::{Part, ReplyBody};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;

const CONNECTIONS: usize = 32;
const CHUNKS: usize = 200;

/// Requests that got anything but 200.
static FAILED: AtomicUsize = AtomicUsize::new(0);

/// Whether each connection has a session of its own.
static IN_SESSIONS: AtomicBool = AtomicBool::new(false);

type Http = Client<HttpConnector, Full<Bytes>>;

/// What is asked for, and how often.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    requests: usize,
    /// Bytes of the prompt.
    prompt: usize,
    /// Which reply the provider gives.
    model: &'static str,
    /// Results are given per unit: a request, or a chunk of its stream.
    units: usize,
}

/// The models, by what they answer: so many bytes, or a stream.
const SHORT: &str = "short";
const LONG: &str = "long";
const STREAM: &str = "stream";
const KB: usize = 1024;

fn main() {
    let load = runtime("load");
    let provider = load.block_on(serve(provider_service));
    let bare_side = runtime("bare");
    let bare = bare_side.block_on(bare(provider));
    let gate_side = runtime("gate");
    let data = tempfile::tempdir().expect("a directory");
    let redis = std::env::args().skip_while(|word| word != "--redis").nth(1);
    IN_SESSIONS.store(redis.is_some(), Ordering::Relaxed);
    let config = configuration(data.path().to_owned(), provider, redis.as_deref());
    let mut running = gate_side.block_on(up(config)).expect("a gateway");
    let token = running.take_first_key().expect("a key").expose().clone();

    println!(
        "{:<24} {:>12} {:>12}",
        "CPU µs per unit", "gatehouse", "bare hyper"
    );
    for work in LOADS {
        let gate = measure(
            &load,
            running.address(),
            &token,
            &work,
            &[&"load", &"bare", &"exchange"],
        );
        let plain = measure(
            &load,
            bare,
            &token,
            &work,
            &[&"load", &"gate", &"exchange", &"ledger", &"redb"],
        );
        println!("{:<24} {gate:>12.1} {plain:>12.1}", work.name);
    }
    println!("{} requests failed", FAILED.load(Ordering::Relaxed));
    stop(&gate_side, running);
}

fn stop(side: &Runtime, running: Running) {
    side.block_on(running.stop());
}

fn runtime(name: &'static str) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name(name)
        .enable_all()
        .build()
        .expect("a runtime")
}

const LOADS: [Load; 4] = [
    Load {
        name: "1 KB, reply 1 KB",
        requests: 4000,
        prompt: 700,
        model: SHORT,
        units: 1,
    },
    Load {
        name: "32 KB, reply 1 KB",
        requests: 1500,
        prompt: 32 * KB,
        model: SHORT,
        units: 1,
    },
    Load {
        name: "32 KB, reply 32 KB",
        requests: 1500,
        prompt: 32 * KB,
        model: LONG,
        units: 1,
    },
    Load {
        name: "streamed chunk",
        requests: 200,
        prompt: 700,
        model: STREAM,
        units: CHUNKS,
    },
];

/// Prose as people write it to models, and how much of it has been handed out.
struct Prose {
    text: String,
    taken: AtomicUsize,
}

static PROSE: LazyLock<Prose> = LazyLock::new(|| Prose {
    text: texts::of(&[texts::prose], 4096 * KB),
    taken: AtomicUsize::new(0),
});

impl Prose {
    /// So many bytes that no one else got.
    fn take(&self, size: usize) -> &str {
        // Each begins elsewhere in the text, so that all of them differ.
        let at = self.taken.fetch_add(7919, Ordering::Relaxed) % (self.text.len() - size);
        self.text.get(at..at + size).expect("ASCII")
    }
}

fn prompt(work: &Load, session: Option<&serde_json::Value>) -> Bytes {
    let mut body = serde_json::json!({"model": work.model, "stream": work.model == STREAM, "messages": [
        {"role": "system", "content": "You help lena.fors@example.org."},
        {"role": "user", "content": PROSE.take(work.prompt)}]});
    if let (Some(id), Some(members)) = (session, body.as_object_mut()) {
        members.insert("session_id".to_owned(), id.clone());
    }
    Bytes::from(body.to_string())
}

/// CPU microseconds per unit, on all threads but those whose names begin with one of `others`.
fn measure(load: &Runtime, address: SocketAddr, token: &str, work: &Load, others: &[&&str]) -> f64 {
    load.block_on(run(address, token, work, work.requests / 10 + CONNECTIONS));
    let before = cpu(others);
    load.block_on(run(address, token, work, work.requests));
    let spent = cpu(others).saturating_sub(before);
    spent.as_secs_f64() * 1e6 / (work.requests * work.units) as f64
}

async fn run(address: SocketAddr, token: &str, work: &Load, requests: usize) {
    let client: Http = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
    let tracker = TaskTracker::new();
    for _ in 0..CONNECTIONS {
        let (client, work, token) = (client.clone(), *work, token.to_owned());
        tracker.spawn(async move {
            let session = session(&client, address, &token).await;
            for _ in 0..requests.div_ceil(CONNECTIONS) {
                let request = Request::builder()
                    .method(Method::POST)
                    .uri(format!("http://{address}/v1/chat/completions"))
                    .header("authorization", format!("Bearer {token}"))
                    .header("content-type", "application/json")
                    .body(Full::new(prompt(&work, session.as_ref())))
                    .expect("a request");
                let response = client.request(request).await.expect("a response");
                // A busy machine may miss the log's time limit; such a request is no measurement.
                if response.status() != 200 {
                    FAILED.fetch_add(1, Ordering::Relaxed);
                }
                response.into_body().collect().await.expect("a body");
            }
        });
    }
    tracker.close();
    tracker.wait().await;
}

/// The id of a session that was just opened, where sessions are asked for; a side that has none
/// answers otherwise.
async fn session(client: &Http, address: SocketAddr, token: &str) -> Option<serde_json::Value> {
    if !IN_SESSIONS.load(Ordering::Relaxed) {
        return None;
    }
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://{address}/v1/sessions"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(b"{}")))
        .expect("a request");
    let response = client.request(request).await.expect("a response");
    let opened = response.into_body().collect().await.expect("a body");
    let opened: Option<serde_json::Value> = serde_json::from_slice(&opened.to_bytes()).ok();
    opened.and_then(|opened| opened.get("session_id").cloned())
}

/// Time on a processor of the threads of this process, in nanoseconds, from the kernel.
fn cpu(others: &[&&str]) -> Duration {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task")
        .expect("Linux")
        .flatten()
    {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if others.iter().any(|other| name.starts_with(**other)) {
            continue;
        }
        let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let spent = stat
            .split(' ')
            .next()
            .and_then(|text| text.parse::<u64>().ok());
        total += spent.unwrap_or(0);
    }
    Duration::from_nanos(total)
}

/// Serves each request by `answer`, on a free port of this machine.
async fn serve<A, F>(answer: A) -> SocketAddr
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<ReplyBody>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let tracker = TaskTracker::new();
    tracker.clone().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let answer = answer.clone();
            tracker.spawn(async move {
                let service = service_fn(move |request| {
                    let answer = answer(request);
                    async move { Ok::<_, Infallible>(answer.await) }
                });
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    address
}

async fn provider_service(request: Request<Incoming>) -> Response<ReplyBody> {
    let body = request
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    let asks = |model: &str| {
        let member = format!("\"model\":\"{model}\"");
        body.windows(member.len())
            .any(|part| part == member.as_bytes())
    };
    if !asks(STREAM) {
        let size = if asks(LONG) { 32 * KB } else { 700 };
        return reply(
            "application/json",
            ReplyBody::Whole(completion(size).into()),
        );
    }
    let (sender, events) = ReplyBody::channel(1);
    let tracker = TaskTracker::new();
    tracker.spawn(async move {
        for _ in 0..CHUNKS {
            let event = r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"some more words "},"finish_reason":null}]}"#;
            let part: Part = Ok(format!("data: {event}\n\n").into());
            if sender.send(part).await.is_err() {
                return;
            }
            // One event a write, as models speak.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let _ = sender.send(Ok(Bytes::from_static(b"data: [DONE]\n\n"))).await;
        let _ = sender.send(Ok(Bytes::new())).await;
    });
    reply("text/event-stream", events)
}

fn completion(size: usize) -> String {
    let content = PROSE.take(size);
    serde_json::json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
    .to_string()
}

fn reply(kind: &'static str, body: ReplyBody) -> Response<ReplyBody> {
    Response::builder()
        .header("content-type", kind)
        .body(body)
        .expect("a response")
}

/// A pass-through that does nothing but pass.
async fn bare(provider: SocketAddr) -> SocketAddr {
    type Pass = Client<HttpConnector, Incoming>;
    let client: Arc<Pass> =
        Arc::new(Client::builder(TokioExecutor::new()).build(HttpConnector::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let tracker = TaskTracker::new();
    tracker.clone().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let client = Arc::clone(&client);
            tracker.spawn(async move {
                let service = service_fn(move |mut request: Request<Incoming>| {
                    let client = Arc::clone(&client);
                    async move {
                        let path = request.uri().path();
                        *request.uri_mut() =
                            format!("http://{provider}{path}").parse().expect("a URI");
                        client.request(request).await
                    }
                });
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    address
}

fn configuration(data: PathBuf, provider: SocketAddr, redis: Option<&str>) -> Config {
    let sessions = redis.map_or_else(String::new, |server| {
        format!("[sessions]\nstore = \"redis\"\nurl = \"redis://{server}\"\n")
    });
    let text = format!(
        "config_version = 1\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\ndata_dir = {data:?}\n\
         [[provider]]\nname = \"openai\"\nprotocol = \"openai\"\nbase_url = \"http://{provider}/v1\"\napi_key = \"env:KEY\"\n{sessions}"
    );
    let environment = Environment::new(|_| Some("sk-key".to_owned()), PathBuf::new());
    let overrides = Overrides {
        no_model: true,
        ..Overrides::default()
    };
    match Config::parse(&text, &overrides, &environment) {
        Ok(config) => config,
        Err(faults) => panic!("{faults}"),
    }
}
