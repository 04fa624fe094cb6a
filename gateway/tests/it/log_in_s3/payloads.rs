//! Sealed payloads in a bucket of their own: killed under load, the log names none that is not there.

use gatehouse_envelope::digest::sha256;
use gatehouse_ledger::payload::{Body, Location};
use gatehouse_ledger::store::{Dir, Fetcher};

use super::*;

/// The log in a folder, and payloads in a bucket.
fn ledger(place: &Place, timeout: &str) -> String {
    format!(
        "append_timeout = '20s'\n[ledger.payloads]\nplace = 's3://{}/{}'\nregion = 'us-east-1'\n\
         endpoint = '{}'\nretention_days = 1\ntimeout = '{timeout}'",
        place.bucket.name,
        place.bucket.prefix,
        place.front.endpoint(),
    )
}

/// Every payload that the log in a folder names.
fn named(gateway: &Gateway) -> Vec<(String, Body)> {
    let log = Dir::new(gateway.data.path().join("ledger"));
    let mut named = Vec::new();
    let unread = records(&log, |entry| {
        let kind = entry.kind.to_owned();
        let bodies = Body::read(entry.event).unwrap();
        assert!(
            kind != "exchange.admitted" || bodies.len() == 1,
            "{}",
            entry.event
        );
        named.extend(bodies.into_iter().map(|body| (kind.clone(), body)));
    });
    assert!(unread.unwrap().is_empty());
    named
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_record_names_a_payload_that_is_not_there_whenever_the_gateway_is_killed() {
    let place = apart(|| Place::new(Server::RadosGw)).await;
    let gateway = Arc::new(Gateway::over(&ledger(&place, "50s")));
    gateway.start();
    let told = Arc::new(Told::default());
    let callers = load(&gateway, &told);
    let more_than = |count: usize| told.answered() > count;
    for _ in 0..4 {
        let before = told.answered();
        until("requests before the kill", || more_than(before + 7)).await;
        gateway.kill();
        gateway.start();
    }
    // Away for a while: what cannot be kept is refused, and goes on when the place is back.
    place.front.set(Fate::Cut);
    let refused = (503, "payload_unavailable".to_owned());
    until("a refusal", || told.refused.lock().contains_key(&refused)).await;
    place.front.set(Fate::Passes);
    let before = told.answered();
    until("requests at the end", || more_than(before + 7)).await;
    told.stop.store(true, Ordering::SeqCst);
    callers.join_all().await;
    gateway.stop();

    let of = Arc::clone(&gateway);
    let answered = told.answered();
    apart(move || {
        let (reader, named) = (place.reader(), named(&of));
        assert!(named.len() >= 2 * answered, "{} of {answered}", named.len());
        let mut names = BTreeSet::new();
        for (kind, body) in &named {
            let name = body.location.name();
            let stored = reader.fetch(&name, 1 << 20).unwrap();
            let stored = stored.unwrap_or_else(|| panic!("{kind}: {name} is not there"));
            assert_eq!(sha256(&[&stored.bytes]), body.ct);
            assert_eq!(stored.bytes.len() as u64, body.object_len());
            // Nobody can remove it for as long as it is promised to be there.
            let kept = stored.kept.unwrap();
            assert!(kept.locked_until_us.unwrap() >= body.until_us);
            assert!(names.insert(name), "a payload stands twice");
        }
        // Nothing else lies there, least of all a key.
        for object in reader.list("").unwrap() {
            assert!(Location::parse(&object.name).is_some(), "{}", object.name);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_goes_lets_nothing_through_and_one_without_locks_is_refused() {
    let place = apart(|| Place::new(Server::RadosGw)).await;
    let gateway = Gateway::over(&ledger(&place, "50s"));
    gateway.start();
    assert_eq!(gateway.ask().await.unwrap().status, 200);
    place.front.set(Fate::Cut);
    let answer = gateway.ask().await.unwrap();
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "payload_unavailable");
    place.front.set(Fate::Passes);
    assert_eq!(gateway.ask().await.unwrap().status, 200);
    gateway.stop();

    let bare = apart(|| Place::with(Server::RadosGw, false)).await;
    let gateway = Gateway::over(&ledger(&bare, "50s"));
    let mut child = gateway.command().stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(said.contains("ledger.payloads: "), "{said}");
    apart(move || drop((place, bare))).await;
}
