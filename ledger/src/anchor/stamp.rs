//! Time stamps: one a day, on the last seal of the day before.

use gatehouse_envelope::stamp::{Authorities, MAX_REPLY, Request, Stamp, StampError};

use super::{AnchorError, Anchors, nodes::read_seal};
use crate::{clock::day, names, store::StoreError, tree::Hash};

/// Past this a seal is not worth a stamp any more; verifiers take them for an hour longer.
const TOO_LATE_US: u64 = 48 * 3600 * 1_000_000;

/// What is to be stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The day, `yyyy-mm-dd`.
    pub day: String,
    /// The root after its last seal: the SHA-256 digest to be shown.
    pub imprint: Hash,
}

/// What there is to be stamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The day of the last seal. That is not over: more may follow.
    pub last_day: String,
    /// The last day before, unless its stamp is there.
    pub due: Option<Due>,
}

impl Anchors {
    /// What there is to be stamped; none without seals. Of days before the last, those that have no
    /// stamp need none any more: a later one covers them. Nor does a seal that is two days older than the
    /// last: a stamp that late does not show that it is of its time.
    ///
    /// # Errors
    /// See [`AnchorError`].
    pub fn outlook(&self) -> Result<Option<Outlook>, AnchorError> {
        let Some(last) = self.last() else {
            return Ok(None);
        };
        let last_us = self.time_of(last)?;
        let last_day = day(last_us);
        let number = self.last_before(last, &last_day)?;
        let due = number.map(|number| self.due(number, last_us)).transpose()?;
        Ok(Some(Outlook {
            last_day,
            due: due.flatten(),
        }))
    }

    /// Stores the reply to the request for what was due, unless there is a stamp already. Gives the
    /// reply's time, in microseconds since 1970, by the authority's clock.
    ///
    /// # Errors
    /// See [`AnchorError`]; nothing is stored that is not on it, or by none of `authorities`.
    pub fn keep_stamp(
        &self,
        due: &Due,
        (request, reply): (&Request, &[u8]),
        authorities: &Authorities,
    ) -> Result<u64, AnchorError> {
        let fits = |stamp: &Stamp<'_>| match stamp.imprint() == &due.imprint {
            true => stamp.is_by(authorities),
            false => Err(StampError::Imprint),
        };
        let stamp = request.open(reply)?;
        fits(&stamp)?;
        let name = names::stamp(&self.log, &due.day);
        match self.store.put_once(&name, reply) {
            // Another replica was first, and its stamp is as good.
            Err(StoreError::Conflict) => {
                let stored = self.store.get(&name, MAX_REPLY)?.unwrap_or_default();
                fits(&Stamp::open(&stored)?)?;
            }
            other => other?,
        }
        Ok(stamp.unix_us())
    }

    /// The last seal before the day of seal `last`. Seals are in the order of their times, so it is
    /// looked for by doubling and halving.
    fn last_before(&self, last: u64, last_day: &str) -> Result<Option<u64>, AnchorError> {
        let (mut step, mut of_day) = (1, last);
        let mut before = loop {
            let Some(number) = of_day.checked_sub(step) else {
                break None;
            };
            if self.day_of(number)? != last_day {
                break Some(number);
            }
            (of_day, step) = (number, step * 2);
        };
        while before.map_or(of_day, |before| of_day - before - 1) > 0 {
            let middle = before.map_or(of_day / 2, |before| before + (of_day - before) / 2);
            match self.day_of(middle)? == last_day {
                true => of_day = middle,
                false => before = Some(middle),
            }
        }
        Ok(before)
    }

    fn due(&self, number: u64, last_us: u64) -> Result<Option<Due>, AnchorError> {
        let us = self.time_of(number)?;
        if last_us.saturating_sub(us) > TOO_LATE_US {
            return Ok(None);
        }
        let day = day(us);
        let name = names::stamp(&self.log, &day);
        if self.store.get(&name, MAX_REPLY)?.is_some() {
            return Ok(None);
        }
        let imprint = self.checkpoint(number)?.0.tree().root();
        Ok(Some(Due { day, imprint }))
    }

    fn day_of(&self, number: u64) -> Result<String, AnchorError> {
        Ok(day(self.time_of(number)?))
    }

    fn time_of(&self, number: u64) -> Result<u64, AnchorError> {
        Ok(read_seal(self.store.as_ref(), &self.log, number)?.0.unix_us)
    }
}
