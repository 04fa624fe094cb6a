//! Request smuggling: what two parsers could frame in two ways is refused, and the connection ends.
//!
//! hyper drops `content-length` when a `transfer-encoding` stands beside it (RFC 9112 §6.1 allows
//! that), so a handler cannot see that both were sent. [`Watched`] looks at the raw bytes of the
//! connection instead and counts the lines that begin with `content-length`. A chunked request on a
//! connection where more such lines arrived than were accounted for by earlier requests is doubtful.
//! A JSON body cannot hold such a line; a pipelined request behind a chunked one can, and is then
//! refused too, which is the safe side.
//!
//! The same holds for the host: [`host`] wants exactly one, whether or not we go by it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Version};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

const NAME: &[u8] = b"content-length";

/// The request's framing can be read in more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request's framing is ambiguous")]
pub struct Ambiguous;

/// A request without a host, with several, or with one that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request must name exactly one host")]
pub struct NoHost;

/// Judges the `host` lines of a request. HTTP/1.0 and HTTP/2 may leave them out; an empty one names
/// a target without an authority.
///
/// # Errors
/// [`NoHost`] where a server must answer 400 (RFC 9112 §3.2).
pub fn host(version: Version, headers: &HeaderMap) -> Result<(), NoHost> {
    let mut lines = headers.get_all(HOST).iter();
    let named = match lines.next() {
        Some(line) => names_host(line),
        None => version != Version::HTTP_11,
    };
    if named && lines.next().is_none() {
        Ok(())
    } else {
        Err(NoHost)
    }
}

fn names_host(line: &HeaderValue) -> bool {
    // `Authority` also takes what comes before an `@`, which `host` does not have.
    line.is_empty()
        || !line.as_bytes().contains(&b'@') && Authority::try_from(line.as_bytes()).is_ok()
}

/// Counts of one connection, shared between its bytes and its requests.
#[derive(Default)]
pub struct Lengths {
    seen: AtomicU64,
    accounted: AtomicU64,
}

impl Lengths {
    /// Judges the head of a request that hyper has parsed.
    ///
    /// # Errors
    /// [`Ambiguous`] if there is any `transfer-encoding` other than one plain `chunked`, or a
    /// `content-length` beside it.
    pub fn check(&self, version: Version, headers: &HeaderMap) -> Result<(), Ambiguous> {
        if version == Version::HTTP_2 {
            return Ok(());
        }
        let lengths = headers.get_all(CONTENT_LENGTH).iter().count() as u64;
        let accounted = self.accounted.fetch_add(lengths, Ordering::Relaxed) + lengths;
        let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
        let Some(coding) = codings.next() else {
            return Ok(());
        };
        let plain = coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked");
        if !plain || codings.next().is_some() || self.seen.load(Ordering::Relaxed) > accounted {
            return Err(Ambiguous);
        }
        Ok(())
    }
}

/// A connection whose incoming bytes are watched, with bytes that were read before put in front, and
/// whose outgoing bytes must be taken in time.
pub struct Watched<S> {
    stream: S,
    stall: Stall,
    before: Bytes,
    lengths: Arc<Lengths>,
    /// How much of [`NAME`] the current line has matched; `None` once it cannot match any more.
    matched: Option<usize>,
}

impl<S> Watched<S> {
    /// Watches `stream`, on which `before` has arrived already. If nothing of what is sent is taken
    /// for `patience`, writing fails.
    pub fn new(stream: S, before: Bytes, lengths: Arc<Lengths>, patience: Duration) -> Self {
        Self {
            stream,
            stall: Stall {
                patience,
                waiting: None,
            },
            before,
            lengths,
            matched: None,
        }
    }

    fn watch(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(matched) = self.matched else {
                let Some(end) = memchr::memchr(b'\n', bytes) else {
                    return;
                };
                bytes = bytes.get(end + 1..).unwrap_or_default();
                self.matched = Some(0);
                continue;
            };
            let (Some(byte), Some(want)) = (bytes.first(), NAME.get(matched)) else {
                return;
            };
            if !byte.eq_ignore_ascii_case(want) {
                self.matched = None;
                continue;
            }
            bytes = bytes.get(1..).unwrap_or_default();
            self.matched = Some(matched + 1).filter(|done| *done < NAME.len());
            if self.matched.is_none() {
                self.lengths.seen.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A peer that takes nothing.
struct Stall {
    patience: Duration,
    /// Set while something waits to be taken.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        waiting
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let start = buffer.filled().len();
        if this.before.has_remaining() {
            let take = this.before.len().min(buffer.remaining());
            buffer.put_slice(&this.before.split_to(take));
        } else {
            std::task::ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        }
        this.watch(buffer.filled().get(start..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.stall.judge(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.stall.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.stall.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(chunks: &[&[u8]]) -> u64 {
        let lengths = Arc::new(Lengths::default());
        let mut watched = Watched::new((), Bytes::new(), Arc::clone(&lengths), Duration::ZERO);
        chunks.iter().for_each(|chunk| watched.watch(chunk));
        lengths.seen.load(Ordering::Relaxed)
    }

    #[test]
    fn lengths_are_counted_at_every_split() {
        let head = b"POST / HTTP/1.1\r\nx: content-length\r\nCONTENT-Length: 5\r\nhost: a\r\n\r\n\ncontent-length:1";
        for cut in 0..=head.len() {
            let (one, two) = head.split_at(cut);
            assert_eq!(seen(&[one, two]), 2, "cut at {cut}");
        }
    }

    #[test]
    fn a_length_beside_chunked_is_ambiguous_in_either_order() {
        let mut headers = HeaderMap::new();
        headers.insert(TRANSFER_ENCODING, "chunked".parse().unwrap());
        let lengths = Lengths::default();
        assert!(lengths.check(Version::HTTP_11, &headers).is_ok());
        lengths.seen.store(1, Ordering::Relaxed);
        assert!(lengths.check(Version::HTTP_11, &headers).is_err());
        lengths.accounted.store(1, Ordering::Relaxed);
        assert!(lengths.check(Version::HTTP_11, &headers).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_not_waited_for() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};

        let patience = Duration::from_secs(9);
        let (near, mut far) = tokio::io::duplex(16);
        let mut watched = Watched::new(near, Bytes::new(), Arc::default(), patience);
        let taking = async {
            // Slowly, but something within every while.
            let mut part = [0; 8];
            for _ in 0..8 {
                tokio::time::sleep(patience - Duration::from_secs(1)).await;
                far.read_exact(&mut part).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(watched.write_all(&[7; 64]), taking);
        written.unwrap();
        let start = tokio::time::Instant::now();
        let error = watched.write_all(&[7; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), patience.as_secs());
    }

    #[test]
    fn a_request_names_exactly_one_host() {
        let judge = |version, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(HOST, line.parse().unwrap());
            }
            host(version, &headers).is_ok()
        };
        for one in [
            "a",
            "a:80",
            "127.0.0.1:8080",
            "[::1]:8080",
            "ex-ample.org",
            "",
        ] {
            for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
                assert!(judge(version, &[one]), "{one}");
                assert!(!judge(version, &[one, one]), "{one} twice");
            }
        }
        for none in ["a b", "u@a", "a/b", "[::1", "a:b:c"] {
            assert!(!judge(Version::HTTP_11, &[none]), "{none}");
        }
        assert!(!judge(Version::HTTP_11, &[]));
        assert!(judge(Version::HTTP_10, &[]) && judge(Version::HTTP_2, &[]));
    }

    #[test]
    fn odd_codings_are_ambiguous() {
        for lines in [
            &["gzip, chunked"][..],
            &["identity"],
            &["chunked", "chunked"],
            &["xchunked"],
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(TRANSFER_ENCODING, line.parse().unwrap());
            }
            assert!(
                Lengths::default()
                    .check(Version::HTTP_11, &headers)
                    .is_err(),
                "{lines:?}"
            );
        }
    }
}
