//! A request as it arrived: its head, its body still on the wire.

use std::net::IpAddr;

use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::reject::Shape;
use crate::telemetry::{RequestId, Trace};

/// A request nobody has looked at yet.
pub struct Inbound {
    pub(super) head: Head,
    pub(super) body: Incoming,
}

/// What stays of a request's head for its whole life.
pub(super) struct Head {
    pub(super) id: RequestId,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) peer: IpAddr,
    pub(super) shape: Shape,
    pub(super) trace: Option<Trace>,
    pub(super) edge_ids: u64,
    pub(super) started: Instant,
}

impl Inbound {
    /// Names a request. `None` if the system gives no randomness.
    pub fn new(request: Request<Incoming>, peer: IpAddr, shape: Shape) -> Option<Self> {
        let (
            Parts {
                method, headers, ..
            },
            body,
        ) = request.into_parts();
        let trace = headers
            .get("traceparent")
            .and_then(|value| Trace::parse(value.to_str().ok()?));
        let edge_ids = edge_ids(&headers);
        let id = RequestId::new()?;
        let started = Instant::now();
        Some(Self {
            head: Head {
                id,
                method,
                headers,
                peer,
                shape,
                trace,
                edge_ids,
                started,
            },
            body,
        })
    }

    /// The request's id.
    pub fn id(&self) -> &RequestId {
        &self.head.id
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.head.method
    }

    /// The head.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// When the head was there.
    pub fn started(&self) -> Instant {
        self.head.started
    }
}

/// How many session ids stand where none is read: in headers, and in cookies as load balancers and
/// frameworks set them. They are dropped with everything else that no allow-list names.
fn edge_ids(headers: &HeaderMap) -> u64 {
    let in_headers = headers
        .keys()
        .filter(|name| name.as_str().contains("session"))
        .count();
    let is_session = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        ["sess", "sid", "awsalb", "affinity"]
            .iter()
            .any(|part| name.contains(part))
    };
    let in_cookies: usize = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter(|pair| {
            pair.split_once('=')
                .is_some_and(|(name, _)| is_session(name))
        })
        .count();
    (in_headers + in_cookies) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn foreign_session_ids_are_counted() {
        let mut headers = HeaderMap::new();
        headers.insert("x-session-id", HeaderValue::from_static("X"));
        headers.insert("mcp-session-id", HeaderValue::from_static("X"));
        headers.insert(
            "cookie",
            HeaderValue::from_static("theme=dark; AWSALB=x; PHPSESSID=y"),
        );
        assert_eq!(edge_ids(&headers), 4);
        assert_eq!(edge_ids(&HeaderMap::new()), 0);
    }
}
