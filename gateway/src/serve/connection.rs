//! One connection: which HTTP it speaks, its time limits, its end.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::connections::Place;
use super::route;
use super::tls::Front;
use crate::config::Config;
use crate::pipeline::Gateway;
use crate::reject::Code;
use crate::telemetry::{Handshake, TlsMetrics};
use crate::wire::body::ReplyBody;
use crate::wire::framing::{self, Lengths, Watched};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// hyper takes no smaller one.
const SMALLEST_BUFFER: usize = 8192;
const MAX_HEADERS: usize = 128;
const MAX_STREAMS: u32 = 256;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(10);

/// What the requests of a connection tell its time limits.
#[derive(Default)]
struct Activity {
    running: AtomicUsize,
    /// Requests so far; a change means that the connection is in use.
    begun: AtomicU64,
    first: Notify,
}

/// A request that has no answer yet; over h2 it may be dropped before it has one.
struct Begun<'a>(&'a Activity);

impl<'a> Begun<'a> {
    fn new(activity: &'a Activity) -> Self {
        activity.running.fetch_add(1, Ordering::Relaxed);
        activity.begun.fetch_add(1, Ordering::Relaxed);
        activity.first.notify_one();
        Self(activity)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection's bytes, deciphered where the listener speaks TLS.
type Stream = Either<TcpStream, TlsStream<TcpStream>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Serves a connection until it ends, falls silent or must give way.
pub(super) async fn serve(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    front: Option<Arc<Front>>,
    peer: IpAddr,
    place: Place,
    stop: CancellationToken,
) {
    // One deadline for the handshake, the preface and the first head together.
    let deadline = Instant::now() + gateway.config.timeouts.headers;
    let begun = tokio::select! {
        begun = timeout_at(deadline, begin(stream, front, &gateway.metrics.tls)) => begun,
        () = place.evicted() => return,
        () = stop.cancelled() => return,
    };
    let Ok(Ok((stream, version, before))) = begun else {
        return;
    };
    let lengths = Arc::new(Lengths::default());
    let io = TokioIo::new(Watched::new(stream, before, Arc::clone(&lengths)));
    let activity = Arc::new(Activity::default());
    let limits = Limits {
        deadline,
        activity: Arc::clone(&activity),
        place,
        stop,
    };
    let config = &gateway.config;
    let (one, two, idle) = (http1(config), http2(config), config.timeouts.idle);
    let service = service_fn(move |request: Request<Incoming>| {
        let (gateway, lengths) = (Arc::clone(&gateway), Arc::clone(&lengths));
        let activity = Arc::clone(&activity);
        async move {
            let answer = answer(gateway, request, peer, &lengths, &activity).await;
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    match version {
        Version::One => {
            let connection = one.serve_connection(io, service);
            limits
                .keep(connection, http1::Connection::graceful_shutdown, None)
                .await;
        }
        Version::Two => {
            let connection = two.serve_connection(io, service);
            limits
                .keep(connection, http2::Connection::graceful_shutdown, Some(idle))
                .await;
        }
    }
}

fn http1(config: &Config) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.timeouts.headers)
        .max_buf_size(config.limits.headers.max(SMALLEST_BUFFER))
        .max_headers(MAX_HEADERS);
    builder
}

fn http2(config: &Config) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(config.limits.headers).unwrap_or(u32::MAX))
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE);
    builder
}

async fn answer(
    gateway: Arc<Gateway>,
    request: Request<Incoming>,
    peer: IpAddr,
    lengths: &Lengths,
    activity: &Activity,
) -> Response<ReplyBody> {
    let _begun = Begun::new(activity);
    let (version, headers) = (request.version(), request.headers());
    // Both always: `check` keeps count of what it has seen.
    let framing = lengths
        .check(version, headers)
        .map_err(|_| Code::FramingAmbiguous);
    let head = framing.and(framing::host(version, headers).map_err(|_| Code::HostMalformed));
    route::answer(gateway, request, peer, head).await
}

/// What comes before the first head: the TLS handshake, if there is one, and HTTP/2's preface.
async fn begin(
    stream: TcpStream,
    front: Option<Arc<Front>>,
    metrics: &TlsMetrics,
) -> io::Result<(Stream, Version, Bytes)> {
    let Some(front) = front else {
        let mut stream = Stream::Left(stream);
        let (version, before) = preface(&mut stream).await?;
        return Ok((stream, version, before));
    };
    let stream = shake(&front, stream, metrics).await?;
    // RFC 9113, 3.2: HTTP/2 over TLS is agreed by ALPN, and by nothing else.
    let agreed = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Version::Two,
        _ => Version::One,
    };
    let mut stream = Stream::Right(stream);
    let (version, before) = preface(&mut stream).await?;
    if version != agreed {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((stream, version, before))
}

async fn shake(
    front: &Front,
    stream: TcpStream,
    metrics: &TlsMetrics,
) -> io::Result<TlsStream<TcpStream>> {
    let mut count = Count {
        metrics,
        outcome: Handshake::Unfinished,
    };
    let shaken = front.accept(stream).await;
    count.outcome = match shaken {
        Ok(_) => Handshake::Done,
        Err(_) => Handshake::Failed,
    };
    shaken
}

/// Counts a handshake also when it is dropped in the middle.
struct Count<'m> {
    metrics: &'m TlsMetrics,
    outcome: Handshake,
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.metrics.handshake(self.outcome);
    }
}

/// Reads until it is certain whether the HTTP/2 preface is being sent.
async fn preface<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<(Version, Bytes)> {
    let mut read = BytesMut::with_capacity(PREFACE.len());
    while read.len() < PREFACE.len() && PREFACE.starts_with(&read) {
        let mut rest = stream.take((PREFACE.len() - read.len()) as u64);
        if rest.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let version = if read == PREFACE {
        Version::Two
    } else {
        Version::One
    };
    Ok((version, read.freeze()))
}

/// The limits of a connection's life.
struct Limits {
    deadline: Instant,
    activity: Arc<Activity>,
    place: Place,
    stop: CancellationToken,
}

impl Limits {
    /// Drives the connection. Dropping it closes the socket at once; `finish` lets running
    /// requests end first.
    async fn keep<C: Future>(
        self,
        connection: C,
        finish: impl Fn(std::pin::Pin<&mut C>),
        idle: Option<Duration>,
    ) {
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = sleep_until(self.deadline) => return,
            () = self.place.evicted() => return,
            () = self.stop.cancelled() => return,
            () = self.activity.first.notified() => self.place.speaks(),
        }
        let mut stopping = false;
        loop {
            let begun = self.activity.begun.load(Ordering::Relaxed);
            tokio::select! {
                _ = connection.as_mut() => return,
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    finish(connection.as_mut());
                }
                () = quiet(idle), if !stopping => {
                    let unused = self.activity.begun.load(Ordering::Relaxed) == begun;
                    if unused && self.activity.running.load(Ordering::Relaxed) == 0 {
                        stopping = true;
                        finish(connection.as_mut());
                    }
                }
            }
        }
    }
}

/// HTTP/1.1 has its own limit between requests: that of the next head.
async fn quiet(idle: Option<Duration>) {
    match idle {
        Some(idle) => tokio::time::sleep(idle).await,
        None => std::future::pending().await,
    }
}
