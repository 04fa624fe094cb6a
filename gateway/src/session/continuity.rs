//! Which session a conversation belongs to when its caller does not say.
//!
//! A request of an agent carries the conversation so far. Under digests of it, keyed by the tenant
//! and bound to the principal, the session of its last turn is found, and then the session itself
//! must agree: with the whole history, or with the end of it where the agent sends only the last
//! messages or has summed up the earlier ones. If none or more than one does, the turn gets a new
//! session: conversations that begin alike are never one.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_envelope::digest::{hex, sha256};
use gatehouse_envelope::keys::TenantKey;

use super::find::Loaded;
use super::index::Renamed;
use super::turn::{Location, Turn};
use super::{SessionError, Sessions};
use crate::auth::Caller;
use crate::clock::later;

/// Messages of a history that are remembered.
const RECENT: usize = 64;
/// A history that was summed up must share this many messages with the session, in one run to the
/// end. Fewer may be alike by chance.
const SHARED: usize = 4;

/// How a turn came to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// More than one session could have been meant, so it is a new one.
    Ambiguous,
    /// The conversation's history told.
    Matched,
    /// No session fitted, so it is a new one.
    New,
    /// The caller sent its id.
    Sent,
}

impl Continuity {
    /// Its name in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::Matched => "matched",
            Self::New => "new",
            Self::Sent => "sent",
        }
    }
}

/// One message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether the model said it.
    pub by_model: bool,
    /// SHA-256 of all that counts of it.
    pub digest: [u8; 32],
}

/// What a session remembers of its conversation: digests alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// Of all messages that the last turn's client had, the reply included. Zero before the first.
    pub(super) whole: [u8; 32],
    /// Of the last two of them.
    pub(super) end: [u8; 32],
    /// Each of the last messages, shortened.
    pub(super) recent: VecDeque<[u8; 16]>,
}

/// The conversation of a turn whose caller sent no id.
pub(super) struct Followed {
    messages: Vec<Message>,
    /// How many of them the session knew already.
    known: usize,
}

impl History {
    fn is_empty(&self) -> bool {
        self.whole == [0; 32]
    }

    /// The history behind one more turn.
    fn after(&self, followed: &Followed, reply: [u8; 32]) -> Self {
        let reply = Message {
            by_model: true,
            digest: reply,
        };
        let mut messages = followed.messages.clone();
        messages.push(reply);
        let mut recent = self.recent.clone();
        recent.extend(messages.iter().skip(followed.known).map(short));
        recent.drain(..recent.len().saturating_sub(RECENT));
        Self {
            whole: whole(&messages),
            end: end(&messages).unwrap_or_default(),
            recent,
        }
    }

    /// Whether these messages are all that the session's client had, or the last of them, or end with
    /// enough of them.
    fn agrees(&self, whole: &[u8; 32], history: &[Message]) -> bool {
        let own = self.recent.iter().rev();
        let theirs = history.iter().rev().map(short);
        let shared = own.zip(theirs).take_while(|(own, their)| *own == their);
        let shared = shared.count();
        self.whole == *whole || shared == history.len() || shared >= SHARED
    }
}

fn short(message: &Message) -> [u8; 16] {
    let digest = sha256(&[&[u8::from(message.by_model)], &message.digest]);
    let mut short = [0; 16];
    short
        .iter_mut()
        .zip(digest)
        .for_each(|(to, from)| *to = from);
    short
}

fn whole(messages: &[Message]) -> [u8; 32] {
    messages.iter().fold([0; 32], |before, message| {
        sha256(&[&before, &[u8::from(message.by_model)], &message.digest])
    })
}

/// `None` for less than two messages, which say too little.
fn end(messages: &[Message]) -> Option<[u8; 32]> {
    messages.last_chunk::<2>().map(|last| whole(last))
}

/// How much of a request is history: all up to the last reply that something follows. A reply at the
/// very end is one that the model is to go on with.
fn history(messages: &[Message]) -> Option<&[Message]> {
    let (_, earlier) = messages.split_last()?;
    let at = earlier.iter().rposition(|message| message.by_model)?;
    messages.get(..=at)
}

/// The name in the index of all sessions whose last two messages are these: among them is that of a
/// conversation, and every other that it could be taken for.
fn name(key: &TenantKey, principal: &str, end: &[u8; 32]) -> String {
    let parts: [&[u8]; 2] = [principal.as_bytes(), end];
    hex(&key.lookup().mac("conversation", &parts))
}

/// The sessions that agree with a history.
enum Fit {
    /// That of the conversation is not there any more.
    Gone,
    Many,
    None,
    One(Box<(Location, Loaded)>),
}

impl Sessions {
    /// Begins a turn for a caller that sent no id: of the session that the conversation belongs to,
    /// or of a new one. A session that is in use is not waited for: whoever asks twice at once has
    /// two conversations from there on.
    pub async fn resume(
        &self,
        caller: &Caller,
        messages: Vec<Message>,
    ) -> Result<Turn, SessionError> {
        let mut continuity = Continuity::New;
        match self.fit(caller, &messages).await? {
            Fit::Many => continuity = Continuity::Ambiguous,
            Fit::Gone | Fit::None => {}
            Fit::One(found) => {
                let (location, loaded) = *found;
                let expected = loaded.state.history.clone();
                if let Some(mut turn) = self.take_if_free(location, loaded, &expected).await? {
                    let known = history(&messages).map_or(0, <[Message]>::len);
                    turn.continuity = Continuity::Matched;
                    turn.followed = Some(Followed { messages, known });
                    return Ok(turn);
                }
            }
        }
        let mut turn = self.turn(caller, None).await?;
        turn.continuity = continuity;
        turn.followed = Some(Followed { messages, known: 0 });
        Ok(turn)
    }

    /// The turn of a session that still stands where it was seen.
    async fn take_if_free(
        &self,
        location: Location,
        loaded: Loaded,
        expected: &History,
    ) -> Result<Option<Turn>, SessionError> {
        match Box::pin(self.lease(location, loaded, None, Duration::ZERO)).await {
            Ok(turn) if turn.state.history == *expected => Ok(Some(turn)),
            Ok(turn) => {
                turn.release().await?;
                Ok(None)
            }
            Err(SessionError::Busy | SessionError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The caller's sessions that end like a conversation, and agree with it.
    async fn fit(&self, caller: &Caller, messages: &[Message]) -> Result<Fit, SessionError> {
        let Some((history, end)) = history(messages).and_then(|all| Some((all, end(all)?))) else {
            return Ok(Fit::None);
        };
        let whole = whole(history);
        let keys = self.shared.keyring.tenant(&caller.tenant).await?;
        let principal = caller.principal();
        let (mut fit, mut gone) = (Fit::None, false);
        for key in keys.newest_first() {
            let name = name(key, &principal, &end);
            let entries = self.shared.index.find(&name).await?;
            if entries.crowded {
                return Ok(Fit::Many);
            }
            for reference in entries.references {
                match self.find_own(caller, &reference).await {
                    Ok(found) if found.1.state.history.agrees(&whole, history) => {
                        if !matches!(fit, Fit::None) {
                            return Ok(Fit::Many);
                        }
                        fit = Fit::One(Box::new(found));
                    }
                    Ok(_) => {}
                    Err(SessionError::NotFound(_)) => gone = true,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(match fit {
            Fit::None if gone => Fit::Gone,
            Fit::One(_) if gone => Fit::Many,
            fit => fit,
        })
    }
}

impl Turn {
    /// How the turn came to its session.
    pub fn continuity(&self) -> Continuity {
        self.continuity
    }

    /// Whether the conversation's next request is to be recognised.
    pub fn follows(&self) -> bool {
        self.followed.is_some()
    }

    /// Notes what the model said, as the caller was shown it, so that the conversation's next request
    /// is recognised. Kept with [`Turn::settle`].
    pub async fn heard(&mut self, reply: [u8; 32]) {
        let Some(followed) = self.followed.take() else {
            return;
        };
        let keys = match self.shared.keyring.tenant(&self.location.tenant).await {
            Ok(keys) => keys,
            Err(error) => {
                tracing::warn!(%error, "a conversation will not be recognised");
                return;
            }
        };
        let Some(key) = keys.epoch(self.location.epoch) else {
            return;
        };
        let history = self.state.history.after(&followed, reply);
        let named = |history: &History| {
            let principal = &self.state.principal;
            (!history.is_empty()).then(|| name(key, principal, &history.end))
        };
        self.renamed = Some(Renamed {
            reference: self.location.reference.clone(),
            old: named(&self.state.history).into_iter().collect(),
            new: named(&history).into_iter().collect(),
            // Beyond the session's own end: that a conversation has ended must be known, or another
            // that ends like it would be taken for it.
            expires_us: later(self.state.absolute_us, self.shared.limits.absolute),
        });
        self.state.history = history;
    }
}
