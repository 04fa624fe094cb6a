//! `prove` and `check-proof`.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{auditor, log, places, segments, text};

struct Shown {
    dir: tempfile::TempDir,
    trust: String,
    ledger: String,
    out: String,
}

fn shown() -> Shown {
    let dir = log();
    let at = places(dir.path());
    let out = dir.path().join("proofs/one").to_str().unwrap().to_owned();
    Shown {
        trust: at.trust,
        ledger: at.ledger,
        out,
        dir,
    }
}

impl Shown {
    fn prove(&self, session: &str) -> std::process::Output {
        let (ledger, trust, out) = (&self.ledger, &self.trust, &self.out);
        let asked = [
            "prove",
            ledger,
            "--session",
            session,
            "--trust",
            trust,
            "--out",
            out,
        ];
        auditor(&asked)
    }

    fn check(&self) -> std::process::Output {
        auditor(&["check-proof", &self.out, "--trust", &self.trust, "--json"])
    }
}

fn record(folder: &str, sseq: u64) -> std::path::PathBuf {
    Path::new(folder).join(format!("session/{sseq:020}.json"))
}

#[test]
fn a_session_is_shown_and_checked_elsewhere() {
    let shown = shown();
    let made = shown.prove("s_two");
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let said = text(&made);
    assert!(said.starts_with("holds: 3 records of s_two\n"), "{said}");
    assert!(
        said.contains("the last one here is number 2, exchange.settled"),
        "{said}"
    );
    assert!(said.contains("3 of them sealed, the last by 20"), "{said}");
    fs::remove_dir_all(&shown.ledger).unwrap();
    let checked = shown.check();
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let json: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let part = |name: &str| json[name].clone();
    assert_eq!(
        (part("verdict"), part("session")),
        ("holds".into(), "s_two".into())
    );
    assert_eq!(
        (part("records"), part("sealed"), part("last")),
        (3.into(), 3.into(), 2.into())
    );
    assert_eq!(part("noted"), Value::Array(Vec::new()));
    let readme = fs::read_to_string(Path::new(&shown.out).join("README.txt")).unwrap();
    assert!(readme.contains("check-proof"));
    let grep = Command::new("grep")
        .args(["-r", "s_one", &shown.out])
        .output()
        .unwrap();
    assert_eq!(grep.status.code(), Some(1), "nothing of the other session");
}

#[test]
fn what_was_changed_or_left_out_is_told() {
    let shown = shown();
    assert_eq!(shown.prove("s_one").status.code(), Some(0));
    let second = record(&shown.out, 1);
    let good = fs::read(&second).unwrap();
    let changed = String::from_utf8(good.clone())
        .unwrap()
        .replace("m-1", "m-2");
    fs::write(&second, changed).unwrap();
    let checked = shown.check();
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    assert!(text(&checked).contains("tampering"), "{}", text(&checked));
    fs::remove_file(&second).unwrap();
    fs::remove_file(second.with_extension("tlog-proof")).unwrap();
    assert_eq!(shown.check().status.code(), Some(2));
    fs::write(&second, good).unwrap();
    assert_eq!(shown.check().status.code(), Some(1), "without its proof");
}

#[test]
fn nothing_is_left_of_a_proof_that_was_not_made() {
    let shown = shown();
    let left = || fs::read_dir(shown.dir.path().join("proofs")).map_or(0, Iterator::count);
    let none = shown.prove("s_none");
    assert_eq!(none.status.code(), Some(2), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains("no record of this session"));
    assert_eq!(left(), 0);
    assert_eq!(shown.prove("s_one").status.code(), Some(0));
    let again = shown.prove("s_two");
    assert_eq!(again.status.code(), Some(64), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("not empty"));
    assert_eq!(left(), 1);
    fs::remove_dir_all(&shown.out).unwrap();
    let first = &segments(shown.dir.path())[0];
    let mut bytes = fs::read(first).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(first, bytes).unwrap();
    let broken = shown.prove("s_one");
    assert_eq!(broken.status.code(), Some(1), "{broken:?}");
    assert!(String::from_utf8_lossy(&broken.stderr).contains("the log is broken"));
    assert_eq!(left(), 0);
}
