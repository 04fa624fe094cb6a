//! `scan` and `controls`, by the real program over logs that the ledger wrote.

use serde_json::Value;

use crate::{
    auditor,
    book::{Flaw, begin, write},
    places, segments, text,
};

fn scan(dir: &tempfile::TempDir, more: &[&str]) -> (Option<i32>, Value) {
    let at = places(dir.path());
    let mut arguments = vec!["scan", &at.ledger, "--trust", &at.trust, "--json"];
    arguments.extend_from_slice(more);
    let output = auditor(&arguments);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), json)
}

fn log(flaw: Flaw) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), flaw);
    dir
}

fn result<'j>(json: &'j Value, id: &str) -> &'j Value {
    let controls = json["controls"].as_array().unwrap();
    controls.iter().find(|control| control["id"] == id).unwrap()
}

#[test]
fn a_sound_log_passes_all_that_can_be_told_of_it() {
    let dir = log(Flaw::None);
    let (code, json) = scan(&dir, &[]);
    assert_eq!(code, Some(0), "{json:#}");
    let controls = json["controls"].as_array().unwrap();
    assert_eq!(controls.len(), 14);
    for control in controls {
        // Nobody was asked what time it is.
        let empty = control["id"] == "AL-10";
        let wanted = if empty { "not_tested" } else { "pass" };
        assert_eq!(control["result"], wanted, "{control:#}");
        assert_eq!(control["population"] == 0, empty, "{control:#}");
    }
}

#[test]
fn exceptions_are_found_and_told() {
    for (flaw, id, others) in [
        (Flaw::Nobody, "SE-01", &["SE-02"][..]),
        (Flaw::Unvisited, "RD-01", &[]),
        (Flaw::Text, "RD-12", &[]),
        (Flaw::Listed, "RD-12", &[]),
    ] {
        let dir = log(flaw);
        let (code, json) = scan(&dir, &[]);
        assert_eq!(code, Some(1), "{id}");
        for control in json["controls"].as_array().unwrap() {
            let own = control["id"] == id;
            let failed = control["result"] == "fail";
            assert!(
                own == failed || others.iter().any(|o| control["id"] == *o),
                "{control:#}"
            );
        }
        assert_eq!(result(&json, id)["exceptions"], 1, "{id}");
        let at = places(dir.path());
        let shown = text(&auditor(&["scan", &at.ledger, "--trust", &at.trust]));
        assert!(shown.contains(&format!("fail          {id}")), "{shown}");
        assert!(
            !shown.contains("cmd|") && !shown.contains("Jane"),
            "{shown}"
        );
        let sarif = auditor(&[
            "scan", &at.ledger, "--trust", &at.trust, "--format", "sarif",
        ]);
        let sarif: Value = serde_json::from_slice(&sarif.stdout).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let failed = results.iter().filter(|r| r["kind"] == "fail");
        assert!(failed.clone().any(|r| r["ruleId"] == id), "{sarif:#}");
    }
}

#[test]
fn without_a_trust_file_or_past_the_horizon_nothing_passes() {
    let dir = log(Flaw::None);
    let at = places(dir.path());
    let output = auditor(&["scan", &at.ledger]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("signer unknown"));
    let (code, json) = scan(&dir, &["--to", "2999-01-01"]);
    assert_eq!(code, Some(2));
    assert_eq!(result(&json, "SE-01")["result"], "inconclusive");
    // Before the log began there was nothing: that is no pass either.
    let (code, json) = scan(&dir, &["--from", "2001-01-01", "--to", "2001-01-02"]);
    assert_eq!(code, Some(2));
    assert_eq!(result(&json, "SE-01")["result"], "not_tested");
    let flawed = log(Flaw::Nobody);
    assert_eq!(
        scan(&flawed, &["--from", "2001-01-01", "--to", "2001-01-02"]).0,
        Some(2)
    );
}

/// While the gateway runs its stream has no end; up to what was seen of it, the log is whole.
#[test]
fn a_log_that_is_being_written_passes_up_to_its_horizon() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = begin(dir.path(), Flaw::None);
    let (code, json) = scan(&dir, &[]);
    assert_eq!(code, Some(0), "{json:#}");
    let (code, json) = scan(&dir, &["--to", "2999-01-01"]);
    assert_eq!(code, Some(2));
    assert_eq!(result(&json, "AL-02")["result"], "inconclusive");
    ledger.close().unwrap();
}

#[test]
fn a_changed_segment_fails_its_control_and_leaves_the_others_open() {
    let dir = log(Flaw::None);
    let segment = &segments(dir.path())[0];
    let mut bytes = std::fs::read(segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(segment, bytes).unwrap();
    let (code, json) = scan(&dir, &["--from", "2020-01-01", "--to", "2100-01-01"]);
    assert_eq!(code, Some(1), "{json:#}");
    assert_eq!(result(&json, "AL-01")["result"], "fail");
    assert_eq!(result(&json, "AL-02")["result"], "fail");
    assert_eq!(result(&json, "SE-01")["result"], "inconclusive");
    // Without a record there is no period of the log's own, and still the break is told.
    assert_eq!(scan(&dir, &[]).0, Some(1));
}

#[test]
fn the_database_is_kept_where_it_was_asked_for() {
    let dir = log(Flaw::None);
    let file = dir.path().join("views.sqlite");
    let name = file.to_str().unwrap();
    assert_eq!(scan(&dir, &["--db", name]).0, Some(0));
    assert!(
        std::fs::read(&file)
            .unwrap()
            .starts_with(b"SQLite format 3\0")
    );
    assert_eq!(scan(&dir, &["--db", name]).0, Some(64), "never replaced");
}

#[test]
fn controls_are_listed_shown_tested_and_replaced() {
    let list = text(&auditor(&["controls", "list"]));
    assert_eq!(list.lines().count(), 14);
    let shown = text(&auditor(&["controls", "sql", "SE-01"]));
    assert!(shown.starts_with("-- id: SE-01\n") && shown.contains("\n-- exceptions\n"));
    assert_eq!(
        auditor(&["controls", "sql", "XX-99"]).status.code(),
        Some(64)
    );
    assert_eq!(auditor(&["controls", "test"]).status.code(), Some(0));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("SE-01.sql");
    let at = folder.path().to_str().unwrap();
    std::fs::write(&file, &shown).unwrap();
    let alone = auditor(&["controls", "test", "--controls", at]);
    assert_eq!(alone.status.code(), Some(1));
    assert!(text(&alone).contains("has no fixtures"));
    let dir = log(Flaw::None);
    let (code, json) = scan(&dir, &["--controls", at]);
    assert_eq!(
        (code, json["controls"].as_array().unwrap().len()),
        (Some(0), 1)
    );
    for (part, by) in [
        ("coalesce", "printf"),
        ("FROM records", "FROM sqlite_master"),
        (", ts_us", ""),
        ("ts, ts_us", "no_such_column, ts_us"),
    ] {
        std::fs::write(&file, shown.replace(part, by)).unwrap();
        assert_eq!(scan(&dir, &["--controls", at]).0, Some(64), "{part}");
    }
}
