//! Replies that are delivered as events: each is searched as it comes, what is undecided is held,
//! and the last one waits for the record. A stream that does not end well never ends cleanly.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::finish::Finish;
use super::settle::End;
use super::{Admitted, Guard, ReplySlot, Shared, Unreplied};
use crate::payloads::Keeping;
use crate::protocol::Role;
use crate::provider::Answer;
use crate::reject::{Code, Rejection, Shape, reported};
use crate::screen::{Names, ReplySearch, aside};
use crate::session::{Reporting, Turn};
use crate::wire::body::{Aborted, Part, ReplyBody};
use crate::wire::sse::{self, Event, Item, Reader};

/// Parts that may wait for a slow caller; more slow the provider down.
const DEPTH: usize = 16;
/// How often to look whether an error event has been taken, and how long it is given after that.
const PARTING: Duration = Duration::from_millis(5);
/// How long a caller is given to take an error event before the transfer is aborted, and a provider
/// to end its transfer so that the connection can be used again.
const LINGER: Duration = Duration::from_millis(100);

/// The way from the provider to the caller.
struct Channel<'s> {
    search: ReplySearch<'s>,
    reader: Reader,
    sender: mpsc::Sender<Part>,
    guard: Guard,
    idle: Duration,
    /// Whether the model reads along, which takes its time.
    is_read: bool,
    progress: Arc<Reporting>,
    keeping: Option<Keeping>,
    /// Bytes of the reply that are kept, at most.
    most: u64,
}

/// Runs an exchange whose reply is an event stream.
pub(super) async fn run(admitted: Admitted, mut answer: Answer, shared: &Shared, slot: ReplySlot) {
    let (mut settlement, rest) = admitted.split();
    let request = settlement.request.clone();
    let (sender, body) = ReplyBody::channel(DEPTH);
    let mut channel = Channel {
        search: shared.search(&rest),
        reader: Reader::new(shared.limits.event),
        sender: sender.clone(),
        guard: Guard::new(shared.renewal, rest.deadline, shared.cut.clone()),
        idle: shared.timeouts.idle,
        is_read: shared.is_read(),
        progress: Arc::clone(&settlement.progress),
        keeping: settlement.keeping.take(),
        most: shared.limits.reply as u64,
    };
    let finish = if slot.answer(events(body), rest.session.clone()) {
        channel.pump(&mut answer, &mut settlement.turn).await
    } else {
        Finish::CallerGone
    };
    if let (Finish::Whole(last) | Finish::Reported(last), Some(keeping)) =
        (&finish, &mut channel.keeping)
    {
        keeping.restored(last);
    }
    settlement.keeping = channel.keeping.take();
    let end = End {
        status: 200,
        upstream_status: Some(answer.status.as_u16()),
        ending: finish.ending(),
        attempts: answer.attempts,
        sent: true,
    };
    let settled = settlement
        .settle(shared, channel.search.into_findings(), end)
        .await;
    let last_word = match finish.recorded(settled, shared) {
        Finish::CallerGone => return,
        Finish::Whole(last) => {
            close(sender, last, shared.timeouts.idle).await;
            return linger(&mut answer).await;
        }
        Finish::Reported(error) => report(shared, &error, request.as_str()),
        Finish::Broken(rejection) => {
            let shape = shared.protocol.shape();
            framed(shape, &rejection.json(shape, request.as_str()))
        }
    };
    let _parted = tokio::time::timeout(shared.timeouts.idle, part(sender, last_word)).await;
}

impl Channel<'_> {
    /// Passes events on until the stream ends in one way or another.
    async fn pump(&mut self, answer: &mut Answer, turn: &mut Turn) -> Finish<Bytes> {
        loop {
            let next = self
                .guard
                .wait(answer.next(), self.sender.closed(), turn, self.idle)
                .await;
            let mut out = BytesMut::new();
            let names = Names::of(turn);
            let step = aside(self.is_read, || match next {
                Err(Unreplied::CallerGone) => Some(Finish::CallerGone),
                Err(Unreplied::Failed { rejection, .. }) => self.cut(&mut out, rejection, &names),
                Ok(Some(Ok(bytes))) => self.feed(&bytes, &mut out, &names),
                Ok(Some(Err(error))) => self.cut(&mut out, error.into(), &names),
                Ok(None) => self.cut(&mut out, Code::ProviderTruncated.into(), &names),
            });
            if !out.is_empty() {
                let kept = self.keep(|keeping| keeping.restored(&out));
                if let Err(finish) = kept {
                    return finish;
                }
                let sending = self.sender.send(Ok(out.freeze()));
                let sent = self
                    .guard
                    .wait(sending, std::future::pending(), turn, self.idle)
                    .await;
                match sent {
                    Ok(Ok(())) => {}
                    // The whole exchange is over, and not because of the caller.
                    Err(Unreplied::Failed { rejection, .. })
                        if rejection.code() != Code::ProviderTimeout =>
                    {
                        return Finish::Broken(rejection);
                    }
                    // A caller that reads nothing for so long is as good as gone.
                    Ok(Err(_)) | Err(_) => return Finish::CallerGone,
                }
            }
            if let Some(finish) = step {
                return finish;
            }
        }
    }

    /// Keeps more of the reply, if it is kept. One that is larger than a whole reply may be has to be
    /// cut: what goes on must all be kept.
    fn keep(&mut self, push: impl FnOnce(&mut Keeping) -> u64) -> Result<(), Finish<Bytes>> {
        match self.keeping.as_mut().map(push) {
            Some(bytes) if bytes > self.most => Err(Finish::Broken(Code::ProviderTooLarge.into())),
            _ => Ok(()),
        }
    }

    /// Takes bytes of the provider's; what may be passed on goes to `out`.
    fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut BytesMut,
        names: &Names<'_>,
    ) -> Option<Finish<Bytes>> {
        self.progress.came(0, bytes.len());
        if let Err(finish) = self.keep(|keeping| keeping.received(bytes)) {
            return Some(finish);
        }
        if self.reader.push(bytes).is_err() {
            return Some(Finish::Broken(Code::ProviderTooLarge.into()));
        }
        while let Some(item) = self.reader.pop() {
            match item {
                Item::Comment => out.extend_from_slice(&sse::KEEP_ALIVE),
                Item::Event(event) => match self.event(&event, out, names) {
                    Ok(None) => {}
                    Ok(Some(finish)) => return Some(finish),
                    Err(rejection) => return Some(Finish::Broken(rejection)),
                },
            }
        }
        None
    }

    fn event(
        &mut self,
        event: &Event,
        out: &mut BytesMut,
        names: &Names<'_>,
    ) -> Result<Option<Finish<Bytes>>, Rejection> {
        self.progress.came(1, 0);
        let flow = self.search.event(event, names)?;
        out.extend_from_slice(&flow.frames);
        let held = flow.held.unwrap_or_default();
        Ok(match flow.role {
            Role::Middle => None,
            Role::Last => Some(Finish::Whole(held)),
            Role::Error => Some(Finish::Reported(held)),
        })
    }

    /// The provider's bytes have ended, with or without a reason. An event that no blank line
    /// closed still counts if it is whole; then everything held is released.
    fn cut(
        &mut self,
        out: &mut BytesMut,
        reason: Rejection,
        names: &Names<'_>,
    ) -> Option<Finish<Bytes>> {
        if let Some(event) = self.reader.finish() {
            match self.event(&event, out, names) {
                Ok(Some(finish)) => return Some(finish),
                Err(rejection) if rejection.code() != Code::ProviderMalformed => {
                    return Some(Finish::Broken(rejection));
                }
                Ok(None) | Err(_) => {}
            }
        }
        match self.search.flush_all(names) {
            Ok(frames) => out.extend_from_slice(&frames),
            Err(rejection) => return Some(Finish::Broken(rejection)),
        }
        Some(Finish::Broken(reason))
    }
}

fn events(body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    // Proxies in front of us must not hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The provider's own error, as an event.
fn report(shared: &Shared, error: &[u8], request: &str) -> Bytes {
    let shape = shared.protocol.shape();
    // There is no status any more; it only gives a type to errors that have none.
    let error = reported(shape, StatusCode::BAD_GATEWAY, error, request);
    framed(shape, &error)
}

fn framed(shape: Shape, error: &[u8]) -> Bytes {
    let name: Option<&[u8]> = match shape {
        Shape::Anthropic => Some(b"error"),
        Shape::OpenAi => None,
    };
    sse::write(name, error)
}

/// Sends the last event and ends the transfer cleanly. Nobody who is gone or reads no more misses
/// anything that is not recorded.
async fn close(sender: mpsc::Sender<Part>, last: Bytes, patience: Duration) {
    let ending = async {
        sender.send(Ok(last)).await?;
        sender.send(Ok(Bytes::new())).await
    };
    let _taken = tokio::time::timeout(patience, ending).await;
}

/// Sends a last word and aborts the transfer, so that no client takes it for a whole reply.
async fn part(sender: mpsc::Sender<Part>, word: Bytes) {
    if sender.send(Ok(word)).await.is_ok() {
        // hyper drops what it has not written when a body fails. It writes once it finds nothing
        // more to take, so the failure must come after that.
        let taken = async {
            while sender.capacity() < sender.max_capacity() {
                tokio::time::sleep(PARTING).await;
            }
            tokio::time::sleep(PARTING).await;
        };
        let _ = tokio::time::timeout(LINGER, taken).await;
    }
    let _ = sender.send(Err(Aborted)).await;
}

async fn linger(answer: &mut Answer) {
    let ending = async { while let Some(Ok(_)) = answer.next().await {} };
    let _ = tokio::time::timeout(LINGER, ending).await;
}
