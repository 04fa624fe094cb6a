//! The API of a session's typed state, under `/v1/sessions/{s_…}/…`: see `docs/openapi.yaml`. Paths are
//! compared byte for byte; a session that is not the caller's is 404 like one that never was.

mod asked;
mod place;
mod progress;

use http::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MATCH};
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

pub(super) use place::Place;

use self::asked::{artifact, change};
use super::route;
use crate::auth::Caller;
use crate::pipeline::{Authenticated, Cause, Gateway, Inbound};
use crate::reject::{Code, Rejection};
use crate::session::typed::{Asked, Change, ChangeError, Changed, Content, Phases, Refusal};
use crate::wire::body::ReplyBody;

/// Bodies of this API, but for those that carry a document.
const BODY: usize = 256 << 10;
/// A character of a document is at most twelve bytes of JSON, as two escapes.
const DOCUMENT_BODY: usize = 12 * asked::DOCUMENT + BODY;

/// Answers a request for a part of a session's state.
pub(super) async fn one(
    gateway: &Gateway,
    inbound: Inbound,
    reference: &str,
    place: &Place,
) -> Response<ReplyBody> {
    let method = inbound.method().clone();
    let mut request = match gateway.known(inbound).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let answer = if method == Method::GET {
        shown(gateway, &request, reference, place).await
    } else {
        changed(gateway, &mut request, reference, (&method, place)).await
    };
    match answer {
        Ok(mut response) => {
            route::note_session(&mut response, Some(reference));
            response
        }
        Err(cause) => gateway.refuse(request, cause).await,
    }
}

async fn shown(
    gateway: &Gateway,
    request: &Authenticated,
    reference: &str,
    place: &Place,
) -> Result<Response<ReplyBody>, Cause> {
    let (sessions, caller) = (&gateway.sessions, request.caller());
    match place {
        Place::Artifact { name, n } => {
            let content = sessions.artifact(caller, reference, name, *n).await?;
            Ok(content_of(reference, content, "artifact", "content"))
        }
        Place::Context => {
            let (version, block) = sessions.context(caller, reference, phases(gateway)).await?;
            let mut response = route::json(StatusCode::OK, block);
            let kind = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(CONTENT_TYPE, kind);
            Ok(tagged(response, version))
        }
        Place::Progress => progress::answer(gateway, request, reference).await,
        Place::Result { call } => {
            let content = sessions.tool_result(caller, reference, call).await?;
            Ok(content_of(reference, content, "tool_result", "text"))
        }
        _ => {
            let view = sessions.state(caller, reference, phases(gateway)).await?;
            let response = route::json(StatusCode::OK, view.json.to_string());
            Ok(tagged(response, view.version))
        }
    }
}

fn content_of(reference: &str, content: Content, about: &str, text: &str) -> Response<ReplyBody> {
    let answer = json!({
        "reference": reference,
        "version": content.version,
        about: content.about,
        text: content.text.as_deref().map(String::as_str),
    });
    tagged(
        route::json(StatusCode::OK, answer.to_string()),
        content.version,
    )
}

async fn changed(
    gateway: &Gateway,
    request: &mut Authenticated,
    reference: &str,
    (method, place): (&Method, &Place),
) -> Result<Response<ReplyBody>, Cause> {
    let idle = gateway.config.timeouts.idle;
    let cap = match place {
        Place::Artifact { .. } | Place::Result { .. } => DOCUMENT_BODY,
        _ => BODY,
    };
    let body = request.json_body(cap, idle).await?;
    let change = change(&body, method, place, &gateway.json_limits())?;
    let named = artifact(&change);
    let expected = if_match(request.headers());
    let asked = Asked {
        request: request.id(),
        trace: request.trace(),
        expected: expected.as_deref(),
    };
    let changed = make(gateway, request.caller(), reference, asked, change).await?;
    let mut answer = json!({"reference": reference, "version": changed.version});
    if let (Some(name), Some(n), Some(members)) = (named, changed.n, answer.as_object_mut()) {
        members.insert("artifact".to_owned(), json!({"name": name, "version": n}));
    }
    let response = route::json(StatusCode::OK, answer.to_string());
    Ok(tagged(response, changed.version))
}

async fn make(
    gateway: &Gateway,
    caller: &Caller,
    reference: &str,
    asked: Asked<'_>,
    change: Change,
) -> Result<Changed, ChangeError> {
    let sessions = &gateway.sessions;
    let made = sessions.change(caller, reference, asked, change, phases(gateway));
    Box::pin(made).await
}

fn phases(gateway: &Gateway) -> &dyn Phases {
    gateway.config.phases.as_ref()
}

/// The state's version as an entity tag (RFC 9110 §8.8.3).
fn tagged(mut response: Response<ReplyBody>, version: u64) -> Response<ReplyBody> {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// The versions that `If-Match` names; `None` for any. A tag that is none of ours, a weak one too,
/// matches nothing (RFC 9110 §13.1.1).
fn if_match(headers: &HeaderMap) -> Option<Vec<u64>> {
    if !headers.contains_key(IF_MATCH) {
        return None;
    }
    let lines = headers.get_all(IF_MATCH).iter();
    let tags = lines.flat_map(|line| line.to_str().unwrap_or_default().split(','));
    let mut versions = Vec::new();
    for tag in tags.map(str::trim) {
        if tag == "*" {
            return None;
        }
        let quoted = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let digits = quoted.filter(|tag| tag.bytes().all(|byte| byte.is_ascii_digit()));
        versions.extend(digits.and_then(|tag| tag.parse::<u64>().ok()));
    }
    Some(versions)
}

impl From<ChangeError> for Cause {
    fn from(error: ChangeError) -> Self {
        let refusal = match error {
            ChangeError::Session(error) => return error.into(),
            ChangeError::Version => return Code::VersionMismatch.into(),
            ChangeError::Refused(refusal) => refusal,
        };
        let (code, what) = match refusal {
            Refusal::Full(what) => (Code::StateFull, what),
            Refusal::Missing(what) => (Code::StateItemUnknown, what),
            Refusal::NotPaused => return Code::SessionNotPaused.into(),
            Refusal::Paused => return Code::SessionPaused.into(),
            Refusal::Transition(what) => (Code::TransitionRefused, what),
        };
        Rejection::new(code).parameter(what).into()
    }
}

/// An object of this API as JSON.
fn object(value: &Value) -> Response<ReplyBody> {
    route::json(StatusCode::OK, value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_are_versions() {
        let versions = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(IF_MATCH, HeaderValue::from_static(line));
            }
            if_match(&headers)
        };
        assert_eq!(versions(&[]), None);
        assert_eq!(versions(&["*"]), None);
        assert_eq!(versions(&["\"3\""]), Some(vec![3]));
        assert_eq!(versions(&["\"3\", \"4\"", "\"5\""]), Some(vec![3, 4, 5]));
        for none in ["3", "W/\"3\"", "\"+3\"", "\"\"", "", "\"x\"", "\"3"] {
            assert_eq!(versions(&[none]), Some(Vec::new()), "{none}");
        }
    }
}
