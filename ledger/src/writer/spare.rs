//! Tomorrow's stream, named and certified ahead of time: whoever holds the deployment's signing key may
//! be far away, and no record should wait for it at midnight.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use gatehouse_envelope::sign::Signer;

use super::{OpenError, stream::Certified};
use crate::clock::{DAY_US, Stamp, day_number};

/// How long before the day's end it is made.
const AHEAD_US: u64 = 60 * 60 * 1_000_000;

/// At most one stream that has not begun, and the thread that makes it.
pub(super) struct Spare {
    deployment: String,
    signer: Arc<dyn Signer>,
    making: Option<JoinHandle<Option<Certified>>>,
    ready: Option<Certified>,
}

impl Spare {
    pub(super) fn new(deployment: &str, signer: Arc<dyn Signer>) -> Self {
        Self {
            deployment: deployment.to_owned(),
            signer,
            making: None,
            ready: None,
        }
    }

    /// Called every few seconds: in the day's last hour makes what is not there yet, and tries again as
    /// long as the signer gives no signature. Never waits.
    pub(super) fn tend(&mut self, now: Stamp) {
        self.collect();
        let tomorrow = day_number(now.unix_us.saturating_add(AHEAD_US));
        if tomorrow == day_number(now.unix_us) || self.making.is_some() {
            return;
        }
        if self.ready.as_ref().is_some_and(|it| it.is_for(tomorrow)) {
            return;
        }
        let (deployment, signer) = (self.deployment.clone(), Arc::clone(&self.signer));
        let begins_us = tomorrow.saturating_mul(DAY_US);
        let make = move || Certified::new(&deployment, signer.as_ref(), begins_us, now).ok();
        // Without a thread, midnight waits for the signer.
        self.making = thread::Builder::new()
            .name("ledger-spare".to_owned())
            .spawn(make)
            .ok();
    }

    /// The stream for `now`: the one that was made for its day, or one that is made here.
    pub(super) fn take(&mut self, now: Stamp) -> Result<Certified, OpenError> {
        // That one is under way is no reason to begin another.
        if let Some(making) = self.making.take() {
            self.ready = making.join().ok().flatten();
        }
        match self.ready.take() {
            Some(ready) if ready.is_for(day_number(now.unix_us)) => Ok(ready),
            _ => Certified::new(&self.deployment, self.signer.as_ref(), now.unix_us, now),
        }
    }

    fn collect(&mut self) {
        if self.making.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(made) = self.making.take()
        {
            self.ready = made.join().ok().flatten();
        }
    }
}
