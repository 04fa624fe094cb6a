//! The meter in Redis: a hash for each account, changed by scripts.
//!
//! On one server all accounts of a request are one script, which does all or nothing. In a cluster they
//! may lie in different hash slots: there each slot has a script of its own. All are sent at once, in
//! the order of the claims; if one is refused, what the others have set aside is released.

#[cfg(test)]
mod tests;

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;

use super::{Account, Claim, Meter, MeterError, Reserved, Standing, Total};
use crate::clock::micros;
use crate::registry::{Call, Durable, Field, Link, LinkError, Script, bucket};

/// The server lets go of an account by itself this long after its window.
const GRACE_MS: i64 = 24 * 3600 * 1000;
/// The server takes no later time: the year 9999.
const LATEST_MS: i64 = 253_402_300_799_000;
/// How long an account remembers a settled request. What is asked again is asked within seconds.
const KEPT: Duration = Duration::from_secs(60);

/// One hash for each account in Redis.
pub struct RedisMeter {
    link: Arc<Link>,
    reserve: Script,
    settle: Script,
    total: Script,
}

macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(
            include_str!("../../registry/redis/clock.lua"),
            include_str!("unreadable.lua"),
            include_str!($file)
        ))
    };
}

impl RedisMeter {
    /// A meter over `link`.
    pub fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            reserve: script!("reserve.lua"),
            settle: script!("settle.lua"),
            total: script!("total.lua"),
        }
    }

    /// Places of the accounts that one script can change together, in order.
    fn groups(&self, names: &[&str]) -> Vec<Vec<usize>> {
        if !self.link.is_cluster() {
            return vec![(0..names.len()).collect()];
        }
        let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let bucket = bucket(name);
            match groups.iter_mut().find(|(other, _)| *other == bucket) {
                Some((_, places)) => places.push(at),
                None => groups.push((bucket, vec![at])),
            }
        }
        groups.into_iter().map(|(_, places)| places).collect()
    }

    fn keys<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let keys = names.flat_map(|name| {
            [
                self.link.key(name, "meter", name),
                self.link.key(name, "metered", name),
            ]
        });
        keys.collect()
    }

    async fn reserve_in(&self, request: &str, claims: &[&Claim]) -> Result<Reserved, MeterError> {
        let keys = self.keys(claims.iter().map(|claim| claim.account.name.as_str()));
        let mut call = Call::new(&self.reserve, keys).arg(request);
        for claim in claims {
            let cap = claim.cap.map(|cap| cap.to_string());
            call = call
                .number(claim.amount)
                .arg(cap.unwrap_or_default())
                .number(claim.known)
                .number(let_go_ms(&claim.account));
        }
        // Done twice it is as if it had been done once.
        let mut answer = self.run(&call.sync(Durable::Now).repeats()).await?;
        match answer.word.as_slice() {
            b"held" => {
                let standing = |_: &&Claim| {
                    let total = answer.total()?;
                    let missing = answer.number()?;
                    Some(Standing { total, missing })
                };
                let held: Option<Vec<_>> = claims.iter().map(standing).collect();
                Ok(Reserved::Held(held.ok_or(LinkError::Unexpected)?))
            }
            b"refused" => {
                let at = answer.number().and_then(|at| usize::try_from(at).ok());
                let refused = at.zip(answer.total());
                let (at, total) = refused.ok_or(LinkError::Unexpected)?;
                Ok(Reserved::Refused { at, total })
            }
            _ => Err(LinkError::Unexpected.into()),
        }
    }

    /// Settles, or releases where nothing was spent.
    async fn end(
        &self,
        request: &str,
        spent: Option<u64>,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError> {
        let names: Vec<_> = accounts.iter().map(|it| it.name.as_str()).collect();
        let groups = self.groups(&names);
        let ended = groups.iter().map(|places| async {
            let own: Vec<_> = places.iter().filter_map(|at| accounts.get(*at)).collect();
            let keys = self.keys(own.iter().map(|account| account.name.as_str()));
            let spent = spent.map(|spent| spent.to_string());
            let mut call = Call::new(&self.settle, keys)
                .arg(request)
                .arg(spent.unwrap_or_default())
                .number(micros(KEPT));
            for account in &own {
                call = call.number(let_go_ms(account));
            }
            let mut answer = self.run(&call.sync(Durable::Now).repeats()).await?;
            let totals: Option<Vec<_>> = own.iter().map(|_| answer.total()).collect();
            totals.ok_or(MeterError::from(LinkError::Unexpected))
        });
        let mut totals = vec![Total::default(); accounts.len()];
        for (places, ended) in groups.iter().zip(all(ended).await) {
            put(&mut totals, places, ended?);
        }
        Ok(totals)
    }

    async fn run(&self, call: &Call<'_>) -> Result<Answer, MeterError> {
        let mut fields = self.link.run(call).await?.into_iter();
        let word = fields.next().flatten().ok_or(LinkError::Unexpected)?;
        match word.as_slice() {
            b"damaged" => Err(MeterError::Damaged),
            b"newer" => Err(MeterError::Newer),
            _ => Ok(Answer { word, fields }),
        }
    }
}

/// What a script said, and the numbers behind it.
struct Answer {
    word: Vec<u8>,
    fields: std::vec::IntoIter<Field>,
}

impl Answer {
    fn number(&mut self) -> Option<u64> {
        std::str::from_utf8(&self.fields.next()??)
            .ok()?
            .parse()
            .ok()
    }

    fn total(&mut self) -> Option<Total> {
        Some(Total {
            spent: self.number()?,
            reserved: self.number()?,
        })
    }
}

/// Drives futures side by side. They begin in their order.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut waits = false;
        for (future, output) in futures.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(done) => *output = Some(done),
                Poll::Pending => waits = true,
            }
        }
        match waits {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    })
    .await;
    futures
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

fn put<T>(all: &mut [T], places: &[usize], some: Vec<T>) {
    for (at, one) in places.iter().zip(some) {
        if let Some(place) = all.get_mut(*at) {
            *place = one;
        }
    }
}

fn let_go_ms(account: &Account) -> i64 {
    let ends = account.until_us.max(0) / 1000;
    ends.saturating_add(GRACE_MS).min(LATEST_MS)
}

impl From<LinkError> for MeterError {
    fn from(error: LinkError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Meter for RedisMeter {
    async fn reserve(&self, request: &str, claims: &[Claim]) -> Result<Reserved, MeterError> {
        let names: Vec<_> = claims.iter().map(|it| it.account.name.as_str()).collect();
        let groups = self.groups(&names);
        let asked = groups.iter().map(|places| async {
            let own: Vec<_> = places.iter().filter_map(|at| claims.get(*at)).collect();
            self.reserve_in(request, &own).await
        });
        let mut held = vec![Standing::default(); claims.len()];
        let (mut taken, mut refused) = (Vec::new(), None);
        for (places, asked) in groups.iter().zip(all(asked).await) {
            match asked {
                Ok(Reserved::Held(own)) => {
                    let accounts = places.iter().filter_map(|at| claims.get(*at));
                    taken.extend(accounts.map(|claim| claim.account.clone()));
                    put(&mut held, places, own);
                }
                Ok(Reserved::Refused { at, total }) => {
                    let at = places.get(at).copied().unwrap_or_default();
                    refused.get_or_insert(Ok(Reserved::Refused { at, total }));
                }
                Err(error) => _ = refused.get_or_insert(Err(error)),
            }
        }
        let Some(refused) = refused else {
            return Ok(Reserved::Held(held));
        };
        // A script that refuses has done nothing. Of one that did not answer nobody knows: what it may
        // have set aside stands until its window ends.
        if !taken.is_empty()
            && let Err(error) = self.release(request, &taken).await
        {
            tracing::warn!(request, %error, "what was set aside stands until its window ends");
        }
        refused
    }

    async fn settle(
        &self,
        request: &str,
        spent: u64,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError> {
        self.end(request, Some(spent), accounts).await
    }

    async fn release(&self, request: &str, accounts: &[Account]) -> Result<(), MeterError> {
        self.end(request, None, accounts).await.map(drop)
    }

    async fn total(&self, name: &str) -> Result<Total, MeterError> {
        let call = Call::new(&self.total, vec![self.link.key(name, "meter", name)]).repeats();
        let mut answer = self.run(&call).await?;
        Ok(answer.total().ok_or(LinkError::Unexpected)?)
    }

    fn now_us(&self) -> i64 {
        self.link.now_us()
    }

    /// The server does it by itself.
    async fn sweep(&self) -> Result<(), MeterError> {
        Ok(())
    }
}
