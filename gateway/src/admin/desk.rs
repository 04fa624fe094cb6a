//! Does what operators ask for, and records every change.

use std::sync::Arc;

use gatehouse_ledger::export::{Export, is_word};
use gatehouse_redactor::{Engine, Policy};

use super::{Answer, Request};
use crate::{
    audit::{AdminAction, AdminChange, Event},
    auth::{CallerKeys, CallerRecord, NewCaller},
    registry::Keyring,
    session::{Absence, Journal, SessionError, Sessions},
};

/// What is told where there is no record.
const NOT_TAKEN: &str = "the log did not take the record";

/// Answers operators, over the socket or without a running gateway.
pub struct Desk {
    pub(super) keys: Arc<CallerKeys>,
    pub(super) keyring: Arc<Keyring>,
    pub(super) sessions: Sessions,
    journal: Arc<dyn Journal>,
}

impl Desk {
    /// A desk over the parts of a gateway.
    pub fn new(
        keys: Arc<CallerKeys>,
        keyring: Arc<Keyring>,
        sessions: Sessions,
        journal: Arc<dyn Journal>,
    ) -> Self {
        Self {
            keys,
            keyring,
            sessions,
            journal,
        }
    }

    /// Does it, or says why not. `by` is who asks, as the system knows: `uid:` and a number.
    pub async fn answer(&self, request: Request, by: &str) -> Answer {
        let answer = match request {
            Request::ExportRecord { export } => self.record_export(&export, by).await,
            Request::KeyCreate(new) => self.create_key(new).await,
            Request::KeyList {} => Ok(Answer::Keys(
                self.keys.list().iter().map(Into::into).collect(),
            )),
            Request::KeyRevoke { key } => self.revoke_key(&key).await,
            Request::KeysRewrap { from } => self.rewrap(from).await,
            Request::KeysRotate { tenant } => self.rotate(tenant).await,
            Request::PayloadKeys {
                sessions,
                name,
                purpose,
            } => self.payload_keys(&sessions, (name, purpose), by).await,
            Request::SessionErase { reference } => {
                let erased = self.sessions.erase(&reference, by).await;
                erased.map(|()| Answer::Done {}).map_err(explain)
            }
            Request::SessionHold { reference, reason } => self.hold(&reference, &reason, by).await,
            Request::SessionHolds {} => {
                let holds = self.sessions.holds().await;
                holds.map(Answer::Holds).map_err(explain)
            }
            Request::SessionList { tenant } => self
                .sessions
                .list(tenant.as_deref())
                .await
                .map(Answer::Sessions)
                .map_err(explain),
            Request::SessionRelease { reference } => {
                let released = self.sessions.release(&reference, by).await;
                released.map(|()| Answer::Done {}).map_err(explain)
            }
            Request::SessionRevoke { reference } => {
                let revoked = self.sessions.revoke(&reference).await;
                revoked.map(|()| Answer::Done {}).map_err(explain)
            }
            Request::SessionShow { reference } => self
                .sessions
                .inspect(&reference)
                .await
                .map(Answer::Session)
                .map_err(explain),
        };
        answer.unwrap_or_else(|why| Answer::Failed { why })
    }

    /// A key whose making the log did not take is revoked before anyone has it.
    async fn create_key(&self, new: NewCaller) -> Result<Answer, String> {
        let made = self.keys.create(new).await;
        let (token, record) = made.map_err(|error| error.to_string())?;
        if let Err(why) = self.record_key(AdminAction::KeyCreate, &record).await {
            let revoked = self.keys.revoke(&record.caller.key_id).await;
            revoked.map_err(|error| error.to_string())?;
            return Err(why);
        }
        Ok(Answer::Created {
            token: token.expose().clone(),
            key: (&record).into(),
        })
    }

    /// Revoking comes before its record: a key that must go goes, whatever the log says.
    async fn revoke_key(&self, key: &str) -> Result<Answer, String> {
        let revoked = self.keys.revoke(key).await;
        let record = revoked.map_err(|error| error.to_string())?;
        let recorded = self.record_key(AdminAction::KeyRevoke, &record).await;
        recorded.map_err(|why| format!("the key is revoked, but {why}"))?;
        Ok(Answer::Key((&record).into()))
    }

    /// The record of what somebody else is about to give out: without this answer it is not.
    async fn record_export(&self, export: &Export, by: &str) -> Result<Answer, String> {
        said_in_words(export)?;
        let event = export.event(by).map_err(|error| error.to_string())?;
        self.append(event).await.map(|()| Answer::Done {})
    }

    /// The same of a row of exports, of which the first is `first` and all say the same of who asked and why. All
    /// are durable with the last.
    pub(super) async fn record_exports(
        &self,
        first: &Export,
        others: &[Export],
        by: &str,
    ) -> Result<(), String> {
        said_in_words(first)?;
        let built = [first].into_iter().chain(others).map(|it| it.event(by));
        let mut events: Vec<Event> = built
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        let last = events.pop();
        for event in events {
            let taken = self.journal.take(event).await;
            taken.map_err(|_| NOT_TAKEN.to_owned())?;
        }
        match last {
            Some(last) => self.append(last).await,
            None => Ok(()),
        }
    }

    async fn record_key(&self, action: AdminAction, record: &CallerRecord) -> Result<(), String> {
        let caller = &record.caller;
        self.record(action, &caller.key_id, &caller.tenant).await
    }

    pub(super) async fn record(
        &self,
        action: AdminAction,
        target: &str,
        tenant: &str,
    ) -> Result<(), String> {
        let change = AdminChange {
            action,
            target,
            tenant,
        };
        let event = change.build().map_err(|error| error.to_string())?;
        self.append(event).await
    }

    async fn append(&self, event: Event) -> Result<(), String> {
        let taken = self.journal.append(event).await;
        taken.map_err(|_| NOT_TAKEN.to_owned())
    }

    /// A hold comes before its record: a key that must stay stays, whatever the log says.
    async fn hold(&self, reference: &str, reason: &str, by: &str) -> Result<Answer, String> {
        bare_word("reason", reason)?;
        match self.sessions.hold(reference, reason, by).await {
            Ok(()) => Ok(Answer::Done {}),
            Err(error @ SessionError::Log) => {
                Err(format!("the session is on hold, but {}", explain(error)))
            }
            Err(error) => Err(explain(error)),
        }
    }
}

/// What an export says in words of its own.
fn said_in_words(export: &Export) -> Result<(), String> {
    let words = [("name", &export.name), ("purpose", &export.purpose)];
    for (what, word) in words {
        word.as_deref()
            .map_or(Ok(()), |word| bare_word(what, word))?;
    }
    Ok(())
}

/// A word for the log must be one, and hold no value: the log cannot be mended.
pub(crate) fn bare_word(what: &str, word: &str) -> Result<(), String> {
    if !is_word(word) {
        return Err(format!(
            "the {what} is not a plain word (1 to 128 of letters, digits and - _ . : /)"
        ));
    }
    let engine = Engine::new(&Policy::default()).map_err(|error| error.to_string())?;
    let found = engine
        .find_certain(word)
        .map_err(|error| error.to_string())?;
    match found.first() {
        Some(found) => Err(format!("the {what} looks like a {}", found.label)),
        None => Ok(()),
    }
}

/// Operators may know more than callers.
pub(super) fn explain(error: SessionError) -> String {
    match error {
        SessionError::NotFound(Absence::Malformed) => {
            "not a session's reference: s_ and 26 characters".to_owned()
        }
        SessionError::NotFound(absence) => format!("no such session: {}", absence.reason()),
        error => error.to_string(),
    }
}
