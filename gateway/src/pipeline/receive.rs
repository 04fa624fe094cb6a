//! The second stage: the whole body, within its size and its time. Bodies must be whole to be
//! screened, so this is where they are held.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout, timeout_at};

use super::Gateway;
use super::authenticate::Authenticated;
use super::inbound::Head;
use super::refuse::{Refusal, refusal};
use crate::auth::Caller;
use crate::reject::{Code, Rejection};

/// A body that was refused is read on for this long and this far, so that its sender gets to read
/// the answer instead of a reset.
const DRAIN_TIME: Duration = Duration::from_secs(3);
const DRAIN_SIZE: usize = 64 << 20;
/// How much is reserved on a sender's word alone.
const TRUSTED_LENGTH: usize = 1 << 20;

/// A request whose body is here.
pub(super) struct Received {
    head: Head,
    caller: Arc<Caller>,
    body: Bytes,
}

impl Gateway {
    /// Reads the body.
    pub(super) async fn receive(&self, request: Authenticated) -> Result<Received, Box<Refusal>> {
        let (head, caller, mut body) = request.into_parts();
        let read = match acceptable(&head.headers) {
            Ok(()) => {
                let deadline = head.started + self.config.timeouts.exchange;
                let limits = (self.config.limits.body, self.config.timeouts.idle, deadline);
                tokio::select! {
                    read = read(&mut body, &head.headers, limits) => read,
                    () = self.cut.cancelled() => Err(Code::ShuttingDown),
                }
            }
            Err(code) => Err(code),
        };
        match read {
            Ok(bytes) => Ok(Received {
                head,
                caller,
                body: bytes,
            }),
            Err(code) => {
                drain(&mut body, &head.headers).await;
                Err(refusal(head, Some(caller), Rejection::new(code).closing()))
            }
        }
    }
}

impl Received {
    /// The bytes as they came.
    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Refuses the request before it has a session.
    pub(super) fn refuse(self, rejection: Rejection) -> Box<Refusal> {
        refusal(self.head, Some(self.caller), rejection)
    }

    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> (Head, Arc<Caller>, Bytes) {
        (self.head, self.caller, self.body)
    }
}

/// Only plain JSON bodies. A missing content type is taken for it, since the body is parsed anyway.
pub(super) fn acceptable(headers: &HeaderMap) -> Result<(), Code> {
    if headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|value| value != "identity")
    {
        return Err(Code::EncodingUnsupported);
    }
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let plain = kinds.next().is_none_or(is_plain_json);
    // Two parsers may take different ones.
    if plain && kinds.next().is_none() {
        Ok(())
    } else {
        Err(Code::MediaTypeUnsupported)
    }
}

/// Whether a content type names JSON, and no encoding but the one that JSON has (RFC 8259 §8.1).
fn is_plain_json(kind: &HeaderValue) -> bool {
    let mut parts = kind.as_bytes().split(|byte| *byte == b';');
    let essence = parts.next().unwrap_or_default().trim_ascii();
    let utf8 = |part: &[u8]| {
        let (name, value) =
            part.split_at(part.iter().position(|b| *b == b'=').unwrap_or(part.len()));
        let value = value.trim_ascii_start().strip_prefix(b"=").unwrap_or(value);
        let value = value.trim_ascii();
        let bare = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""))
            .unwrap_or(value);
        !name.trim_ascii().eq_ignore_ascii_case(b"charset") || bare.eq_ignore_ascii_case(b"utf-8")
    };
    essence.eq_ignore_ascii_case(b"application/json") && parts.all(utf8)
}

/// Reads a whole body: at most `cap` bytes, each part within `idle`, all of it by `deadline`.
pub(super) async fn read(
    body: &mut Incoming,
    headers: &HeaderMap,
    (cap, idle, deadline): (usize, Duration, Instant),
) -> Result<Bytes, Code> {
    let announced = announced(headers);
    if announced.is_some_and(|length| length > cap as u64) {
        return Err(Code::BodyTooLarge);
    }
    let announced = announced
        .and_then(|length| usize::try_from(length).ok())
        .unwrap_or(0);
    let mut whole = BytesMut::with_capacity(announced.min(TRUSTED_LENGTH));
    loop {
        let frame = match timeout_at(deadline, timeout(idle, body.frame())).await {
            Err(_) | Ok(Err(_)) => return Err(Code::BodyTimeout),
            Ok(Ok(None)) => return Ok(whole.freeze()),
            Ok(Ok(Some(Err(_)))) => return Err(Code::BodyUnreadable),
            Ok(Ok(Some(Ok(frame)))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if whole.len() + data.len() > cap {
            return Err(Code::BodyTooLarge);
        }
        whole.extend_from_slice(&data);
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads and forgets what is left of a refused body. A sender that waits for `100 Continue` has
/// not begun, and is left waiting.
pub(super) async fn drain(body: &mut Incoming, headers: &HeaderMap) {
    if headers.contains_key(EXPECT) {
        return;
    }
    let reading = async {
        let mut left = DRAIN_SIZE;
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, Bytes::len);
            left = match left.checked_sub(size) {
                Some(left) => left,
                None => return,
            };
        }
    };
    // Whoever has not finished by then gets the reset.
    let _ = timeout(DRAIN_TIME, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_content_type_and_only_json_in_utf_8() {
        let taken = |kinds: &[&str]| {
            let mut headers = HeaderMap::new();
            for kind in kinds {
                headers.append(CONTENT_TYPE, kind.parse().unwrap());
            }
            acceptable(&headers).is_ok()
        };
        for kinds in [
            &[][..],
            &["application/json"],
            &["Application/JSON; charset=UTF-8"],
            &["application/json;charset=\"utf-8\"; v=1"],
        ] {
            assert!(taken(kinds), "{kinds:?}");
        }
        for kinds in [
            &["text/plain"][..],
            &["application/json", "text/plain"],
            &["application/json", "application/json"],
            &["application/json; charset=utf-16"],
            &["application/json; charset"],
            &["application/jsonl"],
        ] {
            assert!(!taken(kinds), "{kinds:?}");
        }
    }
}
