//! The third stage: the caller's session, and the turn that nobody else can have meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Kind};

use super::Gateway;
use super::inbound::Head;
use super::receive::Received;
use super::refuse::{Refusal, absent_refusal, refusal};
use crate::auth::Caller;
use crate::protocol::{Facts, Protocol, conversation};
use crate::reject::{Code, Rejection};
use crate::session::{Message, Turn};

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
        let turn = match session {
            Some(id) => self.sessions.turn(&caller, Some(&id)).await,
            None if self.config.sessions.require_session => {
                let rejection = Rejection::new(Code::SessionRequired).parameter(SESSION_ID);
                return Err(refusal(head, Some(caller), rejection));
            }
            None if self.config.sessions.continuity => {
                let messages = conversation(root).into_iter().map(|said| Message {
                    by_model: said.by_model,
                    digest: said.digest,
                });
                self.sessions.resume(&caller, messages.collect()).await
            }
            None => self.sessions.turn(&caller, None).await,
        };
        match turn {
            Ok(turn) => Ok(Bound {
                head,
                caller,
                body,
                facts,
                turn,
            }),
            Err(error) => Err(absent_refusal(head, caller, error)),
        }
    }
}

impl Bound {
    /// The request in its parts, for the next stage.
    pub(super) fn into_parts(self) -> (Head, Arc<Caller>, Bytes, Facts, Turn) {
        (self.head, self.caller, self.body, self.facts, self.turn)
    }
}
