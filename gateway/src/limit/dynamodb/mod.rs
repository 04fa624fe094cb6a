//! The meter in DynamoDB: an item for each account, changed by conditional updates.
//!
//! An update adds to what is there and compares it with the cap in one step, so writers of one account do
//! not get in each other's way. The accounts of a request are written side by side; if one is refused,
//! what the others have set aside is released. A transaction over all of them would fail whenever two
//! requests of one tenant meet, and they meet all the time.

mod account;
#[cfg(test)]
mod tests;

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;

use self::account::{Counts, Ending, Setting, key};
use super::{Account, Claim, Meter, MeterError, Reserved, Standing, Total};
use crate::{
    clock::later,
    registry::{AwsError, Change, DynamoLink, Item, Verb, Written},
};

/// An account is forgotten so long after its window.
const GRACE: Duration = Duration::from_secs(24 * 3600);
/// How often an account is asked again that others change at the same time.
const ATTEMPTS: u32 = 64;

/// One item for each account in DynamoDB.
pub struct DynamoMeter {
    link: Arc<DynamoLink>,
}

/// What one account said to a claim.
enum Answer {
    Held(Standing),
    Refused(Total),
}

impl DynamoMeter {
    /// A meter over `link`.
    pub fn new(link: Arc<DynamoLink>) -> Self {
        Self { link }
    }

    /// Sets something aside under one name.
    async fn set_aside(&self, request: &str, claim: &Claim) -> Result<Answer, MeterError> {
        let over_us = later(claim.account.until_us, GRACE);
        // Nothing is known at first; most of the time this is all that has to be asked.
        let mut seen = None;
        for _attempt in 0..ATTEMPTS {
            let setting = match &seen {
                None => Setting::first(request, over_us),
                Some(counts) => match Setting::after(request, claim, over_us, counts) {
                    Ok(setting) => setting,
                    Err(answer) => return Ok(answer),
                },
            };
            let missing = setting.missing;
            match self
                .update(&claim.account, setting.into_change(claim))
                .await?
            {
                Written::Done(item) => {
                    let total = self.counts(item.as_ref(), request)?.total;
                    return Ok(Answer::Held(Standing { total, missing }));
                }
                Written::Unmet { there, .. } => seen = Some(self.counts(there.as_ref(), request)?),
            }
        }
        Err(self.link.doubtful().into())
    }

    /// Settles one account, or releases what is set aside where nothing was spent.
    async fn end_one(
        &self,
        request: &str,
        spent: Option<u64>,
        account: &Account,
    ) -> Result<Total, MeterError> {
        let over_us = later(account.until_us, GRACE);
        let item = self.link.get(key(&account.name)).await?;
        let mut counts = self.counts(item.as_ref(), request)?;
        for _attempt in 0..ATTEMPTS {
            let Some(ending) = Ending::of(request, spent, over_us, &counts, self.link.now_us())
            else {
                return Ok(counts.total);
            };
            match self.update(account, ending.into_change()).await? {
                Written::Done(item) => return Ok(self.counts(item.as_ref(), request)?.total),
                Written::Unmet { there, .. } => counts = self.counts(there.as_ref(), request)?,
            }
        }
        Err(self.link.doubtful().into())
    }

    async fn end(
        &self,
        request: &str,
        spent: Option<u64>,
        accounts: &[Account],
    ) -> Result<Vec<Total>, MeterError> {
        let ended = accounts.iter();
        let ended = ended.map(|account| self.end_one(request, spent, account));
        all(ended).await.into_iter().collect()
    }

    async fn update(
        &self,
        account: &Account,
        change: account::Update,
    ) -> Result<Written, MeterError> {
        let change = Change {
            verb: Verb::Update {
                key: key(&account.name),
                expression: change.expression,
                shown: true,
            },
            condition: Some(change.condition),
            values: change.values,
            names: change.names,
            // What was done once does not meet its condition again.
            repeats: true,
        };
        Ok(self.link.write(change).await?)
    }

    fn counts(&self, item: Option<&Item>, request: &str) -> Result<Counts, MeterError> {
        match item {
            None => Ok(Counts::default()),
            Some(item) => Counts::read(item, request),
        }
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
    let done = futures.into_iter().filter_map(|(_, output)| output);
    done.collect()
}

impl From<AwsError> for MeterError {
    fn from(error: AwsError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

#[async_trait]
impl Meter for DynamoMeter {
    async fn reserve(&self, request: &str, claims: &[Claim]) -> Result<Reserved, MeterError> {
        let asked = claims.iter().map(|claim| self.set_aside(request, claim));
        let (mut held, mut taken, mut refused) = (Vec::new(), Vec::new(), None);
        for (at, asked) in all(asked).await.into_iter().enumerate() {
            match asked {
                Ok(Answer::Held(standing)) => {
                    held.push(standing);
                    taken.extend(claims.get(at).map(|claim| claim.account.clone()));
                }
                Ok(Answer::Refused(total)) => {
                    refused.get_or_insert(Ok(Reserved::Refused { at, total }));
                }
                Err(error) => {
                    // It may have: then it is given back with the others.
                    taken.extend(claims.get(at).map(|claim| claim.account.clone()));
                    refused.get_or_insert(Err(error));
                }
            }
        }
        let Some(refused) = refused else {
            return Ok(Reserved::Held(held));
        };
        // An account that refuses has set nothing aside. Of one that did not answer nobody knows: what
        // it sets aside only after this stands until its window ends.
        if let Err(error) = self.release(request, &taken).await {
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
        let item = self.link.get(key(name)).await?;
        let counts = self.counts(item.as_ref(), "")?;
        Ok(match counts.over_us <= self.link.now_us() {
            true => Total::default(),
            false => counts.total,
        })
    }

    fn now_us(&self) -> i64 {
        self.link.now_us()
    }

    /// DynamoDB does it by itself, where the table's time to live is set up.
    async fn sweep(&self) -> Result<(), MeterError> {
        Ok(())
    }
}
