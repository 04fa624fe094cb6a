//! The table of routes. Paths are compared byte for byte, without any normalisation: what is not
//! listed is 404 and never reaches a provider.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::state::Place;
use super::{sessions, state};
use crate::pipeline::{Gateway, Inbound, ReplySlot};
use crate::protocol::{self, Protocol};
use crate::provider;
use crate::reject::{Code, Rejection, Shape};
use crate::wire::body::ReplyBody;

const SESSION: HeaderName = HeaderName::from_static("x-gatehouse-session");
const REQUEST: HeaderName = HeaderName::from_static("x-request-id");
/// Where the Anthropic SDK looks for the id.
const REQUEST_ANTHROPIC: HeaderName = HeaderName::from_static("request-id");

/// What a path is.
enum Route {
    Exchange(&'static dyn Protocol),
    Models(Shape),
    Sessions,
    Session(String),
    State(String, Place),
    Unknown(Shape),
}

impl Route {
    fn of(request: &Request<Incoming>) -> Self {
        let path = request.uri().path();
        if let Some(protocol) = protocol::by_path(path) {
            return Self::Exchange(protocol);
        }
        match path {
            "/v1/models" if request.headers().contains_key("anthropic-version") => {
                Self::Models(Shape::Anthropic)
            }
            "/v1/models" => Self::Models(Shape::OpenAi),
            "/v1/sessions" => Self::Sessions,
            _ => match path.strip_prefix("/v1/sessions/") {
                Some(reference) if !reference.is_empty() && !reference.contains('/') => {
                    Self::Session(reference.to_owned())
                }
                Some(rest) => match rest.split_once('/').map(|(of, part)| (of, Place::of(part))) {
                    Some((reference, Some(place))) if !reference.is_empty() => {
                        Self::State(reference.to_owned(), place)
                    }
                    _ => Self::Unknown(protocol::nearest_shape(path)),
                },
                None => Self::Unknown(protocol::nearest_shape(path)),
            },
        }
    }

    fn shape(&self) -> Shape {
        match self {
            Self::Exchange(protocol) => protocol.shape(),
            Self::Models(shape) | Self::Unknown(shape) => *shape,
            Self::Sessions | Self::Session(_) | Self::State(..) => Shape::OpenAi,
        }
    }

    /// The methods that it takes, as `Allow` names them; `None` where there is nothing.
    fn methods(&self) -> Option<&'static str> {
        match self {
            Self::Exchange(_) | Self::Sessions => Some("POST"),
            Self::Models(_) => Some("GET"),
            Self::Session(_) => Some("GET, DELETE"),
            Self::State(_, place) => Some(place.methods()),
            Self::Unknown(_) => None,
        }
    }

    fn allows(&self, method: &Method) -> bool {
        let methods = self.methods();
        methods.is_none_or(|methods| methods.split(", ").any(|it| it == method.as_str()))
    }
}

/// Answers one request. Whatever happens, the reply carries the request's id.
pub(super) async fn answer(
    gateway: Arc<Gateway>,
    request: Request<Incoming>,
    peer: IpAddr,
    head: Result<(), Code>,
) -> Response<ReplyBody> {
    let route = Route::of(&request);
    let shape = route.shape();
    let Some(inbound) = Inbound::new(request, peer, shape) else {
        return Rejection::new(Code::Internal).response(shape, "");
    };
    let id = inbound.id().clone();
    let mut response = dispatch(gateway, route, inbound, head, id.as_str()).await;
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        if shape == Shape::Anthropic {
            headers.insert(REQUEST_ANTHROPIC, value.clone());
        }
        headers.insert(REQUEST, value);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn dispatch(
    gateway: Arc<Gateway>,
    route: Route,
    inbound: Inbound,
    head: Result<(), Code>,
    id: &str,
) -> Response<ReplyBody> {
    if let Err(code) = head {
        let rejection = Rejection::new(code).closing();
        return gateway.turn_away(inbound, rejection).await;
    }
    if !route.allows(inbound.method()) {
        let refused = Rejection::new(Code::MethodNotAllowed);
        let mut response = gateway.turn_away(inbound, refused).await;
        if let Some(methods) = route.methods() {
            let methods = HeaderValue::from_static(methods);
            response.headers_mut().insert(ALLOW, methods);
        }
        return response;
    }
    match route {
        Route::Exchange(protocol) => {
            let (slot, answer) = ReplySlot::new();
            let (tracker, abandoned) = (gateway.tracker.clone(), gateway.abandoned.clone());
            // A task of its own: what was admitted is settled even if the caller hangs up.
            let exchange = Box::pin(gateway.exchange(protocol, inbound, slot));
            tracker.spawn(async move { abandoned.run_until_cancelled(exchange).await });
            match answer.await {
                Ok((mut response, session)) => {
                    note_session(&mut response, session.as_deref());
                    response
                }
                Err(_) => {
                    tracing::error!(request = id, "an exchange ended without an answer");
                    Rejection::new(Code::Internal).response(protocol.shape(), id)
                }
            }
        }
        Route::Models(shape) => match gateway.known(inbound).await {
            Ok(request) => {
                match provider::list_models(&gateway.config, &gateway.upstream, shape).await {
                    Ok(list) => json(StatusCode::OK, list),
                    Err(rejection) => gateway.refuse(request, rejection.into()).await,
                }
            }
            Err(response) => response,
        },
        Route::Unknown(_) => gateway.turn_away(inbound, Code::RouteUnknown.into()).await,
        Route::Sessions | Route::Session(_) | Route::State(..) => {
            about_sessions(gateway, route, inbound, id).await
        }
    }
}

/// A task of its own as well: a turn that has begun gives its lease back even if the caller hangs up.
async fn about_sessions(
    gateway: Arc<Gateway>,
    route: Route,
    inbound: Inbound,
    id: &str,
) -> Response<ReplyBody> {
    let (tracker, abandoned) = (gateway.tracker.clone(), gateway.abandoned.clone());
    let answer = Box::pin(async move {
        match route {
            Route::Session(reference) => sessions::one(&gateway, inbound, &reference).await,
            Route::State(reference, place) => {
                state::one(&gateway, inbound, &reference, &place).await
            }
            _ => sessions::open(&gateway, inbound).await,
        }
    });
    let answer = tracker.spawn(async move { abandoned.run_until_cancelled(answer).await });
    match answer.await {
        Ok(Some(response)) => response,
        Ok(None) | Err(_) => {
            tracing::error!(request = id, "a request ended without an answer");
            Rejection::new(Code::Internal).response(Shape::OpenAi, id)
        }
    }
}

/// A reply with a JSON body.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(body.into()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Names the session in the reply.
pub(super) fn note_session(response: &mut Response<ReplyBody>, reference: Option<&str>) {
    if let Some(value) = reference.and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(SESSION, value);
    }
}
