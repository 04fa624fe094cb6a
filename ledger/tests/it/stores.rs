//! What every store must do, whatever it is made of.

use std::sync::Arc;

use gatehouse_ledger::store::{Dir, Fetcher, LedgerStore, Memory, StoreError};

pub(crate) fn suite(store: &dyn LedgerStore) {
    let get = |name: &str| store.get(name, 1 << 20).unwrap();
    assert_eq!(get("log/a/1"), None);
    store.put_once("log/a/1", b"one").unwrap();
    store.put_once("log/a/1", b"one").unwrap();
    for other in [&b"two"[..], b"", b"one and more"] {
        let refused = store.put_once("log/a/1", other);
        assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
    }
    assert_eq!(get("log/a/1").as_deref(), Some(&b"one"[..]));
    assert!(matches!(store.get("log/a/1", 2), Err(StoreError::TooLarge)));
    let exactly = store.get("log/a/1", 3).unwrap();
    assert_eq!(exactly.as_deref(), Some(&b"one"[..]));
    store.put_once("cert/x.json", b"").unwrap();
    assert_eq!(get("cert/x.json").as_deref(), Some(&b""[..]));
    let names = |prefix: &str| {
        let listed = store.list(prefix).unwrap();
        let mut names: Vec<String> = listed.into_iter().map(|object| object.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(""), ["cert/x.json", "log/a/1"]);
    assert_eq!(names("log/"), ["log/a/1"]);
    assert_eq!(names("nothing/"), [""; 0]);
    for name in [
        "log/n/09.zst",
        "log/n/10",
        "log/n/10.zst",
        "log/n/11.zst",
        "log/o/12.zst",
    ] {
        store.put_once(name, b"n").unwrap();
    }
    let after = |name: &str| {
        let listed = store.list_after("log/n/", name).unwrap();
        let mut names: Vec<String> = listed.into_iter().map(|object| object.name).collect();
        names.sort();
        names
    };
    assert_eq!(after("log/n/10"), ["log/n/10.zst", "log/n/11.zst"]);
    assert_eq!(after("log/n/11.zst"), [""; 0]);
    assert_eq!(after("log/n/").len(), 4);
    for bad in [
        "", "/a", "a/", "a//b", "../a", "a/../b", ".a", "a/.b", "a b", "a\\b", "ä",
    ] {
        let refused = store.put_once(bad, b"");
        assert!(matches!(refused, Err(StoreError::Name)), "{bad}");
        assert!(!matches!(store.get(bad, 9), Ok(Some(_))), "{bad}");
    }
    assert_eq!(names("").len(), 7);
    let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    store.put_once("log/large", &large).unwrap();
    assert!(store.get("log/large", 3_000_000).unwrap().unwrap() == large);
}

/// Of many who put different bytes under one name, one wins and the others learn that.
pub(crate) fn race(store: &Arc<dyn LedgerStore>) {
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
    let store: Arc<dyn LedgerStore> = Arc::new(Dir::new(dir.path()));
    race(&store);
}

#[test]
fn memory() {
    suite(&Memory::default());
    let store: Arc<dyn LedgerStore> = Arc::new(Memory::default());
    race(&store);
}

/// What is no plain file is not waited for.
#[test]
fn a_directory_with_something_else_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Dir::new(dir.path());
    std::fs::create_dir(dir.path().join("log")).unwrap();
    let pipe = dir.path().join("log/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let read = store.get("log/pipe", 9);
    assert!(matches!(read, Err(StoreError::Name)), "{read:?}");
}
