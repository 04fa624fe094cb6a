//! The turns that wait for a session, of all processes, in line.

use std::time::Duration;

/// Turns that may wait for one session, of all processes together. More of them is a client that retries
/// too eagerly.
pub const PLACES: usize = 32;
/// A place of which nothing was heard for this long is nobody's: its process is gone, or so slow that it
/// has to begin again at the end.
pub const STANDS: Duration = Duration::from_secs(6);

/// Who may take a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Whoever asks, from whoever has it.
    Force,
    /// Whoever asks, where it is free and nobody waits.
    Free,
    /// Who comes first in line; of the holder so many turns wait.
    InLine(usize),
}

/// The places, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<Place>);

/// Whose a place is, and until when if nothing is heard of it, by the store's clock in microseconds since
/// 1970 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    holder: u64,
    until_us: i64,
}

impl Line {
    /// Reads what [`Line::text`] wrote, without the places that are nobody's by now. What has another
    /// form stands for nobody: the line decides no more than who comes first.
    #[cfg(any(feature = "aws", test))]
    pub(super) fn parse(text: &str, now_us: i64) -> Self {
        let places = text.split(' ').filter_map(|place| {
            let (holder, until_us) = place.split_once(':')?;
            Some(Place {
                holder: holder.parse().ok()?,
                until_us: until_us.parse().ok()?,
            })
        });
        Self(places.collect()).at(now_us)
    }

    /// `holder:until` for each place, with a blank between them.
    #[cfg(any(feature = "aws", test))]
    pub(super) fn text(&self) -> String {
        let places = self.0.iter();
        let places = places.map(|place| format!("{}:{}", place.holder, place.until_us));
        places.collect::<Vec<_>>().join(" ")
    }

    /// Without the places that are nobody's by now.
    pub(super) fn at(mut self, now_us: i64) -> Self {
        self.0.retain(|place| place.until_us > now_us);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the first place is one of this holder's.
    pub(super) fn is_led_by(&self, holder: u64) -> bool {
        self.0.first().is_some_and(|place| place.holder == holder)
    }

    /// Gives up the first place.
    pub(super) fn advance(&mut self) {
        if !self.is_empty() {
            self.0.remove(0);
        }
    }

    /// Gives up the `nth` place of a holder of which no more than so many turns wait without it.
    pub(super) fn leave(&mut self, holder: u64, nth: usize, turns: usize) {
        let places = self.0.iter().enumerate();
        let own = places.filter(|(_, place)| place.holder == holder);
        let own: Vec<_> = own.map(|(at, _)| at).collect();
        if let Some(at) = own.get(nth).filter(|_| own.len() > turns) {
            self.0.remove(*at);
        }
    }

    /// Has so many turns of a holder stand in line, as far as there is room, and says how many do. Those
    /// that are too many go from the end. A place that has more than two thirds of its time left is not
    /// written anew.
    pub(super) fn bring(&mut self, holder: u64, turns: usize, now_us: i64) -> usize {
        let until_us = crate::clock::later(now_us, STANDS);
        let soon_us = crate::clock::later(now_us, STANDS * 2 / 3);
        let mut own = 0;
        self.0.retain_mut(|place| {
            if place.holder != holder {
                return true;
            }
            if place.until_us < soon_us {
                place.until_us = until_us;
            }
            own += 1;
            own <= turns
        });
        own = own.min(turns);
        while own < turns && self.0.len() < PLACES {
            self.0.push(Place { holder, until_us });
            own += 1;
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: i64 = 1_795_961_100_000_000;

    #[test]
    fn what_was_said_before_is_kept_and_put_right() {
        let mut line = Line::default();
        assert_eq!(line.bring(1, 2, NOW_US), 2);
        assert_eq!(line.bring(2, 1, NOW_US), 1);
        assert_eq!(line.bring(1, 3, NOW_US), 3);
        let holders = |line: &Line| line.0.iter().map(|it| it.holder).collect::<Vec<_>>();
        assert_eq!(holders(&line), [1, 1, 2, 1]);
        // Once more, and with one less: the last one goes.
        assert_eq!(line.bring(1, 3, NOW_US), 3);
        assert_eq!(line.bring(1, 2, NOW_US), 2);
        assert_eq!(holders(&line), [1, 1, 2]);
        assert!(line.is_led_by(1) && !line.is_led_by(2));
        line.advance();
        assert_eq!(line.bring(1, 0, NOW_US), 0);
        assert_eq!(holders(&line), [2]);
        assert_eq!(line.bring(3, PLACES, NOW_US), PLACES - 1);
        assert_eq!(line.bring(4, 1, NOW_US), 0);
    }

    #[test]
    fn who_leaves_gives_up_its_own_place() {
        let mut line = Line::default();
        for (holder, turns) in [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3)] {
            line.bring(holder, turns, NOW_US);
        }
        let holders = |line: &Line| line.0.iter().map(|it| it.holder).collect::<Vec<_>>();
        assert_eq!(holders(&line), [1, 2, 1, 3, 1]);
        for _ in 0..2 {
            // Said twice, it is done once.
            line.leave(1, 0, 2);
            assert_eq!(holders(&line), [2, 1, 3, 1]);
        }
        // It never had a place.
        line.leave(1, 2, 2);
        line.leave(4, 0, 0);
        assert_eq!(holders(&line), [2, 1, 3, 1]);
        line.leave(1, 1, 1);
        assert_eq!(holders(&line), [2, 1, 3]);
    }

    #[test]
    fn a_place_lasts_as_long_as_something_is_heard_of_it() {
        let stands_us = i64::try_from(STANDS.as_micros()).unwrap();
        let mut line = Line::default();
        line.bring(1, 1, NOW_US);
        line.bring(2, 1, NOW_US);
        let text = line.text();
        // Not written anew all the time.
        line.bring(1, 1, NOW_US + stands_us / 4);
        assert_eq!(line.text(), text);
        line.bring(1, 1, NOW_US + stands_us / 2);
        assert_ne!(line.text(), text);
        let later = line.at(NOW_US + stands_us);
        assert!(later.is_led_by(1));
        assert_eq!(Line::parse(&later.text(), NOW_US), later);
        assert!(later.at(NOW_US + 2 * stands_us).is_empty());
    }

    #[test]
    fn what_is_no_place_stands_for_nobody() {
        for text in ["", " ", "1", "1:", ":1", "-1:9999999999999999", "1:x 2"] {
            assert!(Line::parse(text, 0).is_empty(), "{text}");
        }
    }
}
