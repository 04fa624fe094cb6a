//! One witness: asked to cosign each new seal, from the size that it knows.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_ledger::anchor::{AnchorError, Anchors};
use gatehouse_ledger::witness::{SIZE_TYPE, known_size};
use http::StatusCode;
use parking_lot::Mutex;

use super::Followed;
use super::clocks::{Clocks, SECOND_US};
use super::post::{Post, PostError};
use crate::audit::Remote;
use crate::config::Witness;

/// How often the last seal is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The longest wait after failures.
const LONGEST: Duration = Duration::from_secs(60);
/// How often the witness is asked for one seal before another look: each time it names the size that
/// it knows, and other replicas ask as well.
const ROUNDS: usize = 4;
/// How long a witness may give the same cosignature again that it has made; ours does for so long.
const KEPT_US: i64 = 5_000_000;
/// So many failures in a row may be a server that starts anew, or a replica that is ahead.
const UNTOLD: u32 = 2;
/// Every so many failures are told.
const TOLD_EVERY: u32 = 10;

/// Follows the log for one witness.
pub(super) struct Follower {
    witness: Arc<Witness>,
    anchors: Anchors,
    post: Post,
    clocks: Arc<Clocks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The size up to which the witness knows the log, as far as it has said.
    known: u64,
    /// The last seal of which the store has its cosignature.
    cosigned: Option<u64>,
    /// Whether the store was looked through for those of before this process.
    looked: bool,
    failures: u32,
    trouble: Option<String>,
}

/// Why a seal was not cosigned.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error("it says that the log has another history: its seal {0} is another one")]
    Fork(u64),
    #[error(transparent)]
    Post(#[from] PostError),
    #[error("others were faster each time")]
    Race,
    #[error("it refuses with HTTP status {0}: {1}")]
    Refused(StatusCode, &'static str),
    #[error("the task that asks it broke off")]
    Task(#[from] tokio::task::JoinError),
}

impl Failure {
    /// Whether it is more than a server or network that is away: nothing of it mends itself.
    fn is_grave(&self) -> bool {
        matches!(
            self,
            Self::Anchor(AnchorError::Cosignature | AnchorError::Seal(_))
                | Self::Fork(_)
                | Self::Refused(..)
        )
    }
}

impl Follower {
    pub(super) fn new(
        witness: Arc<Witness>,
        anchors: Anchors,
        post: Post,
        clocks: Arc<Clocks>,
    ) -> Self {
        Self {
            witness,
            anchors,
            post,
            clocks,
            state: Mutex::default(),
        }
    }

    /// Follows the log until it is dropped.
    pub(super) async fn follow(&self) {
        loop {
            self.attempt().await;
            let failures = self.state.lock().failures;
            let wait = LOOK * 2_u32.saturating_pow(failures.min(8));
            tokio::time::sleep(wait.min(LONGEST)).await;
        }
    }

    /// Has the last seal cosigned, and says if that failed.
    pub(super) async fn attempt(&self) {
        let outcome = self.cosign().await;
        let mut state = self.state.lock();
        let Err(failure) = outcome else {
            if state.failures > UNTOLD {
                tracing::info!(
                    witness = self.witness.key.name(),
                    "the witness cosigns again"
                );
            }
            (state.failures, state.trouble) = (0, None);
            return;
        };
        state.failures = state.failures.saturating_add(1);
        state.trouble = Some(failure.to_string());
        let failures = state.failures;
        drop(state);
        let first = if failure.is_grave() { 1 } else { UNTOLD + 1 };
        if failures % TOLD_EVERY != first {
            return;
        }
        let witness = self.witness.key.name();
        if failure.is_grave() || matches!(failure, Failure::Anchor(AnchorError::Short)) {
            tracing::error!(witness, %failure, failures, "the witness does not cosign the log's seals");
        } else {
            tracing::warn!(witness, %failure, failures, "seals are not cosigned; it is tried again");
        }
    }

    pub(super) fn followed(&self) -> Followed {
        let state = self.state.lock();
        let seals = |last: Option<u64>| last.map_or(0, |last| last.saturating_add(1));
        Followed {
            name: self.witness.key.name().to_owned(),
            behind: seals(self.anchors.last()).saturating_sub(seals(state.cosigned)),
            trouble: state.trouble.clone(),
        }
    }

    async fn cosign(&self) -> Result<(), Failure> {
        let Some(last) = self.anchors.last() else {
            return Ok(());
        };
        self.look_back(last).await;
        if self.state.lock().cosigned >= Some(last) {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            // Another replica may have been faster.
            let before_s = self.cosigned_s(last).await?;
            if before_s.is_some() {
                self.ask_the_time(last, before_s).await;
            }
            if before_s.is_some() || self.ask(last, None).await? {
                let mut state = self.state.lock();
                state.known = state.known.max(last.saturating_add(1));
                state.cosigned = Some(last);
                return Ok(());
            }
        }
        Err(Failure::Race)
    }

    /// Looks once for the last seal that was cosigned before this process came to be, so that it is known how far
    /// the witness is also while it is away. That is only shown: it is asked all the same.
    async fn look_back(&self, last: u64) {
        let is_known = |state: &State| state.looked || state.cosigned.is_some();
        if is_known(&self.state.lock()) {
            return;
        }
        let key = self.witness.key.clone();
        let found = self.blocking(move |anchors| anchors.last_cosigned(last, &key));
        match found.await {
            Ok(found) => {
                let mut state = self.state.lock();
                state.looked = true;
                // The last one itself is asked about next, as always.
                state.cosigned = found.filter(|found| *found < last);
            }
            Err(failure) => {
                let witness = self.witness.key.name();
                tracing::warn!(witness, %failure, "it is not known how far the witness had come");
            }
        }
    }

    /// When it has cosigned the seal, if the store knows it, in seconds since 1970.
    async fn cosigned_s(&self, last: u64) -> Result<Option<u64>, Failure> {
        let key = self.witness.key.clone();
        self.blocking(move |anchors| anchors.cosigned(last, &key))
            .await
    }

    /// Has a seal cosigned once more for the time that the witness says, if this process has long not heard it: other
    /// replicas may always be faster. If it does not answer, another seal follows.
    async fn ask_the_time(&self, last: u64, before_s: Option<u64>) {
        for _ in 0..ROUNDS {
            if !self.clocks.is_wanted(&self.remote()) {
                return;
            }
            match self.ask(last, before_s).await {
                Ok(false) => {}
                Ok(true) => return,
                Err(failure) => {
                    let witness = self.witness.key.name();
                    tracing::debug!(witness, %failure, "the witness does not say what time it is");
                    return;
                }
            }
        }
    }

    fn remote(&self) -> Remote {
        Remote::Witness(self.witness.key.id())
    }

    /// Asks once; false if the witness goes on from another size, which is known then.
    async fn ask(&self, last: u64, before_s: Option<u64>) -> Result<bool, Failure> {
        let old = self.state.lock().known;
        let body = self.blocking(move |anchors| anchors.request(last, old));
        let body = body.await?.into_bytes();
        let (url, timeout) = (&self.witness.url, self.witness.timeout);
        let sent = self.clocks.now();
        let answer = self.post.send(url, "text/plain", body, timeout).await?;
        let there = self.clocks.now();
        let why = match answer.status {
            StatusCode::OK => {
                let key = self.witness.key.clone();
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                let kept = self.blocking(move |anchors| anchors.keep(last, &key, &text));
                let said_s = kept.await?;
                if let Some(exact_us) = exact_us(old > last, before_s, said_s) {
                    let said_us = i64::try_from(said_s).unwrap_or(i64::MAX);
                    let said = (said_us.saturating_mul(SECOND_US), exact_us);
                    self.clocks.note(self.remote(), (sent, there), said);
                }
                return Ok(true);
            }
            StatusCode::CONFLICT if answer.kind.as_ref() == SIZE_TYPE.as_bytes() => {
                match known_size(&answer.body) {
                    // The size was right, so the tree is not.
                    Some(size) if size == old => return Err(Failure::Fork(size.saturating_sub(1))),
                    Some(size) => {
                        self.state.lock().known = size;
                        return Ok(false);
                    }
                    None => "it does not say which size it knows",
                }
            }
            StatusCode::CONFLICT => "it does not say which size it knows",
            StatusCode::FORBIDDEN => "it does not trust the deployment's key",
            StatusCode::NOT_FOUND => "it does not witness this log, or is not there",
            StatusCode::UNPROCESSABLE_ENTITY => "the log does not continue what it has cosigned",
            _ => "no answer of a witness",
        };
        Err(Failure::Refused(answer.status, why))
    }

    /// The store blocks.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Anchors) -> Result<T, AnchorError> + Send + 'static,
    ) -> Result<T, Failure> {
        let anchors = self.anchors.clone();
        Ok(tokio::task::spawn_blocking(move || work(&anchors)).await??)
    }
}

/// To how many microseconds the time of a cosignature is the witness's own time now; `None`: it may be of long
/// ago. A seal that the witness has cosigned already may get that cosignature again, or one that it has made for
/// another replica since the one of `before_s`.
fn exact_us(is_again: bool, before_s: Option<u64>, said_s: u64) -> Option<i64> {
    match is_again {
        false => Some(SECOND_US),
        true => {
            let is_newer = before_s.is_some_and(|before_s| before_s < said_s);
            is_newer.then_some(SECOND_US.saturating_add(KEPT_US))
        }
    }
}
