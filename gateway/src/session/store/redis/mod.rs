//! Sessions in Redis: a hash for each, changed by scripts.
//!
//! A script runs alone and whole, so what it compares is still so when it writes. Leases and ends go
//! by the server's clock. Names are kept in sorted sets beside the sessions, 256 of each kind, so that
//! sessions can be listed and those that have ended be found without a walk through the key space.

mod listing;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_envelope::{random, seal::Sealed};

use super::{
    Acquired, Durable, Lease, PLACES, Page, Row, STANDS, SessionStore, StoreError, Write, line::How,
};
use crate::{
    clock::micros,
    registry::{Call, Field, Link, LinkError, Script, bucket, tag},
};

/// The server lets go of a session by itself this long after its end, if no gateway has ended it.
const GRACE_MS: i64 = 7 * 24 * 3600 * 1000;
/// The server takes no later time: the year 9999.
const LATEST_MS: i64 = 253_402_300_799_000;

/// One hash for each session in Redis.
pub struct RedisStore {
    link: Arc<Link>,
    acquire: Script,
    commit: Script,
    create: Script,
    ended: Script,
    forget: Script,
    leave: Script,
    read: Script,
    remove: Script,
    renew: Script,
    stand: Script,
}

macro_rules! script {
    ($($file:literal),+) => {
        Script::new(concat!(
            include_str!("../../../registry/redis/clock.lua"),
            include_str!("lease.lua"),
            $(include_str!($file)),+
        ))
    };
}

impl RedisStore {
    /// A store over `link`.
    pub fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            acquire: script!("line.lua", "acquire.lua"),
            commit: script!("commit.lua"),
            create: script!("create.lua"),
            ended: script!("ended.lua"),
            forget: script!("forget.lua"),
            leave: script!("line.lua", "leave.lua"),
            read: script!("read.lua"),
            remove: script!("remove.lua"),
            renew: script!("renew.lua"),
            stand: script!("line.lua", "stand.lua"),
        }
    }

    fn session(&self, id: &str) -> String {
        self.link.key(tag(id), "session", id)
    }

    fn names(&self, bucket: u32) -> String {
        self.link.bucket_key(bucket, "names")
    }

    fn ends(&self, bucket: u32) -> String {
        self.link.bucket_key(bucket, "ends")
    }

    /// The session's own key and those of its bucket.
    fn keys(&self, id: &str) -> Vec<String> {
        let bucket = bucket(tag(id));
        vec![self.session(id), self.names(bucket), self.ends(bucket)]
    }

    async fn take(
        &self,
        id: &str,
        holder: u64,
        ttl: Duration,
        how: How,
    ) -> Result<Acquired, StoreError> {
        let (how, turns) = match how {
            How::Free => ("", 0),
            How::Force => ("force", 0),
            How::InLine(turns) => ("line", turns),
        };
        let call = Call::new(&self.acquire, vec![self.session(id)])
            .number(nonce()?)
            .number(holder)
            .number(micros(ttl))
            .arg(how)
            .number(turns)
            .number(PLACES)
            .number(micros(STANDS))
            // By its nonce it knows what it has taken.
            .repeats();
        let answer = self.run(&call).await?;
        match answer.word.as_slice() {
            b"busy" => match answer.places()? {
                0 if turns > 0 => Ok(Acquired::Full),
                _ => Ok(Acquired::Busy),
            },
            b"missing" => Ok(Acquired::Missing),
            _ => {
                let (lease, row) = answer.row()?;
                self.link.saw(row.now_us);
                let fence = fence(lease).ok_or(StoreError::Damaged)?;
                Ok(if row.expired() {
                    Acquired::Expired { fence, row }
                } else {
                    Acquired::Held { fence, row }
                })
            }
        }
    }

    /// Runs a script that says whether it was done.
    async fn change(&self, call: &Call<'_>) -> Result<(), StoreError> {
        match self.run(call).await?.word.as_slice() {
            b"done" => Ok(()),
            b"conflict" => Err(StoreError::Conflict),
            _ => Err(LinkError::Unexpected.into()),
        }
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, StoreError> {
        let mut fields = self.link.run(call).await?.into_iter();
        let word = fields.next().flatten().ok_or(LinkError::Unexpected)?;
        match word.as_slice() {
            b"damaged" => Err(StoreError::Damaged),
            b"newer" => Err(StoreError::Newer),
            _ => Ok(Answer {
                word,
                fields: fields.collect(),
            }),
        }
    }
}

/// What a script said, and what it had to show.
struct Answer {
    word: Vec<u8>,
    fields: Vec<Field>,
}

impl Answer {
    /// How many turns of the holder stand in line.
    fn places(self) -> Result<usize, StoreError> {
        let places = self.fields.into_iter().next().flatten();
        Ok(number(places).ok_or(LinkError::Unexpected)?)
    }

    /// The fence of the lease that runs, as it was written, and the row.
    fn row(self) -> Result<(Vec<u8>, Row), StoreError> {
        let Ok([lease, now, version, fence_of_row, holder, expires, state]) =
            <[Field; 7]>::try_from(self.fields)
        else {
            return Err(StoreError::Damaged);
        };
        let row = Row {
            version: number(version).ok_or(StoreError::Damaged)?,
            fence: fence_of_row.and_then(fence).ok_or(StoreError::Damaged)?,
            holder: number(holder).ok_or(StoreError::Damaged)?,
            leased: lease.as_ref().is_some_and(|lease| !lease.is_empty()),
            expires_us: number(expires).ok_or(StoreError::Damaged)?,
            now_us: number(now).ok_or(StoreError::Damaged)?,
            sealed: Sealed::from_store(state.ok_or(StoreError::Damaged)?),
        };
        Ok((lease.unwrap_or_default(), row))
    }
}

fn number<N: std::str::FromStr>(field: Field) -> Option<N> {
    std::str::from_utf8(&field?).ok()?.parse().ok()
}

/// `counter:nonce`, as one number: the counter above, so that later fences are greater.
fn fence(text: Vec<u8>) -> Option<u64> {
    let text = String::from_utf8(text).ok()?;
    let (counter, nonce) = text.split_once(':')?;
    let (counter, nonce): (u32, u32) = (counter.parse().ok()?, nonce.parse().ok()?);
    Some(u64::from(counter) << 32 | u64::from(nonce))
}

/// The same, as it is written.
fn written(fence: u64) -> String {
    format!("{}:{}", fence >> 32, fence & u64::from(u32::MAX))
}

fn nonce() -> Result<u32, StoreError> {
    let bytes = random::bytes().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    Ok(u32::from_be_bytes(bytes))
}

/// When the server may let go of a session that ends then.
pub(in crate::session) fn let_go_ms(expires_us: i64) -> i64 {
    (expires_us / 1000).saturating_add(GRACE_MS).min(LATEST_MS)
}

fn kept(lease: Lease) -> String {
    match lease {
        Lease::Free => String::new(),
        Lease::Keep(ttl) => micros(ttl).to_string(),
    }
}

impl From<LinkError> for StoreError {
    fn from(error: LinkError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl SessionStore for RedisStore {
    async fn create(&self, id: &str, holder: u64, write: Write) -> Result<u64, StoreError> {
        let call = Call::new(&self.create, self.keys(id))
            .arg(id)
            .number(nonce()?)
            .number(holder)
            .number(write.expires_us)
            .number(let_go_ms(write.expires_us))
            .arg(write.sealed.as_bytes())
            .arg(kept(write.lease))
            .sync(write.sync);
        let answer = self.run(&call).await?;
        if answer.word == b"exists" {
            return Err(StoreError::Exists);
        }
        let written = answer.fields.into_iter().next().flatten();
        Ok(written.and_then(fence).ok_or(LinkError::Unexpected)?)
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
        let call = Call::new(&self.stand, vec![self.session(id)])
            .number(holder)
            .number(turns)
            .number(PLACES)
            .number(micros(STANDS))
            .repeats();
        let answer = self.run(&call).await?;
        Ok(answer.word == b"missing" || answer.places()? == turns)
    }

    async fn leave_line(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError> {
        let call = Call::new(&self.leave, vec![self.session(id)])
            .number(holder)
            .number(nth)
            .number(turns)
            .repeats();
        self.run(&call).await.map(drop)
    }

    async fn renew(&self, id: &str, fence: u64, ttl: Duration) -> Result<(), StoreError> {
        let call = Call::new(&self.renew, vec![self.session(id)])
            .arg(written(fence))
            .number(micros(ttl));
        self.change(&call).await
    }

    async fn commit(
        &self,
        id: &str,
        fence: u64,
        version: u64,
        write: Write,
    ) -> Result<(), StoreError> {
        let next = version.checked_add(1).ok_or(StoreError::Conflict)?;
        let keys = vec![self.session(id), self.ends(bucket(tag(id)))];
        let call = Call::new(&self.commit, keys)
            .arg(id)
            .arg(written(fence))
            .number(version)
            .number(next)
            .number(write.expires_us)
            .number(let_go_ms(write.expires_us))
            .arg(write.sealed.as_bytes())
            .arg(kept(write.lease))
            .sync(write.sync);
        self.change(&call).await
    }

    async fn free(&self, id: &str, fence: u64) -> Result<(), StoreError> {
        let call = Call::new(&self.renew, vec![self.session(id)])
            .arg(written(fence))
            .arg("");
        match self.change(&call).await {
            Err(StoreError::Conflict) => Ok(()),
            done => done,
        }
    }

    async fn read(&self, id: &str) -> Result<Option<Row>, StoreError> {
        let call = Call::new(&self.read, vec![self.session(id)]).repeats();
        let answer = self.run(&call).await?;
        if answer.word == b"missing" {
            return Ok(None);
        }
        let (_, row) = answer.row()?;
        self.link.saw(row.now_us);
        Ok(Some(row))
    }

    async fn remove(&self, id: &str, fence: u64, version: u64) -> Result<(), StoreError> {
        let call = Call::new(&self.remove, self.keys(id))
            .arg(id)
            .arg(written(fence))
            .number(version)
            .sync(Durable::Now);
        self.change(&call).await
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

    async fn forget(&self, id: &str) -> Result<(), StoreError> {
        let call = Call::new(&self.forget, self.keys(id)).arg(id);
        self.change(&call).await
    }
}
