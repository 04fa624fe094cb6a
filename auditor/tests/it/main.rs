//! Integration tests, one binary: the program itself, on logs of the real writer.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "clippy's leave for tests does not reach the helpers of an integration test"
)]

mod apart;
#[cfg(feature = "aws")]
#[path = "../../../envelope/tests/it/aws/mod.rs"]
mod aws;
mod book;
mod diff;
mod evidence;
mod export;
mod payloads;
mod places;
mod prove;
mod scan;
#[cfg(feature = "witness")]
mod witness;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use gatehouse_envelope::sign::MemorySigner;
use gatehouse_ledger::{
    Durability, Ledger, Mode, Options, Pace, SealLog, clock::SystemClock, event::Event, store::Dir,
};

/// A data directory with a log of two sessions, closed.
fn log() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let signer = Arc::new(MemorySigner::generate("prod").unwrap());
    let options = Options {
        seals: SealLog::Own,
        data_dir: dir.path().to_owned(),
        deployment: "prod".into(),
        mode: Mode::Local,
        pace: Pace::default(),
    };
    let store = Arc::new(Dir::new(dir.path().join("ledger")));
    let (ledger, _) = Ledger::open(options, store, signer, Arc::new(SystemClock::new())).unwrap();
    for session in ["s_one", "s_two"] {
        let mut sprev = [0; 32];
        for (sseq, kind) in ["session.open", "exchange.admitted", "exchange.settled"]
            .into_iter()
            .enumerate()
        {
            let mut event = Event::kind(kind);
            event
                .text("rid", &format!("r_{session}"))
                .text("sid", session);
            event.integer("sseq", sseq as u64).hex("sprev", &sprev);
            event.object("up", |up| {
                up.text("model", "m-1");
            });
            let event = event.finish().unwrap();
            sprev = event.digest();
            ledger.append(event, Durability::Durable).wait().unwrap();
        }
        ledger.flush().wait().unwrap();
    }
    ledger.close().unwrap();
    dir
}

fn auditor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gatehouse-auditor"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.join("ledger/log")];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path)
            } else {
                found.push(path)
            }
        }
    }
    found.sort();
    found
}

struct Places {
    ledger: String,
    trust: String,
}

fn places(dir: &Path) -> Places {
    let text = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    Places {
        ledger: text("ledger"),
        trust: text("trust.policy"),
    }
}

#[test]
fn verify_says_what_holds() {
    let dir = log();
    let at = places(dir.path());
    let output = auditor(&["verify", &at.ledger, "--trust", &at.trust]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output).starts_with("holds: 8 records in 1 streams, 2 sessions"));
    let output = auditor(&["verify", &at.ledger, "--trust", &at.trust, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (json["verdict"].as_str(), json["exit"].as_u64()),
        (Some("holds"), Some(0))
    );
    assert_eq!(json["streams"][0]["proved_to"], 7);
}

#[test]
fn without_a_trust_file_it_cannot_tell() {
    let dir = log();
    let output = auditor(&["verify", &places(dir.path()).ledger]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("self-consistent, signer unknown"));
}

#[test]
fn changes_and_missing_ends_break_it() {
    let dir = log();
    let at = places(dir.path());
    let segments = segments(dir.path());
    let first = std::fs::read(&segments[0]).unwrap();
    let mut changed = first.clone();
    changed[first.len() / 2] ^= 1;
    std::fs::write(&segments[0], &changed).unwrap();
    let output = auditor(&["verify", &at.ledger, "--trust", &at.trust]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output).contains("broken (tampering): log/p_day="));
    std::fs::write(&segments[0], &first).unwrap();
    std::fs::remove_file(segments.last().unwrap()).unwrap();
    let output = auditor(&["verify", &at.ledger, "--trust", &at.trust]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text(&output).contains("the stream was cut off"),
        "{}",
        text(&output)
    );
}

#[test]
fn it_works_without_a_network_and_from_another_place() {
    let dir = log();
    let other = tempfile::tempdir().unwrap();
    std::fs::rename(dir.path().join("ledger"), other.path().join("copy")).unwrap();
    let (copy, trust) = (other.path().join("copy"), places(dir.path()).trust);
    let verify = ["verify", copy.to_str().unwrap(), "--trust", &trust];
    assert_eq!(auditor(&verify).status.code(), Some(0));
    // Not every machine lets tests make a namespace; where `true` runs in one, so must this.
    let alone = |program: &str, arguments: &[&str]| {
        let unshare = ["-r", "-n", program];
        Command::new("unshare")
            .args(unshare)
            .args(arguments)
            .output()
    };
    if alone("true", &[]).is_ok_and(|probe| probe.status.success()) {
        let output = alone(env!("CARGO_BIN_EXE_gatehouse-auditor"), &verify).unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    } else {
        eprintln!("NOT TESTED: no network namespace can be made here");
    }
}

#[test]
fn timeline_shows_one_session_or_request_in_order() {
    let dir = log();
    let ledger = places(dir.path()).ledger;
    let output = auditor(&["timeline", &ledger, "--session", "s_two"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = text(&output);
    let kinds: Vec<&str> = shown
        .lines()
        .map(|line| line.split_whitespace().nth(2).unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["session.open", "exchange.admitted", "exchange.settled"]
    );
    assert!(
        shown
            .lines()
            .all(|line| line.contains("r_s_two") && line.contains("up.model=m-1"))
    );
    let output = auditor(&["timeline", &ledger, "--request", "r_s_one", "--json"]);
    let lines = text(&output);
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["e"]["sid"], "s_one");
    }
    let nobody = auditor(&["timeline", &ledger, "--session", "s_nobody"]);
    assert_eq!(nobody.status.code(), Some(2));
}

#[test]
fn wrong_use_is_64_and_a_missing_log_is_2() {
    let dir = log();
    let at = places(dir.path());
    for wrong in [
        &[][..],
        &["verify"],
        &["verify", &at.ledger, "--fast"],
        &["verify", &at.ledger, "--trust", "/nowhere/trust.policy"],
        &["verify", &at.ledger, "--trust", &at.ledger],
        &["verify", "s3://Bucket/prefix"],
        &["timeline", &at.ledger],
        &["timeline", &at.ledger, "--session", "r_1"],
        // What is said for the record may hold no value.
        &["scan", &at.ledger, "--as", "4111111111111111"],
        &["scan", &at.ledger, "--purpose", "for Jane"],
        &[
            "timeline",
            &at.ledger,
            "--session",
            "s_1",
            "--request",
            "r_1",
        ],
    ] {
        assert_eq!(auditor(wrong).status.code(), Some(64), "{wrong:?}");
    }
    // What never ends is no file of settings.
    let controls = dir.path().join("controls");
    std::fs::create_dir(&controls).unwrap();
    std::os::unix::fs::symlink("/dev/zero", controls.join("ZZ-01.sql")).unwrap();
    let controls = controls.to_str().unwrap();
    for (option, endless) in [
        ("--trust", "/dev/zero"),
        ("--tsa", "/dev/zero"),
        ("--controls", controls),
    ] {
        let command = if option == "--controls" {
            "scan"
        } else {
            "verify"
        };
        let refused = auditor(&[command, &at.ledger, option, endless]);
        assert_eq!(refused.status.code(), Some(64), "{option} {refused:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(endless), "{said}");
        assert!(
            said.contains(": it holds more than 8388608 bytes"),
            "{said}"
        );
    }
    let missing = format!("{}/missing", at.ledger);
    assert_eq!(
        auditor(&["verify", &missing, "--trust", &at.trust])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(auditor(&["--help"]).status.code(), Some(0));
    assert_eq!(auditor(&["--version"]).status.code(), Some(0));
}
