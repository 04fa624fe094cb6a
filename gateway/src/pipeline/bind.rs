//! The third stage: the caller's session, and the turn that nobody else can have meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Kind, Node};
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::evidence::Shown;
use super::inbound::Head;
use super::receive::Received;
use super::refuse::{Refusal, absent_refusal, held_refusal, refusal, session_refusal};
use crate::auth::Caller;
use crate::protocol::{Facts, Protocol, Said, conversation};
use crate::reject::{Code, Rejection};
use crate::relay::ReplySlot;
use crate::session::{Conversation, Message, Turn};

/// The member of a body that names a session. It never reaches a provider.
pub(super) const SESSION_ID: &str = "session_id";

/// A request that holds the turn of its session.
pub(super) struct Bound {
    head: Head,
    caller: Arc<Caller>,
    body: Bytes,
    facts: Facts,
    turn: Turn,
}

impl Gateway {
    /// Takes the turn of the session that the body names, else of the one that the conversation belongs
    /// to, else of a new one.
    pub(super) async fn bind(
        &self,
        protocol: &dyn Protocol,
        request: Received,
        document: &Document<'_>,
        slot: &mut ReplySlot,
    ) -> Result<Bound, Box<Refusal>> {
        let root = document.root();
        let facts = match protocol.facts(root) {
            Ok(facts) => facts,
            Err(rejection) => return Err(request.refuse(rejection)),
        };
        let session = match root.get(SESSION_ID) {
            None => None,
            Some(node) if node.kind() == Kind::Null => None,
            Some(node) => match node.text() {
                Some(text) => Some(text.into_owned()),
                None => {
                    let rejection = Rejection::new(Code::JsonUnexpected).parameter(SESSION_ID);
                    return Err(request.refuse(rejection.detail("a string is needed")));
                }
            },
        };
        let (head, caller, body) = request.into_parts();
        if session.is_none() && self.config.sessions.require_session {
            let rejection = Rejection::new(Code::SessionRequired).parameter(SESSION_ID);
            return Err(refusal(head, Some(caller), rejection));
        }
        let gone = CancellationToken::new();
        let sessions = self.sessions.until(gone.clone());
        let turn = async {
            match session {
                None if self.config.sessions.continuity => {
                    let shown = Shown::of(document);
                    let witness = |vault: &[u8]| shown.of_values(vault);
                    sessions.resume(&caller, said(root), &witness).await
                }
                session => sessions.turn(&caller, session.as_deref()).await,
            }
        };
        let turn = match waited_for(turn, slot, &gone).await {
            Ok(turn) => turn,
            Err(error) => return Err(absent_refusal(head, caller, error)),
        };
        match turn.state().is_paused() {
            Ok(false) => Ok(Bound {
                head,
                caller,
                body,
                facts,
                turn,
            }),
            Ok(true) => Err(held_refusal(head, caller, turn, Code::SessionPaused.into())),
            Err(error) => Err(held_refusal(head, caller, turn, session_refusal(&error))),
        }
    }
}

/// What was begun is ended, but nobody waits in line for a caller who has hung up.
async fn waited_for<T>(
    turn: impl Future<Output = T>,
    slot: &mut ReplySlot,
    gone: &CancellationToken,
) -> T {
    let mut turn = Box::pin(turn);
    tokio::select! {
        biased;
        turn = &mut turn => turn,
        () = slot.gone() => {
            gone.cancel();
            turn.await
        }
    }
}

fn said(root: Node<'_>) -> Conversation {
    let told = conversation(root);
    let message = |said: Said| Message {
        by_model: said.by_model,
        digest: said.digest,
    };
    Conversation {
        user: told.user,
        system: told.system,
        messages: told.messages.into_iter().map(message).collect(),
    }
}

impl Bound {
    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> (Head, Arc<Caller>, Bytes, Facts, Turn) {
        (self.head, self.caller, self.body, self.facts, self.turn)
    }
}
