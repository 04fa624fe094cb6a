//! The caller's end of a connection: whether anybody is there who still waits for a reply.
//!
//! A caller may close its sending side and read on (RFC 9112 §9.6 knows such half-closed
//! connections), and one that has gone looks the same: its system has closed the sending side for it.
//! What tells them apart is whether the other end still takes bytes: a system whose socket is closed
//! answers them with a reset. So a half-closed caller is sent a few bytes that mean nothing, once: the
//! interim response `100 Continue`, which every client of HTTP/1.1 must pass over (RFC 9110 §15.2),
//! or a comment in the event stream that is under way.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::activity::Activity;
use super::ciphered::Ciphered;

/// How often to look whether the caller has closed its side, while it waits.
const LOOK: Duration = Duration::from_millis(250);
const PROBE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The caller of a connection that is in use, as the one who watches it knows it.
pub(super) enum Caller {
    Plain(Line),
    Ciphered(Ciphered),
}

/// A TCP connection that is also watched from outside.
#[derive(Clone)]
pub(super) struct Line(Arc<Shared>);

struct Shared {
    stream: TcpStream,
    /// Bytes of a reply wait for the caller to take some.
    blocked: AtomicBool,
}

impl Caller {
    /// Resolves when the caller has gone while it has a reply to come.
    pub(super) async fn gone(&self, activity: &Activity) {
        loop {
            activity.begins.notified().await;
            let mut probed = false;
            while activity.runs() {
                tokio::select! {
                    () = self.line().fails() => return,
                    () = tokio::time::sleep(LOOK) => {}
                }
                if !probed && self.line().half_closed() {
                    probed = self.probe(activity);
                }
            }
        }
    }

    fn line(&self) -> &Line {
        match self {
            Self::Plain(line) => line,
            Self::Ciphered(stream) => stream.line(),
        }
    }

    /// Sends the caller something to be passed over. False if it cannot be done now.
    fn probe(&self, activity: &Activity) -> bool {
        if !activity.waits() {
            activity.probe();
            return true;
        }
        // Nothing of a reply is on its way: neither of this one, which has no head yet, nor of the
        // one before it.
        match self {
            Self::Plain(line) => line.try_send(PROBE),
            Self::Ciphered(stream) => stream.try_send(PROBE),
        }
    }
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Shared {
            stream,
            blocked: AtomicBool::new(false),
        }))
    }

    /// Resolves when the other end has answered with a reset.
    async fn fails(&self) {
        // An error of the readiness itself says the same.
        let _ = self.0.stream.ready(Interest::ERROR).await;
    }

    fn half_closed(&self) -> bool {
        let mut ready = std::pin::pin!(self.0.stream.ready(Interest::READABLE));
        let mut context = Context::from_waker(std::task::Waker::noop());
        match ready.as_mut().poll(&mut context) {
            Poll::Ready(ready) => ready.is_ok_and(|ready| ready.is_read_closed()),
            Poll::Pending => false,
        }
    }

    /// Sends the caller something, if nothing else is on its way.
    fn try_send(&self, bytes: &[u8]) -> bool {
        let blocked = self.0.blocked.load(Ordering::SeqCst);
        !blocked && matches!(self.0.stream.try_write(bytes), Ok(sent) if sent == bytes.len())
    }

    /// Notes whether the caller took all that there was.
    fn took(&self, asked: usize, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let all = matches!(sent, Poll::Ready(Ok(count)) if count == asked);
        self.0.blocked.store(!all, Ordering::SeqCst);
        sent
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        mut send: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(context))?;
            match send(&self.0.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(context))?;
            match self.0.stream.try_read_buf(buffer) {
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = self.poll_send(context, |stream| stream.try_write(bytes));
        self.took(bytes.len(), sent)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Nothing to do: the socket is closed as soon as it is dropped, which is next.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let asked = slices.iter().map(|slice| slice.len()).sum();
        let sent = self.poll_send(context, |stream| stream.try_write_vectored(slices));
        self.took(asked, sent)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
