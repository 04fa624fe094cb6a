//! A store in memory, for tests and for logs that are made to be thrown away.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Fetcher, LedgerStore, Object, StoreError, Stored, is_name};

/// Objects by name.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    /// A store that holds `objects`.
    pub fn with(objects: BTreeMap<String, Vec<u8>>) -> Self {
        Self(Mutex::new(objects))
    }

    /// A copy of everything stored.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // Every change is one insertion, so a panic elsewhere leaves the map whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fetcher for Memory {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        let objects = self.lock();
        let names = objects.keys().filter(|name| name.starts_with(prefix));
        Ok(names.cloned().map(Object::once).collect())
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        match self.lock().get(name) {
            Some(bytes) if bytes.len() > limit => Err(StoreError::TooLarge),
            found => Ok(found.cloned().map(Stored::from)),
        }
    }
}

impl LedgerStore for Memory {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if !is_name(name) {
            return Err(StoreError::Name);
        }
        let mut objects = self.lock();
        match objects.get(name) {
            Some(there) if there != bytes => Err(StoreError::Conflict),
            Some(_) => Ok(()),
            None => {
                objects.insert(name.to_owned(), bytes.to_vec());
                Ok(())
            }
        }
    }
}
