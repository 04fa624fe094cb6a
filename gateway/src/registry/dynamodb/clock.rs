//! DynamoDB's own clock, as far as it shows it: the `date` of its answers.
//!
//! No gateway's own clock is believed, so that one that is wrong takes nobody's session for ended, and
//! nobody's lease for over. Between the answers time is counted, which a clock that is set does not
//! change.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};
use std::time::Duration;

use aws_sdk_dynamodb::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::BeforeDeserializationInterceptorContextRef,
    },
    error::BoxError,
    primitives::{DateTime, DateTimeFormat},
};

use crate::clock::{Clock, later};

/// What the answers' dates are exact to.
const SECOND: Duration = Duration::from_secs(1);
const SECOND_US: i64 = 1_000_000;

/// A clock that is further apart from this machine's is told of.
const APART_US: i64 = 10 * SECOND_US;

/// What DynamoDB's clock shows.
#[derive(Clone)]
pub(super) struct ServerClock(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    /// How much later an answer may arrive than it was written.
    travel: Duration,
    /// What DynamoDB's clock showed when counting began here.
    start_us: AtomicI64,
    /// Whether it was told that this machine's clock is wrong.
    told: AtomicBool,
}

impl ServerClock {
    /// Answers arrive within `travel`. Until the first one this machine's clock has to do.
    pub(super) fn new(clock: Arc<dyn Clock>, travel: Duration) -> Self {
        let start_us = clock.utc_us().saturating_sub(counted_us(&*clock));
        Self(Arc::new(Inner {
            clock,
            travel,
            start_us: AtomicI64::new(start_us),
            told: AtomicBool::new(false),
        }))
    }

    /// What it shows, in microseconds since 1970 (UTC), to within [`ServerClock::slack`].
    pub(super) fn now_us(&self) -> i64 {
        let start_us = self.0.start_us.load(Ordering::Relaxed);
        start_us.saturating_add(counted_us(&*self.0.clock))
    }

    /// As after the machine has stood still for so long.
    #[cfg(test)]
    pub(super) fn stand_still(&self, by: Duration) {
        let by_us = later(0, by);
        self.0.start_us.fetch_sub(by_us, Ordering::Relaxed);
    }

    /// By how much what two processes take for its time may be apart, at most.
    pub(super) fn slack(&self) -> Duration {
        2 * (self.0.travel + 2 * SECOND)
    }

    /// Notes the second in which an answer was written that has just arrived.
    fn note(&self, date_s: i64) {
        let start_us = self.0.start_us.load(Ordering::Relaxed);
        let here_us = start_us.saturating_add(counted_us(&*self.0.clock));
        let there_us = date_s.saturating_mul(SECOND_US);
        let latest_us = later(later(there_us, SECOND), self.0.travel);
        if later(here_us, SECOND) < there_us || here_us > latest_us {
            let off_us = later(there_us, SECOND / 2).saturating_sub(here_us);
            let right_us = start_us.saturating_add(off_us);
            // Of answers that come at once, one sets the clock: they all found the same error.
            let (set, seen) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = self
                .0
                .start_us
                .compare_exchange(start_us, right_us, set, seen);
        }
        let ahead_us = there_us.saturating_sub(self.0.clock.utc_us());
        let apart = ahead_us.saturating_abs() > APART_US;
        if apart && !self.0.told.swap(apart, Ordering::Relaxed) {
            let ahead_s = ahead_us / SECOND_US;
            tracing::warn!(
                ahead_s,
                "dynamodb's clock is ahead of this machine's by so much"
            );
        }
    }
}

/// Microseconds that were counted on this machine, since whenever.
fn counted_us(clock: &dyn Clock) -> i64 {
    i64::try_from(clock.mono_us()).unwrap_or(i64::MAX)
}

impl std::fmt::Debug for ServerClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerClock").finish_non_exhaustive()
    }
}

impl Intercept for ServerClock {
    fn name(&self) -> &'static str {
        "ServerClock"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.map(|date| DateTime::from_str(date, DateTimeFormat::HttpDate));
        if let Some(Ok(date)) = date {
            self.note(date.secs());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TestClock;

    #[test]
    fn it_shows_what_the_answers_say_whatever_this_machine_does() {
        let now_us = 1_800_000_000_400_000;
        let here = Arc::new(TestClock::new(now_us));
        let clock = ServerClock::new(here.clone(), Duration::from_secs(2));
        assert_eq!(clock.now_us(), now_us);
        for same_s in [1_800_000_000, 1_800_000_001, 1_799_999_998] {
            clock.note(same_s);
            assert_eq!(clock.now_us(), now_us, "{same_s}");
        }
        for other_s in [1_800_000_002, 1_799_999_990, 2_000_000_000, 0] {
            clock.note(other_s);
            assert_eq!(clock.now_us(), other_s * SECOND_US + SECOND_US / 2);
        }
        here.advance(Duration::from_secs(5));
        assert_eq!(clock.now_us(), 5 * SECOND_US + SECOND_US / 2);
        clock.note(5);
        assert_eq!(clock.now_us(), 5 * SECOND_US + SECOND_US / 2);
    }
}
