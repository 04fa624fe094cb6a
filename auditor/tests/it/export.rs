//! Exports leave a record, in a log of the auditor's own or in the gateway's; without it they do not
//! come about.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixListener,
    path::Path,
    process::Command,
    thread::JoinHandle,
};

use gatehouse_envelope::digest::{hex, sha256};
use gatehouse_ledger::{
    read::records,
    store::Dir,
    trust::Trust,
    verify::{Verdict, Verifier},
};
use serde_json::{Value, json};

use crate::{
    auditor,
    book::{Flaw, SESSION, write},
    places,
};

/// What an export of a log was: exit code, standard error.
fn run(dir: &Path, what: &[&str], more: &[&str]) -> (Option<i32>, String) {
    let at = places(dir);
    let mut arguments = vec![what[0], at.ledger.as_str()];
    arguments.extend_from_slice(&what[1..]);
    if what[0] != "timeline" {
        arguments.extend(["--trust", &at.trust]);
    }
    arguments.extend_from_slice(more);
    let output = auditor(&arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// The exports that the auditor's own log in a folder holds; the log must verify.
fn recorded(folder: &Path) -> Vec<Value> {
    let log = Dir::new(folder.join("ledger"));
    let trust = std::fs::read_to_string(folder.join("trust.policy")).unwrap();
    let trust = Trust::parse(&trust).unwrap();
    let report = Verifier::new(Some(&trust)).verify(&log, |_| {});
    assert_eq!(report.verdict(), Verdict::Holds, "{:?}", report.faults);
    let mut exports = Vec::new();
    let unread = records(&log, |entry| {
        if entry.kind == "export.created" {
            let event: Value = serde_json::from_str(entry.event).unwrap();
            exports.push(event["export"].clone());
        }
    });
    assert!(unread.unwrap().is_empty());
    exports
}

fn digest(path: &Path) -> String {
    format!("sha256:{}", hex(&sha256(&[&std::fs::read(path).unwrap()])))
}

/// Everything in a folder that has to do with what is given out, hidden files too.
fn left(dir: &Path, name: &str) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|found| found.contains(name)).collect()
}

#[test]
fn every_export_is_in_the_auditors_own_log() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    let own = dir.path().join("auditors/log");
    let record = [
        "--record",
        own.to_str().unwrap(),
        "--as",
        "jane",
        "--purpose",
        "soc2:2026",
    ];
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let with = |name: &str| {
        let mut more = vec!["--out".to_owned(), out(name)];
        more.extend(record.map(str::to_owned));
        more
    };
    for (what, name) in [
        (&["evidence"][..], "package"),
        (&["scan", "--json"], "scan.json"),
        (&["timeline", "--request", "r_1"], "timeline.txt"),
        (&["prove", "--session", SESSION], "proof"),
    ] {
        let more = with(name);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let (code, said) = run(dir.path(), what, &more);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{what:?}");
    }
    let exports = recorded(&own);
    let one = |what: &str| {
        let mut found = exports.iter().filter(|export| export["what"] == what);
        let export = found.next().unwrap().clone();
        assert!(found.next().is_none());
        assert_eq!(
            (&export["name"], &export["purpose"]),
            (&json!("jane"), &json!("soc2:2026"))
        );
        assert!(export["by"].as_str().unwrap().starts_with("uid:"));
        export
    };
    assert_eq!(exports.len(), 4);
    let proof = one("prove");
    assert_eq!(
        (&proof["session"], &proof["records"]),
        (&json!(SESSION), &json!(3))
    );
    let listed = Command::new("sh")
        .args([
            "-c",
            "find . -type f | sed 's,^./,,' | LC_ALL=C sort | xargs sha256sum",
        ])
        .current_dir(dir.path().join("proof"))
        .output()
        .unwrap();
    let wanted = format!("sha256:{}", hex(&sha256(&[&listed.stdout])));
    assert_eq!(proof["digest"], wanted.as_str());
    let evidence = one("evidence");
    assert_eq!(
        evidence["digest"],
        digest(&dir.path().join("package/manifest.json"))
    );
    assert_eq!(evidence["trust"], digest(&dir.path().join("trust.policy")));
    assert!(evidence["from_us"].as_u64() < evidence["to_us"].as_u64());
    assert_eq!(one("scan")["digest"], digest(&dir.path().join("scan.json")));
    let timeline = one("timeline");
    assert_eq!(timeline["digest"], digest(&dir.path().join("timeline.txt")));
    assert_eq!(
        (&timeline["request"], &timeline["records"]),
        (&json!("r_1"), &json!(2))
    );
}

#[test]
fn without_a_record_there_is_no_export() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    // Nobody can make a log in a file, nor below one.
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let held = dir.path().join("held");
    // A log that is another process's at the time.
    let other = crate::book::begin(&held, Flaw::None);
    for record in [file.join("log"), file, held] {
        for (what, name) in [
            (&["evidence"][..], "package"),
            (&["scan"], "scan.txt"),
            (&["timeline", "--request", "r_1"], "timeline.txt"),
            (&["prove", "--session", SESSION], "proof"),
        ] {
            let out = dir.path().join(name);
            let more = [
                "--out",
                out.to_str().unwrap(),
                "--record",
                record.to_str().unwrap(),
            ];
            let (code, said) = run(dir.path(), what, &more);
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("not recorded"), "{said}");
            assert_eq!(left(dir.path(), name), [""; 0]);
        }
    }
    other.close().unwrap();
}

#[test]
fn an_export_that_is_recorded_nowhere_says_so() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    let out = dir.path().join("scan.txt");
    let (code, said) = run(dir.path(), &["scan"], &["--out", out.to_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(said.contains("recorded nowhere"), "{said}");
    assert!(out.exists());
    // What goes to standard output is nothing that could be taken back.
    let own = dir.path().join("own");
    let (code, _) = run(dir.path(), &["scan"], &["--record", own.to_str().unwrap()]);
    assert_eq!(code, Some(64));
    let (code, _) = run(dir.path(), &["scan"], &["--out", out.to_str().unwrap()]);
    assert_eq!(code, Some(64), "there is such a file already");
    let words = ["--out", "x", "--record", "y", "--purpose", "for Jane"];
    assert_eq!(run(dir.path(), &["scan"], &words).0, Some(64));
}

/// Says the answer to whoever asks first, and gives back what was asked.
fn gateway(socket: &Path, answer: &'static str) -> JoinHandle<Value> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        serde_json::from_str(&line).unwrap()
    })
}

#[test]
fn the_gateway_is_asked_to_record_and_its_word_counts() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    for (number, (answer, code)) in [
        ("{\"done\":{}}\n", 0),
        (
            "{\"failed\":{\"why\":\"the log did not take the record\"}}\n",
            2,
        ),
        ("{\"keys\":[]}\n", 2),
        ("nonsense\n", 2),
        ("", 2),
    ]
    .into_iter()
    .enumerate()
    {
        let socket = dir.path().join(format!("{number}.sock"));
        let asked = gateway(&socket, answer);
        let out = dir.path().join(format!("{number}.txt"));
        let more = [
            "--out",
            out.to_str().unwrap(),
            "--record",
            socket.to_str().unwrap(),
        ];
        let (exit, said) = run(dir.path(), &["scan"], &more);
        assert_eq!(exit, Some(code), "{answer}: {said}");
        assert_eq!(out.exists(), code == 0);
        let asked = asked.join().unwrap();
        assert_eq!(asked["do"], "export_record");
        assert_eq!(asked["export"]["what"], "scan");
        if code == 0 {
            assert_eq!(asked["export"]["digest"], digest(&out));
        }
    }
    // A socket that nobody listens on any more.
    let (socket, out) = (dir.path().join("0.sock"), dir.path().join("gone.txt"));
    let more = [
        "--out",
        out.to_str().unwrap(),
        "--record",
        socket.to_str().unwrap(),
    ];
    assert_eq!(run(dir.path(), &["scan"], &more).0, Some(2));
    assert_eq!(left(dir.path(), "gone"), [""; 0]);
}
