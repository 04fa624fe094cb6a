//! The body of a reply of ours: whole bytes, or a bounded channel that a relay task fills.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// The transfer must not end cleanly: over HTTP/1.1 the last chunk is left out, over h2 the stream
/// is reset. A caller then knows that the reply is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply was aborted")]
pub struct Aborted;

/// What a relay task sends.
pub type Part = Result<Bytes, Aborted>;

/// Over h2, larger replies are handed over in pieces of this size.
const PIECE: usize = 64 << 10;

/// A reply body.
pub enum ReplyBody {
    /// Known whole.
    Whole(Bytes),
    /// Arrives part by part. If the sender is dropped without having said how the reply ended, the
    /// transfer is aborted: an accident never looks like an end.
    Parts {
        /// The relay's end of it is bounded, so a slow caller slows the provider down.
        parts: mpsc::Receiver<Part>,
        /// Set once an empty part has marked the end.
        ended: bool,
    },
}

impl ReplyBody {
    /// A body that a relay task fills. An empty part marks the clean end.
    pub fn channel(depth: usize) -> (mpsc::Sender<Part>, Self) {
        let (sender, parts) = mpsc::channel(depth);
        (
            sender,
            Self::Parts {
                parts,
                ended: false,
            },
        )
    }
}

impl ReplyBody {
    /// Makes a large body that is known whole one that arrives in pieces, and gives the task that
    /// feeds it. Over h2 a reader that opens no window takes nothing, and nobody notices, so whoever
    /// feeds must: if a piece is not taken within `patience`, the rest is let go.
    pub fn feed(&mut self, patience: Duration) -> Option<impl Future<Output = ()> + use<>> {
        let Self::Whole(bytes) = self else {
            return None;
        };
        if bytes.len() <= PIECE {
            return None;
        }
        let mut rest = std::mem::take(bytes);
        let (sender, body) = Self::channel(1);
        *self = body;
        Some(async move {
            while !rest.is_empty() {
                let piece = rest.split_to(PIECE.min(rest.len()));
                let sent = tokio::time::timeout(patience, sender.send(Ok(piece)));
                if !matches!(sent.await, Ok(Ok(()))) {
                    return;
                }
            }
            // An empty piece is the clean end.
            let _end = tokio::time::timeout(patience, sender.send(Ok(Bytes::new()))).await;
        })
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Parts { ended: true, .. } => Poll::Ready(None),
            Self::Parts { parts, ended } => parts.poll_recv(context).map(|part| match part {
                Some(Ok(bytes)) if bytes.is_empty() => {
                    *ended = true;
                    None
                }
                Some(Ok(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Err(Aborted)) | None => {
                    *ended = true;
                    Some(Err(Aborted))
                }
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
            || matches!(self, Self::Parts { ended: true, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Parts { .. } => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn only_a_said_end_is_a_clean_end() {
        let (sender, body) = ReplyBody::channel(4);
        sender.send(Ok(Bytes::from_static(b"a"))).await.unwrap();
        sender.send(Ok(Bytes::new())).await.unwrap();
        drop(sender);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "a");

        let (sender, body) = ReplyBody::channel(4);
        sender.send(Ok(Bytes::from_static(b"a"))).await.unwrap();
        drop(sender);
        assert!(body.collect().await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_is_fed_whole_and_let_go_when_nobody_takes_it() {
        let bytes: Bytes = (0..3 * PIECE + 7).map(|n| n as u8).collect();
        let patience = Duration::from_secs(9);
        let mut body = ReplyBody::Whole(bytes.clone());
        let feeding = body.feed(patience).unwrap();
        let (whole, ()) = tokio::join!(body.collect(), feeding);
        assert_eq!(whole.unwrap().to_bytes(), bytes);

        let mut body = ReplyBody::Whole(bytes.clone());
        body.feed(patience).unwrap().await;
        assert!(body.collect().await.is_err(), "no clean end");
        assert!(
            ReplyBody::Whole(bytes.slice(..PIECE))
                .feed(patience)
                .is_none()
        );
    }
}
