//! `evidence`: the package, by the real program.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path};

use data_encoding::BASE64;
use gatehouse_envelope::{
    digest::{hex, sha256},
    sign::verify,
};
use serde_json::Value;

use crate::{
    auditor,
    book::{Flaw, write},
    places, text,
};

struct Made {
    dir: tempfile::TempDir,
    code: Option<i32>,
    said: String,
}

impl Made {
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join("out").join(name)).unwrap()
    }
}

fn evidence(dir: &Path, out: &str, more: &[&str]) -> (Option<i32>, String) {
    let at = places(dir);
    let (out, key) = (dir.join(out), dir.join("auditor.key"));
    let mut arguments = vec!["evidence", &at.ledger, "--trust", &at.trust];
    let (out, key) = (out.to_str().unwrap(), key.to_str().unwrap());
    arguments.extend(["--out", out, "--key", key]);
    arguments.extend_from_slice(more);
    let output = auditor(&arguments);
    let said = format!(
        "{}{}",
        text(&output),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code(), said)
}

fn make(flaw: Flaw) -> Made {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), flaw);
    let (code, said) = evidence(dir.path(), "out", &[]);
    Made { dir, code, said }
}

/// Every file of a package but the manifest, with its bytes.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if !name.starts_with("manifest") {
                found.insert(name.to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_package_is_whole_and_signed() {
    let made = make(Flaw::None);
    assert_eq!(made.code, Some(0), "{}", made.said);
    let root = made.dir.path().join("out");
    let files = files(&root);
    assert_eq!(files.len(), 3 * 14 + 5, "{:?}", files.keys());
    for (name, bytes) in &files {
        // The exceptions of a control that passes are a header and nothing else.
        let lines = bytes.iter().filter(|b| **b == b'\n').count();
        assert!(!name.starts_with("exceptions/") || lines == 1, "{name}");
        // Nobody was asked what time it is.
        let is_empty = name == "population/AL-10.csv";
        assert!(
            !name.starts_with("population/") || (lines > 1) != is_empty,
            "{name}"
        );
    }
    let envelope: Value = serde_json::from_str(&made.file("manifest.dsse.json")).unwrap();
    let decode = |value: &Value| BASE64.decode(value.as_str().unwrap().as_bytes()).unwrap();
    let payload = decode(&envelope["payload"]);
    let kind = envelope["payloadType"].as_str().unwrap();
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend(&payload);
    let told = made
        .said
        .lines()
        .find_map(|line| line.strip_prefix("signed by "));
    let key = BASE64.decode(told.unwrap().as_bytes()).unwrap();
    let signature = decode(&envelope["signatures"][0]["sig"]);
    assert!(verify(&key, &message, &signature));
    message[40] ^= 1;
    assert!(!verify(&key, &message, &signature));
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    let subjects = statement["subject"].as_array().unwrap();
    assert_eq!(subjects.len(), files.len());
    for subject in subjects {
        let bytes = &files[subject["name"].as_str().unwrap()];
        assert_eq!(subject["digest"]["sha256"], hex(&sha256(&[bytes])));
    }
    let key = made.dir.path().join("auditor.key");
    let mode = std::fs::metadata(key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_command_in_it_makes_it_again() {
    let made = make(Flaw::Nobody);
    assert_eq!(made.code, Some(1), "{}", made.said);
    let runme = made.file("RUNME.txt");
    let command = runme.lines().find(|l| l.starts_with("gatehouse-auditor "));
    let command = command.unwrap().trim_start_matches("gatehouse-auditor ");
    let again = std::process::Command::new("sh")
        .current_dir(made.dir.path())
        .args([
            "-c",
            &format!("\"$0\" {command}"),
            env!("CARGO_BIN_EXE_gatehouse-auditor"),
        ])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let root = made.dir.path();
    let (one, two) = (files(&root.join("out")), files(&root.join("again")));
    let differ = ["report.html", "RUNME.txt"];
    assert!(one.keys().eq(two.keys()));
    for (name, bytes) in one
        .iter()
        .filter(|(name, _)| !differ.contains(&name.as_str()))
    {
        assert!(bytes == &two[name], "{name}");
    }
    let exceptions = made.file("exceptions/SE-01.csv");
    assert_eq!(exceptions.lines().count(), 2, "{exceptions}");
    assert!(exceptions.contains("no authenticated caller"));
    assert!(
        root.join("again/manifest.json").is_file(),
        "without a key, unsigned"
    );
}

#[test]
fn the_report_stands_alone_and_shows_what_is_hostile_as_text() {
    let made = make(Flaw::Text);
    assert_eq!(made.code, Some(1), "{}", made.said);
    let html = made.file("report.html");
    structure(&html);
    for wanted in [
        "<svg",
        "EMAIL",
        "RD-12",
        "Horizon",
        "Command",
        "sha256:",
        "What this does not cover",
        "@media print",
        "1 admitted",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    assert!(!html.to_lowercase().contains("compliant"), "no such claim");
    for name in files(&made.dir.path().join("out")).keys() {
        let csv = made.dir.path().join("out").join(name);
        if name.ends_with(".csv") {
            let csv = std::fs::read_to_string(csv).unwrap();
            assert!(csv.lines().all(|line| line.starts_with('"')), "{name}");
            assert!(!csv.contains("\"="), "{name}: {csv}");
        }
    }
}

/// A control of one's own may show any field, so any may be hostile.
#[test]
fn formulas_and_markup_in_a_field_stay_text() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::Text);
    let folder = dir.path().join("controls");
    std::fs::create_dir(&folder).unwrap();
    let sql = "SELECT up_model, ts_us FROM records WHERE up_model IS NOT NULL;\n";
    let control = format!(
        "-- id: MY-01\n-- title: <b>T\n-- tsc: x\n-- iso: y\n-- severity: 3\n-- supports: s\n\
         -- remediation: r\n\n-- population\n{sql}\n-- exceptions\n{sql}"
    );
    std::fs::write(folder.join("MY-01.sql"), control).unwrap();
    let (code, said) = evidence(dir.path(), "out", &["--controls", folder.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{said}");
    let read = |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).unwrap();
    let csv = read("exceptions/MY-01.csv");
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(
        csv.contains("\"'=cmd|' /c'!A1<script>\"\"x\"\",\\n\\u{202e}\""),
        "{csv}"
    );
    let html = read("report.html");
    structure(&html);
    assert!(html.contains("&lt;script&gt;") && html.contains("&lt;b&gt;T"));
}

/// The tags nest, nothing runs, nothing is fetched.
fn structure(html: &str) {
    let lower = html.to_lowercase();
    for bad in [
        "<script",
        "javascript:",
        " onload",
        " onclick",
        "http:",
        "https:",
        "src=",
        "url(",
        "@import",
        "<iframe",
        "<link",
    ] {
        assert!(!lower.contains(bad), "{bad}");
    }
    let mut open = Vec::new();
    for part in html.split('<').skip(1) {
        let tag = part.split('>').next().unwrap();
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        if tag.starts_with('!') || tag.ends_with('/') || name == "meta" {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0]);
    for link in html.split("href=\"").skip(1) {
        let target = link.split('"').next().unwrap();
        let own = ["#", "charts/", "population/", "exceptions/"];
        assert!(
            own.iter().any(|start| target.starts_with(start)),
            "{target}"
        );
    }
}

/// As the README has it: names without a folder, relative to where one is.
#[test]
fn bare_names_are_names_in_this_folder() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    let run = |key: &str, out: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_gatehouse-auditor"))
            .current_dir(dir.path())
            .args(["evidence", "ledger", "--trust", "trust.policy"])
            .args(["--out", out, "--key", key])
            .output()
            .unwrap()
    };
    let output = run("auditor.key", "evidence");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(dir.path().join("auditor.key").is_file());
    // Somebody else's file is no key, is not replaced, and it is said why.
    let output = run("trust.policy", "other");
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("0600"));
}

#[test]
fn nothing_is_made_past_the_horizon_or_over_something() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), Flaw::None);
    let (code, said) = evidence(dir.path(), "out", &["--to", "2999-01-01"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("proves nothing past"), "{said}");
    assert!(!dir.path().join("out").exists() && !dir.path().join("auditor.key").exists());
    assert_eq!(evidence(dir.path(), "ledger", &[]).0, Some(64));
    assert_eq!(evidence(dir.path(), "out", &[]).0, Some(0));
    assert_eq!(evidence(dir.path(), "out", &[]).0, Some(64));
}
