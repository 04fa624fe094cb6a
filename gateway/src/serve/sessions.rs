//! The sessions API: open, show, close. Paths take the public reference; an id in a path is as
//! unknown as anything else.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::route;
use crate::clock::rfc3339;
use crate::pipeline::{Gateway, Inbound, receive_small};
use crate::reject::{Code, Rejection, Shape};
use crate::session::SessionError;
use crate::wire::body::ReplyBody;

/// Bodies of this API are a few members long.
const BODY_CAP: usize = 64 << 10;

/// `POST /v1/sessions`
pub(super) async fn open(gateway: &Gateway, inbound: Inbound, id: &str) -> Response<ReplyBody> {
    let headers = inbound.headers().clone();
    let (caller, mut body) = match gateway.known_caller(inbound).await {
        Ok(known) => known,
        Err(response) => return response,
    };
    let idle = gateway.config().timeouts.idle;
    let body = match receive_small(&mut body, &headers, BODY_CAP, idle).await {
        Ok(body) => body,
        Err(code) => return refuse(Rejection::new(code).closing(), id),
    };
    // Options come with later versions; one that is not known must not be lost silently.
    match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(members)) if members.is_empty() => {}
        Err(_) if body.trim_ascii().is_empty() => {}
        Ok(_) => {
            let rejection = Rejection::new(Code::JsonUnexpected);
            return refuse(rejection.detail("an empty object is needed"), id);
        }
        Err(_) => return refuse(Code::JsonInvalid.into(), id),
    }
    match gateway.sessions().open(&caller).await {
        Ok(opened) => {
            let answer = json!({
                "session_id": opened.id.expose(),
                "reference": opened.reference,
                "expires_at": time(opened.expires_us),
            });
            let mut response = route::json(StatusCode::OK, answer.to_string());
            route::note_session(&mut response, Some(&opened.reference));
            response
        }
        Err(error) => failed(&error, id),
    }
}

/// `GET` and `DELETE /v1/sessions/{s_…}`
pub(super) async fn one(
    gateway: &Gateway,
    inbound: Inbound,
    reference: &str,
    id: &str,
) -> Response<ReplyBody> {
    let method = inbound.method().clone();
    let caller = match gateway.known_caller(inbound).await {
        Ok((caller, _)) => caller,
        Err(response) => return response,
    };
    if method == Method::DELETE {
        return match gateway.sessions().close(&caller, reference).await {
            Ok(()) => route::json(
                StatusCode::OK,
                json!({"reference": reference, "deleted": true}).to_string(),
            ),
            Err(error) => failed(&error, id),
        };
    }
    match gateway.sessions().show(&caller, reference).await {
        Ok(view) => {
            let answer = json!({
                "reference": view.reference,
                "created_at": time(view.created_us),
                "idle_expires_at": time(view.expires_us),
                "expires_at": time(view.absolute_us),
                "steps": view.steps,
                "records": view.records,
                "key_id": view.kid,
            });
            route::json(StatusCode::OK, answer.to_string())
        }
        Err(error) => failed(&error, id),
    }
}

fn failed(error: &SessionError, id: &str) -> Response<ReplyBody> {
    refuse(Gateway::session_rejection(error), id)
}

fn refuse(rejection: Rejection, id: &str) -> Response<ReplyBody> {
    rejection.response(Shape::OpenAi, id)
}

fn time(us: i64) -> String {
    rfc3339(us)
}
