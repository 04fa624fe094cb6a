//! Reading ahead: the segments of a stream are asked for in order, and a bucket is far away.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError, mpsc::Receiver},
};

use super::versions::Version;
use crate::store::{StoreError, Stored};

/// How many objects are under way at one time.
const DEPTH: usize = 8;

type Arriving = Receiver<Result<Option<Stored>, StoreError>>;

/// What is likely to be asked for next.
#[derive(Default)]
pub(super) struct Ahead(Mutex<State>);

#[derive(Default)]
struct State {
    /// Keys in order, with their oldest versions.
    coming: VecDeque<(String, Version)>,
    /// Those that were begun, each with the limit that it is read by.
    begun: VecDeque<(String, usize, Arriving)>,
}

impl Ahead {
    /// Expects these to be asked for, in the order of their keys.
    pub(super) fn follow(&self, keys: &HashMap<String, Version>) {
        let mut coming: Vec<_> = keys.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        coming.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.coming = coming.into();
        state.begun.clear();
    }

    /// What was begun for `key`, if it was; begins what follows in the same folder, which is the rest
    /// of the stream.
    pub(super) fn take(
        &self,
        key: &str,
        limit: usize,
        begin: impl Fn(&str, Version) -> Arriving,
    ) -> Option<Arriving> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let arriving = state.begun_for(key, limit);
        while state
            .coming
            .front()
            .is_some_and(|(next, _)| next.as_str() <= key)
        {
            state.coming.pop_front();
        }
        while state.begun.len() < DEPTH
            && let Some((next, version)) = state
                .coming
                .pop_front_if(|(next, _)| folder(next) == folder(key))
        {
            let told = begin(&next, version);
            state.begun.push_back((next, limit, told));
        }
        arriving
    }
}

impl State {
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
}

fn folder(key: &str) -> Option<&str> {
    key.rsplit_once('/').map(|(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::mpsc::channel};

    use super::*;

    #[test]
    fn the_rest_of_a_stream_is_read_ahead_and_nothing_twice() {
        let ahead = Ahead::default();
        let names = (0..12).map(|n| format!("log/a/{n:02}"));
        let names = names.chain(["cert/b".into(), "log/b/00".into()]);
        ahead.follow(&names.map(|name| (name, Version::default())).collect());
        let begun = RefCell::new(Vec::new());
        let take = |key: &str, limit| {
            let arriving = ahead.take(key, limit, |key, _| {
                begun.borrow_mut().push(key.to_owned());
                channel().1
            });
            (arriving.is_some(), begun.borrow().len())
        };
        assert_eq!(take("cert/b", 9), (false, 0));
        assert_eq!(take("log/a/00", 9), (false, 8));
        assert_eq!(take("log/a/01", 9), (true, 9));
        // With another limit it might not have been read whole.
        assert_eq!(take("log/a/02", 8), (false, 10));
        // Skipped ones are dropped.
        assert_eq!(take("log/a/09", 9), (true, 11));
        assert_eq!(take("cert/b", 9), (false, 11));
        assert_eq!(
            take("log/a/10", 9),
            (false, 11),
            "begun with the other limit"
        );
        assert_eq!(take("log/a/11", 9), (true, 11));
        assert_eq!(take("log/b/00", 9), (false, 11));
    }
}
