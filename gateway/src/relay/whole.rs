//! Replies that are delivered whole: read to their end, searched, settled, and only then begun.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use super::finish::Finish;
use super::settle::{End, Settlement};
use super::{Admitted, Guard, ReplySlot, Rest, Shared, Unreplied};
use crate::provider::Answer;
use crate::reject::{Code, Rejection, Shape, reported};
use crate::screen::{Names, aside};
use crate::session::Turn;
use crate::wire::body::ReplyBody;

/// Errors are short; a longer one is not read to its end.
const ERROR_CAP: usize = 1 << 20;
/// Larger replies are sealed without holding up others.
const LONG: usize = 64 << 10;

/// What a caller gets of an answer.
struct Reply {
    status: StatusCode,
    body: Bytes,
    retry_after: Option<u32>,
}

/// Runs an exchange whose reply is no stream, or that has no reply at all.
pub(super) async fn run(
    admitted: Admitted,
    answer: Result<Answer, Unreplied>,
    shared: &Shared,
    mut slot: ReplySlot,
) {
    let (mut settlement, rest) = admitted.split();
    let request = settlement.request.clone();
    let mut search = shared.search(&rest);
    let read = shared.is_read();
    let (mut upstream_status, mut attempts) = (None, 1);
    let sent = was_sent(&answer);
    let outcome = match answer {
        Ok(mut answer) => {
            upstream_status = Some(answer.status.as_u16());
            attempts = answer.attempts;
            let turn = &mut settlement.turn;
            let body = whole_body(&mut answer, shared, &mut slot, turn, &rest).await;
            body.map(|body| {
                settlement.received(body.as_ref().ok());
                let names = Names::of(&settlement.turn);
                let searched = |body: Bytes| aside(read, || search.whole(&body, &names));
                let body = body.and_then(searched);
                finish(&answer, body, shared.protocol.shape(), request.as_str())
            })
        }
        Err(unreplied) => Err(unreplied),
    };
    let finish = outcome.unwrap_or_else(|unreplied| match unreplied {
        Unreplied::CallerGone => Finish::CallerGone,
        Unreplied::Failed {
            rejection,
            attempts: tried,
        } => {
            attempts = match upstream_status {
                Some(_) => attempts.max(tried),
                None => tried,
            };
            Finish::Broken(rejection)
        }
    });
    settlement.restored(&finish);
    let end = End {
        status: status(&finish),
        upstream_status,
        ending: finish.ending(),
        attempts,
        sent,
    };
    let settled = settlement.settle(shared, search.into_findings(), end).await;
    let response = match finish.recorded(settled, shared) {
        Finish::CallerGone => return,
        Finish::Whole(reply) | Finish::Reported(reply) => json(reply),
        Finish::Broken(rejection) => rejection.response(shared.protocol.shape(), request.as_str()),
    };
    slot.answer(response, rest.session);
}

impl Settlement {
    /// Keeps the provider's bytes, if those are what is kept.
    fn received(&mut self, body: Option<&Bytes>) {
        if let (Some(body), Some(keeping)) = (body, &mut self.keeping) {
            aside(body.len() > LONG, || keeping.received(body));
        }
    }

    /// Keeps what the caller gets, if that is what is kept.
    fn restored(&mut self, finish: &Finish<Reply>) {
        if let (Finish::Whole(reply) | Finish::Reported(reply), Some(keeping)) =
            (finish, &mut self.keeping)
        {
            aside(reply.body.len() > LONG, || keeping.restored(&reply.body));
        }
    }
}

/// Whether a provider may have been sent anything.
fn was_sent(answer: &Result<Answer, Unreplied>) -> bool {
    match answer {
        Ok(_) | Err(Unreplied::CallerGone) => true,
        Err(Unreplied::Failed {
            rejection,
            attempts,
        }) => *attempts > 0 && rejection.code() != Code::ProviderUnreachable,
    }
}

/// Nobody is told a status; 499 is what nginx made of this.
const GONE: u16 = 499;

/// The status that the caller is told.
fn status(finish: &Finish<Reply>) -> u16 {
    match finish {
        Finish::Whole(reply) | Finish::Reported(reply) => reply.status.as_u16(),
        Finish::Broken(rejection) => rejection.status().as_u16(),
        Finish::CallerGone => GONE,
    }
}

/// Reads the answer to its end, unless something cuts the exchange short. SDKs read nothing at all,
/// and raise nothing, out of a reply in another framing than they asked for.
async fn whole_body(
    answer: &mut Answer,
    shared: &Shared,
    slot: &mut ReplySlot,
    turn: &mut Turn,
    rest: &Rest,
) -> Result<Result<Bytes, Rejection>, Unreplied> {
    if answer.status.is_success() && (rest.facts.stream || answer.is_stream) {
        let detail = "not in the framing that was asked for";
        return Ok(Err(Rejection::new(Code::ProviderMalformed).detail(detail)));
    }
    let cap = if answer.status.is_success() {
        shared.limits.reply
    } else {
        ERROR_CAP
    };
    let mut guard = Guard::new(shared.renewal, rest.deadline, shared.cut.clone());
    // Every part of it has its own time limit; in all there is the exchange's.
    let reading = answer.collect(cap, shared.timeouts.idle);
    guard
        .wait(reading, slot.gone(), turn, shared.timeouts.exchange)
        .await
}

/// What becomes of an answer, whose body has been searched.
fn finish(
    answer: &Answer,
    body: Result<Bytes, Rejection>,
    shape: Shape,
    request: &str,
) -> Finish<Reply> {
    let (status, retry_after) = (answer.status, answer.retry_after);
    match status.as_u16() {
        200..=299 => {}
        // The key is ours, so the caller can do nothing about it.
        401 | 403 | 407 => return Finish::Broken(Code::ProviderAuthentication.into()),
        400..=599 => {}
        _ => {
            let detail = "an unexpected status";
            return Finish::Broken(Rejection::new(Code::ProviderMalformed).detail(detail));
        }
    }
    match body {
        // An array or a bare value is JSON, but no reply of any protocol.
        Ok(body) if status.is_success() && !body.trim_ascii_start().starts_with(b"{") => {
            Finish::Broken(Rejection::new(Code::ProviderMalformed).detail("not a JSON object"))
        }
        Ok(body) if status.is_success() => Finish::Whole(Reply {
            status: StatusCode::OK,
            body,
            retry_after: None,
        }),
        Ok(body) => Finish::Reported(Reply {
            status,
            body: reported(shape, status, &body, request),
            retry_after,
        }),
        Err(rejection) if status.is_success() || rejection.code() == Code::ReplyBlocked => {
            Finish::Broken(rejection)
        }
        // A page of some proxy, say. It is not passed on.
        Err(_) => {
            let rejection = Rejection::new(Code::ProviderError).with_status(status);
            Finish::Broken(match retry_after {
                Some(seconds) => rejection.retry_after(seconds),
                None => rejection,
            })
        }
    }
}

fn json(reply: Reply) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(reply.body));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = reply.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}
