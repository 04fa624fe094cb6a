//! The time stamp authority: shown the last seal of a day once that is over.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_envelope::random::RandomError;
use gatehouse_envelope::stamp::{REQUEST_TYPE, Request};
use gatehouse_ledger::anchor::{AnchorError, Anchors};
use gatehouse_ledger::clock::day;
use http::StatusCode;
use parking_lot::Mutex;

use super::clocks::{Clocks, SECOND_US};
use super::post::{Post, PostError};
use crate::audit::Remote;
use crate::config::Timestamp;

/// How often it is looked whether a day is over.
const LOOK: Duration = Duration::from_secs(30);
/// The longest wait after failures.
const LONGEST: Duration = Duration::from_secs(1800);
/// How long after midnight the day's first seal is there, wherever it is made.
const SETTLED_US: u64 = 120_000_000;
/// From so many failures in a row on it is told, and then every so many.
const TOLD_EVERY: u32 = 4;

/// Has the last seal of each day stamped.
pub(super) struct Stamper {
    authority: Arc<Timestamp>,
    anchors: Anchors,
    post: Post,
    clocks: Arc<Clocks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The day on which nothing is left to be stamped.
    done: Option<String>,
    failures: u32,
    trouble: Option<String>,
}

/// Why there is no time stamp.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(transparent)]
    Post(#[from] PostError),
    #[error(transparent)]
    Random(#[from] RandomError),
    #[error("the time stamp authority refuses with HTTP status {0}")]
    Refused(StatusCode),
    #[error("the task that asks for it broke off")]
    Task(#[from] tokio::task::JoinError),
}

impl Stamper {
    pub(super) fn new(
        authority: Arc<Timestamp>,
        anchors: Anchors,
        post: Post,
        clocks: Arc<Clocks>,
    ) -> Self {
        Self {
            authority,
            anchors,
            post,
            clocks,
            state: Mutex::default(),
        }
    }

    /// Goes on until it is dropped.
    pub(super) async fn follow(&self) {
        loop {
            self.attempt().await;
            let failures = self.state.lock().failures;
            let wait = LOOK * 2_u32.saturating_pow(failures.min(8));
            tokio::time::sleep(wait.min(LONGEST)).await;
        }
    }

    /// Has stamped what is due, and says if that failed.
    pub(super) async fn attempt(&self) {
        let outcome = self.stamp().await;
        let mut state = self.state.lock();
        let Err(failure) = outcome else {
            (state.failures, state.trouble) = (0, None);
            return;
        };
        state.failures = state.failures.saturating_add(1);
        state.trouble = Some(failure.to_string());
        if state.failures % TOLD_EVERY == 1 {
            let failures = state.failures;
            tracing::warn!(%failure, failures, "the day's last seal has no time stamp; it is tried again");
        }
    }

    /// Why the last try failed, if it did.
    pub(super) fn trouble(&self) -> Option<String> {
        self.state.lock().trouble.clone()
    }

    async fn stamp(&self) -> Result<(), Failure> {
        let now = self.clocks.now().unix_us();
        let today = day(now.saturating_sub(SETTLED_US));
        if self.state.lock().done.as_ref() == Some(&today) {
            return Ok(());
        }
        let Some(outlook) = self.blocking(Anchors::outlook).await? else {
            return Ok(());
        };
        if let Some(due) = outlook.due {
            let request = Request::new(due.imprint)?;
            let (url, timeout) = (&self.authority.url, self.authority.timeout);
            let sent = self.clocks.now();
            let answer = self.post.send(url, REQUEST_TYPE, request.bytes(), timeout);
            let answer = answer.await?;
            let there = self.clocks.now();
            if answer.status != StatusCode::OK {
                return Err(Failure::Refused(answer.status));
            }
            let (day, authority) = (due.day.clone(), Arc::clone(&self.authority));
            let kept = self.blocking(move |anchors| {
                let reply = (&request, answer.body.as_ref());
                anchors.keep_stamp(&due, reply, &authority.certificates)
            });
            let said_us = i64::try_from(kept.await?).unwrap_or(i64::MAX);
            self.clocks
                .note(Remote::Timestamp, (sent, there), (said_us, SECOND_US));
            tracing::info!(day, "the day's last seal has a time stamp");
        }
        // Before today's first seal is there, yesterday's last one may not be.
        if outlook.last_day == today {
            self.state.lock().done = Some(today);
        }
        Ok(())
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
