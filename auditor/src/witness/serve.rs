//! The listener: HTTP/1.1, few and short requests.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use gatehouse_ledger::witness::{MAX_REQUEST, SIZE_TYPE};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
};

use super::service::{Refused, Witness};

/// Connections at once. More wait to be accepted. With as many there are files left to be opened, where a
/// process may have 1,024.
const AT_ONCE: usize = 512;
/// How long the head of a request may take, and a connection may idle.
const HEAD: Duration = Duration::from_secs(5);
/// How long its body may take.
const BODY: Duration = Duration::from_secs(10);
/// How long a connection may last, so that a few cannot keep others out for good.
const LIFE: Duration = Duration::from_secs(600);
/// How long requests under way hold up the end.
const DRAIN: Duration = Duration::from_secs(10);
/// How long nothing is accepted after accepting failed: the process is out of something.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens and answers until SIGTERM or SIGINT.
pub(super) fn run(address: SocketAddr, witness: Arc<Witness>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        let (mut end, mut interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        let stop = async move {
            tokio::select! {
                _ = end.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        tracing::info!(address = %listener.local_addr()?, "listening");
        serve(listener, witness, stop).await;
        tracing::info!("stopped");
        Ok(())
    })
}

async fn serve(listener: TcpListener, witness: Arc<Witness>, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    // Dropped at the end, which tells the connections.
    let (going_on, stopping) = watch::channel(());
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            Some(_ended) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept(), if connections.len() < AT_ONCE => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&witness), stopping.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "the listener");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop((listener, going_on));
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, ended).await.is_err() {
        tracing::warn!("some requests did not end in time and are cut off");
    }
}

async fn connection(stream: TcpStream, witness: Arc<Witness>, mut stopping: watch::Receiver<()>) {
    let service = service_fn(move |request| {
        let witness = Arc::clone(&witness);
        async move { Ok::<_, Infallible>(answer(witness, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    // Whoever asked and hung up is nobody's concern.
    tokio::select! {
        _ended = &mut served => return,
        _told = stopping.changed() => {}
        () = tokio::time::sleep(LIFE) => {}
    }
    served.as_mut().graceful_shutdown();
    let _ended = tokio::time::timeout(DRAIN, served).await;
}

async fn answer(witness: Arc<Witness>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let last = path
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix("/checkpoint"));
    match (request.method(), path, last) {
        (&Method::POST, "/add-checkpoint", _) => add_checkpoint(witness, request).await,
        (_, "/add-checkpoint", _) => plain(StatusCode::METHOD_NOT_ALLOWED, "only POST\n"),
        (&Method::GET | &Method::HEAD, "/healthz", _) => match witness.is_well() {
            true => plain(StatusCode::OK, "ok\n"),
            false => plain(StatusCode::SERVICE_UNAVAILABLE, "the state is not known\n"),
        },
        (&Method::GET | &Method::HEAD, _, Some(digest)) => match witness.last(digest) {
            Some(note) => plain(StatusCode::OK, note),
            None => plain(StatusCode::NOT_FOUND, "no such log\n"),
        },
        _ => plain(StatusCode::NOT_FOUND, "not found\n"),
    }
}

async fn add_checkpoint(
    witness: Arc<Witness>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let body = Limited::new(request.into_body(), MAX_REQUEST).collect();
    let body = match tokio::time::timeout(BODY, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large\n");
        }
        Ok(Err(_)) => return plain(StatusCode::BAD_REQUEST, "the request broke off\n"),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the request took too long\n"),
    };
    // Goes on to its end also if whoever asked hangs up.
    let added = tokio::task::spawn_blocking(move || witness.add(&body)).await;
    match added {
        Ok(Ok(line)) => plain(StatusCode::OK, line),
        Ok(Err(Refused::Judged(refusal))) => {
            let status = StatusCode::from_u16(refusal.status());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            match refusal.known() {
                None => plain(status, format!("{refusal}\n")),
                Some(size) => {
                    let mut response = plain(status, format!("{size}\n"));
                    let kind = HeaderValue::from_static(SIZE_TYPE);
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                    response
                }
            }
        }
        Ok(Err(Refused::Failed)) | Err(_) => {
            let why = "the witness cannot cosign now\n";
            plain(StatusCode::SERVICE_UNAVAILABLE, why)
        }
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
