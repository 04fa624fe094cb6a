//! Where the log is kept.

mod dir;
mod memory;

pub use dir::Dir;
pub use memory::Memory;

/// The reading half of a store: all that verification needs.
pub trait Fetcher: Send + Sync {
    /// Every object whose name begins with `prefix`, in no particular order. All versions of one
    /// name are one entry.
    ///
    /// # Errors
    /// The store did not answer; nothing is known about what it holds.
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError>;

    /// The bytes of an object, of its oldest version; none if there is no such object.
    ///
    /// # Errors
    /// The store did not answer, or the object is larger than `limit` bytes.
    fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError>;
}

/// A store in which a name is written once.
///
/// A put is durable when it returns, whole or not at all. Putting the same bytes under the same
/// name again succeeds, so that whoever does not know whether a put arrived repeats it. Putting
/// other bytes is [`StoreError::Conflict`] and changes nothing.
pub trait LedgerStore: Fetcher {
    /// Stores `bytes` as `name`.
    ///
    /// # Errors
    /// Not known to be stored.
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;
}

/// An object of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, `/` between the parts.
    pub name: String,
    /// How many versions there are. More than one means that somebody wrote or deleted it again.
    pub versions: u64,
}

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name is taken by other bytes.
    #[error("an object of that name holds other bytes")]
    Conflict,
    /// The file system refused.
    #[error("the store: {0}")]
    Io(#[from] std::io::Error),
    /// Not a name that this store can hold.
    #[error("not a name of an object")]
    Name,
    /// Larger than the caller reads.
    #[error("an object is too large")]
    TooLarge,
}

impl<F: Fetcher + ?Sized> Fetcher for std::sync::Arc<F> {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        (**self).list(prefix)
    }

    fn get(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).get(name, limit)
    }
}

/// Whether `name` is parts of `A-Za-z0-9=._-` between slashes, none of which begins with a dot.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"=._-".contains(&b);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    name.len() <= 512 && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// What every store must do.
    fn suite(store: &dyn LedgerStore) {
        let get = |name: &str| store.get(name, 1 << 20).unwrap();
        assert_eq!(get("log/a/1"), None);
        store.put_once("log/a/1", b"one").unwrap();
        store.put_once("log/a/1", b"one").unwrap();
        assert!(matches!(
            store.put_once("log/a/1", b"two"),
            Err(StoreError::Conflict)
        ));
        assert!(matches!(
            store.put_once("log/a/1", b""),
            Err(StoreError::Conflict)
        ));
        assert_eq!(get("log/a/1").as_deref(), Some(&b"one"[..]));
        assert!(matches!(store.get("log/a/1", 2), Err(StoreError::TooLarge)));
        assert_eq!(
            store.get("log/a/1", 3).unwrap().as_deref(),
            Some(&b"one"[..])
        );
        store.put_once("cert/x.json", b"").unwrap();
        assert_eq!(get("cert/x.json").as_deref(), Some(&b""[..]));
        let names = |prefix: &str| {
            let mut names: Vec<String> = store
                .list(prefix)
                .unwrap()
                .into_iter()
                .map(|object| object.name)
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(""), ["cert/x.json", "log/a/1"]);
        assert_eq!(names("log/"), ["log/a/1"]);
        assert_eq!(names("nothing/"), [""; 0]);
        for bad in [
            "", "/a", "a/", "a//b", "../a", "a/../b", ".a", "a/.b", "a b", "a\\b", "ä",
        ] {
            assert!(
                matches!(store.put_once(bad, b""), Err(StoreError::Name)),
                "{bad}"
            );
            assert!(!matches!(store.get(bad, 9), Ok(Some(_))), "{bad}");
        }
        assert_eq!(names("").len(), 2);
    }

    /// Of many who put different bytes under one name, one wins and the others learn that.
    fn race(store: Arc<dyn LedgerStore>) {
        for round in 0..20 {
            let name = format!("log/race/{round}");
            let threads: Vec<_> = (0..4u8)
                .map(|n| {
                    let (store, name) = (store.clone(), name.clone());
                    std::thread::spawn(move || store.put_once(&name, &[n]).is_ok())
                })
                .collect();
            let won: Vec<bool> = threads.into_iter().map(|t| t.join().unwrap()).collect();
            assert_eq!(won.iter().filter(|won| **won).count(), 1);
            let winner = won.iter().position(|won| *won).unwrap() as u8;
            assert_eq!(store.get(&name, 9).unwrap().unwrap(), [winner]);
        }
    }

    #[test]
    fn a_directory() {
        let dir = tempfile::tempdir().unwrap();
        suite(&Dir::new(dir.path()));
        race(Arc::new(Dir::new(dir.path())));
    }

    #[test]
    fn memory() {
        suite(&Memory::default());
        race(Arc::new(Memory::default()));
    }
}
