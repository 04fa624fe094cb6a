//! The registry in DynamoDB: an item for each row, in a partition for each group of rows.

mod clock;
mod item;
mod link;
mod promise;
#[cfg(test)]
pub(crate) mod tests;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use gatehouse_envelope::random::{self, RandomError};

pub(crate) use item::{
    BY_END, ENDS, FORMAT, Form, Item, Key, LET_GO, OVER, SORT, WRITE, binary, binary_of, form,
    number, number_of, partition, text_of,
};
pub use link::DynamoLink;
pub(crate) use link::{Range, access};
pub(crate) use write::{Change, Verb, Written};

use super::{AwsError, Durable, Expected, Put, Registry, RegistryError, Table, group};
use crate::clock::later;

/// What a row holds.
const VALUE: &str = "value_b";

/// A row that is over is as good as none.
const IF_ABSENT: &str = "attribute_not_exists(sk) OR (row_format = :format AND over_us <= :now)";
const IF_VALUE: &str = "row_format = :format AND value_b = :expected \
                        AND (attribute_not_exists(over_us) OR over_us > :now)";

/// Rows in DynamoDB.
pub struct DynamoRegistry {
    link: Arc<DynamoLink>,
}

impl DynamoRegistry {
    /// A registry over `link`.
    pub fn new(link: Arc<DynamoLink>) -> Self {
        Self { link }
    }

    /// The value of a row, if its lifetime is not over.
    fn value(&self, row: &Item) -> Result<Option<Vec<u8>>, RegistryError> {
        match form(row) {
            Form::Ours => {}
            Form::Newer => return Err(RegistryError::Newer),
            Form::Damaged => return Err(RegistryError::Damaged),
        }
        if self.over(row) {
            return Ok(None);
        }
        let value = binary_of(row, VALUE);
        value.map(Some).ok_or(RegistryError::Damaged)
    }

    fn over(&self, row: &Item) -> bool {
        let over_us = number_of::<i64>(row, OVER);
        over_us.is_some_and(|over_us| over_us <= self.link.now_us())
    }
}

fn kind(table: Table) -> &'static str {
    match table {
        Table::CallerKeys => "caller_keys",
        Table::Ended => "ended",
        Table::Erasures => "erasures",
        Table::Holds => "holds",
        Table::KeyLives => "key_lives",
        Table::LogKeys => "log_keys",
        Table::SessionKeys => "session_keys",
        Table::TenantKeys => "tenant_keys",
    }
}

fn key(table: Table, name: &str) -> Key {
    Key::new(kind(table), group(table, name), name)
}

/// A number for one write.
pub(crate) fn write_id() -> Result<u64, RandomError> {
    random::bytes().map(u64::from_be_bytes)
}

/// DynamoDB may let go of an item so long after its time is over: long enough for clocks that differ.
pub(crate) fn let_go(over_us: i64) -> AttributeValue {
    const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
    number(later(over_us, DAY) / 1_000_000)
}

impl From<AwsError> for RegistryError {
    fn from(error: AwsError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Registry for DynamoRegistry {
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        match self.link.get(key(table, name)).await? {
            Some(row) => self.value(&row),
            None => Ok(None),
        }
    }

    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError> {
        let write = write_id().map_err(|error| RegistryError::Unavailable(Box::new(error)))?;
        let (now_us, is_away) = (self.link.now_us(), put.is_away());
        let mut row = key(table, name).into_item();
        row.insert(FORMAT.to_owned(), number(1));
        row.insert(WRITE.to_owned(), number(write));
        row.insert(VALUE.to_owned(), binary(put.value));
        if let Some(lifetime) = put.lifetime {
            let over_us = later(now_us, lifetime);
            row.insert(OVER.to_owned(), number(over_us));
            row.insert(LET_GO.to_owned(), let_go(over_us));
        }
        let mut values = vec![(":format", number(1)), (":now", number(now_us))];
        let condition = match put.expected {
            Expected::Absent => IF_ABSENT,
            Expected::Value(value) => {
                values.push((":expected", binary(value)));
                IF_VALUE
            }
        };
        // A second attempt would not find what the first one deleted.
        let (verb, repeats) = match is_away {
            true => (Verb::Delete(key(table, name)), false),
            false => (Verb::Put(row), true),
        };
        let change = Change {
            verb,
            condition: Some(condition.to_owned()),
            values,
            names: Vec::new(),
            repeats,
        };
        match self.link.write(change).await? {
            Written::Done(_) => Ok(true),
            // What the first attempt wrote is there; only its answer was lost.
            Written::Unmet {
                there: Some(there), ..
            } if number_of(&there, WRITE) == Some(write) => Ok(true),
            Written::Unmet { doubtful: true, .. } => Err(self.link.doubtful().into()),
            Written::Unmet { .. } => Ok(false),
        }
    }

    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        let (mut rows, mut behind) = (Vec::new(), None);
        loop {
            let range = Range {
                index: None,
                condition: "pk = :partition",
                values: vec![(
                    ":partition",
                    AttributeValue::S(partition(kind(table), group)),
                )],
                behind,
                attributes: None,
                limit: None,
            };
            let found = self.link.query(range).await?;
            for row in found.items {
                let Some(value) = self.value(&row)? else {
                    continue;
                };
                let name = text_of(&row, SORT).ok_or(RegistryError::Damaged)?;
                rows.push((name, value));
            }
            behind = found.last;
            if behind.is_none() {
                return Ok(rows);
            }
        }
    }

    /// Sent once: a second attempt would not find what the first one deleted.
    async fn delete(&self, table: Table, name: &str, _: Durable) -> Result<bool, RegistryError> {
        let change = Change {
            verb: Verb::Delete(key(table, name)),
            condition: None,
            values: Vec::new(),
            names: Vec::new(),
            repeats: false,
        };
        match self.link.write(change).await? {
            Written::Done(row) => Ok(row.is_some_and(|row| !self.over(&row))),
            Written::Unmet { .. } => Err(self.link.unexpected().into()),
        }
    }

    /// DynamoDB does it by itself, where the table's time to live is set up.
    async fn sweep(&self) -> Result<(), RegistryError> {
        Ok(())
    }
}
