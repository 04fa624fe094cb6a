//! The place of sealed payloads, as the configuration says. The stores are the log's; the place is not.

use std::path::Path;
use std::sync::Arc;

use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::store::{Dir, Fetcher, LedgerStore, Object, StoreError, Stored};

use crate::audit::{LedgerClock, open_bucket};
use crate::clock::Clock;
use crate::config::PayloadPlace;

pub(super) fn open(
    place: &PayloadPlace,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn LedgerStore>, StoreError> {
    match place {
        PayloadPlace::Dir(folder) => {
            use std::os::unix::fs::DirBuilderExt;

            let mut private = std::fs::DirBuilder::new();
            private.recursive(true).mode(0o700).create(folder)?;
            Ok(Arc::new(Folder::new(folder)))
        }
        PayloadPlace::S3(bucket) => open_bucket(bucket, Arc::new(LedgerClock(clock))),
    }
}

/// Puts in one folder that wait for each other only where they could be of one name.
const LANES: usize = 16;

/// A folder into which several put at one time: a [`Dir`] by itself does one put after the other, each
/// with its syncs.
struct Folder(Vec<Dir>);

impl Folder {
    fn new(root: &Path) -> Self {
        Self((0..LANES).map(|_| Dir::new(root)).collect())
    }

    fn lane(&self, name: &str) -> Result<&Dir, StoreError> {
        let [first, ..] = sha256(&[name.as_bytes()]);
        let lane = self.0.get(usize::from(first) % LANES);
        lane.ok_or(StoreError::Name)
    }
}

impl Fetcher for Folder {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.lane("")?.list(prefix)
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        self.lane(name)?.fetch(name, limit)
    }
}

impl LedgerStore for Folder {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.lane(name)?.put_once(name, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_put_into_one_folder_at_one_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(&dir.path().join("payloads"));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let folder = &folder;
                scope.spawn(move || {
                    for number in 0..20 {
                        // Some names are several threads', with the same bytes.
                        let name = format!("p/s_{}/{number}", thread % 5);
                        folder.put_once(&name, name.as_bytes()).unwrap();
                    }
                });
            }
        });
        assert_eq!(folder.list("p/").unwrap().len(), 100);
        let stored = folder.get("p/s_4/19", 100).unwrap();
        assert_eq!(stored.unwrap(), b"p/s_4/19");
        let other = folder.put_once("p/s_4/19", b"other");
        assert!(matches!(other, Err(StoreError::Conflict)));
    }
}
