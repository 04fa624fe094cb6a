//! Sessions under a root key that KMS holds, while KMS fails in every way that it can.

use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use gatehouse_envelope::{
    aws::{Access, config},
    keys::{KeyError, KmsKeys},
};
use serde_json::{Value, json};

use super::*;
use crate::registry::{
    Table,
    dynamodb_tests::aws::{ACCESS_KEY, Emulator, Fate, Front, Kind, REGION, SECRET_KEY},
};

/// MiniStack behind a wire, and a key of its KMS.
struct Kms {
    emulator: &'static Emulator,
    front: Front,
    arn: String,
}

impl Kms {
    fn new() -> Self {
        let emulator = Emulator::shared(Kind::MiniStack);
        let front = Front::to(emulator.port());
        let made = ask(emulator, "CreateKey", &json!({}));
        let arn = made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned();
        Self {
            emulator,
            front,
            arn,
        }
    }

    async fn provider(&self) -> Arc<KmsKeys> {
        let access = Access {
            region: Some(REGION.to_owned()),
            endpoint: Some(self.front.endpoint()),
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(60),
            attempts: 1,
        };
        let credentials = Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "a test");
        let provider = SharedCredentialsProvider::new(credentials);
        let config = config(&access).await.into_builder();
        let config = config.credentials_provider(provider).build();
        Arc::new(KmsKeys::open(&config, &self.arn, &[]).await.unwrap())
    }

    fn change(&self, operation: &str) {
        let mut asked = json!({ "KeyId": self.arn });
        if operation == "ScheduleKeyDeletion" {
            asked["PendingWindowInDays"] = 7.into();
        }
        ask(self.emulator, operation, &asked);
    }
}

/// An operation of KMS, as an administrator.
fn ask(emulator: &Emulator, operation: &str, asked: &Value) -> Value {
    let answer = emulator.ask(&format!("TrentService.{operation}"), &asked.to_string());
    serde_json::from_str(&answer).unwrap_or(Value::Null)
}

/// A house under that key, with one session of ann's.
async fn house(kms: &Kms, dir: &std::path::Path) -> (House, Caller, Opened) {
    let provider = kms.provider().await;
    let pages = Arc::new(Pages::default());
    let house = House::open_under(dir, limits(), pages, NOW_US, provider);
    let ann = caller("ann", "t");
    let opened = house.sessions.open(&ann).await.unwrap();
    (house, ann, opened)
}

async fn exchange(house: &House, caller: &Caller, id: &str) -> Result<(), SessionError> {
    let mut turn = house.sessions.turn(caller, Some(id)).await?;
    record(house, &mut turn, "exchange.admitted").await?;
    finish(house, turn, "exchange.settled").await;
    Ok(())
}

/// Everything that the store and the registry hold of sessions.
async fn stored(house: &House) -> Vec<String> {
    let shared = &house.sessions.shared;
    let mut names = shared.store.list("", None, 1000).await.unwrap().names;
    for tenant in ["t", "u"] {
        let keys = shared.registry.list(Table::TenantKeys, tenant).await;
        names.extend(keys.unwrap().into_iter().map(|(name, _)| name));
    }
    names
}

/// What is refused while KMS does not give keys, what goes on, and that it recovers by itself.
async fn a_failure_of_kms(
    kms: &Kms,
    break_it: impl AsyncFn(&Kms),
    mend_it: impl AsyncFn(&Kms),
    expected: impl Fn(&KeyError) -> bool,
) {
    let dir = tempfile::tempdir().unwrap();
    let (house, ann, opened) = house(kms, dir.path()).await;
    let (id, policy) = (opened.id.expose(), CachePolicy::default());
    let bob = caller("bob", "u");
    let is_expected = |result: Result<(), SessionError>| match result {
        Err(SessionError::Keys(error)) => expected(&error),
        _ => false,
    };
    // The turn of a long stream is under way all the time.
    let other = house.sessions.open(&ann).await.unwrap();
    let mut long = house
        .sessions
        .turn(&ann, Some(other.id.expose()))
        .await
        .unwrap();
    record(&house, &mut long, "exchange.admitted")
        .await
        .unwrap();
    house.clock.advance(policy.max_age_new);
    break_it(kms).await;

    let before = stored(&house).await;
    assert!(is_expected(house.sessions.open(&ann).await.map(|_| ())));
    assert!(is_expected(
        house.sessions.turn(&ann, None).await.map(|_| ())
    ));
    assert!(is_expected(house.sessions.open(&bob).await.map(|_| ())));
    exchange(&house, &ann, id).await.unwrap();
    house.sessions.show(&ann, &opened.reference).await.unwrap();

    house.clock.advance(policy.max_age - policy.max_age_new);
    assert!(is_expected(exchange(&house, &ann, id).await));
    let shown = house.sessions.show(&ann, &opened.reference).await;
    assert!(is_expected(shown.map(|_| ())));
    finish(&house, long, "exchange.settled").await;
    assert_eq!(stored(&house).await, before, "nothing was stored");

    mend_it(kms).await;
    exchange(&house, &ann, id).await.unwrap();
    house.sessions.open(&ann).await.unwrap();
    house.sessions.open(&bob).await.unwrap();
    chain_is_whole(&house, &opened.reference);
    chain_is_whole(&house, &other.reference);
    let ended = house.sessions.erase(&opened.reference, BY);
    ended.await.unwrap();
    assert_eq!(
        absence(house.sessions.turn(&ann, Some(id)).await),
        Absence::Erased
    );
}

#[tokio::test]
async fn a_key_that_is_disabled() {
    let kms = Kms::new();
    a_failure_of_kms(
        &kms,
        async |kms| kms.change("DisableKey"),
        async |kms| kms.change("EnableKey"),
        |error| matches!(error, KeyError::Disabled),
    )
    .await;
}

#[tokio::test]
async fn a_key_that_is_to_be_deleted() {
    let kms = Kms::new();
    a_failure_of_kms(
        &kms,
        async |kms| kms.change("ScheduleKeyDeletion"),
        async |kms| {
            kms.change("CancelKeyDeletion");
            kms.change("EnableKey");
        },
        |error| matches!(error, KeyError::Disabled),
    )
    .await;
}

#[tokio::test]
async fn throttling_denial_and_outage() {
    let kms = Kms::new();
    type Expected = fn(&KeyError) -> bool;
    let fates: [(Fate, Expected); 4] = [
        (Fate::Refused(400, "ThrottlingException"), |error| {
            matches!(error, KeyError::Throttled)
        }),
        (Fate::Refused(400, "AccessDeniedException"), |error| {
            matches!(error, KeyError::Denied(_))
        }),
        (Fate::Refused(500, "KMSInternalException"), |error| {
            matches!(error, KeyError::Unreachable(_))
        }),
        (Fate::Cut, |error| matches!(error, KeyError::Unreachable(_))),
    ];
    for (fate, expected) in fates {
        a_failure_of_kms(
            &kms,
            async |kms| kms.front.set(fate.clone()),
            async |kms| kms.front.set(Fate::Passes),
            expected,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_when_a_key_ages_out_are_one_call() {
    let kms = Kms::new();
    let dir = tempfile::tempdir().unwrap();
    let (house, ann, opened) = house(&kms, dir.path()).await;
    house.clock.advance(CachePolicy::default().max_age);
    // It answers only once all have asked.
    let (let_go, is_let_go) = std::sync::mpsc::channel::<()>();
    let is_let_go = std::sync::Mutex::new(is_let_go);
    kms.front.rule(move |_| {
        // Closed once it may answer; it is the first time then, and every time after.
        let _closed = is_let_go.lock().unwrap().recv();
        Fate::Passes
    });
    let before = kms.front.count("Decrypt");
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (sessions, ann) = (house.sessions.clone(), ann.clone());
        let reference = opened.reference.clone();
        waiting.spawn(async move { sessions.show(&ann, &reference).await.is_ok() });
    }
    while kms.front.count("Decrypt") == before {
        tokio::task::yield_now().await;
    }
    drop(let_go);
    assert!(waiting.join_all().await.into_iter().all(|shown| shown));
    assert_eq!(kms.front.count("Decrypt") - before, 1);
}
