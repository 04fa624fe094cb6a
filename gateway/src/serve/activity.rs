//! What the requests of one connection tell those who watch over it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::wire::body::{Aborted, ReplyBody};
use crate::wire::sse;

/// The requests of a connection, counted.
#[derive(Default)]
pub(super) struct Activity {
    /// Whose reply has not been handed over to the end.
    running: AtomicUsize,
    /// That have no reply yet and may be sent an interim one (RFC 9110 §15.2: not to HTTP/1.0).
    unanswered: AtomicUsize,
    /// So far; a change means that the connection is in use.
    begun: AtomicU64,
    /// Told of every request.
    pub(super) begins: Notify,
    /// Told of the first request.
    pub(super) first: Notify,
    probe: Probe,
}

/// Asks a stream that is under way for a few bytes that mean nothing.
#[derive(Default)]
struct Probe {
    wanted: AtomicBool,
    waker: Mutex<Option<std::task::Waker>>,
}

impl Activity {
    /// Requests so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether a reply is still to be made or handed over.
    pub(super) fn runs(&self) -> bool {
        self.running.load(Ordering::Relaxed) > 0
    }

    /// Whether the request at hand waits for the head of its reply, and may be sent an interim one.
    pub(super) fn waits(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) > 0
    }

    /// Has the stream that is under way send a comment.
    pub(super) fn probe(&self) {
        self.probe.wanted.store(true, Ordering::SeqCst);
        if let Some(waker) = self.probe.waker.lock().take() {
            waker.wake();
        }
    }
}

/// A request that is under way, until its reply has been handed over or dropped.
pub(super) struct Begun(Arc<Activity>);

impl Begun {
    pub(super) fn new(activity: Arc<Activity>) -> Self {
        activity.running.fetch_add(1, Ordering::Relaxed);
        activity.begun.fetch_add(1, Ordering::Relaxed);
        activity.first.notify_one();
        activity.begins.notify_one();
        Self(activity)
    }

    /// Until the head of its reply is there; over h2 the request may be dropped before that.
    pub(super) fn waiting(&self, interim: bool) -> Waiting<'_> {
        let one = usize::from(interim);
        self.0.unanswered.fetch_add(one, Ordering::Relaxed);
        Waiting(&self.0, one)
    }

    /// The reply's body, which ends the request when it is dropped.
    pub(super) fn deliver(self, body: ReplyBody) -> Delivered {
        Delivered { body, begun: self }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request without the head of its reply.
pub(super) struct Waiting<'a>(&'a Activity, usize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.unanswered.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// A reply's body on its way.
pub(super) struct Delivered {
    body: ReplyBody,
    begun: Begun,
}

impl Body for Delivered {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_pending() {
            // Parts are whole events, so a comment may stand between any two.
            let probe = &this.begun.0.probe;
            *probe.waker.lock() = Some(context.waker().clone());
            if probe.wanted.swap(false, Ordering::SeqCst) {
                return Poll::Ready(Some(Ok(Frame::data(sse::KEEP_ALIVE))));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
