//! Small requests to few servers, each answered with a few bytes.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};

/// The most bytes of an answer.
const MOST: usize = 1 << 16;
const CONNECT: Duration = Duration::from_secs(5);
/// Seals come once a minute; a connection kept for longer is as good as none.
const POOL_IDLE: Duration = Duration::from_secs(20);

/// The client. Cheap to clone.
#[derive(Clone)]
pub(super) struct Post(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// An answer, whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    /// Its media type as it was sent.
    pub(super) kind: Bytes,
    pub(super) body: Bytes,
}

/// Why there is no answer. Says nothing of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PostError {
    #[error("the answer broke off")]
    Cut,
    #[error("the answer is too large")]
    Large,
    #[error("no answer in time")]
    Late,
    #[error("no TLS, or a certificate that is not trusted (ca)")]
    Untrusted,
    #[error("not reached")]
    Unreachable,
}

impl Post {
    /// To servers whose certificates are from one of these issuers, in PEM; else from one that browsers trust.
    pub(super) fn new(ca: Option<&[u8]>) -> Result<Self, rustls::Error> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let (builder, ciphers) = (HttpsConnectorBuilder::new(), ring::default_provider());
        let builder = match ca {
            Some(ca) => builder.with_tls_config(trusting(ca, ciphers)?),
            None => builder.with_provider_and_webpki_roots(ciphers)?,
        };
        let connector = builder
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .build(connector);
        Ok(Self(client))
    }

    /// Posts `body` of the media type `kind`, and waits for the whole answer.
    pub(super) async fn send(
        &self,
        url: &Uri,
        kind: &'static str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Answer, PostError> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = url.clone();
        let kind = HeaderValue::from_static(kind);
        request.headers_mut().insert(CONTENT_TYPE, kind);
        let exchange = async {
            let answered = self.0.request(request).await;
            let (head, body) = answered
                .map_err(|error| match error.is_connect() {
                    true if is_of_tls(&error) => PostError::Untrusted,
                    true => PostError::Unreachable,
                    false => PostError::Cut,
                })?
                .into_parts();
            let body = Limited::new(body, MOST).collect().await;
            let body =
                body.map_err(
                    |error| match error.is::<http_body_util::LengthLimitError>() {
                        true => PostError::Large,
                        false => PostError::Cut,
                    },
                )?;
            let kind = head.headers.get(CONTENT_TYPE);
            Ok(Answer {
                status: head.status,
                kind: kind.map_or_else(Bytes::new, |kind| Bytes::copy_from_slice(kind.as_bytes())),
                body: body.to_bytes(),
            })
        };
        tokio::time::timeout(timeout, exchange)
            .await
            .unwrap_or(Err(PostError::Late))
    }
}

/// Whether somebody was reached, and the handshake failed. An error of I/O has another inside, and does not
/// name it as its source.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    let io = error.downcast_ref::<std::io::Error>();
    match io.and_then(std::io::Error::get_ref) {
        Some(inner) => is_of_tls(inner),
        None => error.source().is_some_and(is_of_tls),
    }
}

fn trusting(ca: &[u8], ciphers: CryptoProvider) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for issuer in CertificateDer::pem_slice_iter(ca) {
        let issuer = issuer.map_err(|error| rustls::Error::General(error.to_string()))?;
        roots.add(issuer)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ciphers));
    let config = config.with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
