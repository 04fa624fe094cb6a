//! Where a log may be: several folders at once, and buckets.

#[cfg(feature = "aws")]
#[path = "../../../ledger/tests/it/s3/place.rs"]
mod place;
#[cfg(feature = "aws")]
#[path = "../../../ledger/tests/it/s3/radosgw.rs"]
mod radosgw;

use std::path::Path;

use gatehouse_ledger::store::{Dir, Fetcher, LedgerStore};
#[cfg(feature = "aws")]
use radosgw::RadosGw;

use crate::{auditor, log, places, text};

/// Copies objects that `wanted` says into another store.
fn copy(from: &Path, to: &dyn LedgerStore, wanted: impl Fn(&str) -> bool) {
    let log = Dir::new(from);
    for object in log.list("").unwrap() {
        if wanted(&object.name) {
            let bytes = log.get(&object.name, 1 << 20).unwrap().unwrap();
            to.put_once(&object.name, &bytes).unwrap();
        }
    }
}

#[test]
fn several_folders_are_read_as_one_log() {
    let (dir, other) = (log(), tempfile::tempdir().unwrap());
    let at = places(dir.path());
    let name = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    let (certificates, segments) = (name("a"), name("b"));
    let ledger = Path::new(&at.ledger);
    copy(ledger, &Dir::new(&certificates), |it| {
        it.starts_with("cert/")
    });
    copy(ledger, &Dir::new(&segments), |it| {
        it.starts_with("log/") || it.starts_with("seal/")
    });
    let verify = |folders: &[&str]| {
        let arguments = [&["verify"], folders, &["--trust", &at.trust]].concat();
        auditor(&arguments)
    };
    assert_eq!(verify(&[&certificates]).status.code(), Some(2));
    assert_eq!(verify(&[&segments]).status.code(), Some(1));
    let joined = verify(&[&certificates, &segments, &at.ledger]);
    assert_eq!(joined.status.code(), Some(0), "{joined:?}");
    assert!(text(&joined).contains("\nhorizon: nothing is proved past "));

    let both = [certificates.as_str(), segments.as_str()];
    let scan = [&["scan"], &both[..], &["--trust", &at.trust, "--json"]].concat();
    let report: serde_json::Value = serde_json::from_str(&text(&auditor(&scan))).unwrap();
    let controls = report["controls"].as_array().unwrap();
    let sound = controls.iter().find(|it| it["id"] == "AL-01").unwrap();
    assert_eq!(sound["result"], "pass", "{sound:#}");
    let timeline = [&["timeline"], &both[..], &["--session", "s_two"]].concat();
    assert_eq!(text(&auditor(&timeline)).lines().count(), 3);

    std::fs::create_dir(other.path().join("empty")).unwrap();
    let empty = verify(&[&at.ledger, &name("empty")]);
    assert_eq!(empty.status.code(), Some(2));
    assert!(text(&empty).contains("could not tell (unproven): one of the places holds no log"));

    let certificate = other.path().join("a/cert");
    let certificate = std::fs::read_dir(certificate).unwrap().next().unwrap();
    std::fs::write(certificate.unwrap().path(), "{}").unwrap();
    let fork = verify(&[&at.ledger, &certificates]);
    assert_eq!(fork.status.code(), Some(1));
    assert!(
        text(&fork).contains("broken (fork): cert/"),
        "{}",
        text(&fork)
    );
}

#[cfg(feature = "aws")]
#[test]
fn a_bucket_is_a_place() {
    use std::process::{Command, Output};

    use place::{Place, Server};

    let place = Place::new(Server::RadosGw);
    let dir = log();
    let at = places(dir.path());
    copy(Path::new(&at.ledger), &place.writer(), |_| true);
    let bucket = format!("s3://{}/gatehouse/v1", place.bucket.name);
    let endpoint = place.front.endpoint();
    let ask = |secret: &str, command: &[&str], more: &[&str]| -> Output {
        let mut auditor = Command::new(env!("CARGO_BIN_EXE_gatehouse-auditor"));
        auditor.args(command).arg(&bucket).args(more);
        auditor.args(["--endpoint", &endpoint, "--region", "us-east-1"]);
        auditor.env("AWS_ACCESS_KEY_ID", radosgw::CREDENTIALS.0);
        auditor.env("AWS_SECRET_ACCESS_KEY", secret);
        auditor.output().unwrap()
    };
    let secret = radosgw::CREDENTIALS.1;
    let trusted = ["--trust", &at.trust, "--retention-days", "1"];
    let holds = ask(secret, &["verify"], &trusted);
    assert_eq!(holds.status.code(), Some(0), "{holds:?}");
    assert!(text(&holds).contains("\nlocks: nobody can remove any of it before "));
    let scan = ask(secret, &["scan"], &[&trusted[..], &["--json"]].concat());
    assert!(text(&scan).contains("\"AL-02\""), "{scan:?}");
    let timeline = ask(secret, &["timeline"], &["--request", "r_s_one"]);
    assert_eq!(text(&timeline).lines().count(), 3);

    let short = ask(secret, &["verify"], &["--trust", &at.trust]);
    assert_eq!(short.status.code(), Some(1));
    assert!(text(&short).contains("broken (lock): "), "{}", text(&short));
    let denied = ask("wrong", &["verify"], &trusted);
    assert_eq!(denied.status.code(), Some(2));
    let said = text(&denied);
    assert!(
        said.contains("not read: S3 denied ListObjectVersions"),
        "{said}"
    );
    assert!(said.contains("could not tell (unreadable)"), "{said}");

    place.ask(async |client, bucket| {
        let listed = client
            .list_objects_v2()
            .bucket(bucket)
            .send()
            .await
            .unwrap();
        let delete = client.delete_object().bucket(bucket);
        let delete = delete.set_key(listed.contents()[0].key().map(str::to_owned));
        delete.send().await.unwrap();
    });
    let deleted = ask(secret, &["verify"], &trusted);
    assert_eq!(deleted.status.code(), Some(1));
    assert!(
        text(&deleted).contains("broken (tampering): "),
        "{}",
        text(&deleted)
    );
}

/// Runs the auditor as somebody who may not read everything: whoever is root may.
pub(crate) fn as_nobody(dir: &Path, arguments: &[&str]) -> std::process::Output {
    use std::os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    };

    let program = Path::new(env!("CARGO_BIN_EXE_gatehouse-auditor"));
    if std::fs::metadata(dir).unwrap().uid() != 0 {
        return auditor(arguments);
    }
    // What is built may lie where only root can look. Another process makes the copy: a child that another
    // test begins while this one writes would hold it open for a moment, and then it cannot be run.
    let copy = dir.join("auditor");
    if !copy.exists() {
        let mut cp = std::process::Command::new("cp");
        assert!(cp.arg(program).arg(&copy).status().unwrap().success());
    }
    for open in [dir, &copy] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(copy);
    command.args(arguments).uid(65_534).gid(65_534);
    command.output().unwrap()
}

#[test]
fn what_can_be_read_beside_a_folder_that_cannot_is_verified() {
    use std::os::unix::fs::PermissionsExt;

    let dir = log();
    let at = places(dir.path());
    let mode = |folder: &Path, mode| {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let verify = ["verify", &at.ledger, "--trust", &at.trust];
    let sound = as_nobody(dir.path(), &verify);
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    let segment = crate::segments(dir.path())[0].clone();
    let ledger = Path::new(&at.ledger);
    let (stream, day) = (
        segment.parent().unwrap(),
        segment.ancestors().nth(2).unwrap(),
    );
    let (seals, certificates) = (ledger.join("seal"), ledger.join("cert"));
    for folder in [stream, day, &seals, &certificates] {
        mode(folder, 0);
        let (said, timeline) = (
            as_nobody(dir.path(), &verify),
            as_nobody(dir.path(), &["timeline", &at.ledger, "--session", "s_one"]),
        );
        mode(folder, 0o755);
        let name = folder.strip_prefix(ledger).unwrap().display().to_string();
        assert_eq!(said.status.code(), Some(2), "{name} {said:?}");
        let said = text(&said);
        let entry = format!("could not tell (unreadable): {name}: could not be read");
        assert!(said.contains(&entry), "{said}");
        assert!(said.contains(&format!("{}: ", folder.display())), "{said}");
        assert!(
            said.contains("horizon: ") && !said.contains("broken"),
            "{said}"
        );
        let is_of_records = folder == stream || folder == day;
        let code = if is_of_records { 2 } else { 0 };
        assert_eq!(timeline.status.code(), Some(code), "{name}");
    }
}
