//! The key provider on KMS: one suite for both emulators, with what each of them is lax in said where
//! it shows. Where both are laxer than AWS, the wire answers as AWS does.

use std::time::Duration;

use aws_sdk_kms::{
    Client,
    types::{KeySpec, KeyUsageType},
};
use gatehouse_envelope::{
    aws::Access,
    keys::{FileKeys, KeyContext, KeyError, KeyProvider, KmsKeys, MovedKeys},
    secret::Secret,
};
use serde_json::{Value, json};

use crate::{
    aws::{ACCESS_KEY, Emulator, Fate, Front, Kind, SECRET_KEY, Sent},
    emulators::{access, reach, root, signed_as},
};

const BOTH: [Kind; 2] = [Kind::Moto, Kind::MiniStack];

const HERE: KeyContext<'_> = KeyContext {
    purpose: "tenant",
    tenant: "acme",
    epoch: 1,
};

/// One emulator behind a wire, and a key of its KMS.
struct Scene {
    front: Front,
    client: Client,
    arn: String,
    keys: KmsKeys,
}

impl Scene {
    async fn on(kind: Kind) -> Self {
        let emulator = Emulator::shared(kind);
        let client = Client::new(&root(emulator.endpoint()).await);
        let front = Front::to(emulator.port());
        let arn = new_key(&client).await;
        let config = root(front.endpoint()).await;
        let keys = KmsKeys::open(&config, &arn, &[]).await.unwrap();
        Self {
            front,
            client,
            arn,
            keys,
        }
    }

    /// The provider over a key, with these before it.
    async fn provider(&self, key: &str, previous: &[&str]) -> KmsKeys {
        let config = root(self.front.endpoint()).await;
        let previous: Vec<_> = previous.iter().map(|&id| id.to_owned()).collect();
        KmsKeys::open(&config, key, &previous).await.unwrap()
    }

    /// The last request for an operation.
    fn last(&self, operation: &str) -> Value {
        let sent = self.front.sent();
        let mut sent = sent.iter().rev();
        let last = sent.find(|sent| sent.operation() == operation);
        serde_json::from_slice(&last.unwrap().body).unwrap()
    }
}

async fn new_key(client: &Client) -> String {
    let made = client.create_key().send().await.unwrap();
    made.key_metadata.unwrap().arn.unwrap()
}

fn is_damaged(result: Result<Secret<[u8; 32]>, KeyError>) -> bool {
    matches!(result, Err(KeyError::Damaged))
}

#[tokio::test]
async fn a_key_opens_under_its_own_words_only() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let made = scene.keys.generate(&HERE).await.unwrap();
        let opened = scene.keys.unwrap(&HERE, &made.wrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
        let other = scene.keys.generate(&HERE).await.unwrap();
        assert!(!other.key.matches(made.key.expose()));
        let purpose = "log";
        let elsewhere = [
            KeyContext { purpose, ..HERE },
            KeyContext {
                tenant: "acme2",
                ..HERE
            },
            KeyContext { epoch: 2, ..HERE },
        ];
        for context in elsewhere {
            let refused = scene.keys.unwrap(&context, &made.wrapped).await;
            assert!(is_damaged(refused), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn the_context_and_the_key_are_always_named() {
    let scene = Scene::on(Kind::Moto).await;
    let words = json!({
        "gatehouse:purpose": "tenant", "gatehouse:tenant": "acme", "gatehouse:epoch": "1",
    });
    let made = scene.keys.generate(&HERE).await.unwrap();
    let sent = scene.last("GenerateDataKey");
    let asked = json!({ "KeyId": scene.arn, "KeySpec": "AES_256", "EncryptionContext": words });
    assert_eq!(sent, asked);

    scene.keys.unwrap(&HERE, &made.wrapped).await.unwrap();
    let sent = scene.last("Decrypt");
    assert_eq!(sent["KeyId"], scene.arn.as_str());
    assert_eq!(sent["EncryptionContext"], words);
    assert_eq!(sent.as_object().unwrap().len(), 3, "{sent}");

    let newer = new_key(&scene.client).await;
    let keys = scene.provider(&newer, &[&scene.arn]).await;
    keys.rewrap(&HERE, &made.wrapped).await.unwrap().unwrap();
    let sent = scene.last("ReEncrypt");
    assert_eq!(sent["SourceKeyId"], scene.arn.as_str());
    assert_eq!(sent["DestinationKeyId"], newer.as_str());
    assert_eq!(sent["SourceEncryptionContext"], words);
    assert_eq!(sent["DestinationEncryptionContext"], words);
    assert_eq!(sent.as_object().unwrap().len(), 5, "{sent}");
}

#[tokio::test]
async fn changed_bytes_open_nothing() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let made = scene.keys.generate(&HERE).await.unwrap();
        let head = 3 + scene.arn.len();
        let mut tampered = made.wrapped.clone();
        *tampered.last_mut().unwrap() ^= 1;
        let opened = scene.keys.unwrap(&HERE, &tampered).await;
        match kind {
            Kind::Moto => assert!(is_damaged(opened)),
            // It does not look, so only what AWS and moto do is proof.
            Kind::MiniStack => assert!(opened.is_ok(), "MiniStack checks ciphertexts now"),
        }
        // What is not in our form, or not under our key, KMS is not even asked about.
        let asked = scene.front.count("Decrypt");
        for at in 1..head {
            let mut tampered = made.wrapped.clone();
            tampered[at] ^= 1;
            assert!(is_damaged(scene.keys.unwrap(&HERE, &tampered).await));
        }
        for end in 0..head {
            assert!(is_damaged(
                scene.keys.unwrap(&HERE, &made.wrapped[..end]).await
            ));
        }
        for version in [0, 2, 255] {
            let mut other = made.wrapped.clone();
            other[0] = version;
            let refused = scene.keys.unwrap(&HERE, &other).await;
            match version {
                0 => assert!(is_damaged(refused)),
                _ => assert!(matches!(refused, Err(KeyError::Newer))),
            }
        }
        assert_eq!(scene.front.count("Decrypt"), asked);
    }
}

#[tokio::test]
async fn a_key_under_another_root_opens_nothing() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let other = new_key(&scene.client).await;
        let foreign = scene.provider(&other, &[]).await;
        let made = foreign.generate(&HERE).await.unwrap();
        let asked = scene.front.count("Decrypt");
        assert!(is_damaged(scene.keys.unwrap(&HERE, &made.wrapped).await));
        let refused = scene.keys.rewrap(&HERE, &made.wrapped).await;
        assert!(matches!(refused, Err(KeyError::Damaged)));
        assert_eq!(scene.front.count("Decrypt"), asked, "KMS is not asked");

        // Said to be under ours, it is asked for by our name.
        let mut moved = made.wrapped.clone();
        moved[3..3 + scene.arn.len()].copy_from_slice(scene.arn.as_bytes());
        let refused = scene.keys.unwrap(&HERE, &moved).await;
        match kind {
            Kind::Moto => assert!(matches!(refused, Err(KeyError::Denied(_)))),
            // It gives some bytes for it, which at least are not the key.
            Kind::MiniStack => assert!(!refused.unwrap().matches(made.key.expose())),
        }
        scene.front.set(Fate::Refused(400, "IncorrectKeyException"));
        assert!(is_damaged(scene.keys.unwrap(&HERE, &moved).await));
    }
}

#[tokio::test]
async fn a_key_that_is_switched_off_opens_nothing_until_it_is_on_again() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let made = scene.keys.generate(&HERE).await.unwrap();
        let both_refused = async |why: &str| {
            let (generated, opened) = (
                scene.keys.generate(&HERE).await.map(|_| ()),
                scene.keys.unwrap(&HERE, &made.wrapped).await.map(|_| ()),
            );
            for result in [generated, opened] {
                match kind {
                    Kind::MiniStack => assert!(matches!(result, Err(KeyError::Disabled)), "{why}"),
                    Kind::Moto => assert!(result.is_ok(), "moto knows the states of keys now"),
                }
            }
        };
        // moto changes the state of keys by their bare ids only.
        let (client, id) = (&scene.client, scene.arn.rsplit('/').next().unwrap());
        client.disable_key().key_id(id).send().await.unwrap();
        both_refused("disabled").await;
        client.enable_key().key_id(id).send().await.unwrap();
        scene.keys.unwrap(&HERE, &made.wrapped).await.unwrap();
        let delete = client.schedule_key_deletion().key_id(id);
        delete.pending_window_in_days(7).send().await.unwrap();
        both_refused("pending deletion").await;
        client
            .cancel_key_deletion()
            .key_id(id)
            .send()
            .await
            .unwrap();
        client.enable_key().key_id(id).send().await.unwrap();
        let opened = scene.keys.unwrap(&HERE, &made.wrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
    }
}

#[tokio::test]
async fn what_iam_does_not_allow_is_denied() {
    let emulator = Emulator::shared(Kind::MiniStack);
    let arn = new_key(&Client::new(&root(emulator.endpoint()).await)).await;
    let may = |actions: &[&str]| {
        let actions: Vec<_> = actions
            .iter()
            .map(|action| format!("kms:{action}"))
            .collect();
        json!({ "Version": "2012-10-17", "Statement": [
            { "Effect": "Allow", "Action": actions, "Resource": arn },
        ]})
        .to_string()
    };
    let user = emulator.user("gateway", &may(&["DescribeKey", "GenerateDataKey"]));
    let config = reach(emulator.endpoint(), &user.access_key, &user.secret_key).await;
    let keys = KmsKeys::open(&config, &arn, &[]).await.unwrap();
    let made = keys.generate(&HERE).await.unwrap();
    let refused = keys.unwrap(&HERE, &made.wrapped).await;
    let Err(KeyError::Denied(said)) = refused else {
        panic!("{:?}", refused.map(|_| ()));
    };
    assert!(said.contains("kms:Decrypt"), "{said}");
    emulator.allow("gateway", &may(&["Decrypt"]));
    keys.unwrap(&HERE, &made.wrapped).await.unwrap();
    let refused = keys.generate(&HERE).await.map(|_| ());
    assert!(matches!(refused, Err(KeyError::Denied(_))));
    let refused = KmsKeys::open(&config, &arn, &[]).await.map(|_| ());
    assert!(matches!(refused, Err(KeyError::Denied(_))));
    let wrong = reach(emulator.endpoint(), &user.access_key, "another secret").await;
    let refused = KmsKeys::open(&wrong, &arn, &[]).await.map(|_| ());
    assert!(matches!(refused, Err(KeyError::Denied(_))));
}

#[tokio::test]
async fn kms_may_rotate_its_key() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let made = scene.keys.generate(&HERE).await.unwrap();
        let (client, arn) = (&scene.client, &scene.arn);
        client
            .enable_key_rotation()
            .key_id(arn)
            .send()
            .await
            .unwrap();
        let rotated = client.rotate_key_on_demand().key_id(arn).send().await;
        assert_eq!(rotated.is_ok(), kind == Kind::Moto, "MiniStack cannot, yet");
        let opened = scene.keys.unwrap(&HERE, &made.wrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
        let newer = scene.keys.generate(&HERE).await.unwrap();
        scene.keys.unwrap(&HERE, &newer.wrapped).await.unwrap();
        let already = scene.keys.rewrap(&HERE, &made.wrapped).await.unwrap();
        assert!(already.is_none(), "the key is the same by its name");
    }
}

#[tokio::test]
async fn a_new_root_opens_what_an_earlier_one_wrapped_and_wraps_it_anew() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let made = scene.keys.generate(&HERE).await.unwrap();
        let newer = new_key(&scene.client).await;
        let keys = scene.provider(&newer, &[&scene.arn]).await;
        assert_eq!(keys.id(), newer);
        let opened = keys.unwrap(&HERE, &made.wrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
        let rewrapped = keys.rewrap(&HERE, &made.wrapped).await;
        if kind == Kind::MiniStack {
            assert!(rewrapped.is_err(), "MiniStack knows ReEncrypt now");
            continue;
        }
        let rewrapped = rewrapped.unwrap().unwrap();
        assert!(keys.rewrap(&HERE, &rewrapped).await.unwrap().is_none());
        let alone = scene.provider(&newer, &[]).await;
        let opened = alone.unwrap(&HERE, &rewrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
        assert!(is_damaged(alone.unwrap(&HERE, &made.wrapped).await));
        let elsewhere = KeyContext { epoch: 2, ..HERE };
        let refused = keys.rewrap(&elsewhere, &made.wrapped).await;
        assert!(matches!(refused, Err(KeyError::Damaged)));
    }
}

#[tokio::test]
async fn a_root_key_in_a_file_moves_to_kms() {
    for kind in BOTH {
        let scene = Scene::on(kind).await;
        let dir = tempfile::tempdir().unwrap();
        let file = || FileKeys::open_or_create(&dir.path().join("root")).unwrap();
        let made = file().generate(&HERE).await.unwrap();
        assert!(is_damaged(scene.keys.unwrap(&HERE, &made.wrapped).await));
        let moved = MovedKeys::new(file(), scene.provider(&scene.arn, &[]).await);
        assert_eq!(moved.id(), scene.arn);
        let opened = moved.unwrap(&HERE, &made.wrapped).await.unwrap();
        assert!(opened.matches(made.key.expose()));
        let newer = moved.generate(&HERE).await.unwrap();
        scene.keys.unwrap(&HERE, &newer.wrapped).await.unwrap();

        let rewrapped = moved.rewrap(&HERE, &made.wrapped).await.unwrap().unwrap();
        let sent = scene.last("Encrypt");
        assert_eq!(sent["KeyId"], scene.arn.as_str());
        assert_eq!(sent["EncryptionContext"]["gatehouse:tenant"], "acme");
        for keys in [&moved as &dyn KeyProvider, &scene.keys] {
            let opened = keys.unwrap(&HERE, &rewrapped).await.unwrap();
            assert!(opened.matches(made.key.expose()));
            assert!(keys.rewrap(&HERE, &rewrapped).await.unwrap().is_none());
        }
        let elsewhere = KeyContext { epoch: 2, ..HERE };
        assert!(is_damaged(moved.unwrap(&elsewhere, &made.wrapped).await));
        let refused = moved.rewrap(&elsewhere, &made.wrapped).await;
        assert!(matches!(refused, Err(KeyError::Damaged)));
    }
}

#[tokio::test]
async fn errors_are_told_apart() {
    let scene = Scene::on(Kind::Moto).await;
    let made = scene.keys.generate(&HERE).await.unwrap();
    let said = |code: &str, error: &KeyError| match (code, error) {
        ("ThrottlingException" | "LimitExceededException", KeyError::Throttled)
        | ("DisabledException" | "KMSInvalidStateException", KeyError::Disabled)
        | ("NotFoundException", KeyError::Missing)
        | ("InvalidCiphertextException", KeyError::Damaged)
        | ("InvalidKeyUsageException", KeyError::Unfit(_)) => true,
        ("AccessDeniedException" | "ExpiredTokenException", KeyError::Denied(said))
        | (
            "KMSInternalException"
            | "DependencyTimeoutException"
            | "KeyUnavailableException"
            | "SomethingNew",
            KeyError::Unreachable(said),
        ) => said.contains(code),
        _ => false,
    };
    for (status, code) in [
        (400, "ThrottlingException"),
        (400, "LimitExceededException"),
        (400, "DisabledException"),
        (400, "KMSInvalidStateException"),
        (400, "NotFoundException"),
        (400, "InvalidCiphertextException"),
        (400, "InvalidKeyUsageException"),
        (400, "AccessDeniedException"),
        (400, "ExpiredTokenException"),
        (500, "KMSInternalException"),
        (503, "DependencyTimeoutException"),
        (500, "KeyUnavailableException"),
        (400, "SomethingNew"),
    ] {
        scene.front.set(Fate::Refused(status, code));
        let failed = scene.keys.unwrap(&HERE, &made.wrapped).await.map(|_| ());
        assert!(said(code, &failed.unwrap_err()), "{code}");
        let failed = scene.keys.generate(&HERE).await.map(|_| ());
        assert!(said(code, &failed.unwrap_err()), "{code}");
    }
    // An answer about another key, or without one, is none.
    for body in [
        json!({}),
        json!({ "KeyId": "arn:aws:kms:x:1:key/2", "Plaintext": "AAAA" }),
        json!({ "KeyId": scene.arn, "Plaintext": "AAAA" }),
    ] {
        scene.front.set(Fate::Answered(body.to_string()));
        assert!(is_damaged(scene.keys.unwrap(&HERE, &made.wrapped).await));
    }
}

#[tokio::test]
async fn a_call_is_tried_so_often_and_takes_so_long_and_no_more() {
    let scene = Scene::on(Kind::Moto).await;
    let made = scene.keys.generate(&HERE).await.unwrap();
    let access = Access {
        attempts: 3,
        ..access(scene.front.endpoint())
    };
    let config = signed_as(&access, ACCESS_KEY, SECRET_KEY).await;
    let keys = KmsKeys::open(&config, &scene.arn, &[]).await.unwrap();
    for (fate, throttled) in [
        (Fate::Refused(400, "ThrottlingException"), true),
        (Fate::Cut, false),
        (Fate::Swallowed, false),
    ] {
        let before = scene.front.count("Decrypt");
        scene.front.set(fate);
        let failed = keys.unwrap(&HERE, &made.wrapped).await.map(|_| ());
        match failed {
            Err(KeyError::Throttled) => assert!(throttled),
            Err(KeyError::Unreachable(_)) => assert!(!throttled),
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.front.count("Decrypt") - before, 3);
    }
    scene.front.set(Fate::Passes);
    keys.unwrap(&HERE, &made.wrapped).await.unwrap();

    // Nobody answers: the call ends by itself.
    let access = Access {
        timeout: Duration::from_secs(3),
        ..access
    };
    let config = signed_as(&access, ACCESS_KEY, SECRET_KEY).await;
    let key = json!({ "Arn": scene.arn, "KeyId": scene.arn, "KeySpec": "SYMMETRIC_DEFAULT" });
    let described = json!({ "KeyMetadata": key }).to_string();
    scene.front.rule(move |sent: &Sent| match sent.operation() {
        "Decrypt" => Fate::Silent,
        _ => Fate::Answered(described.clone()),
    });
    let keys = KmsKeys::open(&config, &scene.arn, &[]).await.unwrap();
    let failed = keys.unwrap(&HERE, &made.wrapped).await.map(|_| ());
    assert!(
        matches!(failed, Err(KeyError::Unreachable(_))),
        "{failed:?}"
    );
    scene.front.set(Fate::Passes);
}

#[tokio::test]
async fn only_a_symmetric_key_that_is_there_is_a_root() {
    for kind in BOTH {
        let emulator = Emulator::shared(kind);
        let config = root(emulator.endpoint()).await;
        let client = Client::new(&config);
        let arn = new_key(&client).await;
        let alias = format!("alias/gatehouse-{kind:?}");
        let made = client.create_alias().alias_name(&alias);
        made.target_key_id(&arn).send().await.unwrap();
        let by_alias = KmsKeys::open(&config, &alias, &[]).await.unwrap();
        assert_eq!(by_alias.id(), arn);

        let signing = client.create_key().key_usage(KeyUsageType::SignVerify);
        let signing = signing.key_spec(KeySpec::EccNistP256).send().await.unwrap();
        let signing = signing.key_metadata.unwrap().arn.unwrap();
        let refused = KmsKeys::open(&config, &signing, &[]).await.map(|_| ());
        assert!(matches!(refused, Err(KeyError::Unfit(_))));
        let missing = arn.replace(|c: char| c.is_ascii_digit(), "0");
        for (key, previous) in [(&missing, &[][..]), (&arn, std::slice::from_ref(&missing))] {
            let refused = KmsKeys::open(&config, key, previous).await.map(|_| ());
            assert!(matches!(refused, Err(KeyError::Missing)), "{refused:?}");
        }
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let config = root(format!("http://{address}")).await;
    let refused = KmsKeys::open(&config, "alias/x", &[]).await.map(|_| ());
    assert!(
        matches!(refused, Err(KeyError::Unreachable(_))),
        "{refused:?}"
    );
}
