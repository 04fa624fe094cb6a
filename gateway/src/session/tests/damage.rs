use data_encoding::{BASE64, BASE64URL_NOPAD};
use redb::TableDefinition;

use super::*;
use crate::session::turn::Location;

const ROWS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("sessions");
const VERSIONS: TableDefinition<'_, &str, u64> = TableDefinition::new("session_versions");
const KEYS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("session_keys");
/// Where the sealed state begins in a row.
const HEAD: usize = 33;

fn name(reference: &str, tenant: &str) -> String {
    format!("{reference}/{tenant}/1")
}

fn row(house: &House, table: TableDefinition<'static, &str, &[u8]>, name: &str) -> Vec<u8> {
    let rows = house.database.read().unwrap().open_table(table).unwrap();
    rows.get(name).unwrap().unwrap().value().to_vec()
}

async fn put(
    house: &House,
    table: TableDefinition<'static, &str, &[u8]>,
    name: &str,
    row: Vec<u8>,
) {
    let name = name.to_owned();
    let change = move |transaction: &redb::WriteTransaction| {
        transaction
            .open_table(table)?
            .insert(name.as_str(), row.as_slice())?;
        Ok(())
    };
    house.database.write(Durable::Now, change).await.unwrap();
}

async fn damaged(house: &House, who: &Caller, opened: &Opened) {
    let turn = house.sessions.turn(who, Some(opened.id.expose())).await;
    assert!(matches!(turn, Err(SessionError::Damaged)));
    let shown = house.sessions.show(who, &opened.reference).await;
    assert!(matches!(shown, Err(SessionError::Damaged)));
    let closed = house.sessions.close(who, &opened.reference).await;
    assert!(matches!(closed, Err(SessionError::Damaged)));
}

#[tokio::test]
async fn moved_states_and_keys_do_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let (ann, bob) = (caller("ann", "t"), caller("bob", "u"));
    let mine = house.sessions.open(&ann).await.unwrap();
    let other = house.sessions.open(&ann).await.unwrap();
    let theirs = house.sessions.open(&bob).await.unwrap();
    let (here, there) = (name(&mine.reference, "t"), name(&other.reference, "t"));
    let foreign = name(&theirs.reference, "u");
    let (state, key) = (row(&house, ROWS, &here), row(&house, KEYS, &here));

    // The state of a session over another's, alone and with its key; the same across tenants.
    for (target, who, opened) in [(&there, &ann, &other), (&foreign, &bob, &theirs)] {
        put(&house, ROWS, target, state.clone()).await;
        damaged(&house, who, opened).await;
        put(&house, KEYS, target, key.clone()).await;
        damaged(&house, who, opened).await;
    }
    // Any byte changed.
    for at in [HEAD, HEAD + 1, HEAD + 20, state.len() - 1] {
        let mut changed = state.clone();
        changed[at] ^= 1;
        put(&house, ROWS, &here, changed).await;
        damaged(&house, &ann, &mine).await;
    }
    put(&house, ROWS, &here, state).await;
    house
        .sessions
        .turn(&ann, Some(mine.id.expose()))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_older_state_put_back_does_not_open() {
    let (_dir, house, ann, opened) = scene().await;
    let name = name(&opened.reference, "t");
    let old = row(&house, ROWS, &name);
    let mut turn = house
        .sessions
        .turn(&ann, Some(opened.id.expose()))
        .await
        .unwrap();
    record(&house, &mut turn, "exchange.admitted")
        .await
        .unwrap();
    finish(&house, turn, "exchange.settled").await;
    let new = row(&house, ROWS, &name);

    // The sealed bytes alone, under the newer number.
    let mut mixed = new[..HEAD].to_vec();
    mixed.extend_from_slice(&old[HEAD..]);
    put(&house, ROWS, &name, mixed).await;
    damaged(&house, &ann, &opened).await;
    // The whole row.
    put(&house, ROWS, &name, old.clone()).await;
    damaged(&house, &ann, &opened).await;
    // The row and its number: this process has seen a newer one.
    let versions = name.clone();
    let change = move |transaction: &redb::WriteTransaction| {
        transaction
            .open_table(VERSIONS)?
            .insert(versions.as_str(), 1)?;
        Ok(())
    };
    house.database.write(Durable::Now, change).await.unwrap();
    damaged(&house, &ann, &opened).await;
}

#[tokio::test]
async fn without_its_key_a_session_is_gone() {
    let (_dir, house, ann, opened) = scene().await;
    let name = name(&opened.reference, "t");
    let state = row(&house, ROWS, &name);
    house.sessions.erase(&opened.reference, BY).await.unwrap();
    // Whoever kept a copy of the state has nothing to open it with.
    put(&house, ROWS, &name, state).await;
    let found = house.sessions.turn(&ann, Some(opened.id.expose())).await;
    assert!(found.is_err());
}

#[tokio::test]
async fn no_file_holds_a_value_in_any_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path());
    let ann = caller("ann", "t");
    let mut planted: Vec<Vec<u8>> = (0..20)
        .map(|_| random::name("canary-").unwrap().into_bytes())
        .collect();
    for canary in planted.clone() {
        let opened = house.sessions.open(&ann).await.unwrap();
        let mut turn = house
            .sessions
            .turn(&ann, Some(opened.id.expose()))
            .await
            .unwrap();
        turn.state_mut().vault = Zeroizing::new(canary.repeat(50));
        turn.remember_signed(std::str::from_utf8(&canary).unwrap());
        record(&house, &mut turn, "exchange.admitted")
            .await
            .unwrap();
        finish(&house, turn, "exchange.settled").await;
        // Ids are secrets too, and so is the root key's file the only place for the root key.
        planted.push(opened.id.expose().as_bytes().to_vec());
        planted.push(
            BASE64URL_NOPAD
                .decode(&opened.id.expose().as_bytes()[3..])
                .unwrap(),
        );
    }
    let copy = house.crash(dir.path());
    let root = std::fs::read_to_string(copy.path().join("keys/root")).unwrap();
    planted.push(
        BASE64
            .decode(root.trim().rsplit(' ').next().unwrap().as_bytes())
            .unwrap(),
    );
    let kept = std::fs::read(copy.path().join("sessions.redb")).unwrap();
    let logged = house.pages.events.lock().join("\n").into_bytes();
    for file in [kept, logged] {
        for canary in &planted {
            for spelling in spellings(canary) {
                let found = memchr::memmem::find(&file, &spelling).is_some();
                assert!(!found, "a planted value is in a file");
            }
        }
    }
}

/// A value raw, in base64 at each of its three alignments, in hexadecimal, and in UTF-16.
fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_vec()];
    for shift in 0..3 {
        // Without the characters that bytes before or after could change.
        let aligned = &value[shift..shift + (value.len() - shift) / 3 * 3];
        all.push(BASE64.encode(aligned).into_bytes());
        all.push(BASE64URL_NOPAD.encode(aligned).into_bytes());
    }
    let hex = gatehouse_envelope::digest::hex(value);
    all.push(hex.to_uppercase().into_bytes());
    all.push(hex.into_bytes());
    all.push(value.iter().flat_map(|byte| [*byte, 0]).collect());
    all.push(value.iter().flat_map(|byte| [0, *byte]).collect());
    all
}

#[tokio::test]
async fn a_session_of_a_later_release_is_there_for_its_owner_alone() {
    let (_dir, house, ann, opened) = scene().await;
    let (bob, reference) = (caller("bob", "t"), opened.reference.as_str());
    let location = Location::new(reference, "t", 1);
    let loaded = house.sessions.peek(&location).await.unwrap().unwrap();
    let context = location.context(loaded.version);
    let sealed = loaded.keys.seal().seal(&context, &[u8::MAX]).unwrap();
    let mut later = row(&house, ROWS, &location.name);
    later.truncate(HEAD);
    later.extend_from_slice(sealed.as_bytes());
    put(&house, ROWS, &location.name, later).await;

    // Whose it is cannot be read: it may be anybody's.
    for who in [&ann, &bob] {
        let shown = house.sessions.show(who, reference).await;
        assert_eq!(absence(shown), Absence::Unknown);
    }
    let owners = &house.sessions.shared.owners;
    owners.note(&location.name, &ann.principal());
    let shown = house.sessions.show(&ann, reference).await;
    assert!(matches!(shown, Err(SessionError::Newer)));
    let shown = house.sessions.show(&bob, reference).await;
    assert_eq!(absence(shown), Absence::Unknown);
}
