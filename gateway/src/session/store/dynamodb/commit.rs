//! Writing rows under a lease, also where an earlier attempt may have done it already.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    super::StoreError,
    DynamoStore, row,
    row::{State, Stored, key, parts},
};
use crate::{
    clock::micros,
    registry::{Verb, Written, number},
};

/// The newest lease, on the version that its holder read.
pub(super) const IF_HELD_AT: &str = "row_format = :one AND lease_no = :lease AND lease_nonce = :nonce \
                          AND row_version = :version";

/// A new content of a row.
pub(super) struct Commit {
    pub(super) fence: u64,
    pub(super) version: u64,
    pub(super) next: u64,
    pub(super) expires_us: i64,
    /// For how long it is kept and until when; `None`: it is given back.
    pub(super) lease: Option<(Duration, i64)>,
    pub(super) state: State,
    pub(super) write: u64,
}

impl Commit {
    fn expression(self) -> (String, Vec<(&'static str, AttributeValue)>) {
        let (lease, nonce) = parts(self.fence);
        let other = match &self.state {
            State::Here(_) => row::SEALED_AT,
            State::There(_) => row::SEALED,
        };
        let (attribute, state) = self.state.attribute();
        let mut values = vec![
            (":one", number(1)),
            (":lease", number(lease)),
            (":nonce", number(nonce)),
            (":version", number(self.version)),
            (":next", number(self.next)),
            (":fence", number(self.fence)),
            (":ends", number(self.expires_us)),
            (":write", number(self.write)),
            (":state", state),
        ];
        let lease = match self.lease {
            None => {
                values.push((":zero", number(0)));
                "row_holder = :zero, lease_holder = :zero, lease_nonce = :zero"
            }
            Some((ttl, until_us)) => {
                values.push((":lasts", number(micros(ttl))));
                values.push((":until", number(until_us)));
                "row_holder = lease_holder, lease_us = :lasts, lease_until_us = :until"
            }
        };
        let expression = format!(
            "SET row_version = :next, row_fence = :fence, ends_us = :ends, write_id = :write, \
             {attribute} = :state, lease_beat = lease_beat + :one, {lease} REMOVE {other}"
        );
        (expression, values)
    }
}

impl DynamoStore {
    /// Makes a row where none is.
    pub(super) async fn put_row(&self, id: &str, stored: Stored) -> Result<(), StoreError> {
        let write = stored.write;
        let verb = Verb::Put(stored.into_item(id));
        let put = self.change(verb, "attribute_not_exists(sk)", Vec::new(), true);
        match put.await? {
            Written::Done(_) => Ok(()),
            Written::Unmet { there, doubtful } => match self.stored(there) {
                Ok(there) if there.write == write => Ok(()),
                _ if doubtful => Err(self.link.doubtful().into()),
                _ => Err(StoreError::Exists),
            },
        }
    }

    /// Replaces a row under its newest lease.
    pub(super) async fn update_row(&self, id: &str, commit: Commit) -> Result<(), StoreError> {
        let (write, version) = (commit.write, commit.version);
        let (expression, values) = commit.expression();
        let verb = Verb::Update {
            key: key(id),
            expression,
            shown: false,
        };
        match self.change(verb, IF_HELD_AT, values, true).await? {
            Written::Done(_) => Ok(()),
            Written::Unmet {
                there: None,
                doubtful: false,
            } => Err(StoreError::Conflict),
            Written::Unmet { there, doubtful } => match there.map(|it| Stored::read(&it)) {
                Some(Err(error)) => Err(error),
                Some(Ok(there)) if there.write == write => Ok(()),
                // As it was before: this write has not happened, and under a newer lease never will.
                Some(Ok(there)) if there.version <= version => Err(StoreError::Conflict),
                _ if doubtful => Err(self.link.doubtful().into()),
                _ => Err(StoreError::Conflict),
            },
        }
    }
}
