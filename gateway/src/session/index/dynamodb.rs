//! The index in DynamoDB: an item for each name, with all its references.
//!
//! Most names are new: their item is made with one write. Else it is read by that very write, and
//! replaced if it is still what was read.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Entries, Index, MOST, Named};
use crate::registry::{
    Change, DynamoLink, FORMAT, Form, Item, Key, LET_GO, RegistryError, Verb, WRITE, Written, form,
    let_go, number, number_of, write_id,
};

/// The kind of the items. There is one in each partition.
const KIND: &str = "conversation";
const ONLY: &str = "references";
/// When each reference is forgotten, in microseconds since 1970.
const REFERENCES: &str = "refs_m";
/// Until when there are more of them than there is room for, in microseconds since 1970.
const CROWDED: &str = "crowded_us";
/// How often an item is written anew that others change at the same time.
const ATTEMPTS: u32 = 32;

/// An item for each name in DynamoDB.
pub struct DynamoIndex {
    link: Arc<DynamoLink>,
}

/// What an item holds.
#[derive(Default)]
struct Held {
    references: BTreeMap<String, i64>,
    /// 0: never.
    crowded_us: i64,
    /// What cannot be read may be anybody's.
    unreadable: bool,
    /// Which write made it.
    write: Option<u64>,
}

impl DynamoIndex {
    /// An index over `link`.
    pub fn new(link: Arc<DynamoLink>) -> Self {
        Self { link }
    }

    /// One attempt: `Some` is what others have written meanwhile.
    async fn write(&self, name: &str, held: &Held) -> Result<Option<Held>, RegistryError> {
        let write = write_id().map_err(|error| RegistryError::Unavailable(Box::new(error)))?;
        let (condition, values) = match held.write {
            None => ("attribute_not_exists(sk)", Vec::new()),
            Some(before) => ("write_id = :before", vec![(":before", number(before))]),
        };
        let change = Change {
            verb: Verb::Put(held.item(name, write)),
            condition: Some(condition.to_owned()),
            values,
            names: Vec::new(),
            repeats: true,
        };
        Ok(match self.link.write(change).await? {
            Written::Done(_) => None,
            Written::Unmet { there: None, .. } => Some(Held::default()),
            Written::Unmet {
                there: Some(there), ..
            } => Some(Held::read(&there)).filter(|there| there.write != Some(write)),
        })
    }
}

impl Held {
    fn read(item: &Item) -> Self {
        let references = item.get(REFERENCES).map(AttributeValue::as_m);
        let (Form::Ours, Some(Ok(references))) = (form(item), references) else {
            return Self {
                unreadable: true,
                write: number_of(item, WRITE),
                ..Self::default()
            };
        };
        let names = references.keys();
        let read = names.map(|name| Some((name.clone(), number_of(references, name)?)));
        let read: Option<BTreeMap<_, _>> = read.collect();
        Self {
            unreadable: read.is_none(),
            references: read.unwrap_or_default(),
            crowded_us: number_of(item, CROWDED).unwrap_or_default(),
            write: number_of(item, WRITE),
        }
    }

    /// With one more, and without what has expired.
    fn add(&mut self, named: &Named, now_us: i64) {
        self.references.retain(|_, ends_us| *ends_us > now_us);
        let there = self.references.contains_key(&named.reference);
        if there || self.references.len() < MOST {
            let reference = named.reference.clone();
            self.references.insert(reference, named.expires_us);
        } else {
            self.crowded_us = self.crowded_us.max(named.expires_us);
        }
    }

    fn item(&self, name: &str, write: u64) -> Item {
        let references = self.references.iter();
        let references = references.map(|(name, ends_us)| (name.clone(), number(ends_us)));
        let last_us = self.references.values().max();
        let last_us = last_us.map_or(0, |last| *last).max(self.crowded_us);
        let mut item = Key::new(KIND, name, ONLY).into_item();
        item.insert(FORMAT.to_owned(), number(1));
        item.insert(WRITE.to_owned(), number(write));
        item.insert(CROWDED.to_owned(), number(self.crowded_us));
        item.insert(LET_GO.to_owned(), let_go(last_us));
        let references = AttributeValue::M(references.collect());
        item.insert(REFERENCES.to_owned(), references);
        item
    }
}

#[async_trait]
impl Index for DynamoIndex {
    async fn find(&self, name: &str) -> Result<Entries, RegistryError> {
        let item = self.link.get(Key::new(KIND, name, ONLY)).await?;
        let now_us = self.link.now_us();
        let held = item.as_ref().map(Held::read).unwrap_or_default();
        let references = held.references.into_iter();
        let references = references.filter(|(_, ends_us)| *ends_us > now_us);
        Ok(Entries {
            references: references.map(|(name, _)| name).collect(),
            crowded: held.unreadable || held.crowded_us > now_us,
        })
    }

    async fn add(&self, named: Named) -> Result<(), RegistryError> {
        let mut held = Held::default();
        for _attempt in 0..ATTEMPTS {
            if held.unreadable {
                // It says that it may be anybody's, and a later version goes on with it.
                return Ok(());
            }
            held.add(&named, self.link.now_us());
            match self.write(&named.name, &held).await? {
                None => return Ok(()),
                Some(there) => held = there,
            }
        }
        Err(self.link.doubtful().into())
    }

    /// DynamoDB does it by itself, where the table's time to live is set up.
    async fn sweep(&self) -> Result<(), RegistryError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
