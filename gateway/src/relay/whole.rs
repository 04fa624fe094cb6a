//! Replies that are delivered whole: read to their end, searched, settled, and only then begun.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use tokio::time::Instant;

use super::settle::{End, Settlement, ending};
use super::{Admitted, Guard, ReplySlot, Shared, Unreplied};
use crate::audit::Ending;
use crate::provider::Answer;
use crate::reject::{Code, Rejection, Shape, reported};
use crate::screen::Names;
use crate::session::Turn;
use crate::wire::body::ReplyBody;

/// Errors are short; a longer one is not read to its end.
const ERROR_CAP: usize = 1 << 20;

/// A reply to the caller, before the log has taken its record.
struct Reply {
    status: StatusCode,
    body: Result<Bytes, Rejection>,
    retry_after: Option<u32>,
}

/// Runs an exchange whose reply is no stream, or that has no reply at all.
pub(super) async fn run(
    admitted: Admitted,
    answer: Result<Answer, Unreplied>,
    shared: &Shared,
    mut slot: ReplySlot,
) {
    let Admitted {
        request,
        trace,
        facts,
        turn,
        vault,
        started,
        deadline,
        pledge,
    } = admitted;
    let session = Some(turn.reference().to_owned());
    let mut settlement = Settlement {
        request: request.clone(),
        trace,
        turn,
        started,
        pledge,
    };
    let mut search = shared.search(&facts, &vault);
    let mut end = End {
        status: 0,
        upstream_status: None,
        ending: Ending::Done,
        attempts: 1,
    };
    let outcome = match answer {
        Ok(mut answer) => {
            end.upstream_status = Some(answer.status.as_u16());
            end.attempts = answer.attempts;
            let turn = &mut settlement.turn;
            let asked = facts.stream;
            let body = whole_body(&mut answer, asked, shared, &mut slot, turn, deadline).await;
            body.map(|body| {
                let body = body.and_then(|body| search.whole(&body, &Names::of(turn)));
                reply(&answer, body, shared.protocol.shape(), request.as_str())
            })
        }
        Err(unreplied) => Err(unreplied),
    };
    let reply = Reply::concluded(outcome, &mut end);
    let settled = settlement.settle(shared, search.into_findings(), end).await;
    if let Some(reply) = reply {
        slot.answer(
            reply.into_response(settled, shared, request.as_str()),
            session,
        );
    }
}

/// Nobody is told a status; 499 is what nginx made of this.
const GONE: (u16, Ending) = (499, Ending::CallerGone);

impl Reply {
    /// What a caller that is still there gets; `end` learns how it ended.
    fn concluded(outcome: Result<Self, Unreplied>, end: &mut End) -> Option<Self> {
        let reply = match outcome {
            Ok(reply) => Some(reply),
            Err(Unreplied::CallerGone) => None,
            Err(Unreplied::Failed {
                rejection,
                attempts,
            }) => {
                end.attempts = end.attempts.max(attempts);
                Some(Self::failed(rejection))
            }
        };
        (end.status, end.ending) = reply.as_ref().map_or(GONE, Self::ending);
        reply
    }

    fn failed(rejection: Rejection) -> Self {
        Self {
            status: rejection.status(),
            body: Err(rejection),
            retry_after: None,
        }
    }

    /// What the caller gets, given whether the log has the record of it.
    fn into_response(
        self,
        settled: Result<(), Code>,
        shared: &Shared,
        request: &str,
    ) -> Response<ReplyBody> {
        let rejection = match (settled, self.body) {
            (Ok(()), Ok(body)) => return json(self.status, body, self.retry_after),
            (Ok(()), Err(rejection)) => rejection,
            (Err(code), _) => code.into(),
        };
        shared.metrics.refused(rejection.code());
        rejection.response(shared.protocol.shape(), request)
    }

    fn ending(&self) -> (u16, Ending) {
        let ending = match &self.body {
            Ok(_) if self.status.is_success() => Ending::Done,
            Ok(_) => Ending::Error,
            Err(rejection) => ending(rejection),
        };
        (self.status.as_u16(), ending)
    }
}

/// Reads the answer to its end, unless something cuts the exchange short. `asked` says whether a
/// stream was asked for: SDKs read nothing at all, and raise nothing, out of a reply in the other
/// framing.
async fn whole_body(
    answer: &mut Answer,
    asked: bool,
    shared: &Shared,
    slot: &mut ReplySlot,
    turn: &mut Turn,
    deadline: Instant,
) -> Result<Result<Bytes, Rejection>, Unreplied> {
    if answer.status.is_success() && (asked || answer.is_stream) {
        let detail = "not in the framing that was asked for";
        return Ok(Err(Rejection::new(Code::ProviderMalformed).detail(detail)));
    }
    let cap = if answer.status.is_success() {
        shared.limits.reply
    } else {
        ERROR_CAP
    };
    let mut guard = Guard::new(shared.lease, deadline, shared.cut.clone());
    // Every part of it has its own time limit; in all there is the exchange's.
    let reading = answer.collect(cap, shared.timeouts.idle);
    guard
        .wait(reading, slot.gone(), turn, shared.timeouts.exchange)
        .await
}

/// What becomes of an answer, whose body has been searched.
fn reply(answer: &Answer, body: Result<Bytes, Rejection>, shape: Shape, request: &str) -> Reply {
    let (status, retry_after) = (answer.status, answer.retry_after);
    match status.as_u16() {
        200..=299 => {}
        // The key is ours, so the caller can do nothing about it.
        401 | 403 | 407 => return Reply::failed(Code::ProviderAuthentication.into()),
        400..=599 => {}
        _ => {
            return Reply::failed(
                Rejection::new(Code::ProviderMalformed).detail("an unexpected status"),
            );
        }
    }
    match body {
        Ok(body) if status.is_success() => Reply {
            status: StatusCode::OK,
            body: Ok(body),
            retry_after: None,
        },
        Ok(body) => Reply {
            status,
            body: Ok(reported(shape, status, &body, request)),
            retry_after,
        },
        Err(rejection) if status.is_success() || rejection.code() == Code::ReplyBlocked => {
            Reply::failed(rejection)
        }
        // A page of some proxy, say. It is not passed on.
        Err(_) => {
            let rejection = Rejection::new(Code::ProviderError).with_status(status);
            Reply::failed(match retry_after {
                Some(seconds) => rejection.retry_after(seconds),
                None => rejection,
            })
        }
    }
}

fn json(status: StatusCode, body: Bytes, retry_after: Option<u32>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}
