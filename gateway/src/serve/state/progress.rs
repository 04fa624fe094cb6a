//! How far a session's turn is: asked once, or told until it is over.

use std::time::Duration;

use http::Response;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::object;
use crate::auth::{Authenticator, Caller};
use crate::clock::rfc3339;
use crate::pipeline::{Authenticated, Cause, Gateway};
use crate::reject::Code;
use crate::session::{Doing, Progress, Sessions, Watching};
use crate::wire::body::{Part, ReplyBody};
use crate::wire::sse;

/// Between two looks of a stream.
const LOOK: Duration = Duration::from_millis(500);
/// Between two readings of the store: meanwhile there is only what this process knows by itself.
const READ: Duration = Duration::from_secs(2);
/// How long the end of a stream waits for a reader who has left all events untaken.
const LAST: Duration = Duration::from_secs(1);
/// Events that a slow reader may leave untaken; more end its stream.
const DEPTH: usize = 4;

pub(super) async fn answer(
    gateway: &Gateway,
    request: &Authenticated,
    reference: &str,
) -> Result<Response<ReplyBody>, Cause> {
    let progress = gateway
        .sessions
        .progress(request.caller(), reference)
        .await?;
    let accepted = request.headers().get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    if !accepted.any(|value| value.contains("text/event-stream")) {
        return Ok(object(&told(reference, &progress)));
    }
    let watching = gateway.sessions.watch(request.caller());
    let watching = watching.ok_or(Code::ProgressLimited)?;
    let (sender, body) = ReplyBody::channel(DEPTH);
    let story = Story {
        _watching: watching,
        authenticator: gateway.authenticator.clone(),
        sessions: gateway.sessions.clone(),
        caller: request.caller().clone(),
        reference: reference.to_owned(),
        sender,
        until: Instant::now() + gateway.config.timeouts.exchange,
    };
    let cut = gateway.cut.clone();
    let telling = async move { cut.run_until_cancelled(story.tell(progress)).await };
    gateway.tracker.spawn(telling);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(CONTENT_TYPE, kind);
    // Proxies in front of us must not hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// A stream of progress: one event for each change, until the turn is over or an exchange could be.
struct Story {
    _watching: Watching,
    authenticator: Authenticator,
    sessions: Sessions,
    caller: Caller,
    reference: String,
    sender: Sender<Part>,
    until: Instant,
}

impl Story {
    async fn tell(self, first: Progress) {
        let (mut last, mut read) = (first, Instant::now());
        let mut changed = true;
        loop {
            let event = match changed {
                true => {
                    let data = told(&self.reference, &last).to_string();
                    sse::write(Some(b"progress"), data.as_bytes())
                }
                false => sse::KEEP_ALIVE,
            };
            // Whoever takes nothing for so long is as good as gone.
            let sent = timeout_at(self.until, self.sender.send(Ok(event))).await;
            if !matches!(sent, Ok(Ok(()))) || last.doing != Doing::Running {
                break;
            }
            let next = Instant::now() + LOOK;
            if next >= self.until {
                break;
            }
            tokio::select! {
                () = self.sender.closed() => return,
                () = sleep_until(next) => {}
            }
            // Revoked, closed, or out of reach: there is nothing more to tell.
            let Some(now) = self.look(&last, &mut read).await else {
                break;
            };
            changed = now != last;
            last = now;
        }
        end(&self.sender).await;
    }

    /// How far it is now. `read` is when the store was asked last.
    async fn look(&self, last: &Progress, read: &mut Instant) -> Option<Progress> {
        if !self.authenticator.still_lets_in(&self.caller) {
            return None;
        }
        if read.elapsed() < READ {
            let known = last.turn.as_ref().map(|turn| turn.request.as_str());
            let turn = self.sessions.turn_here(&self.reference);
            // A turn that has begun or ended meanwhile is read of at once.
            if turn.as_ref().map(|turn| turn.request.as_str()) == known {
                return Some(Progress {
                    turn,
                    ..last.clone()
                });
            }
        }
        *read = Instant::now();
        let asked = self.sessions.progress(&self.caller, &self.reference);
        asked.await.ok()
    }
}

/// Ends the transfer cleanly, by an empty part, or breaks it off for a reader who takes nothing.
async fn end(sender: &Sender<Part>) {
    let _ended = timeout(LAST, sender.send(Ok(bytes::Bytes::new()))).await;
}

fn told(reference: &str, progress: &Progress) -> Value {
    let status = match progress.doing {
        Doing::Idle => "idle",
        Doing::Paused => "paused",
        Doing::Running => "running",
    };
    let turn = progress.turn.as_ref().map(|turn| {
        json!({
            "request": turn.request,
            "started_at": rfc3339(turn.started_us),
            "stage": if turn.replying { "replying" } else { "waiting" },
            "events": turn.events,
            "bytes": turn.bytes,
        })
    });
    json!({
        "reference": reference,
        "status": status,
        "steps": progress.steps,
        "turn": turn,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_no_reader_that_takes_nothing() {
        let (sender, mut parts) = tokio::sync::mpsc::channel::<Part>(1);
        end(&sender).await;
        let began = Instant::now();
        end(&sender).await;
        assert_eq!(began.elapsed(), LAST);
        assert!(parts.try_recv().is_ok_and(|part| part.is_ok()));
        assert!(parts.try_recv().is_err(), "not a clean end");
    }
}
