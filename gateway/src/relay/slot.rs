//! Where a caller waits for the head of its reply.

use http::Response;
use tokio::sync::oneshot;

use crate::wire::body::ReplyBody;

/// A reply and the reference of its session.
pub type Answered = (Response<ReplyBody>, Option<String>);

/// The waiting caller. It may have left.
pub struct ReplySlot(oneshot::Sender<Answered>);

impl ReplySlot {
    /// A slot, and what its caller awaits.
    pub fn new() -> (Self, oneshot::Receiver<Answered>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// Resolves when the caller has hung up.
    pub async fn gone(&mut self) {
        self.0.closed().await;
    }

    /// Answers. Says whether the caller was still there.
    pub fn answer(self, response: Response<ReplyBody>, session: Option<String>) -> bool {
        self.0.send((response, session)).is_ok()
    }
}
