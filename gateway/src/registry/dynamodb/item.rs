//! Items as they lie in the table, and what is read out of them.
//!
//! Attributes have an underscore in their names: none of DynamoDB's reserved words looks like that, so
//! all names can stand in expressions as they are.

use std::{collections::HashMap, str::FromStr};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

/// An item's attributes by their names.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The partition key: the kind of the item, and what such items are found by.
pub(crate) const PARTITION: &str = "pk";
/// The sort key: the item's own name.
pub(crate) const SORT: &str = "sk";
/// When a session ends, in microseconds since 1970: what the index [`BY_END`] is sorted by. Sessions
/// alone have it.
pub(crate) const ENDS: &str = "ends_us";
/// The local secondary index of sessions by their ends. It holds keys only.
pub(crate) const BY_END: &str = "by_end";
/// When the lifetime of a row is over, in microseconds since 1970; one that stays has no such attribute.
pub(crate) const OVER: &str = "over_us";
/// From when on DynamoDB may remove an item by itself, in seconds since 1970: the attribute that the
/// table's time to live is to be set to. No session has it.
pub(crate) const LET_GO: &str = "let_go_s";
/// The item's format.
pub(crate) const FORMAT: &str = "row_format";
/// Random, and another with every write: who wrote an item can tell that it was he.
pub(crate) const WRITE: &str = "write_id";

/// Where an item is.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) partition: String,
    pub(crate) sort: String,
}

impl Key {
    /// Of the items of a `kind` that are found under `group`, the one of that `name`.
    pub(crate) fn new(kind: &str, group: &str, name: &str) -> Self {
        Self {
            partition: partition(kind, group),
            sort: name.to_owned(),
        }
    }

    pub(crate) fn into_item(self) -> Item {
        Item::from([
            (PARTITION.to_owned(), AttributeValue::S(self.partition)),
            (SORT.to_owned(), AttributeValue::S(self.sort)),
        ])
    }
}

/// The partition of a kind of items.
pub(crate) fn partition(kind: &str, group: &str) -> String {
    format!("{kind}#{group}")
}

/// A number, of any size that DynamoDB holds exactly.
pub(crate) fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Bytes.
pub(crate) fn binary(bytes: Vec<u8>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

/// The number under a name, if there is one and it fits.
pub(crate) fn number_of<N: FromStr>(item: &Item, name: &str) -> Option<N> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// The bytes under a name.
pub(crate) fn binary_of(item: &Item, name: &str) -> Option<Vec<u8>> {
    Some(item.get(name)?.as_b().ok()?.as_ref().to_vec())
}

/// The text under a name.
pub(crate) fn text_of(item: &Item, name: &str) -> Option<String> {
    item.get(name)?.as_s().ok().cloned()
}

/// Whether an item can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Not in a form that any version wrote.
    Damaged,
    /// Written by a later version of this program.
    Newer,
    /// In this version's form.
    Ours,
}

/// What an item's format says of it.
pub(crate) fn form(item: &Item) -> Form {
    match number_of::<u64>(item, FORMAT) {
        Some(1) => Form::Ours,
        Some(2..) => Form::Newer,
        Some(0) | None => Form::Damaged,
    }
}
