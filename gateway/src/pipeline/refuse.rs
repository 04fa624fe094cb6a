//! How a request ends that no provider saw: one `exchange.refused` record, in its session's chain if
//! it has one, and the answer.

use std::sync::Arc;

use gatehouse_redactor::Label;
use gatehouse_redactor::body::Refusal as Found;
use http::Response;

use super::Gateway;
use super::inbound::{Head, Inbound};
use crate::audit::{BookError, Refused, Source, Subject, Who};
use crate::auth::Caller;
use crate::reject::{Code, Rejection};
use crate::screen;
use crate::session::{SessionError, Turn};
use crate::wire::body::ReplyBody;

/// A request that ends here, with what its record needs.
pub struct Refusal {
    head: Head,
    caller: Option<Arc<Caller>>,
    turn: Option<Turn>,
    rejection: Rejection,
    label: Option<Label>,
    rule: Option<&'static str>,
    recorded: bool,
}

/// The caller and its address as the log names them.
pub(super) struct People {
    principal: String,
    credential: String,
    address: String,
}

impl People {
    pub(super) fn who<'a>(&'a self, caller: &'a Caller) -> Who<'a> {
        Who {
            principal: &self.principal,
            credential: Some(&self.credential),
            tenant: &caller.tenant,
            agent: caller.agent.as_deref(),
        }
    }

    pub(super) fn source(&self, head: &Head) -> Source<'_> {
        Source {
            address: Some(&self.address),
            edge_ids: head.edge_ids,
        }
    }
}

impl Head {
    /// The session as records name it.
    pub(super) fn subject<'a>(&self, reference: &'a str) -> Subject<'a> {
        let trace = self.trace.as_ref().and_then(|trace| trace.bytes());
        Subject {
            session: reference,
            run: None,
            trace,
        }
    }
}

/// A refusal before there is a session.
pub(super) fn refusal(
    head: Head,
    caller: Option<Arc<Caller>>,
    rejection: Rejection,
) -> Box<Refusal> {
    let recorded = caller.is_none();
    Box::new(Refusal {
        head,
        caller,
        turn: None,
        rejection,
        label: None,
        rule: None,
        recorded,
    })
}

/// A refusal while the turn is held.
pub(super) fn held_refusal(
    head: Head,
    caller: Arc<Caller>,
    turn: Turn,
    rejection: Rejection,
) -> Box<Refusal> {
    let mut refusal = refusal(head, Some(caller), rejection);
    refusal.turn = Some(turn);
    refusal
}

/// A refusal because the log or the store failed: there is no record to be had.
pub(super) fn unrecorded(head: Head, caller: Arc<Caller>, rejection: Rejection) -> Box<Refusal> {
    let mut refusal = refusal(head, Some(caller), rejection);
    refusal.recorded = true;
    refusal
}

/// A refusal by the search.
pub(super) fn screen_refusal(
    head: Head,
    caller: Arc<Caller>,
    turn: Turn,
    refused: screen::Refused,
) -> Box<Refusal> {
    let (rejection, label, rule) = match refused {
        screen::Refused::Incomplete => (Rejection::new(Code::ScanFailed), None, None),
        screen::Refused::Vault => (Rejection::new(Code::SessionUnavailable), None, None),
        screen::Refused::Found(found) => found_rejection(&found),
    };
    let mut refusal = held_refusal(head, caller, turn, rejection);
    (refusal.label, refusal.rule) = (label, rule);
    refusal
}

fn found_rejection(found: &Found) -> (Rejection, Option<Label>, Option<&'static str>) {
    let (code, rule) = match found {
        Found::Blocked { rule, .. } => (Code::BlockedByPolicy, Some(*rule)),
        Found::CheckFailed { rule, .. } => (Code::FindingInName, Some(*rule)),
        Found::Grammar { .. } => (Code::NameMalformed, None),
        Found::KeyCollision { .. } => (Code::FindingInName, None),
        Found::Media { .. } => (Code::MediaRefused, None),
        Found::NumberLiteral { rule, .. } => (Code::FindingInNumber, Some(*rule)),
        Found::Scan(_) | Found::Unvisited(_) => (Code::ScanFailed, None),
        Found::TooManyValues => (Code::SessionFull, None),
        Found::SignedChanged { rule, .. } => (Code::SignedContentChanged, Some(*rule)),
    };
    let mut rejection = Rejection::new(code);
    if let Some(path) = found.path() {
        rejection = rejection.parameter(path);
    }
    let label = found.label();
    if let Found::Media { mime, fault, .. } = found {
        rejection = rejection.detail(format!("{fault} ({mime})"));
    } else if let Some(label) = label {
        rejection = rejection.detail(label.as_str());
    }
    (rejection, label, rule)
}

/// What a caller is told of a session that cannot be used.
pub(super) fn session_refusal(error: &SessionError) -> Rejection {
    Rejection::new(match error {
        SessionError::Busy => Code::SessionBusy,
        SessionError::Conflict => Code::SessionConflict,
        SessionError::NotFound(_) => Code::SessionNotFound,
        SessionError::Damaged | SessionError::Keys(_) | SessionError::Store(_) => {
            Code::SessionUnavailable
        }
        SessionError::Log => Code::AuditUnavailable,
    })
}

/// What a caller is told when the log fails.
pub(super) fn book_refusal(error: &BookError) -> Rejection {
    match error {
        // A model's name that is no plain word, for instance: the request is at fault.
        BookError::Build(_) => {
            Rejection::new(Code::JsonUnexpected).detail("a name that no record may hold")
        }
        BookError::Append(_) | BookError::Late => Code::AuditUnavailable.into(),
    }
}

impl Gateway {
    /// Names the caller and its address for the log.
    pub(super) async fn people(
        &self,
        head: &Head,
        caller: &Caller,
    ) -> Result<People, SessionError> {
        let names = self.sessions.log_names(&caller.tenant).await?;
        Ok(People {
            principal: names.principal(&caller.principal()),
            credential: names.credential(&caller.token_digest),
            address: names.address(head.peer),
        })
    }

    /// Writes the record of a refusal. Gives back what the caller is told, and the session's name.
    pub(super) async fn conclude(&self, refusal: Refusal) -> (Rejection, Option<String>) {
        let Refusal {
            head,
            caller,
            turn,
            rejection,
            label,
            rule,
            recorded,
        } = refusal;
        self.metrics.refused(rejection.code());
        tracing::info!(
            request = head.id.as_str(),
            code = rejection.code().word(),
            blame = rejection.code().blame().word(),
            "refused"
        );
        let session = turn.as_ref().map(|turn| turn.reference().to_owned());
        let Some(caller) = caller.filter(|_| !recorded) else {
            return (rejection, session);
        };
        let Ok(people) = self.people(&head, &caller).await else {
            return (rejection, session);
        };
        let event = Refused {
            request: head.id.as_str(),
            session: turn
                .as_ref()
                .map(|turn| (head.subject(turn.reference()), turn.link())),
            who: Some(people.who(&caller)),
            source: people.source(&head),
            status: rejection.status().as_u16(),
            code: rejection.code().word(),
            blame: rejection.code().blame().word(),
            label,
            rule,
        }
        .build();
        let Ok(event) = event else {
            return (rejection, session);
        };
        let written = match turn {
            None => self.book.take(event).await.is_ok(),
            Some(turn) => turn.settle(event).await.is_ok(),
        };
        if !written {
            tracing::error!(
                request = head.id.as_str(),
                "the refusal could not be recorded"
            );
        }
        (rejection, session)
    }

    /// Ends a request that has no protocol to speak of: an unknown route, a wrong method, doubtful
    /// framing. Recorded only if its caller is known, since anyone can send such.
    pub async fn turn_away(&self, inbound: Inbound, rejection: Rejection) -> Response<ReplyBody> {
        let (id, shape) = (inbound.id().clone(), inbound.head.shape);
        let Inbound { head, mut body } = inbound;
        let caller = self.authenticator.authenticate(&head.headers).ok();
        if rejection.code() != Code::FramingAmbiguous {
            super::receive::drain(&mut body, &head.headers).await;
        }
        let (rejection, _) = self.conclude(*refusal(head, caller, rejection)).await;
        rejection.response(shape, id.as_str())
    }

    /// The caller of a request of our own API, and the body still to be read.
    ///
    /// # Errors
    /// The reply to an unknown caller.
    pub async fn known_caller(
        &self,
        inbound: Inbound,
    ) -> Result<(Arc<Caller>, hyper::body::Incoming), Response<ReplyBody>> {
        let (id, shape) = (inbound.id().clone(), inbound.head.shape);
        match self.authenticate(inbound).await {
            Ok(request) => {
                let (_, caller, body) = request.into_parts();
                Ok((caller, body))
            }
            Err(refusal) => {
                let (rejection, _) = self.conclude(*refusal).await;
                Err(rejection.response(shape, id.as_str()))
            }
        }
    }

    /// What the caller of our own API is told of a session that cannot be used.
    pub fn session_rejection(error: &SessionError) -> Rejection {
        session_refusal(error)
    }
}
