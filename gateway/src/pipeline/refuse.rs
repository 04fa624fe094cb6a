//! How a request ends that no provider saw: one `exchange.refused` record, in its session's chain if
//! it has one, and the answer.

use std::sync::Arc;

use gatehouse_redactor::body::Refusal as Found;
use gatehouse_redactor::{Label, ScanError};
use http::Response;

use super::Gateway;
use super::authenticate::Authenticated;
use super::inbound::{Head, Inbound};
use super::unsent::Unsent;
use crate::audit::{Absent, BookError, BuildError, Refused, Source, Subject, Who};
use crate::auth::Caller;
use crate::limit::Denied;
use crate::reject::{Code, Rejection};
use crate::screen;
use crate::session::{Absence, Offer, SessionError, Turn};
use crate::wire::body::ReplyBody;

/// A request that ends here, with what its record needs.
pub struct Refusal {
    head: Head,
    caller: Option<Arc<Caller>>,
    turn: Option<Turn>,
    rejection: Rejection,
    label: Option<Label>,
    rule: Option<&'static str>,
    absence: Option<Absence>,
    pub(super) recorded: bool,
    pub(super) unsent: Option<Box<Unsent>>,
}

/// Why the record of a refusal is missing.
#[derive(Debug, thiserror::Error)]
enum Unrecorded {
    #[error(transparent)]
    Book(#[from] BookError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Session(#[from] SessionError),
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
        absence: None,
        recorded,
        unsent: None,
    })
}

/// A refusal because the session cannot be used. Why it is not there is for the log alone.
pub(super) fn absent_refusal(head: Head, caller: Arc<Caller>, error: SessionError) -> Box<Refusal> {
    let mut refusal = refusal(head, Some(caller), session_refusal(&error));
    refusal.absence = match error {
        SessionError::NotFound(absence) => Some(absence),
        SessionError::RolledBack(reference) => Some(Absence::RolledBack { reference }),
        _ => None,
    };
    refusal
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
        Found::Scan(ScanError::Overloaded) => (Code::ModelOverloaded, None),
        Found::Scan(ScanError::TooLongForModel) => (Code::ModelTextTooLong, None),
        Found::Scan(_) | Found::Unsettled | Found::Unvisited(_) => (Code::ScanFailed, None),
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
        SessionError::Interrupted => Code::SessionInterrupted,
        SessionError::Newer => Code::SessionNewer,
        SessionError::NotFound(_) => Code::SessionNotFound,
        SessionError::RolledBack(_) => Code::SessionRolledBack,
        SessionError::Keys(error) if error.is_the_providers() => Code::KeysUnavailable,
        // What stands in the way of operators only.
        SessionError::Erasing | SessionError::NotOnHold | SessionError::OnHold(_) => {
            Code::SessionUnavailable
        }
        SessionError::Damaged | SessionError::Keys(_) | SessionError::Store(_) => {
            Code::SessionUnavailable
        }
        SessionError::Log | SessionError::Unconfirmed => Code::AuditUnavailable,
        SessionError::Unfunded => Code::BudgetUnavailable,
    })
}

/// What a caller is told where nothing may be spent, or nobody can say whether it may.
pub(super) fn budget_refusal(denied: &Denied) -> Rejection {
    match denied {
        Denied::Capped { scope, cap, used } => {
            let scope = scope.word();
            let detail = format!("{used} of {cap} tokens of this {scope} are spent or set aside");
            Rejection::new(Code::BudgetExceeded).detail(detail)
        }
        Denied::Unavailable(error) => {
            tracing::error!(%error, "nothing could be set aside");
            Code::BudgetUnavailable.into()
        }
    }
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
        let code = refusal.rejection.code();
        self.metrics.refused(code);
        tracing::info!(
            request = refusal.head.id.as_str(),
            code = code.word(),
            blame = code.blame().word(),
            "refused"
        );
        let session = refusal
            .turn
            .as_ref()
            .map(|turn| turn.reference().to_owned());
        let id = refusal.head.id.clone();
        let (rejection, written) = Box::pin(self.record(refusal)).await;
        if let Err(error) = written {
            tracing::error!(request = id.as_str(), %error, "the refusal could not be recorded");
        }
        (rejection, session)
    }

    async fn record(&self, refusal: Refusal) -> (Rejection, Result<(), Unrecorded>) {
        let Refusal {
            head,
            caller,
            turn,
            rejection,
            label,
            rule,
            absence,
            recorded,
            unsent: _,
        } = refusal;
        let Some(caller) = caller.filter(|_| !recorded) else {
            return (rejection, Ok(()));
        };
        let people = match self.people(&head, &caller).await {
            Ok(people) => people,
            Err(error) => return (rejection, Err(error.into())),
        };
        let refused = |session| Refused {
            request: head.id.as_str(),
            session,
            who: Some(people.who(&caller)),
            source: people.source(&head),
            status: rejection.status().as_u16(),
            code: rejection.code().word(),
            blame: rejection.code().blame().word(),
            label,
            rule,
            absent: absence.as_ref().map(absent),
        };
        let (event, otherwise) = match &turn {
            Some(turn) => {
                let place = (head.subject(turn.reference()), turn.link());
                let shared = turn.is_shared();
                let otherwise = shared.then(|| refused(None).build().ok()).flatten();
                (refused(Some(place)).build(), otherwise)
            }
            None => (refused(None).build(), None),
        };
        let written = match (event, turn) {
            (Err(error), _) => Err(error.into()),
            (Ok(event), None) => self.book.refused(event).await.map_err(Unrecorded::from),
            (Ok(event), Some(turn)) => {
                let offer = Offer {
                    otherwise,
                    ..event.into()
                };
                turn.settle(offer).await.map_err(Unrecorded::from)
            }
        };
        (rejection, written)
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

    /// The first step of a request of our own API: who calls.
    ///
    /// # Errors
    /// The reply to an unknown caller.
    pub async fn known(&self, inbound: Inbound) -> Result<Authenticated, Response<ReplyBody>> {
        let (id, shape) = (inbound.id().clone(), inbound.head.shape);
        match self.authenticate(inbound).await {
            Ok(request) => Ok(request),
            Err(refusal) => {
                let (rejection, _) = self.conclude(*refusal).await;
                Err(rejection.response(shape, id.as_str()))
            }
        }
    }

    /// Ends a request of our own API, with its record.
    pub async fn refuse(&self, request: Authenticated, cause: Cause) -> Response<ReplyBody> {
        let (head, caller, _) = request.into_parts();
        let (id, shape) = (head.id.clone(), head.shape);
        let refusal = match cause {
            Cause::Request(rejection) => refusal(head, Some(caller), rejection),
            Cause::Session(error) => absent_refusal(head, caller, error),
        };
        let (rejection, _) = self.conclude(*refusal).await;
        rejection.response(shape, id.as_str())
    }
}

/// Why a request of our own API ends without an answer.
pub enum Cause {
    /// Something about it, or about a provider.
    Request(Rejection),
    /// Its session cannot be used.
    Session(SessionError),
}

impl From<Code> for Cause {
    fn from(code: Code) -> Self {
        Self::Request(code.into())
    }
}

impl From<Rejection> for Cause {
    fn from(rejection: Rejection) -> Self {
        Self::Request(rejection)
    }
}

impl From<SessionError> for Cause {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

/// The reason as the log has it.
fn absent(absence: &Absence) -> Absent<'_> {
    let (session, owner) = match absence {
        Absence::Foreign { reference, owner } => (Some(reference.as_str()), Some(owner.as_str())),
        Absence::RolledBack { reference } => (Some(reference.as_str()), None),
        _ => (None, None),
    };
    Absent {
        reason: absence.reason(),
        session,
        owner,
    }
}
