//! The end of an erasure. A destroyed key may come back out of a backup of the store for as long as that
//! can be put back; when it cannot any more, the log says so with `session.erase.final`.

use std::time::Duration;

use super::{SessionError, Sessions, begin::subject, store::Durable, turn::Location};
use crate::{
    audit::ErasedForGood,
    clock::later,
    registry::{Expected, Put, Table},
};

/// Who has begun to say it, and has not said it after so long, is dead: another says it.
const CLAIM: Duration = Duration::from_secs(600);

/// What is remembered of an erasure: times in microseconds since 1970 (UTC), as 64 bits, big-endian.
struct Erasure {
    /// When its key was destroyed.
    since_us: i64,
    /// When somebody began to say that it is final.
    claimed_us: Option<i64>,
}

impl Erasure {
    fn parse(row: &[u8]) -> Option<Self> {
        let (since, claimed) = row.split_first_chunk()?;
        let claimed_us = match claimed {
            [] => None,
            claimed => Some(i64::from_be_bytes(claimed.try_into().ok()?)),
        };
        Some(Self {
            since_us: i64::from_be_bytes(*since),
            claimed_us,
        })
    }

    fn row(&self) -> Vec<u8> {
        let times = [Some(self.since_us), self.claimed_us];
        let times = times.into_iter().flatten();
        times.flat_map(i64::to_be_bytes).collect()
    }

    /// Whether it is to be said at `now_us`, and nobody is at it.
    fn is_due(&self, window: Duration, now_us: i64) -> bool {
        let claimed = |at_us| later(at_us, CLAIM) > now_us;
        later(self.since_us, window) <= now_us && !self.claimed_us.is_some_and(claimed)
    }
}

impl Sessions {
    /// Destroys the key of a session whose erasure is in the log. That is remembered first, so that a sweep
    /// destroys it if this process dies in between.
    pub(super) async fn erase_key(&self, location: &Location) -> Result<(), SessionError> {
        let registry = &self.shared.registry;
        let now = Erasure {
            since_us: self.shared.clock.utc_us(),
            claimed_us: None,
        };
        loop {
            let there = registry.get(Table::Erasures, &location.name).await?;
            // A key that was put back is erased anew, and its days begin anew.
            let expected = there.map_or(Expected::Absent, Expected::Value);
            let put = Put::new(expected, now.row(), Durable::Now);
            if registry
                .put_if(Table::Erasures, &location.name, put)
                .await?
            {
                return self.destroy_key(location).await;
            }
        }
    }

    /// Says of each erasure that is final now that it is. Once an hour is often enough.
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
            let concluded = self.conclude_erasure(&location, erasure, row).await;
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
        row: Vec<u8>,
    ) -> Result<(), SessionError> {
        let (registry, now_us) = (&self.shared.registry, self.shared.clock.utc_us());
        let key = registry.get(Table::SessionKeys, &location.name).await?;
        if key.is_some() {
            // Its process died before it destroyed it, or the row was put back.
            return self.erase_key(location).await;
        }
        if !erasure.is_due(self.shared.limits.recovery, now_us) {
            return Ok(());
        }
        let claimed = Erasure {
            claimed_us: Some(now_us),
            ..erasure
        };
        // Whoever has erased it anew since, or says it, has changed the row.
        let put = Put::new(Expected::Value(row), claimed.row(), Durable::Now);
        if registry
            .put_if(Table::Erasures, &location.name, put)
            .await?
        {
            self.say_final(location, erasure.since_us).await?;
            registry
                .delete(Table::Erasures, &location.name, Durable::Now)
                .await?;
        }
        Ok(())
    }

    async fn say_final(&self, location: &Location, since_us: i64) -> Result<(), SessionError> {
        let event = ErasedForGood {
            subject: subject(&location.reference),
            tenant: &location.tenant,
            since_us,
            recovery: self.shared.limits.recovery,
        };
        let event = event.build().map_err(|_| SessionError::Log)?;
        let written = self.shared.journal.append(event).await;
        written.map_err(|_| SessionError::Log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_can_be_read_again() {
        for claimed_us in [None, Some(7)] {
            let row = Erasure {
                since_us: -5,
                claimed_us,
            }
            .row();
            let read = Erasure::parse(&row).unwrap();
            assert_eq!((read.since_us, read.claimed_us), (-5, claimed_us));
            assert!(Erasure::parse(&row[1..]).is_none());
        }
    }

    #[test]
    fn it_is_due_after_the_window_and_again_after_a_claim_that_came_to_nothing() {
        let window = Duration::from_micros(100);
        let open = |claimed_us| Erasure {
            since_us: 1_000,
            claimed_us,
        };
        assert!(!open(None).is_due(window, 1_099));
        assert!(open(None).is_due(window, 1_100));
        assert!(!open(Some(1_100)).is_due(window, 600_001_099));
        assert!(open(Some(1_100)).is_due(window, 600_001_100));
    }
}
