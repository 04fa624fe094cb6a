//! How far a session's turn is: asked once, or told until it is over.

use std::time::Duration;

use http::Response;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::object;
use crate::auth::Caller;
use crate::clock::rfc3339;
use crate::pipeline::{Authenticated, Cause, Gateway};
use crate::session::{Doing, Progress, Sessions};
use crate::wire::body::{Part, ReplyBody};
use crate::wire::sse;

/// Between two looks of a stream.
const LOOK: Duration = Duration::from_millis(500);
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
    let (sender, body) = ReplyBody::channel(DEPTH);
    let story = Story {
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
    sessions: Sessions,
    caller: Caller,
    reference: String,
    sender: tokio::sync::mpsc::Sender<Part>,
    until: Instant,
}

impl Story {
    async fn tell(self, first: Progress) {
        let mut last = first;
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
            // Closed, or out of reach: there is nothing more to tell.
            let Ok(now) = self.sessions.progress(&self.caller, &self.reference).await else {
                break;
            };
            changed = now != last;
            last = now;
        }
        // An empty part ends the transfer cleanly.
        let _ended = self.sender.send(Ok(bytes::Bytes::new())).await;
    }
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
