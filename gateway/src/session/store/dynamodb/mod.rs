//! Sessions in DynamoDB: an item for each, changed by conditional writes.
//!
//! A condition and its change are one step, so what is compared is still so when it is written, and
//! each operation is one write of one item: the lease is taken and the row read by the same update.
//! Ends go by DynamoDB's clock, as its answers show it; leases by how long they were seen unchanged
//! ([`watch`]), and by that clock once they are long over. A
//! write whose answer was lost is sent again: it carries a random number, by which its second attempt
//! knows what the first one left.
//!
//! An item ends at 400 KB and is paid by the KB with every write, so a state that is larger than a
//! head should be lies in a part of its own, which the row names ([`large`]).

mod commit;
mod large;
mod line;
mod listing;
mod row;
mod take;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use gatehouse_envelope::{random::RandomError, seal::Sealed};

use self::{
    commit::{Commit, IF_HELD_AT},
    large::Large,
    row::{Stored, fence, key, parts},
    take::nonce,
    watch::{Seen, Watch},
};
use super::{Acquired, Lease, Page, Row, SessionStore, StoreError, Write, line::How};
use crate::{
    clock::micros,
    registry::{AwsError, Change, DynamoLink, Item, Verb, Written, number, write_id},
    session::blobs::Blobs,
};

/// The newest lease, not given back.
const IF_HELD: &str = "lease_no = :lease AND lease_nonce = :nonce";
const RENEW: &str =
    "SET lease_us = :lasts, lease_until_us = :until, lease_beat = lease_beat + :one";

/// One item for each session in DynamoDB.
pub struct DynamoStore {
    link: Arc<DynamoLink>,
    large: Large,
    watch: Watch,
}

impl DynamoStore {
    /// A store over `link`, with states that are too large for an item in `blobs`.
    pub fn new(link: Arc<DynamoLink>, blobs: Arc<dyn Blobs>) -> Self {
        Self {
            link,
            large: Large::new(blobs),
            watch: Watch::default(),
        }
    }

    /// Renews a lease. Returns until when.
    async fn renew_once(&self, id: &str, fence: u64, ttl: Duration) -> Result<i64, StoreError> {
        let until_us = self.until_us(ttl);
        let mut values = held(fence);
        values.extend([
            (":lasts", number(micros(ttl))),
            (":until", number(until_us)),
            (":one", number(1)),
        ]);
        let verb = Verb::Update {
            key: key(id),
            expression: RENEW.to_owned(),
            shown: false,
        };
        match self.change(verb, IF_HELD, values, true).await? {
            Written::Done(_) => Ok(until_us),
            Written::Unmet { .. } => Err(StoreError::Conflict),
        }
    }

    fn row(&self, stored: Stored, state: Vec<u8>, leased: bool) -> Row {
        Row {
            version: stored.version,
            fence: stored.fence,
            holder: stored.holder,
            leased,
            expires_us: stored.expires_us,
            now_us: self.link.now_us(),
            sealed: Sealed::from_store(state),
        }
    }

    fn stored(&self, item: Option<Item>) -> Result<Stored, StoreError> {
        let item = item.ok_or_else(|| self.link.unexpected())?;
        Stored::read(&item)
    }

    async fn change(
        &self,
        verb: Verb,
        condition: impl Into<String>,
        values: Vec<(&'static str, AttributeValue)>,
        repeats: bool,
    ) -> Result<Written, AwsError> {
        let change = Change {
            verb,
            condition: Some(condition.into()),
            values,
            names: Vec::new(),
            repeats,
        };
        self.link.write(change).await
    }
}

fn held(fence: u64) -> Vec<(&'static str, AttributeValue)> {
    let (lease, nonce) = parts(fence);
    vec![(":lease", number(lease)), (":nonce", number(nonce))]
}

impl From<AwsError> for StoreError {
    fn from(error: AwsError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<RandomError> for StoreError {
    fn from(error: RandomError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl SessionStore for DynamoStore {
    async fn create(&self, id: &str, holder: u64, write: Write) -> Result<u64, StoreError> {
        let (nonce, write_id) = (nonce()?, write_id()?);
        let first = fence(1, nonce);
        let (lease, holder) = match write.lease {
            Lease::Free => ((fence(1, 0), Duration::ZERO), 0),
            Lease::Keep(ttl) => ((first, ttl), holder),
        };
        let state = self.large.place(id, write.sealed, write.expires_us).await?;
        let stored = Stored {
            version: 1,
            fence: first,
            holder,
            expires_us: write.expires_us,
            state: state.clone(),
            lease: Seen {
                fence: lease.0,
                beat: 0,
                lasts: lease.1,
            },
            until_us: self.until_us(lease.1),
            lease_holder: holder,
            line: None,
            write: write_id,
        };
        let put = self.put_row(id, stored).await;
        self.large.settle(id, state, &put).await;
        put.map(|()| first)
    }

    async fn acquire(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.take(id, holder, ttl, How::Free).await
    }

    async fn seize(&self, id: &str, holder: u64, ttl: Duration) -> Result<Acquired, StoreError> {
        self.take(id, holder, ttl, How::Force).await
    }

    async fn acquire_in_line(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        turns: usize,
    ) -> Result<Acquired, StoreError> {
        self.take(id, holder, ttl, How::InLine(turns)).await
    }

    async fn stand_in_line(&self, id: &str, holder: u64, turns: usize) -> Result<bool, StoreError> {
        self.stand(id, holder, turns).await
    }

    async fn leave_line(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError> {
        self.leave(id, holder, nth, turns).await
    }

    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError> {
        let until_us = self.renew_once(id, fence, ttl).await?;
        self.lengthen(id, fence, until_us, ttl).await
    }

    async fn commit(
        &self,
        id: &str,
        fence: u64,
        version: u64,
        write: Write,
    ) -> Result<(), StoreError> {
        let next = version.checked_add(1).ok_or(StoreError::Conflict)?;
        let state = self.large.place(id, write.sealed, write.expires_us).await?;
        let lease = match write.lease {
            Lease::Free => None,
            Lease::Keep(ttl) => Some((ttl, self.until_us(ttl))),
        };
        let commit = Commit {
            fence,
            version,
            next,
            expires_us: write.expires_us,
            lease,
            state: state.clone(),
            write: write_id()?,
        };
        let done = self.update_row(id, commit).await;
        self.large.settle(id, state, &done).await;
        done?;
        let Some((ttl, until_us)) = lease else {
            return Ok(());
        };
        match self.lengthen(id, fence, until_us, ttl).await {
            // The row is written all the same: who is told of a conflict would take it for not done.
            Err(StoreError::Conflict) => Err(self.link.doubtful().into()),
            lengthened => lengthened,
        }
    }

    async fn free(&self, id: &str, fence: u64) -> Result<(), StoreError> {
        let mut values = held(fence);
        values.push((":zero", number(0)));
        let verb = Verb::Update {
            key: key(id),
            expression: "SET lease_nonce = :zero, lease_holder = :zero".to_owned(),
            shown: false,
        };
        // Done, or not the newest any more.
        self.change(verb, IF_HELD, values, true).await?;
        self.large.forget(id);
        Ok(())
    }

    async fn read(&self, id: &str) -> Result<Option<Row>, StoreError> {
        // What is read without a lease may be replaced meanwhile, and the part be gone.
        for _attempt in 0..large::AGAIN {
            let Some(item) = self.link.get(key(id)).await? else {
                return Ok(None);
            };
            let stored = Stored::read(&item)?;
            if let Some(state) = self.large.read(&stored.state).await? {
                let leased = stored.lease_holder != 0 && !self.is_over(id, &stored);
                return Ok(Some(self.row(stored, state, leased)));
            }
        }
        Err(StoreError::Damaged)
    }

    /// Sent once: a second attempt could not tell its own work from another's.
    async fn remove(&self, id: &str, fence: u64, version: u64) -> Result<(), StoreError> {
        let mut values = held(fence);
        values.extend([(":version", number(version)), (":one", number(1))]);
        let removed = self.change(Verb::Delete(key(id)), IF_HELD_AT, values, false);
        match removed.await? {
            Written::Done(_) => {
                self.large.forget(id);
                Ok(())
            }
            Written::Unmet { .. } => Err(StoreError::Conflict),
        }
    }

    async fn list(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.names_by_pages(prefix, from, limit).await
    }

    async fn ended(&self, from: Option<&str>, limit: usize) -> Result<Page, StoreError> {
        self.ended_by_pages(from, limit).await
    }

    /// DynamoDB lets go of no session by itself, so there is no name without a row.
    async fn forget(&self, id: &str) -> Result<(), StoreError> {
        match self.link.get(key(id)).await? {
            Some(_) => Err(StoreError::Conflict),
            None => Ok(()),
        }
    }
}
