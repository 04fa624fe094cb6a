//! `verify --payloads`: whole, erased, expired, missing, altered, and what does not belong there.

use std::path::Path;

use gatehouse_envelope::payload::{Commitment, Place};
use gatehouse_ledger::{
    Durability,
    event::Event,
    payload::{Location, Part},
    store::{Dir, Fetcher, LedgerStore},
};
use serde_json::json;

use super::{Book, CLEAN, LATER};
use crate::{auditor, places::as_nobody, text};

#[test]
fn payloads_that_are_what_the_log_says_hold() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, CLEAN, "", LATER);
    book.exchange(&mut session, &"x".repeat(200_000), "reply", LATER);
    let closed = book.close();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(json["payloads"]["counts"], json!({"whole": 4}));
    // Without the option nothing is looked at.
    let (ledger, trust) = (closed.at("ledger"), closed.at("trust.policy"));
    std::fs::remove_dir_all(closed.at("payloads")).unwrap();
    let output = auditor(&["verify", &ledger, "--trust", &trust]);
    assert_eq!(output.status.code(), Some(0));
    let gone = closed.at("payloads");
    let output = auditor(&["verify", &ledger, "--trust", &trust, "--payloads", &gone]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn erased_is_not_missing_and_says_by_which_record() {
    let book = Book::new();
    let (mut kept, mut erased, mut later) = (book.session(0), book.session(1), book.session(2));
    let bodies = book.exchange(&mut kept, CLEAN, "ok", LATER);
    let gone = book.exchange(&mut erased, CLEAN, "ok", LATER);
    book.exchange(&mut later, CLEAN, "ok", LATER);
    book.append(&mut erased, "session.erase.request", |_| {});
    book.append(&mut later, "session.close", |_| {});
    // A session that had ended is erased outside of its chain.
    let mut event = Event::kind("session.erase.request");
    event.object("outside", |outside| {
        outside.text("session", &later.name);
    });
    let event = event.finish().unwrap();
    book.ledger
        .append(event, Durability::Durable)
        .wait()
        .unwrap();
    let closed = book.close();
    std::fs::remove_file(closed.object(&gone[0])).unwrap();
    std::fs::remove_file(closed.object(&bodies[1])).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(2), "{json}");
    let counts = json!({"whole": 1, "erased": 4, "missing": 1});
    assert_eq!(json["payloads"]["counts"], counts);
    let places = json["payloads"]["places"].as_array().unwrap();
    for place in places {
        let why = place["why"].as_str().unwrap();
        assert_eq!(
            why.starts_with("proved by record 20"),
            place["state"] == "erased",
            "{place}"
        );
    }
    // Its key would be destroyed; even with it nothing of an erased session is opened.
    let (code, json, _) = closed.rescan(&[&kept, &erased], &[]);
    assert_eq!(code, Some(2), "{json}");
    assert_eq!(json["not_searched"], json!({"erased": 4, "missing": 1}));
    assert_eq!(json["searched"], 1);
}

#[test]
fn what_is_past_its_time_may_be_gone() {
    let book = Book::new();
    let mut session = book.session(0);
    let bodies = book.exchange(&mut session, CLEAN, "ok", 1);
    let closed = book.close();
    std::fs::remove_file(closed.object(&bodies[0])).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(
        json["payloads"]["counts"],
        json!({"whole": 1, "expired": 1})
    );
    let (code, json, _) = closed.rescan(&[&session], &[]);
    assert_eq!((code, &json["searched"]), (Some(0), &json!(1)), "{json}");
}

/// Every byte of an object, its ends, and other objects in its place.
#[test]
fn every_change_of_a_payload_is_found() {
    let book = Book::new();
    let (mut session, mut other) = (book.session(0), book.session(1));
    let [request, reply] = book.exchange(&mut session, "short", "also short", LATER);
    let [foreign, _] = book.exchange(&mut other, "short", "also short", LATER);
    let closed = book.close();
    let path = closed.object(&request);
    let bytes = std::fs::read(&path).unwrap();
    let mut changes: Vec<Vec<u8>> = (0..bytes.len())
        .map(|at| {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            changed
        })
        .collect();
    changes.push(bytes[..bytes.len() - 1].to_vec());
    changes.push([&bytes[..], b"x"].concat());
    changes.push(Vec::new());
    changes.push(std::fs::read(closed.object(&reply)).unwrap());
    changes.push(std::fs::read(closed.object(&foreign)).unwrap());
    // Each is looked at through the program once for all kinds, and through its parts for all.
    let named = Dir::new(closed.at("payloads"));
    for changed in &changes {
        std::fs::write(&path, changed).unwrap();
        let read = named.get(&request.location.name(), 1 << 20);
        let read = read.unwrap().unwrap();
        let place = Place {
            part: "req",
            tenant: "t",
            session: &session.name,
            number: request.location.number,
        };
        let commitment = Commitment {
            ct: &request.ct,
            len: request.len,
            kc: &request.kc,
            pm: &request.pm,
        };
        let opened = session.keys.payload().open(&place, &commitment, &read);
        assert!(opened.is_err());
    }
    for changed in [
        &changes[0],
        &changes[20],
        &changes[bytes.len()],
        &changes[bytes.len() + 1],
    ] {
        std::fs::write(&path, changed).unwrap();
        let (code, json) = closed.verify();
        assert_eq!(code, Some(1), "{json}");
        assert_eq!(
            json["payloads"]["counts"],
            json!({"whole": 3, "altered": 1})
        );
        let (code, json, _) = closed.rescan(&[&session, &other], &[]);
        assert_eq!(
            (code, &json["not_searched"]),
            (Some(2), &json!({"altered": 1}))
        );
    }
}

#[test]
fn nothing_but_payloads_belongs_beside_them() {
    let book = Book::new();
    let mut session = book.session(0);
    book.exchange(&mut session, CLEAN, "ok", LATER);
    let stray = Location::new(&session.name, 9, Part::Request, &[7; 32]);
    book.payloads
        .put_once(&stray.name(), b"of an attempt")
        .unwrap();
    let closed = book.close();
    let (code, json) = closed.verify();
    assert_eq!(
        (code, &json["payloads"]["strays"]),
        (Some(0), &json!(1)),
        "{json}"
    );
    // A wrapped key, say.
    let key = Path::new(&closed.at("payloads")).join(format!("p/{}/key.bin", session.name));
    std::fs::write(&key, b"wrapped").unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(1), "{json}");
    assert!(
        json["payloads"]["foreign"][0]
            .as_str()
            .unwrap()
            .ends_with("key.bin")
    );
    std::fs::remove_file(&key).unwrap();
    // Payloads in the log's own place could not be erased.
    let log = Path::new(&closed.at("ledger")).join("p/s_a");
    std::fs::create_dir_all(&log).unwrap();
    std::fs::write(log.join("1-req-0000000000000000.bin"), b"x").unwrap();
    let (code, json) = closed.verify();
    assert_eq!(
        (code, &json["payloads"]["misplaced"]),
        (Some(1), &json!(1)),
        "{json}"
    );
}

/// Runs `verify --payloads` as somebody who may not read everything.
fn verify_as_nobody(closed: &super::Closed) -> (Option<i32>, serde_json::Value, String) {
    let [ledger, trust, payloads] = ["ledger", "trust.policy", "payloads"].map(|it| closed.at(it));
    let verify = [
        "verify",
        &ledger,
        "--trust",
        &trust,
        "--payloads",
        &payloads,
    ];
    let run = |more: &[&str]| as_nobody(closed.dir.path(), &[&verify[..], more].concat());
    let (shown, output) = (run(&[]), run(&["--json"]));
    assert_eq!(shown.status.code(), output.status.code());
    let json = serde_json::from_str(&text(&output)).unwrap();
    (output.status.code(), json, text(&shown))
}

#[test]
fn what_can_be_read_beside_a_folder_that_cannot_is_compared() {
    use std::{fs, os::unix::fs::PermissionsExt};

    let book = Book::new();
    let (mut session, mut other) = (book.session(0), book.session(1));
    book.exchange(&mut session, CLEAN, "ok", LATER);
    let [request, _] = book.exchange(&mut other, CLEAN, "ok", LATER);
    let closed = book.close();
    let (code, json, _) = verify_as_nobody(&closed);
    assert_eq!((code, &json["payloads"]["unread"]), (Some(0), &json!([])));
    let folder = format!("p/{}", session.name);
    let place = Path::new(&closed.at("payloads")).join(&folder);
    let mode = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();

    mode(0);
    let unread = verify_as_nobody(&closed);
    let bytes = fs::read(closed.object(&request)).unwrap();
    fs::write(closed.object(&request), b"other").unwrap();
    let altered = verify_as_nobody(&closed);
    fs::write(closed.object(&request), bytes).unwrap();
    mode(0o755);
    let (code, json, shown) = unread;
    assert_eq!(code, Some(2), "{json}");
    assert_eq!(
        (&json["exit"], &json["verdict"]),
        (&json!(2), &json!("could not tell"))
    );
    assert_eq!(json["payloads"]["counts"], json!({"unread": 2, "whole": 2}));
    assert_eq!(json["payloads"]["unread"][0]["place"], folder.as_str());
    assert!(
        shown.contains(&format!("\n  could not be read: {folder}: ")),
        "{shown}"
    );
    assert!(
        shown.contains("\nhorizon: "),
        "the log is told of as well: {shown}"
    );
    // What is altered beside it is still found.
    let (code, json, _) = altered;
    assert_eq!(code, Some(1), "{json}");
    let counts = json!({"unread": 2, "whole": 1, "altered": 1});
    assert_eq!(json["payloads"]["counts"], counts);

    // A folder that was moved away, with a link in its place, holds what it held.
    let away = Path::new(&closed.at("payloads")).with_file_name("away");
    fs::rename(&place, &away).unwrap();
    std::os::unix::fs::symlink(&away, &place).unwrap();
    let (code, json, _) = verify_as_nobody(&closed);
    assert_eq!(code, Some(2), "{json}");
    assert_eq!(json["payloads"]["unread"][0]["place"], folder.as_str());
    assert_eq!(
        (&json["payloads"]["foreign"], &json["payloads"]["counts"]),
        (&json!([]), &json!({"whole": 4}))
    );
}
