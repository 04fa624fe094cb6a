//! How long a tenant's earlier keys are needed, and how they end.
//!
//! A key ends in steps. Any process takes each of them, and goes on where another died:
//!
//! 1. It is noted until when something may live that was made with the key. That is only ever put off: for as
//!    long as the key is the current one, and when such things are given a longer life. Once they are given a
//!    shorter one, those stay that were made before.
//! 2. When that is over, the last day (UTC) is noted on which the key names the meter's accounts. It is
//!    the day after, so that all processes know of it when it begins, and no account changes its name
//!    within its day.
//! 3. After that day the wrapped key is deleted, and then what was noted.

use std::{collections::BTreeMap, time::Duration};

use gatehouse_envelope::keys::KeyError;

use super::{
    Durable, Expected, Keyring, KeyringError, Put, RegistryError, Row, Table, TenantKeys, epoch_of,
    rotate::SKEW, row_name,
};
use crate::clock::later;

const DAY: Duration = Duration::from_secs(86_400);
const DAY_US: i64 = 86_400_000_000;

/// What is known of the life of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Something that was made with it may live until then, in microseconds since 1970 (UTC), and for as
    /// much longer as it takes to note that anew.
    Lives { until_us: i64 },
    /// It is needed no more but for the meter, up to this day (counted from 1970, UTC).
    Ends { last_day: i64 },
}

/// A key under which nothing can live any more, and what is to become of it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlived {
    /// Which of the tenant's keys it is.
    pub epoch: u32,
    /// Whether its last day is over. Otherwise it is to be given one.
    pub is_over: bool,
}

impl Life {
    /// The kind, 1 or 2, and its number (64 bits, big-endian).
    pub(super) fn encode(self) -> Vec<u8> {
        let (kind, number) = match self {
            Self::Lives { until_us } => (1, until_us),
            Self::Ends { last_day } => (2, last_day),
        };
        let mut row = vec![kind];
        row.extend_from_slice(&number.to_be_bytes());
        row
    }

    pub(super) fn parse(row: &[u8]) -> Result<Self, RegistryError> {
        let (&kind, number) = row.split_first().ok_or(RegistryError::Damaged)?;
        let number = number.try_into().map(i64::from_be_bytes);
        match (kind, number) {
            (1, Ok(until_us)) => Ok(Self::Lives { until_us }),
            (2, Ok(last_day)) => Ok(Self::Ends { last_day }),
            (3.., _) => Err(RegistryError::Newer),
            _ => Err(RegistryError::Damaged),
        }
    }
}

impl TenantKeys {
    /// The key that names the meter's accounts of a day (counted from 1970, UTC): the oldest that is there
    /// for all of it. A newer key must not begin at nothing.
    pub fn of_day(&self, day: i64) -> &super::TenantKey {
        let stays = |epoch: u32| match self.lives.get(&epoch) {
            Some(Life::Ends { last_day }) => *last_day >= day,
            Some(Life::Lives { .. }) | None => true,
        };
        let staying = self.all().filter(|key| stays(key.epoch()));
        staying
            .min_by_key(|key| key.epoch())
            .unwrap_or(&self.current)
    }
}

impl Keyring {
    /// The tenant's keys under which nothing can live any more, where what is made now lives no longer
    /// than `longest`. Notes of the others until when something may.
    ///
    /// # Errors
    /// The registry failed, or has something that no version wrote.
    pub async fn outlived(
        &self,
        tenant: &str,
        longest: Duration,
    ) -> Result<Vec<Outlived>, KeyringError> {
        // First, so that a key without a note is one that came since, and not one that went.
        let mut lives = self.lives(tenant).await?;
        let rows = self.registry.list(Table::TenantKeys, tenant).await?;
        let (now_us, mut outlived) = (self.clock.utc_us(), Vec::new());
        for (at, (name, _)) in rows.iter().enumerate() {
            let epoch = epoch_of(name, tenant)?;
            let replaced_us = match rows.get(at + 1) {
                Some((_, next)) => Some(later(Row::parse(next)?.from_us, self.all_know())),
                None => None,
            };
            let replaced_us = replaced_us.filter(|replaced_us| *replaced_us <= now_us);
            let until_us = later(replaced_us.unwrap_or(now_us), longest);
            let life = lives.remove(&epoch);
            match life {
                Some(Life::Ends { last_day }) => {
                    let end_us = last_day.saturating_add(1).saturating_mul(DAY_US);
                    if now_us >= later(end_us, self.all_know()) {
                        outlived.push(Outlived {
                            epoch,
                            is_over: true,
                        });
                    }
                }
                Some(Life::Lives { until_us: noted_us }) if until_us <= later(noted_us, DAY) => {
                    let over_us = later(noted_us.max(until_us), DAY);
                    if replaced_us.is_some() && now_us > over_us {
                        outlived.push(Outlived {
                            epoch,
                            is_over: false,
                        });
                    }
                }
                Some(Life::Lives { .. }) => {
                    let lives = Life::Lives { until_us };
                    self.note(tenant, epoch, life, lives).await?;
                }
                // By a build that noted nothing. What lives under it may have been given a longer life
                // than anything gets now, so it stays.
                None if replaced_us.is_some() => {}
                None => {
                    let lives = Life::Lives { until_us };
                    self.note(tenant, epoch, None, lives).await?;
                }
            }
        }
        // Of keys that are gone: whoever deleted them died on the way.
        for epoch in lives.keys() {
            self.forget_life(tenant, *epoch).await?;
        }
        Ok(outlived)
    }

    /// Gives a key that [`Keyring::outlived`] named its last day. Says whether it was this process that did.
    ///
    /// # Errors
    /// The registry failed.
    pub async fn announce_end(&self, tenant: &str, epoch: u32) -> Result<bool, KeyringError> {
        let life = self.lives(tenant).await?.get(&epoch).copied();
        let Some(Life::Lives { .. }) = life else {
            return Ok(false);
        };
        let known_us = later(self.clock.utc_us(), self.all_know());
        let last_day = known_us.div_euclid(DAY_US).saturating_add(1);
        let ends = Life::Ends { last_day };
        let noted = self.note(tenant, epoch, life, ends).await?;
        self.tenants.forget(tenant);
        Ok(noted)
    }

    /// Wraps under the current key what is wrapped under one that is to be destroyed: the keys for names in
    /// the log, which live longer. Gives the key's public id.
    ///
    /// # Errors
    /// The provider or the registry failed: the key is needed still.
    pub async fn take_over_from(&self, tenant: &str, epoch: u32) -> Result<String, KeyringError> {
        let keys = self.tenant(tenant).await?;
        let id = keys.epoch(epoch).ok_or(KeyError::Missing)?.id().to_owned();
        for (name, row) in self.registry.list(Table::LogKeys, tenant).await? {
            self.rewrap_log_key(tenant, &name, row).await?;
        }
        let left = self.registry.list(Table::LogKeys, tenant).await?;
        let is_under = |row: &[u8]| row.starts_with(&epoch.to_be_bytes());
        if left.iter().any(|(_, row)| is_under(row)) {
            return Err(RegistryError::Damaged.into());
        }
        Ok(id)
    }

    /// Deletes the wrapped key of a tenant whose last day is over, durably. Nobody has it any more once what
    /// processes have at hand has died of age.
    ///
    /// # Errors
    /// The registry failed; the key is there, or it is not. [`KeyError::Unfit`]: it is the newest, or its
    /// last day is not over.
    pub async fn destroy(&self, tenant: &str, epoch: u32) -> Result<(), KeyringError> {
        let rows = self.registry.list(Table::TenantKeys, tenant).await?;
        let newest = rows.last().map(|(name, _)| epoch_of(name, tenant));
        let life = self.lives(tenant).await?.get(&epoch).copied();
        let is_over = match life {
            Some(Life::Ends { last_day }) => last_day < self.clock.utc_us().div_euclid(DAY_US),
            Some(Life::Lives { .. }) | None => false,
        };
        if !is_over || newest.transpose()?.is_none_or(|newest| newest <= epoch) {
            return Err(KeyError::Unfit("one whose last day is over").into());
        }
        let (table, name) = (Table::TenantKeys, row_name(tenant, epoch));
        self.registry.delete(table, &name, Durable::Now).await?;
        self.tenants.forget(tenant);
        self.forget_life(tenant, epoch).await
    }

    /// After this every process uses a new key for what is new, and knows what was noted of the others.
    fn all_know(&self) -> Duration {
        self.policy.max_age + SKEW
    }

    /// What is known of the lives of a tenant's keys.
    pub(super) async fn lives(&self, tenant: &str) -> Result<BTreeMap<u32, Life>, KeyringError> {
        let rows = self.registry.list(Table::KeyLives, tenant).await?;
        let lives = rows.iter();
        let lives = lives.map(|(name, row)| Ok((epoch_of(name, tenant)?, Life::parse(row)?)));
        Ok(lives.collect::<Result<_, RegistryError>>()?)
    }

    async fn note(
        &self,
        tenant: &str,
        epoch: u32,
        before: Option<Life>,
        life: Life,
    ) -> Result<bool, KeyringError> {
        let expected = before.map_or(Expected::Absent, |life| Expected::Value(life.encode()));
        let put = Put::new(expected, life.encode(), Durable::Now);
        let name = row_name(tenant, epoch);
        Ok(self.registry.put_if(Table::KeyLives, &name, put).await?)
    }

    async fn forget_life(&self, tenant: &str, epoch: u32) -> Result<(), KeyringError> {
        let (table, name) = (Table::KeyLives, row_name(tenant, epoch));
        self.registry.delete(table, &name, Durable::Now).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
