//! One connection: which HTTP it speaks, its time limits, its end.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, Version as Spoken};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, Begun, Delivered};
use super::caller::{Caller, Line};
use super::ciphered::Ciphered;
use super::connections::Place;
use super::route;
use super::tls::Front;
use crate::config::Config;
use crate::pipeline::Gateway;
use crate::reject::Code;
use crate::telemetry::{Handshake, TlsMetrics};
use crate::wire::framing::{self, Lengths, Watched};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// hyper takes no smaller one.
const SMALLEST_BUFFER: usize = 8192;
const MAX_HEADERS: usize = 128;
const MAX_STREAMS: u32 = 256;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(10);

/// A connection's bytes, deciphered where the listener speaks TLS.
type Stream = Either<Line, Ciphered>;

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
    let caller = (version == Version::One).then(|| match &stream {
        Either::Left(line) => Caller::Plain(line.clone()),
        Either::Right(stream) => Caller::Ciphered(stream.clone()),
    });
    let config = &gateway.config;
    let (lengths, idle) = (Arc::new(Lengths::default()), config.timeouts.idle);
    let io = TokioIo::new(Watched::new(stream, before, Arc::clone(&lengths), idle));
    let activity = Arc::new(Activity::default());
    let (one, two) = (http1(config), http2(config));
    let limits = Limits {
        deadline,
        activity: Arc::clone(&activity),
        place,
        stop,
        caller,
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let (gateway, lengths) = (Arc::clone(&gateway), Arc::clone(&lengths));
        let activity = Arc::clone(&activity);
        async move {
            let answer = answer(gateway, request, peer, &lengths, activity).await;
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

/// With `half_close`, hyper does not take a caller that has closed its sending side for one that has
/// gone; [`Caller::gone`] finds out.
fn http1(config: &Config) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
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
    activity: Arc<Activity>,
) -> Response<Delivered> {
    let begun = Begun::new(activity);
    let (version, headers) = (request.version(), request.headers());
    // Both always: `check` keeps count of what it has seen.
    let framing = lengths
        .check(version, headers)
        .map_err(|_| Code::FramingAmbiguous);
    let head = framing.and(framing::host(version, headers).map_err(|_| Code::HostMalformed));
    let waiting = begun.waiting(version == Spoken::HTTP_11);
    let idle = gateway.config.timeouts.idle;
    let tracker = gateway.tracker.clone();
    let mut answer = route::answer(gateway, request, peer, head).await;
    drop(waiting);
    if version == Spoken::HTTP_2
        && let Some(feeding) = answer.body_mut().feed(idle)
    {
        tracker.spawn(feeding);
    }
    answer.map(|body| begun.deliver(body))
}

/// What comes before the first head: the TLS handshake, if there is one, and HTTP/2's preface.
async fn begin(
    stream: TcpStream,
    front: Option<Arc<Front>>,
    metrics: &TlsMetrics,
) -> io::Result<(Stream, Version, Bytes)> {
    let Some(front) = front else {
        let mut stream = Stream::Left(Line::new(stream));
        let (version, before) = preface(&mut stream).await?;
        return Ok((stream, version, before));
    };
    let stream = shake(&front, stream, metrics).await?;
    // RFC 9113, 3.2: HTTP/2 over TLS is agreed by ALPN, and by nothing else.
    let agreed = if stream.agreed_on_h2() {
        Version::Two
    } else {
        Version::One
    };
    let mut stream = Stream::Right(stream);
    let (version, before) = preface(&mut stream).await?;
    if version != agreed {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((stream, version, before))
}

async fn shake(front: &Front, stream: TcpStream, metrics: &TlsMetrics) -> io::Result<Ciphered> {
    let mut count = Count {
        metrics,
        outcome: Handshake::Unfinished,
    };
    let shaken = front.accept(Line::new(stream)).await;
    count.outcome = match shaken {
        Ok(_) => Handshake::Done,
        Err(_) => Handshake::Failed,
    };
    shaken.map(Ciphered::new)
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
    /// To be watched by us: over HTTP/1.1.
    caller: Option<Caller>,
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
        let mut last = None;
        let mut gone = pin!(gone(self.caller.as_ref(), &self.activity));
        loop {
            let begun = self.activity.begun();
            tokio::select! {
                _ = connection.as_mut() => return,
                () = gone.as_mut() => return,
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    finish(connection.as_mut());
                }
                () = quiet(idle), if !stopping => {
                    if self.activity.begun() == begun && !self.activity.runs() {
                        stopping = true;
                        finish(connection.as_mut());
                        // What the caller has not taken by then, it will not take.
                        last = idle.map(|idle| Instant::now() + idle);
                    }
                }
                () = sleep_until(last.unwrap_or(self.deadline)), if last.is_some() => return,
            }
        }
    }
}

async fn gone(caller: Option<&Caller>, activity: &Activity) {
    match caller {
        Some(caller) => caller.gone(activity).await,
        None => std::future::pending().await,
    }
}

/// HTTP/1.1 has its own limit between requests: that of the next head.
async fn quiet(idle: Option<Duration>) {
    match idle {
        Some(idle) => tokio::time::sleep(idle).await,
        None => std::future::pending().await,
    }
}
