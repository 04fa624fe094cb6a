//! A session as an item, and back.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{super::StoreError, watch::Seen};
use crate::registry::{
    ENDS, FORMAT, Form, Item, Key, WRITE, binary, binary_of, bucket, form, number, number_of,
    partition, tag, text_of,
};

/// The kind of the items. A partition holds one of 256 buckets of them.
const KIND: &str = "session";

/// Counts the row's commits.
pub(super) const VERSION: &str = "row_version";
/// The fence of the lease under which the row was last written.
pub(super) const FENCE: &str = "row_fence";
/// Who held that lease; 0 if that write freed it.
pub(super) const HOLDER: &str = "row_holder";
/// The sealed state.
pub(super) const SEALED: &str = "sealed_b";
/// The name of the part in which a state is that is too large for an item.
pub(super) const SEALED_AT: &str = "sealed_at";
/// Counts the leases.
pub(super) const LEASE: &str = "lease_no";
/// Its taker's random number; 0 once it was given back.
pub(super) const NONCE: &str = "lease_nonce";
/// Who has the lease; 0 for nobody.
pub(super) const LEASE_HOLDER: &str = "lease_holder";
/// For how long it is given from each renewal, in microseconds.
pub(super) const LASTS: &str = "lease_us";
/// Until when, by DynamoDB's clock, in microseconds since 1970.
pub(super) const UNTIL: &str = "lease_until_us";
/// Counts its renewals.
pub(super) const BEAT: &str = "lease_beat";
/// Who waits for it, as [`Line`](super::super::line::Line) writes it; absent where nobody does.
pub(super) const LINE: &str = "lease_line";

/// The partition of a bucket of sessions.
pub(super) fn partition_of(bucket: u32) -> String {
    partition(KIND, &format!("{bucket:02x}"))
}

/// Where a session is.
pub(super) fn key(id: &str) -> Key {
    Key {
        partition: partition_of(bucket(tag(id))),
        sort: id.to_owned(),
    }
}

/// A fence: the lease's number above its nonce, so that later ones are greater.
pub(super) fn fence(lease: u32, nonce: u32) -> u64 {
    u64::from(lease) << 32 | u64::from(nonce)
}

/// The lease's number and its nonce.
pub(super) fn parts(fence: u64) -> (u64, u64) {
    (fence >> 32, fence & u64::from(u32::MAX))
}

/// A session's row and its lease, as they stand in the table.
pub(super) struct Stored {
    pub(super) version: u64,
    pub(super) fence: u64,
    pub(super) holder: u64,
    pub(super) expires_us: i64,
    pub(super) state: State,
    pub(super) lease: Seen,
    /// By DynamoDB's clock, in microseconds since 1970.
    pub(super) until_us: i64,
    /// 0 for nobody.
    pub(super) lease_holder: u64,
    /// Who waits for it.
    pub(super) line: Option<String>,
    /// Which write made it so, of those that change the row.
    pub(super) write: u64,
}

/// Where a sealed state is.
#[derive(Clone)]
pub(super) enum State {
    /// In the item.
    Here(Vec<u8>),
    /// In a part of this name.
    There(String),
}

impl State {
    /// The attribute that holds it.
    pub(super) fn attribute(self) -> (&'static str, AttributeValue) {
        match self {
            Self::Here(sealed) => (SEALED, binary(sealed)),
            Self::There(name) => (SEALED_AT, AttributeValue::S(name)),
        }
    }
}

impl Stored {
    pub(super) fn read(item: &Item) -> Result<Self, StoreError> {
        match form(item) {
            Form::Ours => Self::parse(item).ok_or(StoreError::Damaged),
            Form::Newer => Err(StoreError::Newer),
            Form::Damaged => Err(StoreError::Damaged),
        }
    }

    fn parse(item: &Item) -> Option<Self> {
        let state = match (binary_of(item, SEALED), text_of(item, SEALED_AT)) {
            (Some(sealed), None) => State::Here(sealed),
            (None, Some(name)) => State::There(name),
            _ => return None,
        };
        let lease = Seen {
            fence: fence(number_of(item, LEASE)?, number_of(item, NONCE)?),
            beat: number_of(item, BEAT)?,
            lasts: Duration::from_micros(number_of(item, LASTS)?),
        };
        Some(Self {
            version: number_of(item, VERSION)?,
            fence: number_of(item, FENCE)?,
            holder: number_of(item, HOLDER)?,
            expires_us: number_of(item, ENDS)?,
            state,
            lease,
            until_us: number_of(item, UNTIL)?,
            lease_holder: number_of(item, LEASE_HOLDER)?,
            line: text_of(item, LINE),
            write: number_of(item, WRITE)?,
        })
    }

    /// The whole item.
    pub(super) fn into_item(self, id: &str) -> Item {
        let (lease, nonce) = parts(self.lease.fence);
        let lasts_us = crate::clock::micros(self.lease.lasts);
        let (attribute, state) = self.state.attribute();
        let mut item = key(id).into_item();
        item.insert(attribute.to_owned(), state);
        for (name, value) in [
            (FORMAT, 1),
            (VERSION, self.version),
            (FENCE, self.fence),
            (HOLDER, self.holder),
            (LEASE, lease),
            (NONCE, nonce),
            (LEASE_HOLDER, self.lease_holder),
            (LASTS, lasts_us),
            (BEAT, self.lease.beat),
            (WRITE, self.write),
        ] {
            item.insert(name.to_owned(), number(value));
        }
        item.insert(ENDS.to_owned(), number(self.expires_us));
        item.insert(UNTIL.to_owned(), number(self.until_us));
        item
    }
}
