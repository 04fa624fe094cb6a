//! Changing keys at an operator's word: a tenant's for a new one, and what is under earlier keys.

use std::{collections::BTreeSet, time::Duration};

use gatehouse_envelope::keys::KeyError;
use tokio::time::Instant;

use super::{
    Answer, Desk,
    desk::explain,
    protocol::{Rewrap, RotatedKey},
};
use crate::{
    audit::{AdminAction, root_name},
    registry::{GATEWAY, KeyringError, rotates},
};

/// How long sessions are looked at for one answer; the next one goes on.
const AT_ONCE: Duration = Duration::from_secs(20);

impl Desk {
    /// Makes a new key for a tenant. What was made stays made, whatever the log says.
    pub(super) async fn rotate(&self, tenant: String) -> Result<Answer, String> {
        if !rotates(&tenant) {
            return Err("callers' keys are known by that key, so it stays".to_owned());
        }
        // How long the key is needed must be noted while it is the current one.
        let noted = self.sessions.end_outlived_keys(&tenant).await;
        noted.map_err(|error| error.to_string())?;
        let rotated = self.keyring.rotate(&tenant).await;
        let rotated = rotated.map_err(|error| match error {
            KeyringError::Key(KeyError::Missing) => "that tenant has no key yet".to_owned(),
            error => error.to_string(),
        })?;
        if rotated.made {
            let recorded = self.record(AdminAction::KeysRotate, &rotated.id, &tenant);
            let recorded = recorded.await;
            recorded.map_err(|why| format!("the key is made, but {why}"))?;
        }
        Ok(Answer::Rotated(RotatedKey {
            tenant,
            epoch: rotated.epoch,
            id: rotated.id,
            from_us: rotated.from_us,
            made: rotated.made,
        }))
    }

    /// Takes the next step with the earlier keys of all tenants under which nothing can live any more.
    pub(crate) async fn end_outlived_keys(&self) {
        for tenant in self.tenants() {
            if let Err(error) = self.sessions.end_outlived_keys(&tenant).await {
                tracing::warn!(tenant, %error, "its earlier keys were not looked at");
            }
        }
    }

    /// Wraps anew: first all keys of tenants and of names in the log, then those of sessions, until it
    /// is late.
    pub(super) async fn rewrap(&self, from: Option<String>) -> Result<Answer, String> {
        let mut rewrap = Rewrap::default();
        let done = self.try_rewrap(from, &mut rewrap).await;
        let changed = rewrap.tenant_keys + rewrap.log_keys + rewrap.sessions;
        if changed > 0 {
            let root = root_name(self.keyring.root());
            let recorded = self.record(AdminAction::KeysRewrap, root, GATEWAY).await;
            recorded.map_err(|why| format!("{changed} keys are wrapped anew, but {why}"))?;
        }
        done?;
        Ok(Answer::Rewrapped(rewrap))
    }

    async fn try_rewrap(&self, from: Option<String>, rewrap: &mut Rewrap) -> Result<(), String> {
        let deadline = Instant::now() + AT_ONCE;
        if from.is_none() {
            for tenant in self.tenants() {
                let done = self.keyring.rewrap(&tenant).await;
                let done = done.map_err(|error| format!("tenant {tenant}: {error}"))?;
                rewrap.tenant_keys += done.tenant_keys;
                rewrap.log_keys += done.log_keys;
            }
        }
        let done = self
            .sessions
            .rewrap(from, deadline)
            .await
            .map_err(explain)?;
        rewrap.sessions += done.done;
        rewrap.failed += done.failed;
        rewrap.next = done.next;
        Ok(())
    }

    /// All that can have keys: whoever was ever given a key to call with, and the gateway itself.
    fn tenants(&self) -> BTreeSet<String> {
        let callers = self.keys.list();
        let callers = callers.iter().map(|record| record.caller.tenant.clone());
        callers.chain([GATEWAY.to_owned()]).collect()
    }
}
