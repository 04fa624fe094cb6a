//! Reading ahead: the objects of a stream, and those of the seals, are asked for in the order of their
//! numbers, and a bucket is far away.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, PoisonError, mpsc::Receiver},
};

use super::versions::Version;
use crate::store::{StoreError, Stored};

/// How many objects of a line are under way at one time.
const DEPTH: usize = 8;
/// How many lines are: seals, their checkpoints and their cosignatures are read by turns.
const LINES: usize = 4;

type Arriving = Receiver<Result<Option<Stored>, StoreError>>;

/// What is likely to be asked for next.
#[derive(Default)]
pub(super) struct Ahead(Mutex<State>);

#[derive(Default)]
struct State {
    /// Keys that differ in their number alone, under what they share.
    lines: HashMap<String, Line>,
    /// The lines of which something may be under way, the one last asked for at the end.
    active: VecDeque<String>,
}

#[derive(Default)]
struct Line {
    /// Keys in order, with their oldest versions.
    coming: BTreeMap<String, Version>,
    /// Those that were begun, each with the limit that it is read by.
    begun: VecDeque<(String, usize, Arriving)>,
}

impl Ahead {
    /// Expects these to be asked for, in the order of their numbers.
    pub(super) fn follow(&self, keys: &HashMap<String, Version>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::default();
        for (key, version) in keys {
            let line = state.lines.entry(line(key)).or_default();
            line.coming.insert(key.clone(), version.clone());
        }
    }

    /// What was begun for `key`, if it was; begins what follows in the same line.
    pub(super) fn take(
        &self,
        key: &str,
        limit: usize,
        begin: impl Fn(&str, Version) -> Arriving,
    ) -> Option<Arriving> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = line(key);
        let line = state.lines.get_mut(&of)?;
        let arriving = line.begun_for(key, limit);
        line.pass(key);
        line.begin(limit, begin);
        state.touch(of);
        arriving
    }
}

impl State {
    /// Marks a line as the last one that was asked for. What was begun in one that has not been asked
    /// for in a while is dropped: that stream is done.
    fn touch(&mut self, line: String) {
        self.active.retain(|active| *active != line);
        self.active.push_back(line);
        while self.active.len() > LINES {
            let idle = self.active.pop_front();
            if let Some(line) = idle.and_then(|idle| self.lines.get_mut(&idle)) {
                line.begun.clear();
            }
        }
    }
}

impl Line {
    /// What was begun and then skipped is dropped.
    fn begun_for(&mut self, key: &str, limit: usize) -> Option<Arriving> {
        while let Some((begun, with, arriving)) =
            self.begun.pop_front_if(|(begun, ..)| begun.as_str() <= key)
        {
            if begun == key && with == limit {
                return Some(arriving);
            }
        }
        None
    }

    /// Expects neither `key` nor what is before it any more.
    fn pass(&mut self, key: &str) {
        while let Some(next) = self.coming.first_entry()
            && next.key().as_str() <= key
        {
            next.remove();
        }
    }

    fn begin(&mut self, limit: usize, begin: impl Fn(&str, Version) -> Arriving) {
        while self.begun.len() < DEPTH
            && let Some((next, version)) = self.coming.pop_first()
        {
            let told = begin(&next, version);
            self.begun.push_back((next, limit, told));
        }
    }
}

/// What a key shares with those that are asked for before and after it: all but its number, which
/// [`crate::names`] writes with twenty digits wherever it stands.
fn line(key: &str) -> String {
    let unnumbered = |part: &str| match part.split_at_checked(20) {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest.to_owned(),
        _ => part.to_owned(),
    };
    let parts: Vec<String> = key.split('/').map(unnumbered).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::mpsc::channel};

    use super::*;

    fn log() -> HashMap<String, Version> {
        let segments = (0..12).map(|n| format!("v1/log/a/{n:020}.zst"));
        let seals = (0..12).flat_map(|n| {
            let seal = format!("v1/seal/prod/{n:020}");
            let cosignature = format!("v1/cosig/prod/{n:020}/5a5a5a5a.note");
            [format!("{seal}.json"), format!("{seal}.note"), cosignature]
        });
        let others = (0..9).map(|n| format!("v1/log/b{n}/{:020}.zst", 0));
        let all = segments.chain(seals).chain(others);
        all.map(|name| (name, Version::default())).collect()
    }

    /// Asks for keys; gives whether each was under way, and how many have been begun by then.
    fn asker(ahead: &Ahead) -> impl Fn(&str, usize) -> (bool, usize) {
        let begun = RefCell::new(Vec::new());
        move |key, limit| {
            let arriving = ahead.take(key, limit, |key, _| {
                begun.borrow_mut().push(key.to_owned());
                channel().1
            });
            (arriving.is_some(), begun.borrow().len())
        }
    }

    #[test]
    fn the_rest_of_a_stream_is_read_ahead_and_nothing_twice() {
        let ahead = Ahead::default();
        ahead.follow(&log());
        let take = asker(&ahead);
        let segment = |n: u64| format!("v1/log/a/{n:020}.zst");
        assert_eq!(take("v1/cert/b", 9), (false, 0));
        assert_eq!(take(&segment(0), 9), (false, 8));
        assert_eq!(take(&segment(1), 9), (true, 9));
        // With another limit it might not have been read whole.
        assert_eq!(take(&segment(2), 8), (false, 10));
        // Skipped ones are dropped.
        assert_eq!(take(&segment(9), 9), (true, 11));
        assert_eq!(take("v1/cert/b", 9), (false, 11));
        assert_eq!(take(&segment(10), 9), (false, 11), "begun with the other");
        assert_eq!(take(&segment(11), 9), (true, 11));
        assert_eq!(take(&segment(3), 9), (false, 11), "asked for again");
    }

    #[test]
    fn seals_are_read_ahead_by_turns_with_their_notes_and_before_the_streams() {
        let ahead = Ahead::default();
        ahead.follow(&log());
        let take = asker(&ahead);
        for n in 0..12_u64 {
            let seal = format!("v1/seal/prod/{n:020}");
            let cosignature = format!("v1/cosig/prod/{n:020}/5a5a5a5a.note");
            assert_eq!(take(&format!("{seal}.json"), 9).0, n > 0);
            assert_eq!(take(&format!("{seal}.note"), 5).0, n > 0);
            assert_eq!(take(&cosignature, 5).0, n > 0);
        }
        assert_eq!(take(&format!("v1/log/a/{:020}.zst", 0), 9), (false, 41));
    }

    #[test]
    fn what_is_under_way_in_a_stream_that_is_done_is_dropped() {
        let ahead = Ahead::default();
        ahead.follow(&log());
        let take = asker(&ahead);
        let segment = |n: u64| format!("v1/log/a/{n:020}.zst");
        assert_eq!(take(&segment(0), 9), (false, 8));
        for n in 0..LINES {
            take(&format!("v1/log/b{n}/{:020}.zst", 0), 9);
        }
        assert!(!take(&segment(1), 9).0);
    }
}
