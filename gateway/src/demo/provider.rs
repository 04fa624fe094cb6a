//! The demo's provider: a real HTTP server on the loopback interface that keeps what it was sent
//! and lets the echo answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::provider::echo;

/// A running provider. Stops when told to.
pub(super) struct Provider {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Bytes>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Provider {
    pub(super) async fn start() -> std::io::Result<Provider> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let provider = Provider {
            address: listener.local_addr()?,
            seen: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let (seen, tasks) = (Arc::clone(&provider.seen), provider.tasks.clone());
        let stop = provider.stop.clone();
        provider.tasks.spawn(async move {
            let accept = accept(listener, seen, tasks);
            stop.run_until_cancelled(accept).await;
        });
        Ok(provider)
    }

    /// As a provider's base URL in the configuration.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all requests so far, byte for byte.
    pub(super) fn seen(&self) -> Vec<Bytes> {
        self.seen.lock().clone()
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
    }
}

async fn accept(listener: TcpListener, seen: Arc<Mutex<Vec<Bytes>>>, tasks: TaskTracker) {
    while let Ok((stream, _)) = listener.accept().await {
        let seen = Arc::clone(&seen);
        tasks.spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&seen)));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service);
            // The gateway closes its connections as it likes; that is no event here.
            let _ = connection.await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Bytes>>>,
) -> Result<Response<Chunks>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    seen.lock().push(body.clone());
    let answer = echo::answer(echo::Dialect::OpenAi, &body);
    let mut reply = Response::new(Chunks(answer.chunks.into_iter()));
    *reply.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kind = HeaderValue::from_static(answer.content_type);
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(reply)
}

/// A body that is sent in the pieces that it was made in.
struct Chunks(std::vec::IntoIter<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
    }
}
