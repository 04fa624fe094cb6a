//! Taking leases: when one is free, or has run out, or by force.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use gatehouse_envelope::random::{self, RandomError};

use super::{
    super::{Acquired, SessionStore, StoreError},
    DynamoStore,
    row::{Stored, key, parts},
};
use crate::{
    clock::{later, micros},
    registry::{Verb, Written, number},
};

/// Free, or the taker's own. Never taken twice by one attempt's second sending.
const IF_FREE: &str = "row_format = :one AND lease_nonce <> :nonce \
                       AND (lease_holder = :zero OR lease_holder = :holder)";
/// Whoever's it is.
const IF_THERE: &str = "row_format = :one AND lease_nonce <> :nonce";
/// As it was when it was seen to have run out.
const IF_UNCHANGED: &str = "row_format = :one AND lease_no = :seen_lease \
                            AND lease_nonce = :seen_nonce AND lease_beat = :seen_beat";
const TAKE: &str = "SET lease_no = lease_no + :one, lease_nonce = :nonce, lease_holder = :holder, \
                    lease_us = :lasts, lease_until_us = :until, lease_beat = :zero";

/// What an attempt to take a lease came to.
enum Take {
    Taken(Stored),
    /// Somebody else has it.
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

impl DynamoStore {
    /// Takes a lease for a holder, `by_force` from whoever has it.
    pub(super) async fn take(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        by_force: bool,
    ) -> Result<Acquired, StoreError> {
        let taker = Taker {
            id,
            holder,
            ttl,
            nonce: nonce()?,
        };
        let condition = if by_force { IF_THERE } else { IF_FREE };
        let mut take = self.try_take(&taker, condition, Vec::new()).await?;
        if let Take::Others(stored) = &take
            && self.is_over(id, stored)
        {
            let (lease, nonce) = parts(stored.lease.fence);
            let seen = vec![
                (":seen_lease", number(lease)),
                (":seen_nonce", number(nonce)),
                (":seen_beat", number(stored.lease.beat)),
            ];
            take = self.try_take(&taker, IF_UNCHANGED, seen).await?;
        }
        match take {
            Take::Missing => Ok(Acquired::Missing),
            Take::Others(_) => Ok(Acquired::Busy),
            Take::Taken(stored) => {
                let (fence, until_us) = (stored.lease.fence, stored.until_us);
                match self.lengthen(id, fence, until_us, ttl).await {
                    Ok(()) => self.taken(id, stored).await,
                    Err(StoreError::Conflict) => Ok(Acquired::Busy),
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn try_take(
        &self,
        taker: &Taker<'_>,
        condition: &'static str,
        mut values: Vec<(&'static str, AttributeValue)>,
    ) -> Result<Take, StoreError> {
        values.extend([
            (":one", number(1)),
            (":zero", number(0)),
            (":nonce", number(taker.nonce)),
            (":holder", number(taker.holder)),
            (":lasts", number(micros(taker.ttl))),
            (":until", number(self.until_us(taker.ttl))),
        ]);
        let verb = Verb::Update {
            key: key(taker.id),
            expression: TAKE.to_owned(),
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
