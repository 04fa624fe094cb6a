//! The audit log's anchors outside the operator's hands: every seal is shown to the witnesses of the
//! configuration, and the last one of each day to its time stamp authority; what they answer is stored
//! beside it.
//!
//! No request waits for any of it. What fails is told and tried again, and a later seal covers those
//! before it. Every replica does it; the store has each cosignature once.

mod clocks;
mod post;
mod stamp;
mod witness;

use std::sync::Arc;
use std::time::Duration;

use gatehouse_ledger::anchor::Anchors;
use tokio::task::JoinSet;

use crate::audit::{Event, Later};
use crate::clock::Clock;
use crate::config::{Ledger, Witness};
use clocks::Clocks;
use post::Post;
use stamp::Stamper;
use witness::Follower;

/// How long the last seal is shown around before the process ends.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// Everybody who is asked. Cheap to clone.
#[derive(Clone)]
pub struct Anchoring {
    witnesses: Arc<[Arc<Follower>]>,
    stamper: Option<Arc<Stamper>>,
    clocks: Arc<Clocks>,
}

/// How far a witness has followed the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The witness's name.
    pub name: String,
    /// How many of the seals it has not cosigned, counted from the last.
    pub behind: u64,
    /// Why the last try failed, if it did.
    pub trouble: Option<String>,
}

impl Anchoring {
    /// Those that the configuration names, for the seals of `anchors`.
    ///
    /// # Errors
    /// The TLS library has no ciphers, or takes issuers not that it took before, which no configuration can
    /// bring about.
    pub fn new(
        ledger: &Ledger,
        anchors: &Anchors,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, rustls::Error> {
        let clocks = Arc::new(Clocks::new(Arc::clone(clock)));
        let follower = |witness: &Arc<Witness>| {
            let post = Post::new(witness.ca.as_deref())?;
            let (witness, clocks) = (Arc::clone(witness), Arc::clone(&clocks));
            let follower = Follower::new(witness, anchors.clone(), post, clocks);
            Ok(Arc::new(follower))
        };
        let witnesses = ledger.witnesses.iter().map(follower);
        let witnesses = witnesses.collect::<Result<_, rustls::Error>>()?;
        let stamper = match ledger.timestamp.clone() {
            Some(authority) => {
                let post = Post::new(authority.ca.as_deref())?;
                let (anchors, clocks) = (anchors.clone(), Arc::clone(&clocks));
                Some(Arc::new(Stamper::new(authority, anchors, post, clocks)))
            }
            None => None,
        };
        Ok(Self {
            witnesses,
            stamper,
            clocks,
        })
    }

    /// Shows every seal around until it is dropped.
    pub async fn run(&self) {
        let mut followers = JoinSet::new();
        for witness in self.witnesses.iter() {
            let witness = Arc::clone(witness);
            followers.spawn(async move { witness.follow().await });
        }
        if let Some(stamper) = self.stamper.clone() {
            followers.spawn(async move { stamper.follow().await });
        }
        while followers.join_next().await.is_some() {}
    }

    /// Shows the last seal around, once and not for long: the process ends.
    pub async fn last_round(&self) {
        let mut followers = JoinSet::new();
        for witness in self.witnesses.iter() {
            let witness = Arc::clone(witness);
            followers.spawn(async move { witness.attempt().await });
        }
        let all = async { while followers.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_ROUND, all).await.is_err() {
            tracing::warn!(
                "not every witness has cosigned the last seal; the next start asks again"
            );
        }
    }

    /// Offers the log what is known of other clocks than this machine's, and waits for nothing. Says how many
    /// records it does not have yet.
    pub(crate) fn tell_clocks(&self, offer: impl Fn(Event) -> Later) -> usize {
        self.clocks.tell(offer)
    }

    /// How far each witness is.
    pub fn followed(&self) -> Vec<Followed> {
        let witnesses = self.witnesses.iter();
        witnesses.map(|witness| witness.followed()).collect()
    }

    /// Why the last try to get a time stamp failed, if it did.
    pub fn unstamped(&self) -> Option<String> {
        self.stamper.as_ref()?.trouble()
    }

    /// Lines for whoever looks at `/readyz`; empty if nobody is asked anything.
    #[must_use]
    pub fn lines(&self) -> String {
        lines(&self.followed(), self.unstamped().as_deref())
    }
}

fn lines(followed: &[Followed], unstamped: Option<&str>) -> String {
    let of = |one: &Followed| {
        let Followed {
            name,
            behind,
            trouble,
        } = one;
        match trouble {
            None => format!("{name} is {behind} seals behind"),
            Some(why) => format!("{name} is {behind} seals behind: {why}"),
        }
    };
    let mut lines = match followed {
        [] => String::new(),
        all => {
            let all: Vec<_> = all.iter().map(of).collect();
            format!("witnesses: {}\n", all.join("; "))
        }
    };
    if let Some(why) = unstamped {
        lines.push_str(&format!("time stamp: {why}\n"));
    }
    lines
}

#[cfg(test)]
mod tests;
