//! The client side: one pooled hyper client for all providers.
//!
//! A request is sent again only if no connection could be made, so that nothing was sent. Once a
//! provider may have taken a POST it is never repeated: a second generation costs twice and may act
//! twice.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::echo;
use super::headers::outgoing;
use crate::config::{Protocol, Provider};
use crate::reject::{Code, Rejection, Shape};
use crate::wire::encoding::{Decoder, EncodingError};

/// How often a connection is tried in all.
const ATTEMPTS: u64 = 3;
/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(100);
/// A pooled connection is dropped after this, before most providers drop it.
const POOL_IDLE: Duration = Duration::from_secs(30);
const POOL_SIZE: usize = 64;
/// A single read may decompress to this many bytes at most.
const READ_CAP: usize = 64 << 20;

/// The client.
pub struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// A request to a provider. The caller's own headers are filtered when it is sent.
pub struct Outgoing<'a> {
    /// Where to.
    pub provider: &'a Provider,
    /// The protocol's shape.
    pub shape: Shape,
    /// GET or POST.
    pub method: Method,
    /// Behind the provider's base URL.
    pub path: &'a str,
    /// The caller's head.
    pub incoming: &'a HeaderMap,
    /// The `traceparent` for the provider.
    pub trace: Option<&'a str>,
    /// The screened body.
    pub body: Bytes,
}

/// The head of a provider's answer, and its body to come.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Whether the body is an event stream.
    pub is_stream: bool,
    /// `retry-after` in seconds, if it is a plain number.
    pub retry_after: Option<u32>,
    /// How often a connection was tried.
    pub attempts: u64,
    body: AnswerBody,
}

enum AnswerBody {
    Memory(std::vec::IntoIter<Bytes>),
    Wire {
        body: Incoming,
        decoder: Decoder,
        ended: bool,
    },
}

/// Why the rest of an answer cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The connection broke, or the transfer was not complete.
    #[error("the provider's reply broke off")]
    Cut,
    /// The compressed bytes are damaged.
    #[error("the provider's reply is damaged")]
    Damaged,
    /// It is larger than allowed.
    #[error("the provider's reply is too large")]
    TooLarge,
}

impl From<EncodingError> for ReadError {
    fn from(error: EncodingError) -> Self {
        match error {
            EncodingError::TooLarge => Self::TooLarge,
            EncodingError::Damaged | EncodingError::Unknown => Self::Damaged,
        }
    }
}

impl From<ReadError> for Rejection {
    fn from(error: ReadError) -> Self {
        Self::new(match error {
            ReadError::Cut => Code::ProviderTruncated,
            ReadError::Damaged => Code::ProviderMalformed,
            ReadError::TooLarge => Code::ProviderTooLarge,
        })
    }
}

/// A request that brought no answer.
pub struct Unanswered {
    /// What the caller is told.
    pub rejection: Rejection,
    /// How often a connection was tried.
    pub attempts: u64,
}

impl Upstream {
    /// A client that gives a connection `connect` to be made, the TLS handshake not included.
    pub fn new(connect: Duration) -> Result<Self, rustls::Error> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(connect));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())?
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(POOL_SIZE)
            .build(connector);
        Ok(Self { client })
    }

    /// Sends a request and waits for the answer's head. The caller bounds the time.
    ///
    /// # Errors
    /// [`Unanswered`] if there is no answer, or one in an encoding that cannot be searched.
    pub async fn send(&self, request: Outgoing<'_>) -> Result<Answer, Unanswered> {
        if request.provider.protocol == Protocol::Echo {
            return Ok(echoed(&request));
        }
        let mut pause = PAUSE;
        for attempt in 1.. {
            let unanswered = |rejection| Unanswered {
                rejection,
                attempts: attempt,
            };
            let prepared = prepare(&request).map_err(unanswered)?;
            match self.client.request(prepared).await {
                Ok(response) => return answer(response, attempt).map_err(unanswered),
                Err(error) if error.is_connect() && attempt < ATTEMPTS => {
                    tracing::warn!(provider = request.provider.name, attempt, "no connection");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) if error.is_connect() => {
                    return Err(unanswered(Code::ProviderUnreachable.into()));
                }
                Err(_) => return Err(unanswered(Code::ProviderTruncated.into())),
            }
        }
        Err(Unanswered {
            rejection: Code::Internal.into(),
            attempts: 0,
        })
    }
}

fn prepare(request: &Outgoing<'_>) -> Result<Request<Full<Bytes>>, Rejection> {
    let internal = || Rejection::new(Code::Internal).detail("the provider's address is not usable");
    let base = request.provider.base_url.as_ref().ok_or_else(internal)?;
    let mut parts = base.clone().into_parts();
    let path = format!("{}{}", base.path().trim_end_matches('/'), request.path);
    parts.path_and_query = Some(path.parse().map_err(|_| internal())?);
    let uri = Uri::from_parts(parts).map_err(|_| internal())?;
    let credential = request.provider.api_key.as_ref();
    let mut prepared = Request::new(Full::new(request.body.clone()));
    *prepared.method_mut() = request.method.clone();
    *prepared.uri_mut() = uri;
    *prepared.headers_mut() = outgoing(request.shape, request.incoming, credential, request.trace)?;
    Ok(prepared)
}

fn answer(response: http::Response<Incoming>, attempts: u64) -> Result<Answer, Rejection> {
    let (head, body) = response.into_parts();
    let header = |name| head.headers.get(name).map(http::HeaderValue::as_bytes);
    // A list of encodings, or more than one line, is an encoding we did not ask for.
    let encodings = head.headers.get_all(CONTENT_ENCODING).iter().count();
    let decoder = match Decoder::new(header(CONTENT_ENCODING)) {
        Ok(decoder) if encodings < 2 => decoder,
        _ => {
            let detail = "a content encoding that was not asked for";
            return Err(Rejection::new(Code::ProviderMalformed).detail(detail));
        }
    };
    let kind = header(CONTENT_TYPE)
        .unwrap_or_default()
        .to_ascii_lowercase();
    Ok(Answer {
        status: head.status,
        is_stream: kind.starts_with(b"text/event-stream"),
        retry_after: header(RETRY_AFTER)
            .and_then(|value| std::str::from_utf8(value).ok())
            .and_then(|value| value.trim().parse().ok()),
        attempts,
        body: AnswerBody::Wire {
            body,
            decoder,
            ended: false,
        },
    })
}

impl Answer {
    /// The next decoded bytes; `None` at a clean end. The caller bounds the time.
    ///
    /// # Errors
    /// [`ReadError`]; nothing more can be read then.
    pub async fn next(&mut self) -> Option<Result<Bytes, ReadError>> {
        match &mut self.body {
            AnswerBody::Memory(parts) => parts.next().map(Ok),
            AnswerBody::Wire { ended: true, .. } => None,
            AnswerBody::Wire {
                body,
                decoder,
                ended,
            } => loop {
                let frame = match body.frame().await {
                    Some(Ok(frame)) => frame,
                    Some(Err(_)) => {
                        *ended = true;
                        return Some(Err(ReadError::Cut));
                    }
                    None => {
                        *ended = true;
                        let rest = decoder.finish().map_err(|_| ReadError::Cut);
                        return Some(rest)
                            .filter(|rest| !matches!(rest, Ok(rest) if rest.is_empty()));
                    }
                };
                // Trailers say nothing that is passed on.
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                match decoder.push(data, READ_CAP) {
                    Ok(bytes) if bytes.is_empty() => {}
                    Ok(bytes) => return Some(Ok(bytes)),
                    Err(error) => {
                        *ended = true;
                        return Some(Err(error.into()));
                    }
                }
            },
        }
    }

    /// The whole rest, at most `cap` bytes, each part within `idle` of the one before.
    ///
    /// # Errors
    /// A typed rejection: cut, damaged, too large or too slow.
    pub async fn collect(&mut self, cap: usize, idle: Duration) -> Result<Bytes, Rejection> {
        let mut first = Bytes::new();
        let mut joined = BytesMut::new();
        loop {
            let part = match tokio::time::timeout(idle, self.next()).await {
                Err(_) => return Err(Code::ProviderTimeout.into()),
                Ok(None) => break,
                Ok(Some(part)) => part?,
            };
            if first.len() + joined.len() + part.len() > cap {
                return Err(ReadError::TooLarge.into());
            }
            if first.is_empty() && joined.is_empty() {
                first = part;
            } else {
                if joined.is_empty() {
                    joined.extend_from_slice(&std::mem::take(&mut first));
                }
                joined.extend_from_slice(&part);
            }
        }
        Ok(if joined.is_empty() {
            first
        } else {
            joined.freeze()
        })
    }
}

/// The built-in provider answers without leaving the process.
fn echoed(request: &Outgoing<'_>) -> Answer {
    let dialect = match request.shape {
        Shape::Anthropic => echo::Dialect::Anthropic,
        Shape::OpenAi => echo::Dialect::OpenAi,
    };
    let answer = if request.method == Method::GET {
        echo::models(dialect)
    } else {
        echo::answer(dialect, &request.body)
    };
    Answer {
        status: StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY),
        is_stream: answer.content_type.starts_with("text/event-stream"),
        retry_after: None,
        attempts: 1,
        body: AnswerBody::Memory(answer.chunks.into_iter()),
    }
}
