//! A log that is read twice, first by the verifier and then into the views, and is the same both
//! times: what was not verified, or changed since, is not there the second time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::store::{Fetcher, Object, StoreError};

/// The first reading: remembers the digest of every object that was read.
pub(super) struct First<'f> {
    log: &'f dyn Fetcher,
    read: Mutex<HashMap<String, [u8; 32]>>,
}

impl<'f> First<'f> {
    pub(super) fn new(log: &'f dyn Fetcher) -> Self {
        Self {
            log,
            read: Mutex::default(),
        }
    }

    pub(super) fn second(&self) -> Second<'_, 'f> {
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

    fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = self.log.get(name, limit)?;
        if let Some(bytes) = &bytes {
            self.read().insert(name.to_owned(), sha256(&[bytes]));
        }
        Ok(bytes)
    }
}

/// The second reading.
pub(super) struct Second<'a, 'f>(&'a First<'f>);

impl Fetcher for Second<'_, '_> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let mut objects = self.0.log.list(prefix)?;
        let read = self.0.read();
        objects.retain(|object| read.contains_key(&object.name));
        Ok(objects)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = self.0.log.get(name, limit)?;
        let read = self.0.read();
        Ok(bytes.filter(|bytes| read.get(name) == Some(&sha256(&[bytes]))))
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

        fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
            let changed = *self.1.lock().unwrap() && name == "log/b";
            Ok(self.0.get(name, limit)?.map(|mut bytes| {
                bytes.extend(changed.then_some(b'!'));
                bytes
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
