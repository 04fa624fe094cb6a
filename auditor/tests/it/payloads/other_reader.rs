//! For another reader: the fixture of `ledger/tests/test_payloads.py`.

use std::path::Path;

use gatehouse_envelope::digest::{hex, sha256};
use gatehouse_ledger::payload::Body;
use serde_json::Value;

use super::{Book, CLEAN, LATER, write_keys};

/// For another reader: a log with its payloads, keys, and the digests of what they open to.
#[test]
fn payloads_for_another_reader() {
    let book = Book::new();
    let (mut one, mut two, mut gone) = (book.session(0), book.session(1), book.session(2));
    let texts = [
        (CLEAN.to_owned(), "short".to_owned()),
        ("x".to_owned(), "y".repeat(65_536)),
        ("é".repeat(50_000), "z".repeat(131_073)),
    ];
    let mut wanted = serde_json::Map::new();
    let mut digest = |body: &Body, text: &str| {
        let digest = hex(&sha256(&[text.as_bytes()]));
        wanted.insert(body.location.name(), digest.into());
    };
    for (request, reply) in &texts {
        for session in [&mut one, &mut two] {
            let [req, rep] = book.exchange(session, request, reply, LATER);
            digest(&req, request);
            digest(&rep, reply);
        }
    }
    book.exchange(&mut gone, CLEAN, "gone", LATER);
    book.append(&mut gone, "session.erase.request", |_| {});
    let closed = book.close();
    write_keys(Path::new(&closed.at("keys.jsonl")), &[&one, &two]);
    std::fs::write(closed.at("texts.json"), Value::from(wanted).to_string()).unwrap();
    let (code, json) = closed.verify();
    assert_eq!(code, Some(0), "{json}");

    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("payload-fixture");
    let _old = std::fs::remove_dir_all(&out);
    copy(closed.dir.path(), &out);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
