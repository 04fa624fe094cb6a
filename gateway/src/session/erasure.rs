//! Erasures, from when they are asked for to their end. A destroyed key may come back out of a backup of the store for as long as that
//! can be put back; when it cannot any more, the log says so with `session.erase.final`.

use std::time::Duration;

use super::{
    SessionError, Sessions, begin::subject, begun::GATEWAY, store::Durable, turn::Location,
};
use crate::{
    audit::{ErasedForGood, SessionEnding},
    clock::later,
    registry::{Expected, Put, Table},
};

/// What is remembered of an erasure: times in microseconds since 1970 (UTC), as 64 bits, big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Erasure {
    /// It was asked for then: `time ‖ a`. The key may be there, and the log may not say so yet.
    Asked(i64),
    /// The key was destroyed then: `time`.
    Destroyed(i64),
    /// The same, and then somebody began to say that it is final: `time ‖ time`.
    Claimed(i64, i64),
}

/// Stands behind the time at which an erasure was asked for.
const ASKED: u8 = b'a';

impl Erasure {
    fn parse(row: &[u8]) -> Option<Self> {
        let (time, rest) = row.split_first_chunk()?;
        let time = i64::from_be_bytes(*time);
        match rest {
            [] => Some(Self::Destroyed(time)),
            [ASKED] => Some(Self::Asked(time)),
            claimed => {
                let claimed = claimed.try_into().ok()?;
                Some(Self::Claimed(time, i64::from_be_bytes(claimed)))
            }
        }
    }

    fn row(self) -> Vec<u8> {
        let (time, rest) = match self {
            Self::Asked(time) => (time, vec![ASKED]),
            Self::Destroyed(time) => (time, Vec::new()),
            Self::Claimed(time, claimed) => (time, claimed.to_be_bytes().to_vec()),
        };
        [time.to_be_bytes().to_vec(), rest].concat()
    }
}

/// What is to be done about an erasure.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// Nothing yet, or another is at it.
    Nothing,
    /// To go on with it: whoever was asked has died.
    Erasing,
    /// To say that it is final; the key was destroyed then.
    Saying(i64),
}

impl Erasure {
    /// When somebody last began with something of it.
    fn begun_us(self) -> i64 {
        match self {
            Self::Asked(begun_us) | Self::Destroyed(begun_us) | Self::Claimed(_, begun_us) => {
                begun_us
            }
        }
    }

    /// `is_left`: whoever was at it last is dead.
    fn due(self, window: Duration, now_us: i64, is_left: bool) -> Due {
        match self {
            Self::Asked(_) if is_left => Due::Erasing,
            Self::Asked(_) => Due::Nothing,
            Self::Claimed(..) if !is_left => Due::Nothing,
            Self::Destroyed(since_us) | Self::Claimed(since_us, _) => {
                match later(since_us, window) <= now_us {
                    true => Due::Saying(since_us),
                    false => Due::Nothing,
                }
            }
        }
    }
}

impl Sessions {
    /// Destroys the key of a session for an operator, `by` whom, as the system knows, and its state; also the key
    /// of one that has ended, or whose state is damaged, but not of one on hold. It is remembered before
    /// anything is done or said, so that whoever comes after a crash goes on with it.
    ///
    /// The key's row is gone when this returns. The embedded database may keep the old page in its file until
    /// it uses it again; it can be read there with the root key only.
    ///
    /// # Errors
    /// [`SessionError::Busy`], `NotFound`, `OnHold`: it is not erased. All others: it may be, or will be, as a
    /// sweep goes on with it.
    pub async fn erase(&self, reference: &str, by: &str) -> Result<(), SessionError> {
        let location = match self.find(reference).await {
            Err(SessionError::NotFound(absence)) => {
                let key = self.key_of(reference).await?;
                key.ok_or(SessionError::NotFound(absence))?.0
            }
            found => found?,
        };
        if let Some(hold) = self.hold_on(&location).await? {
            return Err(self.refuse_erasure(hold, by).await);
        }
        let asked = Erasure::Asked(self.shared.clock.utc_us());
        let before = self.note(Table::Erasures, &location, asked.row()).await?;
        // Whoever else has asked takes it back as well, or is dead, and is asked again.
        let is_asked = |row: &Vec<u8>| matches!(Erasure::parse(row), Some(Erasure::Asked(_)));
        let before = before.filter(|row| !is_asked(row));
        match self.erase_now(&location).await {
            Err(SessionError::OnHold(hold)) => {
                let refused = self.refuse_erasure(hold, by).await;
                if matches!(refused, SessionError::OnHold(_)) {
                    self.take_back(&location, asked, before).await?;
                }
                Err(refused)
            }
            Err(SessionError::Busy) => {
                self.take_back(&location, asked, before).await?;
                Err(SessionError::Busy)
            }
            erased => erased,
        }
    }

    async fn erase_now(&self, location: &Location) -> Result<(), SessionError> {
        let wait = self.shared.limits.wait;
        let ended = self.end(location.clone(), SessionEnding::Erased, wait);
        match ended.await {
            // It has ended, or cannot be read: its key is all that is left to be destroyed.
            Err(SessionError::Damaged | SessionError::Newer | SessionError::NotFound(_)) => {
                self.erase_unread(location).await
            }
            ended => ended,
        }
    }

    /// Notes what was noted before, for an erasure that came to nothing, unless somebody else has noted
    /// something since.
    async fn take_back(
        &self,
        location: &Location,
        own: Erasure,
        before: Option<Vec<u8>>,
    ) -> Result<(), SessionError> {
        let put = match before {
            Some(before) => Put::new(Expected::Value(own.row()), before, Durable::Now),
            None => Put::away(own.row(), Durable::Now),
        };
        let registry = &self.shared.registry;
        let _was_own = registry
            .put_if(Table::Erasures, &location.name, put)
            .await?;
        Ok(())
    }

    /// Destroys the key of a session whose erasure is in the log. That is remembered first, so that a sweep
    /// destroys it if this process dies in between.
    pub(super) async fn erase_key(&self, location: &Location) -> Result<(), SessionError> {
        let destroyed = Erasure::Destroyed(self.shared.clock.utc_us());
        // A key that was put back is erased anew, and its days begin anew.
        let before = self.note(Table::Erasures, location, destroyed.row());
        let before = before.await?;
        let outcome = self.destroy_key(location).await;
        if matches!(outcome, Err(SessionError::OnHold(_))) {
            self.take_back(location, destroyed, before).await?;
        }
        outcome
    }

    /// Goes on with every erasure that a process left undone, and says of each that is final now that it is.
    /// Once an hour is often enough.
    ///
    /// # Errors
    /// The registry did not tell which there are. What fails for one of them is tried again next time.
    pub async fn conclude_erasures(&self) -> Result<(), SessionError> {
        let erasures = self.shared.registry.list(Table::Erasures, "").await?;
        for (name, row) in erasures {
            let erasure = Location::parse(&name).zip(Erasure::parse(&row));
            let Some((location, erasure)) = erasure else {
                tracing::warn!("what is remembered of an erasure is damaged");
                continue;
            };
            let concluded = self.conclude_erasure(&location, erasure).await;
            if let Err(error) = concluded {
                let session = location.reference.as_str();
                tracing::warn!(session, %error, "an erasure is not concluded");
            }
        }
        Ok(())
    }

    async fn conclude_erasure(
        &self,
        location: &Location,
        erasure: Erasure,
    ) -> Result<(), SessionError> {
        let is_asked = matches!(erasure, Erasure::Asked(_));
        if !is_asked && self.wrapped(location).await?.is_some() {
            // Its process died before it destroyed it, or the row was put back.
            return self.erase_key(location).await;
        }
        let now_us = self.shared.clock.utc_us();
        let is_left = self.is_left(erasure.begun_us());
        match erasure.due(self.shared.limits.recovery, now_us, is_left) {
            Due::Nothing => Ok(()),
            Due::Erasing => match self.erase_now(location).await {
                Err(SessionError::OnHold(hold)) => {
                    let refused = self.refuse_erasure(hold, GATEWAY).await;
                    if matches!(refused, SessionError::OnHold(_)) {
                        self.take_back(location, erasure, None).await?;
                    }
                    Err(refused)
                }
                erased => erased,
            },
            Due::Saying(since_us) => {
                let claimed = Erasure::Claimed(since_us, now_us);
                self.say_final_once(location, erasure, claimed, since_us)
                    .await
            }
        }
    }

    async fn say_final_once(
        &self,
        location: &Location,
        was: Erasure,
        claimed: Erasure,
        since_us: i64,
    ) -> Result<(), SessionError> {
        let registry = &self.shared.registry;
        let put = async |put| registry.put_if(Table::Erasures, &location.name, put).await;
        // Whoever has erased it anew since, or says it, has changed the row.
        let claim = Put::new(Expected::Value(was.row()), claimed.row(), Durable::Now);
        if put(claim).await? {
            let event = ErasedForGood {
                subject: subject(&location.reference),
                tenant: &location.tenant,
                since_us,
                recovery: self.shared.limits.recovery,
            };
            self.say(event.build().map_err(|_| SessionError::Log)?)
                .await?;
            put(Put::away(claimed.row(), Durable::Now)).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_can_be_read_again() {
        let forms = [
            Erasure::Asked(-5),
            Erasure::Destroyed(-5),
            Erasure::Claimed(-5, 7),
        ];
        for erasure in forms {
            let row = erasure.row();
            assert_eq!(Erasure::parse(&row), Some(erasure));
            assert!(Erasure::parse(&row[..7]).is_none());
            assert!(Erasure::parse(&[&row[..], &[0]].concat()).is_none());
        }
    }

    #[test]
    fn it_is_due_after_the_window_and_again_after_a_claim_that_came_to_nothing() {
        let window = Duration::from_micros(100);
        let destroyed = Erasure::Destroyed(1_000);
        for is_left in [false, true] {
            assert_eq!(destroyed.due(window, 1_099, is_left), Due::Nothing);
            assert_eq!(destroyed.due(window, 1_100, is_left), Due::Saying(1_000));
        }
        let claimed = Erasure::Claimed(1_000, 1_100);
        assert_eq!(claimed.begun_us(), 1_100);
        assert_eq!(claimed.due(window, 1_200, false), Due::Nothing);
        assert_eq!(claimed.due(window, 1_200, true), Due::Saying(1_000));
    }

    #[test]
    fn one_that_was_asked_for_is_left_to_its_process_for_a_while() {
        let asked = Erasure::Asked(1_000);
        let due = |is_left| asked.due(Duration::ZERO, 1_002, is_left);
        assert_eq!((due(false), due(true)), (Due::Nothing, Due::Erasing));
    }
}
