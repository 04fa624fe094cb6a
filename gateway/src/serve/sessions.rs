//! The sessions API: open, show, close. Paths take the public reference; an id in a path is as
//! unknown as anything else.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::route;
use crate::auth::Caller;
use crate::clock::rfc3339;
use crate::pipeline::{Authenticated, Cause, Gateway, Inbound};
use crate::reject::{Code, Rejection};
use crate::session::{SessionError, Spend};
use crate::wire::body::ReplyBody;

/// Bodies of this API are a few members long.
const BODY_CAP: usize = 64 << 10;

/// `POST /v1/sessions`
pub(super) async fn open(gateway: &Gateway, inbound: Inbound) -> Response<ReplyBody> {
    let mut request = match gateway.known(inbound).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    match opened(gateway, &mut request).await {
        Ok(response) => response,
        Err(cause) => gateway.refuse(request, cause).await,
    }
}

async fn opened(
    gateway: &Gateway,
    request: &mut Authenticated,
) -> Result<Response<ReplyBody>, Cause> {
    let body = request
        .small_body(BODY_CAP, gateway.config.timeouts.idle)
        .await
        .map_err(|code| Rejection::new(code).closing())?;
    // Options come with later versions; one that is not known must not be lost silently.
    match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(members)) if members.is_empty() => {}
        Err(_) if body.trim_ascii().is_empty() => {}
        Ok(_) => {
            let rejection = Rejection::new(Code::JsonUnexpected);
            return Err(rejection.detail("an empty object is needed").into());
        }
        Err(_) => return Err(Code::JsonInvalid.into()),
    }
    let opened = gateway.sessions.open(request.caller()).await?;
    let answer = json!({
        "session_id": opened.id.expose(),
        "reference": opened.reference,
        "expires_at": rfc3339(opened.expires_us),
    });
    let mut response = route::json(StatusCode::OK, answer.to_string());
    route::note_session(&mut response, Some(&opened.reference));
    Ok(response)
}

/// `GET` and `DELETE /v1/sessions/{s_…}`
pub(super) async fn one(
    gateway: &Gateway,
    inbound: Inbound,
    reference: &str,
) -> Response<ReplyBody> {
    let method = inbound.method().clone();
    let request = match gateway.known(inbound).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let answer = if method == Method::DELETE {
        close(gateway, request.caller(), reference).await
    } else {
        show(gateway, request.caller(), reference).await
    };
    match answer {
        Ok(answer) => route::json(StatusCode::OK, answer.to_string()),
        Err(error) => gateway.refuse(request, error.into()).await,
    }
}

async fn close(gateway: &Gateway, caller: &Caller, reference: &str) -> Result<Value, SessionError> {
    gateway.sessions.close(caller, reference).await?;
    Ok(json!({"reference": reference, "deleted": true}))
}

async fn show(gateway: &Gateway, caller: &Caller, reference: &str) -> Result<Value, SessionError> {
    let view = gateway.sessions.show(caller, reference).await?;
    Ok(json!({
        "reference": view.reference,
        "created_at": rfc3339(view.created_us),
        "idle_expires_at": rfc3339(view.expires_us),
        "expires_at": rfc3339(view.absolute_us),
        "steps": view.steps,
        "records": view.records,
        "spend": view.spend.map(Spend::json),
        "key_id": view.kid,
    }))
}
