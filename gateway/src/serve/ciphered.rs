//! A TLS connection that is also watched from outside: what is sent to a caller that may have gone must
//! be enciphered as all else is. A caller may close its sending side and read on here too (RFC 8446
//! §6.1).

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::caller::Line;

/// The connection. One task uses it, so nobody ever waits for the lock.
#[derive(Clone)]
pub(super) struct Ciphered {
    line: Line,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    stream: TlsStream<Line>,
    /// Bytes of a reply wait for the caller to take some.
    blocked: bool,
}

impl Ciphered {
    pub(super) fn new(stream: TlsStream<Line>) -> Self {
        let line = stream.get_ref().0.clone();
        let shared = Shared {
            stream,
            blocked: false,
        };
        Self {
            line,
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// What carries it.
    pub(super) fn line(&self) -> &Line {
        &self.line
    }

    /// Whether HTTP/2 was agreed on (RFC 7301).
    pub(super) fn agreed_on_h2(&self) -> bool {
        self.shared.lock().stream.get_ref().1.alpn_protocol() == Some(b"h2")
    }

    /// Sends the caller something, if nothing else is on its way.
    pub(super) fn try_send(&self, bytes: &[u8]) -> bool {
        let mut shared = self.shared.lock();
        let mut context = Context::from_waker(Waker::noop());
        if shared.blocked
            || Pin::new(&mut shared.stream)
                .poll_flush(&mut context)
                .is_pending()
        {
            return false;
        }
        // Empty buffers have room for it.
        let (_, session) = shared.stream.get_mut();
        if session.writer().write_all(bytes).is_err() {
            return false;
        }
        // What the system does not take now goes out before the reply does.
        let sent = Pin::new(&mut shared.stream).poll_flush(&mut context);
        !matches!(sent, Poll::Ready(Err(_)))
    }

    fn poll_send(
        &self,
        asked: usize,
        send: impl FnOnce(Pin<&mut TlsStream<Line>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let mut shared = self.shared.lock();
        let sent = send(Pin::new(&mut shared.stream));
        shared.blocked = !matches!(sent, Poll::Ready(Ok(count)) if count == asked);
        sent
    }
}

impl AsyncRead for Ciphered {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.shared.lock().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Ciphered {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(bytes.len(), |stream| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.shared.lock().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.shared.lock().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let asked = slices.iter().map(|slice| slice.len()).sum();
        self.poll_send(asked, |stream| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
