//! The registry in Redis: a hash for each group of rows.
//!
//! A session's rows lie in the hash slot of the session itself, since the tag of both is its
//! reference.

mod address;
mod cluster;
mod link;
mod promise;
mod single;
#[cfg(test)]
pub(crate) mod tests;
mod time;

use std::sync::Arc;

use async_trait::async_trait;

pub(crate) use link::{Call, Field, Script, fields};
pub use link::{Link, LinkError};

use super::{Durable, Expected, Put, Registry, RegistryError, Table, group};
use crate::clock::micros;

/// Rows in a hash for each group.
pub struct RedisRegistry {
    link: Arc<Link>,
    get: Script,
    put_if: Script,
    list: Script,
    delete: Script,
}

macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(
            include_str!("clock.lua"),
            include_str!("row.lua"),
            include_str!($file)
        ))
    };
}

impl RedisRegistry {
    /// A registry over `link`.
    pub fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            get: script!("get.lua"),
            put_if: script!("put_if.lua"),
            list: script!("list.lua"),
            delete: script!("delete.lua"),
        }
    }

    fn keys(&self, table: Table, group: &str) -> Vec<String> {
        let kind = match table {
            Table::CallerKeys => "caller_keys",
            Table::Ended => "ended",
            Table::Erasures => "erasures",
            Table::Holds => "holds",
            Table::KeyLives => "key_lives",
            Table::LogKeys => "log_keys",
            Table::SessionKeys => "session_keys",
            Table::TenantKeys => "tenant_keys",
        };
        vec![self.link.key(group, kind, group)]
    }

    /// Runs a script: the word that it answers with, and the rest.
    async fn run(
        &self,
        call: Call<'_>,
    ) -> Result<(Vec<u8>, impl Iterator<Item = Vec<u8>> + use<>), RegistryError> {
        let mut answer = self.link.run(&call).await?.into_iter().flatten();
        let word = answer.next().ok_or(LinkError::Unexpected)?;
        match word.as_slice() {
            b"damaged" => Err(RegistryError::Damaged),
            b"newer" => Err(RegistryError::Newer),
            _ => Ok((word, answer)),
        }
    }
}

impl From<LinkError> for RegistryError {
    fn from(error: LinkError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Registry for RedisRegistry {
    async fn get(&self, table: Table, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let keys = self.keys(table, group(table, name));
        let call = Call::new(&self.get, keys).arg(name).repeats();
        Ok(self.run(call).await?.1.next())
    }

    async fn put_if(&self, table: Table, name: &str, put: Put) -> Result<bool, RegistryError> {
        let (how, expected) = match put.expected {
            Expected::Absent => ("absent", Vec::new()),
            Expected::Value(value) => ("value", value),
        };
        let lifetime = put.lifetime.map(|lifetime| micros(lifetime).to_string());
        let call = Call::new(&self.put_if, self.keys(table, group(table, name)))
            .arg(name)
            .arg(how)
            .arg(expected)
            .arg(put.value)
            .arg(lifetime.unwrap_or_default())
            .sync(put.sync);
        Ok(self.run(call).await?.0 == b"yes")
    }

    async fn list(
        &self,
        table: Table,
        group: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, RegistryError> {
        let call = Call::new(&self.list, self.keys(table, group)).repeats();
        let (_, mut rest) = self.run(call).await?;
        let mut rows = Vec::new();
        while let (Some(name), Some(value)) = (rest.next(), rest.next()) {
            let name = String::from_utf8(name).map_err(|_| RegistryError::Damaged)?;
            rows.push((name, value));
        }
        rows.sort();
        Ok(rows)
    }

    async fn delete(&self, table: Table, name: &str, sync: Durable) -> Result<bool, RegistryError> {
        let keys = self.keys(table, group(table, name));
        let call = Call::new(&self.delete, keys).arg(name).sync(sync);
        Ok(self.run(call).await?.0 == b"yes")
    }

    /// The server does it by itself.
    async fn sweep(&self) -> Result<(), RegistryError> {
        Ok(())
    }
}
