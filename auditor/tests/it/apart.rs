//! What is read stays as it is: nothing that is given out, nor its record, is written into a log or its
//! payloads.

use std::{collections::BTreeSet, path::Path};

use crate::{auditor, log, places};

/// Everything in a folder.
fn names(folder: &Path) -> BTreeSet<std::path::PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(names(&path));
        }
        found.insert(path);
    }
    found
}

#[test]
fn nothing_is_written_into_what_is_read() {
    let dir = log();
    let at = places(dir.path());
    let (ledger, trust) = (at.ledger.as_str(), at.trust.as_str());
    let name = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(name("payloads")).unwrap();
    std::os::unix::fs::symlink("ledger", name("link")).unwrap();
    let [out, link, other, data] =
        ["ledger/out", "link/out", "out", ""].map(|it| name(it).trim_end_matches('/').to_owned());
    let (payloads, no_keys) = (name("payloads"), name("no keys"));
    std::fs::write(&no_keys, "").unwrap();
    let within = format!("{payloads}/out");
    let session = ["--session", "s_one"];
    let read = [ledger, "--trust", trust];
    let proving = [&["prove"], &read[..], &session].concat();
    let evidence = [&["evidence"], &read[..]].concat();
    let scan = [&["scan"], &read[..]].concat();
    let timeline = [&["timeline", ledger], &session[..]].concat();
    let keys = ["--payloads", payloads.as_str(), "--keys", &no_keys];
    let rescan = [&["rescan"], &read[..], &keys].concat();
    let before = names(dir.path());
    for command in [&proving, &evidence, &scan, &timeline, &rescan] {
        let mut wrong: Vec<Vec<&str>> = vec![
            vec!["--out", &out],
            vec!["--out", &link],
            vec!["--out", &other, "--record", ledger],
            vec!["--out", &other, "--record", &out],
            // Its log would be the one that is read.
            vec!["--out", &other, "--record", &data],
        ];
        match command[0] {
            "evidence" => {
                wrong.push(vec!["--out", &other, "--key", &out]);
                wrong.push(vec!["--out", &other, "--db", &out]);
            }
            "scan" => wrong.push(vec!["--db", &link]),
            "rescan" => {
                wrong.push(vec!["--out", &within]);
                wrong.push(vec!["--out", &other, "--record", &payloads]);
            }
            _ => {}
        }
        for options in wrong {
            let refused = auditor(&[&command[..], &options].concat());
            assert_eq!(refused.status.code(), Some(64), "{command:?} {options:?}");
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(said.contains(", which is only read: "), "{said}");
            assert_eq!(names(dir.path()), before, "{command:?} {options:?}");
        }
        let mut beside = command.clone();
        beside.extend(["--out", &other]);
        let given = auditor(&beside).status.code();
        assert_ne!(given, Some(64), "{command:?}");
        let _file = std::fs::remove_file(&other);
        let _folder = std::fs::remove_dir_all(&other);
    }
}
