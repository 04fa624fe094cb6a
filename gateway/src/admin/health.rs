//! Health and metrics over HTTP, on a loopback address only.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, task::JoinSet};

/// Connections at once; monitoring needs a few.
const AT_ONCE: usize = 32;
/// How long the head of a request may take, and a connection may idle.
const PATIENCE: Duration = Duration::from_secs(10);

/// What there is to tell.
#[derive(Clone)]
pub struct Health {
    /// The metrics in the OpenMetrics text format.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Whether requests can be served: the log takes records, the stores answer.
    pub ready: Arc<dyn Fn() -> bool + Send + Sync>,
    /// A line that says what waits for the log's store.
    pub log: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Health {
    /// Listens.
    ///
    /// # Errors
    /// The address is not a loopback address, or is taken.
    pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        if !address.ip().is_loopback() {
            let why = "health and metrics are served on a loopback address only";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        TcpListener::bind(address).await
    }

    /// Serves `/healthz`, `/readyz` and `/metrics` until `stop` resolves.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
        let mut stop = std::pin::pin!(stop);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = &mut stop => return,
                Some(_ended) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = listener.accept(), if connections.len() < AT_ONCE => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(self.clone().connection(stream));
                }
                Err(error) => {
                    tracing::warn!(%error, "the admin listener");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn connection(self, stream: tokio::net::TcpStream) {
        let service = service_fn(move |request| {
            let answer = self.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), service);
        // Whoever asked and hung up is nobody's concern.
        let _ended = served.await;
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n".into());
        }
        match request.uri().path() {
            "/healthz" => plain(StatusCode::OK, "ok\n".into()),
            "/readyz" => {
                let (status, word) = match (self.ready)() {
                    true => (StatusCode::OK, "ready"),
                    false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
                };
                plain(status, format!("{word}\n{}", (self.log)()))
            }
            "/metrics" => {
                let mut response = plain(StatusCode::OK, (self.metrics)());
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
                response
            }
            _ => plain(StatusCode::NOT_FOUND, "not found\n".into()),
        }
    }
}

fn plain(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
