//! Where a caller waits for the head of its reply.

use http::Response;
use http::header::{HeaderName, HeaderValue};
use tokio::sync::oneshot;

use crate::limit::Warning;
use crate::wire::body::ReplyBody;

/// A reply and the reference of its session.
pub type Answered = (Response<ReplyBody>, Option<String>);

/// The waiting caller. It may have left.
pub struct ReplySlot {
    sender: oneshot::Sender<Answered>,
    warning: Option<Warning>,
}

/// The head of a reply under a cap that is nearly reached: whose, what is spent or set aside, and what
/// may be.
const BUDGET: HeaderName = HeaderName::from_static("x-gatehouse-budget-warning");

impl ReplySlot {
    /// A slot, and what its caller awaits.
    pub fn new() -> (Self, oneshot::Receiver<Answered>) {
        let (sender, receiver) = oneshot::channel();
        let warning = None;
        (Self { sender, warning }, receiver)
    }

    /// Resolves when the caller has hung up.
    pub async fn gone(&mut self) {
        self.sender.closed().await;
    }

    /// Has the answer tell of a cap.
    pub fn warn(&mut self, warning: Option<Warning>) {
        self.warning = warning;
    }

    /// Answers. Says whether the caller was still there.
    pub fn answer(self, mut response: Response<ReplyBody>, session: Option<String>) -> bool {
        if let Some(Warning { scope, cap, used }) = self.warning {
            let text = format!("{}; used={used}; limit={cap}", scope.word());
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().insert(BUDGET, value);
            }
        }
        self.sender.send((response, session)).is_ok()
    }
}
