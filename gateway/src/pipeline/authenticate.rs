//! The first stage: a token becomes a caller, before a byte of the body is read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::Gateway;
use super::inbound::{Head, Inbound};
use super::receive::{acceptable, drain, read};
use super::refuse::{Refusal, refusal};
use crate::auth::{AuthError, Caller};
use crate::reject::{Code, Rejection};

/// A request whose caller is known.
pub struct Authenticated {
    head: Head,
    caller: Arc<Caller>,
    body: Incoming,
}

impl Gateway {
    /// Who is calling. Nothing is recorded one by one of those whom nobody knows: they are counted.
    pub(super) async fn authenticate(
        &self,
        inbound: Inbound,
    ) -> Result<Authenticated, Box<Refusal>> {
        let Inbound { head, mut body } = inbound;
        match self.authenticator.authenticate(&head.headers) {
            Ok(caller) => Ok(Authenticated { head, caller, body }),
            Err(error) => {
                self.denials.note(error, head.peer);
                tracing::info!(
                    request = head.id.as_str(),
                    reason = error.reason(),
                    "nobody's request"
                );
                drain(&mut body, &head.headers).await;
                let code = match error {
                    AuthError::Unavailable => Code::AuthenticationUnavailable,
                    _ => Code::AuthenticationFailed,
                };
                Err(refusal(head, None, Rejection::new(code)))
            }
        }
    }
}

impl Authenticated {
    /// Who calls.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The request's id.
    pub fn id(&self) -> &str {
        self.head.id.as_str()
    }

    /// Its W3C trace id.
    pub fn trace(&self) -> Option<[u8; 16]> {
        self.head.trace.as_ref().and_then(|trace| trace.bytes())
    }

    /// Its head.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Reads the JSON body of a request of our own API, if its head says nothing else of it.
    ///
    /// # Errors
    /// What to answer with, on a connection that is closed then.
    pub async fn json_body(&mut self, cap: usize, idle: Duration) -> Result<Bytes, Rejection> {
        let body = match acceptable(&self.head.headers) {
            Ok(()) => self.small_body(cap, idle).await,
            Err(code) => Err(code),
        };
        body.map_err(|code| Rejection::new(code).closing())
    }

    /// Reads the small body of a request of our own API.
    ///
    /// # Errors
    /// The code to answer with.
    pub async fn small_body(&mut self, cap: usize, idle: Duration) -> Result<Bytes, Code> {
        let limits = (cap, idle, Instant::now() + idle);
        read(&mut self.body, &self.head.headers, limits).await
    }

    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> (Head, Arc<Caller>, Incoming) {
        (self.head, self.caller, self.body)
    }
}
