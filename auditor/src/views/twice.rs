//! A log that is read twice, first by the verifier and then into the views, and is the same both
//! times: what was not verified, or changed since, is not there the second time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::store::{Fetcher, Object, StoreError, Stored, Survey};

/// The first reading: remembers the digest of every object that was read.
pub(crate) struct First<'f> {
    log: &'f dyn Fetcher,
    read: Mutex<HashMap<String, [u8; 32]>>,
}

impl<'f> First<'f> {
    pub(crate) fn new(log: &'f dyn Fetcher) -> Self {
        Self {
            log,
            read: Mutex::default(),
        }
    }

    pub(crate) fn second(&self) -> Second<'_, 'f> {
        Second(self)
    }

    fn read(&self) -> MutexGuard<'_, HashMap<String, [u8; 32]>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetcher for First<'_> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.log.list(prefix)
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        self.log.survey(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let stored = self.log.fetch(name, limit)?;
        if let Some(stored) = &stored {
            let digest = sha256(&[&stored.bytes]);
            self.read().insert(name.to_owned(), digest);
        }
        Ok(stored)
    }
}

/// The second reading.
pub(crate) struct Second<'a, 'f>(&'a First<'f>);

impl Fetcher for Second<'_, '_> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let mut objects = self.0.log.list(prefix)?;
        let read = self.0.read();
        objects.retain(|object| read.contains_key(&object.name));
        Ok(objects)
    }

    fn survey(&self, prefix: &str) -> Result<Survey, StoreError> {
        let mut survey = self.0.log.survey(prefix)?;
        let read = self.0.read();
        survey
            .objects
            .retain(|object| read.contains_key(&object.name));
        Ok(survey)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let stored = self.0.log.fetch(name, limit)?;
        let read = self.0.read();
        Ok(stored.filter(|stored| read.get(name) == Some(&sha256(&[&stored.bytes]))))
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_ledger::store::{LedgerStore, Memory};

    use super::*;

    struct Other<'m>(&'m Memory, Mutex<bool>);

    impl Fetcher for Other<'_> {
        fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
            self.0.list(prefix)
        }

        fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
            let changed = *self.1.lock().unwrap() && name == "log/b";
            Ok(self.0.fetch(name, limit)?.map(|mut stored| {
                stored.bytes.extend(changed.then_some(b'!'));
                stored
            }))
        }
    }

    #[test]
    fn only_what_was_read_and_is_the_same() {
        let memory = Memory::default();
        for name in ["log/a", "log/b", "log/c"] {
            memory.put_once(name, name.as_bytes()).unwrap();
        }
        let log = Other(&memory, Mutex::new(false));
        let first = First::new(&log);
        assert!(first.get("log/a", 99).unwrap().is_some());
        assert!(first.get("log/b", 99).unwrap().is_some());
        *log.1.lock().unwrap() = true;
        let second = first.second();
        assert_eq!(second.list("log/").unwrap().len(), 2);
        assert!(second.get("log/a", 99).unwrap().is_some());
        assert!(second.get("log/b", 99).unwrap().is_none());
        assert!(second.get("log/c", 99).unwrap().is_none());
    }
}
