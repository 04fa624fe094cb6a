//! Parts in Redis: a hash for each session, beside the session's other keys.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_envelope::seal::Sealed;
use redis::cmd;

use super::{Blobs, StoreError};
use crate::registry::{Call, Durable, Link, LinkError, Script, fields};
use crate::session::store::let_go_ms;

/// The first byte of every part of this version. After it: the sealed part.
const FORMAT: u8 = b'1';

/// A field of a session's hash for each part in Redis.
pub struct RedisBlobs {
    link: Arc<Link>,
    put: Script,
    remove: Script,
}

impl RedisBlobs {
    /// Parts over `link`.
    pub fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            put: Script::new(include_str!("redis/put.lua")),
            remove: Script::new(include_str!("redis/remove.lua")),
        }
    }

    /// Names begin with the session's reference, up to the first `/`.
    fn key(&self, name: &str) -> Result<String, StoreError> {
        let (session, _) = name.split_once('/').ok_or(LinkError::Unexpected)?;
        Ok(self.link.key(session, "parts", session))
    }
}

fn decode(row: &[u8]) -> Result<Sealed, StoreError> {
    match row.split_first() {
        Some((&FORMAT, part)) => Ok(Sealed::from_store(part.to_vec())),
        Some((later, _)) if *later > FORMAT => Err(StoreError::Newer),
        _ => Err(StoreError::Damaged),
    }
}

#[async_trait]
impl Blobs for RedisBlobs {
    async fn put(&self, name: &str, part: Sealed, until_us: i64) -> Result<(), StoreError> {
        let call = Call::new(&self.put, vec![self.key(name)?])
            .arg(name)
            .arg(part.as_bytes())
            .number(let_go_ms(until_us))
            .sync(Durable::Now);
        match self.link.run(&call).await?.into_iter().next().flatten() {
            Some(word) if word == b"done" => Ok(()),
            Some(_) => Err(StoreError::Exists),
            None => Err(LinkError::Unexpected.into()),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Sealed>, StoreError> {
        let key = self.key(name)?;
        let mut get = cmd("HMGET");
        get.arg(&key).arg(name);
        let answer = self.link.command(&get, Some(&key)).await?;
        let part = fields(answer)?.into_iter().next().flatten();
        part.as_deref().map(decode).transpose()
    }

    async fn remove(&self, prefix: &str) -> Result<(), StoreError> {
        let call = Call::new(&self.remove, vec![self.key(prefix)?]).arg(prefix);
        self.link.run(&call).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        registry::redis_tests::{Kind, Nodes, Server, time::now_us},
        session::blobs::suite,
    };

    #[tokio::test]
    async fn one_server_keeps_the_contract_over_a_crash() {
        for kind in [Kind::Plain, Kind::Tls] {
            let mut server = Server::start(kind);
            let link = Arc::new(Link::open(&server.settings()).await.unwrap());
            let blobs = RedisBlobs::new(link);
            suite::run(&blobs).await;
            server.kill();
            server.restart();
            suite::is_still_there(&blobs).await;
        }
    }

    #[tokio::test]
    async fn a_cluster_keeps_the_contract() {
        let nodes = Nodes::start();
        let link = Arc::new(Link::open(&nodes.settings()).await.unwrap());
        suite::run(&RedisBlobs::new(link)).await;
    }

    /// Whatever becomes of the session, and of those who sweep up.
    #[tokio::test]
    async fn the_server_lets_go_of_parts_by_itself() {
        let server = Server::start(Kind::Plain);
        let link = Arc::new(Link::open(&server.settings()).await.unwrap());
        let blobs = RedisBlobs::new(link);
        let hour_us = 3_600_000_000;
        let part = Sealed::from_store(b"part".to_vec());
        let until_us = now_us() + hour_us;
        blobs.put("s_a/t/1/p_1", part, until_us).await.unwrap();
        let mut ask = cmd("PEXPIRETIME");
        ask.arg(blobs.key("s_a/t/1/p_1").unwrap());
        let at_ms: i64 = ask.query(&mut server.admin()).unwrap();
        assert_eq!(at_ms, let_go_ms(until_us));
        assert!(at_ms > until_us / 1000, "not before the session's end");
    }

    #[test]
    fn parts_that_no_version_wrote_are_refused() {
        assert_eq!(decode(b"1part").unwrap().as_bytes(), b"part");
        for damaged in [&b""[..], b"\x01part", b"0part"] {
            assert!(matches!(decode(damaged), Err(StoreError::Damaged)));
        }
        assert!(matches!(decode(b"2part"), Err(StoreError::Newer)));
    }
}
