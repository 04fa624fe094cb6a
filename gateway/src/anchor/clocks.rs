//! How far this machine's clock is from others': measured wherever somebody who has to be asked anyway says
//! what time it is, and told to the log.
//!
//! An answer's time was taken after the request was sent and before the answer was there. That gives no
//! single number but bounds, which those of the next answers narrow. A round trip in which this machine's
//! clock was set says nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::audit::{ClockStatus, Event, Later, Owing, Remote, Why};
use crate::clock::{Clock, micros};

/// What times are exact to that are told in whole seconds.
pub(super) const SECOND_US: i64 = 1_000_000;
/// How far bounds must lie apart until the clock counts as moved: less is drift, and the time that it takes to read clocks.
const MOVED_US: i64 = 250_000;
/// How often it is told how a clock is at least, while others are asked.
const AGAIN: Duration = Duration::from_secs(1800);
/// From here on operators are told at once.
const FAR_US: i64 = 1_000_000;
/// How many records wait for the log at most; it has been away for long then.
const AT_ONCE: usize = 64;

/// By how much this machine's clock is ahead of another one, in microseconds; below 0 it is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    /// How far apart these are, at least.
    fn apart(self, other: Self) -> i64 {
        let gap = |low: Self, high: Self| high.least.saturating_sub(low.most);
        gap(self, other).max(gap(other, self))
    }

    fn within(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self.most.min(other.most),
        }
    }

    /// How far the clock is off, at least.
    fn off(self) -> i64 {
        self.least.max(self.most.saturating_neg()).max(0)
    }
}

/// When a request was sent, or an answer was there, by this machine's clocks.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    utc_us: i64,
    mono_us: u64,
}

impl Moment {
    /// In microseconds since 1970; what lies before that is that.
    pub(super) fn unix_us(self) -> u64 {
        u64::try_from(self.utc_us).unwrap_or(0)
    }
}

/// What is known of one other clock.
struct Known {
    /// The narrowest that answers gave since it was told last, or since it moved.
    bounds: Bounds,
    /// How many answers that were.
    readings: u64,
    /// When it was told, by the clock that nobody sets.
    told_us: u64,
}

#[derive(Default)]
struct State {
    known: BTreeMap<Remote, Known>,
    /// Records on their way. They take no places of those that the book keeps for exchanges.
    telling: Vec<Owing>,
}

/// All other clocks.
pub(super) struct Clocks {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

impl Clocks {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            utc_us: self.clock.utc_us(),
            mono_us: self.clock.mono_us(),
        }
    }

    /// Whether an answer of this clock is wanted, so that it can be told in time.
    pub(super) fn is_wanted(&self, of: &Remote) -> bool {
        let state = self.state.lock();
        let known = state.known.get(of);
        known.is_none_or(|known| self.is_due(known.told_us))
    }

    fn is_due(&self, told_us: u64) -> bool {
        self.clock.mono_us().saturating_sub(told_us) >= micros(AGAIN)
    }

    /// Notes that another clock showed `said_us`, microseconds since 1970 that are exact to `exact_us` (the time
    /// of the answer may be so much later), between these moments.
    pub(super) fn note(
        &self,
        of: Remote,
        (sent, there): (Moment, Moment),
        (said_us, exact_us): (i64, i64),
    ) {
        let counted = there.mono_us.saturating_sub(sent.mono_us);
        let counted = i64::try_from(counted).unwrap_or(i64::MAX);
        let shown = there.utc_us.saturating_sub(sent.utc_us);
        if shown.saturating_sub(counted).saturating_abs() > MOVED_US {
            return;
        }
        let seen = Bounds {
            least: sent.utc_us.saturating_sub(said_us).saturating_sub(exact_us),
            most: there.utc_us.saturating_sub(said_us),
        };
        let mut state = self.state.lock();
        let State { known, telling } = &mut *state;
        let now_us = there.mono_us;
        let (why, told) = match known.get_mut(&of) {
            None => {
                let first = Known::new(seen, now_us);
                (Why::First, known.entry(of).or_insert(first))
            }
            Some(known) => match known.see(seen) {
                true => (Why::Moved, known),
                false if self.is_due(known.told_us) => (Why::Again, known),
                false => return,
            },
        };
        tell(telling, of, why, told);
        // What it narrows down to from here on is a matter of its own: clocks drift.
        *told = Known::new(seen, now_us);
    }

    /// Offers the log what it does not have yet; waits for nothing. Says how many records that are.
    pub(super) fn tell(&self, offer: impl Fn(Event) -> Later) -> usize {
        let mut state = self.state.lock();
        state.telling.retain_mut(|it| !it.is_settled(&offer));
        state.telling.len()
    }
}

impl Known {
    fn new(bounds: Bounds, told_us: u64) -> Self {
        Self {
            bounds,
            readings: 1,
            told_us,
        }
    }

    /// Takes one more answer in; whether the clock, or the other one, was set since those before.
    fn see(&mut self, seen: Bounds) -> bool {
        let apart = self.bounds.apart(seen);
        if apart > 0 {
            (self.bounds, self.readings) = (seen, 1);
        } else {
            self.bounds = self.bounds.within(seen);
            self.readings = self.readings.saturating_add(1);
        }
        apart > MOVED_US
    }
}

fn tell(telling: &mut Vec<Owing>, of: Remote, why: Why, known: &Known) {
    let Known {
        bounds, readings, ..
    } = known;
    let off_us = bounds.off();
    let plain = |us: i64| u64::try_from(us).unwrap_or(0);
    let status = ClockStatus {
        why,
        of,
        ahead_us: plain(bounds.most),
        behind_us: plain(bounds.least.saturating_neg()),
        off_us: plain(off_us),
        readings: *readings,
    };
    if off_us > FAR_US {
        let other = of.source();
        tracing::warn!(
            other,
            off_us,
            "this machine's clock, or the other one, is off by more than a second"
        );
    }
    match status.build() {
        Ok(event) if telling.len() < AT_ONCE => telling.push(Owing::new(event)),
        Ok(_) => tracing::error!("how the clock is is not in the log, which takes nothing"),
        Err(error) => tracing::error!(%error, "how the clock is is not in the log"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_ledger::AppendError;
    use serde_json::{Value, json};

    use super::*;
    use crate::clock::TestClock;

    const NOW_US: i64 = 1_795_961_100_000_000;
    const OTHER: Remote = Remote::Witness([1, 2, 3, 4]);

    struct House {
        time: Arc<TestClock>,
        clocks: Clocks,
    }

    impl House {
        fn new() -> Self {
            let time = Arc::new(TestClock::new(NOW_US));
            let clocks = Clocks::new(time.clone());
            Self { time, clocks }
        }

        /// Asks a clock that is `behind_us` behind this one and says whole seconds; 20 ms there, 30 back.
        fn ask(&self, behind_us: i64) {
            let sent = self.clocks.now();
            self.time.advance(Duration::from_millis(20));
            let said_us = self.time.utc_us() - behind_us;
            self.time.advance(Duration::from_millis(30));
            let said_us = said_us - said_us.rem_euclid(SECOND_US);
            let moments = (sent, self.clocks.now());
            self.clocks.note(OTHER, moments, (said_us, SECOND_US));
        }

        fn told(&self) -> Vec<Value> {
            let events = Mutex::new(Vec::new());
            let left = self.clocks.tell(|event| {
                let event: Value = serde_json::from_slice(event.bytes()).unwrap();
                events.lock().push(event);
                Box::pin(async { Ok(()) })
            });
            assert_eq!(left, 0);
            events.into_inner()
        }
    }

    fn status(why: &str, clock: Value) -> Value {
        let mut said = json!({"source": "witness", "id": "01020304"});
        let (Value::Object(all), Value::Object(more)) = (&mut said, clock) else {
            panic!("two objects");
        };
        all.extend(more);
        json!({"kind": "clock.status", "reason": why, "clock": said})
    }

    #[test]
    fn a_clock_is_told_at_first_and_then_every_half_hour_in_narrower_bounds() {
        let house = House::new();
        assert!(house.clocks.is_wanted(&OTHER));
        house.ask(0);
        // It was asked at a full second: 50 ms ahead at most, and a second behind.
        let first = json!({"ahead_us": 50_000, "behind_us": 1_000_000, "off_us": 0, "n": 1});
        assert_eq!(house.told(), [status("first", first)]);
        assert!(!house.clocks.is_wanted(&OTHER));
        for _ in 0..29 {
            house.time.advance(Duration::from_millis(59_980));
            house.ask(0);
            assert!(house.told().is_empty());
        }
        house.time.advance(Duration::from_millis(59_980));
        assert!(house.clocks.is_wanted(&OTHER));
        house.ask(0);
        // 30 times 30 ms later in its second than at first, so it was seen just before its end.
        let again = json!({"ahead_us": 50_000, "behind_us": 100_000, "off_us": 0, "n": 31});
        assert_eq!(house.told(), [status("again", again)]);
    }

    #[test]
    fn a_clock_that_is_off_or_was_set_is_told_at_once() {
        let house = House::new();
        house.ask(3_600_000_000);
        let ahead = json!({
            "ahead_us": 3_600_050_000_i64, "behind_us": 0, "off_us": 3_599_000_000_i64, "n": 1
        });
        assert_eq!(house.told(), [status("first", ahead)]);
        house.time.advance(Duration::from_millis(60_350));
        house.ask(3_600_000_000);
        assert!(house.told().is_empty());
        // It was 0.6 s ahead of where it was: past its bounds by less than counts.
        house.ask(-5_000_000);
        let behind = house.told().remove(0);
        assert_eq!(behind["reason"], "moved");
        let of = |name: &str| behind["clock"][name].as_i64().unwrap();
        assert!(of("off_us") > 4_000_000 && of("behind_us") < 6_000_000 && of("ahead_us") == 0);
        assert_eq!(of("n"), 1);
    }

    #[test]
    fn a_round_trip_in_which_the_clock_was_set_says_nothing() {
        let house = House::new();
        let sent = house.clocks.now();
        house.time.advance(Duration::from_millis(10));
        let there = Moment {
            utc_us: sent.utc_us + 5_000_000,
            ..house.clocks.now()
        };
        house.clocks.note(OTHER, (sent, there), (NOW_US, SECOND_US));
        assert!(house.told().is_empty() && house.clocks.is_wanted(&OTHER));
    }

    #[test]
    fn what_the_log_does_not_take_is_told_later() {
        let house = House::new();
        house.ask(0);
        let refuse = |_| -> Later { Box::pin(async { Err(AppendError::Busy.into()) }) };
        assert_eq!(house.clocks.tell(refuse), 1);
        assert_eq!(house.told().len(), 1);
        assert!(house.told().is_empty());
    }
}
