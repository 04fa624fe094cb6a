//! Taking leases: when one is free, or has run out, or by force.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use gatehouse_envelope::random::{self, RandomError};

use super::{
    super::{
        Acquired, SessionStore, StoreError,
        line::{How, Line},
    },
    DynamoStore,
    line::{IF_UNCHANGED, Kept, seen_lease},
    row::{Stored, key, parts},
};
use crate::{
    clock::{later, micros},
    registry::{Verb, Written, number},
};

/// Free, or the taker's own, and nobody waits. Never taken twice by one attempt's second sending.
const IF_FREE: &str = "row_format = :one AND lease_nonce <> :nonce \
                       AND (lease_holder = :zero OR lease_holder = :holder) \
                       AND attribute_not_exists(lease_line)";
/// Whoever's it is.
const IF_THERE: &str = "row_format = :one AND lease_nonce <> :nonce";
const TAKE: &str = "SET lease_no = lease_no + :one, lease_nonce = :nonce, lease_holder = :holder, \
                    lease_us = :lasts, lease_until_us = :until, lease_beat = :zero";
/// How often a lease is looked at again that others change at the same time.
const ATTEMPTS: u32 = 16;

/// What an attempt to take a lease came to.
enum Take {
    Taken(Stored),
    /// Somebody else has it, or comes first.
    Others(Stored),
    Missing,
}

/// Who wants a lease.
struct Taker<'a> {
    id: &'a str,
    holder: u64,
    ttl: Duration,
    /// Not 0, which stands for a lease that was given back.
    nonce: u32,
}

/// What there is to do where a lease is not simply free.
enum Step {
    /// It may be taken, and the line is this then.
    Take(Line),
    /// Others come first. So many of the taker's turns stand in line, which is this then; `true`: the
    /// lease is one that the taker's own earlier turn has left behind.
    Wait(usize, Line, bool),
}

impl Taker<'_> {
    fn step(&self, stored: &Stored, is_over: bool, how: How, now_us: i64) -> Step {
        let is_own = stored.lease_holder == self.holder;
        let is_free = stored.lease_holder == 0 || is_own || is_over;
        let mut line = stored.line(now_us);
        match how {
            How::Force => Step::Take(line),
            How::Free if is_free && line.is_empty() => Step::Take(line),
            How::Free => Step::Wait(0, line, is_own),
            How::InLine(turns) => {
                let stand = line.bring(self.holder, turns, now_us);
                if is_free && line.is_led_by(self.holder) {
                    line.advance();
                    return Step::Take(line);
                }
                Step::Wait(stand, line, is_own)
            }
        }
    }
}

impl DynamoStore {
    /// Takes a lease for a holder, if it may.
    pub(super) async fn take(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        how: How,
    ) -> Result<Acquired, StoreError> {
        let taker = Taker {
            id,
            holder,
            ttl,
            nonce: nonce()?,
        };
        let condition = match how {
            How::Force => IF_THERE,
            How::Free | How::InLine(_) => IF_FREE,
        };
        // Most of the time this is all that has to be asked.
        let mut take = self
            .try_take(&taker, condition.to_owned(), Vec::new(), None)
            .await?;
        for _attempt in 0..ATTEMPTS {
            let stored = match take {
                Take::Missing => return Ok(Acquired::Missing),
                Take::Taken(stored) => return self.taken_whole(&taker, stored).await,
                Take::Others(stored) => stored,
            };
            let is_over = self.is_over(id, &stored);
            match taker.step(&stored, is_over, how, self.link.now_us()) {
                Step::Take(line) => {
                    let (unchanged, mut seen) = stored.if_line_is();
                    seen.extend(seen_lease(&stored));
                    let condition = format!("{IF_UNCHANGED} AND {unchanged}");
                    take = self
                        .try_take(&taker, condition, seen, Some((&stored, line)))
                        .await?;
                }
                Step::Wait(stand, line, left_behind) => {
                    let kept = match left_behind {
                        true => self.give_back(id, &stored, &line).await?,
                        false => self.keep_line(id, &stored, &line).await?,
                    };
                    match kept {
                        Kept::Missing => return Ok(Acquired::Missing),
                        Kept::Changed(stored) => take = Take::Others(stored),
                        Kept::Done if stand == 0 && how != How::Free => return Ok(Acquired::Full),
                        Kept::Done => return Ok(Acquired::Busy),
                    }
                }
            }
        }
        // So many are at it that asking again later is better.
        Ok(Acquired::Busy)
    }

    /// A lease that was just taken, at its whole length.
    async fn taken_whole(&self, taker: &Taker<'_>, stored: Stored) -> Result<Acquired, StoreError> {
        let (fence, until_us) = (stored.lease.fence, stored.until_us);
        match self.lengthen(taker.id, fence, until_us, taker.ttl).await {
            Ok(()) => self.taken(taker.id, stored).await,
            Err(StoreError::Conflict) => Ok(Acquired::Busy),
            Err(error) => Err(error),
        }
    }

    async fn try_take(
        &self,
        taker: &Taker<'_>,
        condition: String,
        mut values: Vec<(&'static str, AttributeValue)>,
        line: Option<(&Stored, Line)>,
    ) -> Result<Take, StoreError> {
        values.extend([
            (":one", number(1)),
            (":zero", number(0)),
            (":nonce", number(taker.nonce)),
            (":holder", number(taker.holder)),
            (":lasts", number(micros(taker.ttl))),
            (":until", number(self.until_us(taker.ttl))),
        ]);
        let mut expression = TAKE.to_owned();
        if let Some((stored, line)) = line {
            expression.push_str(&stored.set_line(&line, &mut values));
        }
        let verb = Verb::Update {
            key: key(taker.id),
            expression,
            shown: true,
        };
        match self.change(verb, condition, values, true).await? {
            Written::Done(item) => Ok(Take::Taken(self.stored(item)?)),
            Written::Unmet { there: None, .. } => Ok(Take::Missing),
            Written::Unmet { there, .. } => {
                let stored = self.stored(there)?;
                // The first sending took it; only its answer was lost.
                let is_ours = parts(stored.lease.fence).1 == u64::from(taker.nonce);
                Ok(match is_ours {
                    true => Take::Taken(stored),
                    false => Take::Others(stored),
                })
            }
        }
    }

    /// Whether somebody's lease has run out: it was seen unchanged for as long as it is given, or it
    /// ended by DynamoDB's clock, and that long ago that its holder cannot think otherwise.
    pub(super) fn is_over(&self, id: &str, stored: &Stored) -> bool {
        let watched = self.watch.is_over(id, stored.lease);
        watched || later(stored.until_us, self.link.slack()) <= self.link.now_us()
    }

    /// When a lease that is given now ends.
    pub(super) fn until_us(&self, ttl: Duration) -> i64 {
        later(self.link.now_us(), ttl)
    }

    /// Renews a lease that was given until `until_us`, if that is too soon: the machine may have stood
    /// still before, so that its clock was put right only by the answer. Others would take a lease
    /// that seems to have ended long ago.
    pub(super) async fn lengthen(
        &self,
        id: &str,
        fence: u64,
        until_us: i64,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        match later(until_us, self.link.slack()) < self.until_us(ttl) {
            true => self.renew_once(id, fence, ttl).await.map(drop),
            false => Ok(()),
        }
    }

    /// The row under a lease that was just taken.
    async fn taken(&self, id: &str, stored: Stored) -> Result<Acquired, StoreError> {
        let fence = stored.lease.fence;
        let state = match self.large.under_lease(id, &stored.state).await {
            Ok(state) => state,
            Err(error) => {
                // Nobody has to wait until it runs out.
                self.free(id, fence).await?;
                return Err(error);
            }
        };
        let row = self.row(stored, state, true);
        Ok(if row.expired() {
            Acquired::Expired { fence, row }
        } else {
            Acquired::Held { fence, row }
        })
    }
}

/// Not 0, which stands for a lease that was given back.
pub(super) fn nonce() -> Result<u32, RandomError> {
    Ok(u32::from_be_bytes(random::bytes()?).max(1))
}
