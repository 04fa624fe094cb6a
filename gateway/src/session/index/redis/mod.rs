//! The index in Redis: a sorted set of references for each name.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Entries, Index, MOST, Named};
use crate::registry::{Call, Link, RegistryError, Script};

/// Stands for references that there was no room for. No reference looks like it.
const CROWDED: &str = "*";

/// A sorted set for each name in Redis.
pub struct RedisIndex {
    link: Arc<Link>,
    add: Script,
    find: Script,
}

macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(
            include_str!("../../../registry/redis/clock.lua"),
            include_str!($file)
        ))
    };
}

impl RedisIndex {
    /// An index over `link`.
    pub fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            add: script!("add.lua"),
            find: script!("find.lua"),
        }
    }

    fn keys(&self, name: &str) -> Vec<String> {
        vec![self.link.key(name, "conversation", name)]
    }
}

#[async_trait]
impl Index for RedisIndex {
    async fn find(&self, name: &str) -> Result<Entries, RegistryError> {
        let call = Call::new(&self.find, self.keys(name)).repeats();
        let mut entries = Entries::default();
        for reference in self.link.run(&call).await?.into_iter().flatten() {
            match String::from_utf8(reference) {
                Ok(reference) if reference != CROWDED => entries.references.push(reference),
                // What cannot be read may be anybody's.
                _ => entries.crowded = true,
            }
        }
        Ok(entries)
    }

    async fn add(&self, named: Named) -> Result<(), RegistryError> {
        let call = Call::new(&self.add, self.keys(&named.name))
            .arg(named.reference)
            .number(named.expires_us)
            .number(MOST);
        self.link.run(&call).await?;
        Ok(())
    }

    /// The server does it by itself.
    async fn sweep(&self) -> Result<(), RegistryError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
