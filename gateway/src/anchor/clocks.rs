//! How far this machine's clock is from others': measured wherever somebody who has to be asked anyway says
//! what time it is, and told to the log.
//!
//! An answer's time was taken after the request was sent and before the answer was there. That gives no
//! single number but bounds, which those of the next answers narrow. A round trip in which this machine's
//! clock was set by much says nothing. How far it was set otherwise shows against the clock that nobody sets; bounds
//! of before move with it.

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

    /// The same after this machine's clock was set by so much.
    fn moved(self, by_us: i64) -> Self {
        Self {
            least: self.least.saturating_add(by_us),
            most: self.most.saturating_add(by_us),
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
    /// What the clock that can be set shows ahead of the one that cannot: it changes where it is set.
    fn set_us(self) -> i64 {
        let mono_us = i64::try_from(self.mono_us).unwrap_or(i64::MAX);
        self.utc_us.saturating_sub(mono_us)
    }

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
    /// How this machine's clock was set at the last of them.
    set_us: i64,
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
        let set_us = there.set_us();
        let set_by = set_us.saturating_sub(sent.set_us());
        if set_by.saturating_abs() > MOVED_US {
            return;
        }
        // Both by the clock as it is set now.
        let sent_us = sent.utc_us.saturating_add(set_by);
        let seen = Bounds {
            least: sent_us.saturating_sub(said_us).saturating_sub(exact_us),
            most: there.utc_us.saturating_sub(said_us),
        };
        let mut state = self.state.lock();
        let State { known, telling } = &mut *state;
        let now_us = there.mono_us;
        let (why, told) = match known.get_mut(&of) {
            None => {
                let first = Known::new(seen, set_us, now_us);
                (Why::First, known.entry(of).or_insert(first))
            }
            Some(known) => match known.see(seen, set_us) {
                true => (Why::Moved, known),
                false if self.is_due(known.told_us) => (Why::Again, known),
                false => return,
            },
        };
        tell(telling, of, why, told);
        // What it narrows down to from here on is a matter of its own: clocks drift.
        *told = Known::new(seen, set_us, now_us);
    }

    /// Offers the log what it does not have yet; waits for nothing. Says how many records that are.
    pub(super) fn tell(&self, offer: impl Fn(Event) -> Later) -> usize {
        let mut state = self.state.lock();
        state.telling.retain_mut(|it| !it.is_settled(&offer));
        state.telling.len()
    }
}

impl Known {
    fn new(bounds: Bounds, set_us: i64, told_us: u64) -> Self {
        Self {
            bounds,
            readings: 1,
            set_us,
            told_us,
        }
    }

    /// Takes one more answer in; whether the clock, or the other one, was set since those before.
    fn see(&mut self, seen: Bounds, set_us: i64) -> bool {
        let set_by = set_us.saturating_sub(self.set_us);
        self.set_us = set_us;
        // The clock that nobody sets may stand still while the machine sleeps: then nothing is known from before.
        let is_set = set_by.saturating_abs() > MOVED_US;
        let before = self.bounds.moved(set_by);
        let apart = before.apart(seen);
        if apart > 0 || is_set {
            (self.bounds, self.readings) = (seen, 1);
        } else {
            self.bounds = before.within(seen);
            self.readings = self.readings.saturating_add(1);
        }
        apart > MOVED_US || is_set
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
        let id = of.id().unwrap_or_default();
        tracing::warn!(
            other,
            id,
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
mod tests;
