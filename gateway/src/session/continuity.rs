//! Which session a conversation belongs to when its caller does not say.
//!
//! A request of an agent carries the conversation so far. Under a digest of its last two messages,
//! keyed by the tenant and bound to principal and end user, all sessions are found that ever stood
//! there, and one of them must agree: with the whole history, or with the end of it where the agent
//! sends only the last messages or has summed up the earlier ones. Many conversations begin alike,
//! or end alike, and one key may serve many people, so the words alone are not enough: the request
//! must show the values that the session holds. If none or more than one could be meant, the turn
//! gets a new session.

use std::collections::VecDeque;
use std::time::Duration;

use gatehouse_envelope::digest::{hex, sha256};
use gatehouse_envelope::keys::TenantKey;

use super::find::Loaded;
use super::index::Named;
use super::queue::Patience;
use super::turn::{Location, Turn};
use super::{SessionError, Sessions};
use crate::auth::Caller;
use crate::clock::later;

/// Messages of a history that are remembered.
const RECENT: usize = 64;
/// A history that was summed up must share this many messages with the session, in one run to the
/// end. Fewer may be alike by chance.
const SHARED: usize = 4;

/// A conversation as a request shows it.
pub struct Conversation {
    /// Digest of what the request says of its end user.
    pub user: [u8; 32],
    /// Digest of the system prompts.
    pub system: [u8; 32],
    /// The messages.
    pub messages: Vec<Message>,
}

/// What a request shows of the values that a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// All of them, some in its messages.
    All,
    /// There are none, or all of them stand in system prompts alone.
    Empty,
    /// None of them in its messages, and not all in system prompts.
    None,
    /// Some of them, in its messages.
    Some,
    /// Nobody has looked: they are too many, or cannot be read.
    Unknown,
}

/// Asked for what a request shows of a vault, as the state has it.
pub type Witness<'w> = dyn Fn(&[u8]) -> Evidence + Sync + 'w;

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
    /// Of the last turn's system prompts.
    pub(super) system: [u8; 32],
    /// Each of the last messages, shortened.
    pub(super) recent: VecDeque<[u8; 16]>,
}

/// The conversation of a turn whose caller sent no id.
pub(super) struct Followed {
    said: Conversation,
    /// How many of its messages the session knew already.
    known: usize,
}

/// Where a history stands in a session's.
enum Stands {
    /// At its end: the conversation goes on.
    AtTheEnd { whole: bool },
    /// The session has gone on from there.
    Earlier,
}

impl History {
    /// The history behind one more turn.
    fn after(&self, followed: &Followed, reply: [u8; 32]) -> Self {
        let mut messages = followed.said.messages.clone();
        messages.push(Message {
            by_model: true,
            digest: reply,
        });
        let mut recent = self.recent.clone();
        recent.extend(messages.iter().skip(followed.known).map(short));
        recent.drain(..recent.len().saturating_sub(RECENT));
        Self {
            whole: whole(&messages),
            system: followed.said.system,
            recent,
        }
    }

    /// Where these messages are all that the session's client had, or the last of them, or end with
    /// enough of them.
    fn place(&self, history: &[Message]) -> Option<Stands> {
        if self.whole == whole(history) {
            return Some(Stands::AtTheEnd { whole: true });
        }
        let shared = |later: usize| {
            let own = self.recent.iter().rev().skip(later);
            let theirs = history.iter().rev().map(short);
            own.zip(theirs)
                .take_while(|(own, their)| *own == their)
                .count()
        };
        let fits = |later: &usize| {
            let shared = shared(*later);
            shared == history.len() || shared >= SHARED
        };
        let later = (0..self.recent.len()).find(fits)?;
        Some(match later {
            0 => Stands::AtTheEnd { whole: false },
            _ => Stands::Earlier,
        })
    }

    /// Whether the conversation at the session's end is this one and no other that reads alike.
    fn is_meant(&self, said: &Conversation, whole: bool, evidence: Evidence) -> bool {
        match evidence {
            Evidence::All => true,
            Evidence::Empty => whole && self.system == said.system,
            Evidence::None | Evidence::Unknown => false,
            Evidence::Some => !whole,
        }
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

/// The name in the index of all sessions in which these two messages once were the last: among them
/// is that of a conversation that ends so, and every other that it could be taken for.
fn name(key: &TenantKey, principal: &str, user: &[u8; 32], end: &[u8; 32]) -> String {
    let parts: [&[u8]; 3] = [principal.as_bytes(), user, end];
    hex(&key.lookup().mac("conversation", &parts))
}

/// The sessions that a conversation could be.
enum Fit {
    /// One that has ended, or has gone on.
    Gone,
    Many,
    None,
    One(Box<(Location, Loaded)>),
    /// One that reads alike, and nothing shows that it is this one.
    Unproved,
}

impl Sessions {
    /// Begins a turn for a caller that sent no id: of the session that the conversation belongs to,
    /// or of a new one. A session that is in use is not waited for: whoever asks twice at once has
    /// two conversations from there on.
    pub async fn resume(
        &self,
        caller: &Caller,
        said: Conversation,
        witness: &Witness<'_>,
    ) -> Result<Turn, SessionError> {
        let mut continuity = Continuity::New;
        match self.fit(caller, &said, witness).await? {
            Fit::Many => continuity = Continuity::Ambiguous,
            Fit::Gone | Fit::None | Fit::Unproved => {}
            Fit::One(found) => {
                let (location, loaded) = *found;
                let expected = loaded.state.history.clone();
                if let Some(mut turn) = self.take_if_free(location, loaded, &expected).await? {
                    let known = history(&said.messages).map_or(0, <[Message]>::len);
                    turn.continuity = Continuity::Matched;
                    turn.followed = Some(Followed { said, known });
                    return Ok(turn);
                }
            }
        }
        let mut turn = self.turn(caller, None).await?;
        turn.continuity = continuity;
        turn.followed = Some(Followed { said, known: 0 });
        Ok(turn)
    }

    /// The turn of a session that still stands where it was seen.
    async fn take_if_free(
        &self,
        location: Location,
        loaded: Loaded,
        expected: &History,
    ) -> Result<Option<Turn>, SessionError> {
        match Box::pin(self.lease(location, loaded, None, Patience::Waits(Duration::ZERO))).await {
            Ok(turn) if turn.state.history == *expected => Ok(Some(turn)),
            Ok(turn) => {
                turn.release().await?;
                Ok(None)
            }
            Err(SessionError::Busy | SessionError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The caller's sessions that a conversation could be.
    async fn fit(
        &self,
        caller: &Caller,
        said: &Conversation,
        witness: &Witness<'_>,
    ) -> Result<Fit, SessionError> {
        let earlier = history(&said.messages);
        let Some((history, end)) = earlier.and_then(|all| Some((all, end(all)?))) else {
            return Ok(Fit::None);
        };
        let keys = self.shared.keyring.tenant(&caller.tenant).await?;
        let principal = caller.principal();
        let (mut fit, mut gone) = (Fit::None, false);
        for key in keys.all() {
            let name = name(key, &principal, &said.user, &end);
            let entries = self.shared.index.find(&name).await?;
            if entries.crowded {
                return Ok(Fit::Many);
            }
            for reference in entries.references {
                let found = match self.find_own(caller, &reference).await {
                    Ok(found) => found,
                    Err(SessionError::NotFound(_)) => {
                        gone = true;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let state = &found.1.state;
                let whole = match state.history.place(history) {
                    Some(Stands::AtTheEnd { whole }) => whole,
                    Some(Stands::Earlier) => {
                        gone = true;
                        continue;
                    }
                    None => continue,
                };
                let evidence = witness(&state.vault);
                if evidence == Evidence::None {
                    // Whose client has not one of its values, whatever it says.
                    continue;
                }
                if !matches!(fit, Fit::None) {
                    return Ok(Fit::Many);
                }
                fit = match state.history.is_meant(said, whole, evidence) {
                    true => Fit::One(Box::new(found)),
                    false => Fit::Unproved,
                };
            }
        }
        Ok(match fit {
            Fit::None if gone => Fit::Gone,
            Fit::One(_) | Fit::Unproved if gone => Fit::Many,
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
        let last = followed.said.messages.last();
        let end = last.map(|last| {
            let reply = Message {
                by_model: true,
                digest: reply,
            };
            whole(&[*last, reply])
        });
        let named = end.map(|end| Named {
            name: name(key, &self.state.principal, &followed.said.user, &end),
            reference: self.location.reference.clone(),
            // Beyond the session's own end: that a conversation has ended must be known, or another
            // that ends like it would be taken for it.
            expires_us: later(self.state.absolute_us, self.shared.limits.absolute),
        });
        self.named = named;
        self.state.history = history;
    }
}
