//! Several places read as one log: the folders of replicas, or copies of a bucket.

use std::collections::BTreeMap;

use super::{Fetcher, Object, StoreError, Stored, Survey};

/// Places whose objects make one log. The same object may lie in several of them, as copies do; if it
/// is another one there, it is [`StoreError::Conflict`], since a log has one history.
pub struct Joined(Vec<Box<dyn Fetcher>>);

impl Joined {
    /// The log in all of these places.
    pub fn new(places: Vec<Box<dyn Fetcher>>) -> Self {
        Self(places)
    }
}

impl Joined {
    fn join(
        prefix: &str,
        places: impl Iterator<Item = Result<Survey, StoreError>>,
    ) -> Result<Survey, StoreError> {
        let (mut all, mut unread) = (BTreeMap::<String, Object>::new(), Vec::new());
        for place in places {
            let place = place?;
            if place.objects.is_empty() && place.unread.is_empty() && prefix.is_empty() {
                return Err(StoreError::Empty);
            }
            for object in place.objects {
                let known = all
                    .entry(object.name.clone())
                    .or_insert_with(|| object.clone());
                known.versions = known.versions.max(object.versions);
                known.deletions = known.deletions.max(object.deletions);
            }
            unread.extend(place.unread);
        }
        let objects = all.into_values().collect();
        Ok(Survey { objects, unread })
    }
}

impl Fetcher for Joined {
    /// A place that holds nothing is an error: somebody meant it to be a part of the log.
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let listed = self.0.iter().map(|place| Ok(place.list(prefix)?.into()));
        Ok(Self::join(prefix, listed)?.objects)
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        Self::join(prefix, self.0.iter().map(|place| place.survey(prefix)))
    }

    /// Of copies, the one that is kept worst: a lock that only some of them have is none.
    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let mut found: Option<Stored> = None;
        for place in &self.0 {
            let Some(next) = place.fetch(name, limit)? else {
                continue;
            };
            found = Some(match found {
                None => next,
                Some(first) if first.bytes != next.bytes => return Err(StoreError::Conflict),
                Some(first) => Stored {
                    kept: match (first.kept, next.kept) {
                        (Some(one), Some(other)) if other.locked_until_us < one.locked_until_us => {
                            Some(other)
                        }
                        (one, other) => one.or(other),
                    },
                    ..first
                },
            });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Kept, LedgerStore, Memory};

    fn place(objects: &[(&str, &str)]) -> Box<dyn Fetcher> {
        let memory = Memory::default();
        for (name, bytes) in objects {
            memory.put_once(name, bytes.as_bytes()).unwrap();
        }
        Box::new(memory)
    }

    #[test]
    fn places_are_one_log_if_they_agree() {
        let joined = Joined::new(vec![
            place(&[("log/a", "a"), ("log/b", "b"), ("log/x", "1")]),
            place(&[("log/b", "b"), ("log/c", "c"), ("log/x", "2")]),
        ]);
        let listed = joined.list("log/").unwrap();
        let names: Vec<_> = listed.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, ["log/a", "log/b", "log/c", "log/x"]);
        for name in ["a", "b", "c"] {
            let bytes = joined.get(&format!("log/{name}"), 9).unwrap();
            assert_eq!(bytes.unwrap(), name.as_bytes());
        }
        assert!(matches!(joined.get("log/x", 9), Err(StoreError::Conflict)));
        assert_eq!(joined.get("log/y", 9).unwrap(), None);
    }

    #[test]
    fn a_place_that_holds_nothing_is_no_part_of_a_log() {
        let joined = Joined::new(vec![place(&[("log/a", "a")]), place(&[])]);
        assert!(matches!(joined.list(""), Err(StoreError::Empty)));
        assert_eq!(joined.list("cert/").unwrap(), []);
    }

    struct Locked(Option<u64>);

    impl Fetcher for Locked {
        fn list(&self, _: &str) -> Result<Vec<Object>, StoreError> {
            Ok(vec![Object::once("log/a".into())])
        }

        fn fetch(&self, _: &str, _: usize) -> Result<Option<Stored>, StoreError> {
            let kept = Kept {
                written_us: 1,
                locked_until_us: self.0,
            };
            Ok(Some(Stored {
                bytes: b"a".to_vec(),
                kept: Some(kept),
            }))
        }
    }

    #[test]
    fn of_copies_the_worst_lock_counts() {
        for locks in [[Some(9), Some(3)], [Some(3), None], [None, Some(3)]] {
            let places = locks.map(|lock| Box::new(Locked(lock)) as Box<dyn Fetcher>);
            let stored = Joined::new(places.into()).fetch("log/a", 9).unwrap();
            let least = locks.into_iter().min().unwrap();
            assert_eq!(stored.unwrap().kept.unwrap().locked_until_us, least);
        }
    }
}
