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

/// A machine's clock is set by 0.5 s, or 0.1 s at a time, which no answer's bounds alone show.
#[test]
fn bounds_of_before_this_machine_s_clock_was_set_move_with_it() {
    let narrow = || {
        let house = House::new();
        house.ask(0);
        house.told();
        for _ in 0..29 {
            house.time.advance(Duration::from_millis(9_980));
            house.ask(0);
        }
        assert!(house.told().is_empty());
        house
    };
    let house = narrow();
    house.time.set_by(500_000);
    house.time.advance(Duration::from_millis(30_330));
    house.ask(500_000);
    let moved = house.told().remove(0);
    assert_eq!(moved["reason"], "moved");
    assert!(
        moved["clock"]["ahead_us"].as_i64().unwrap() >= 500_000,
        "{moved}"
    );
    assert_eq!(moved["clock"]["n"], 1);

    let house = narrow();
    for tenths in 1..=20 {
        house.time.set_by(100_000);
        house.time.advance(Duration::from_millis(59_950));
        house.ask(tenths * 100_000);
        assert!(house.told().is_empty());
    }
    house.time.advance(AGAIN);
    house.ask(2_000_000);
    let again = house.told().remove(0);
    let of = |name: &str| again["clock"][name].as_i64().unwrap();
    assert_eq!((&again["reason"], of("n")), (&"again".into(), 51));
    assert!(
        of("ahead_us") >= 2_000_000 && of("off_us") <= 2_000_000,
        "{again}"
    );
    assert!(of("ahead_us") - of("off_us") < 200_000, "{again}");
}

/// It was set back by a little while the answer was on its way, and is right since.
#[test]
fn a_round_trip_is_reckoned_by_the_clock_as_it_is_set_at_its_end() {
    let house = House::new();
    let sent = house.clocks.now();
    house.time.advance(Duration::from_millis(10));
    house.time.set_by(-200_000);
    let moments = (sent, house.clocks.now());
    // Just before the second's end by the other clock, which shows the same as this one now.
    house
        .clocks
        .note(OTHER, moments, (NOW_US - 1_190_000, SECOND_US));
    let clock = json!({"ahead_us": 1_000_000, "behind_us": 10_000, "off_us": 0, "n": 1});
    assert_eq!(house.told(), [status("first", clock)]);
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
