//! The signer on KMS, on MiniStack, which signs with Ed25519 as AWS does; moto has no such keys.

use aws_config::SdkConfig;
use aws_sdk_kms::{
    Client,
    types::{KeySpec, KeyUsageType},
};
use gatehouse_envelope::{
    keys::KeyError,
    sign::{KmsSigner, SignError, Signer, verify},
};
use serde_json::{Value, json};

use crate::{
    aws::{Emulator, Fate, Front, Kind},
    emulators::root,
};

async fn new_key(client: &Client, spec: KeySpec) -> String {
    let made = client.create_key().key_usage(KeyUsageType::SignVerify);
    let made = made.key_spec(spec).send().await.unwrap();
    made.key_metadata.unwrap().arn.unwrap()
}

/// As the gateway opens it: off the threads that serve requests.
async fn open(config: SdkConfig, key: &str) -> Result<KmsSigner, SignError> {
    let key = key.to_owned();
    let opened = tokio::task::spawn_blocking(move || KmsSigner::open(&config, &key, "prod"));
    opened.await.unwrap()
}

#[tokio::test]
async fn a_signature_is_plain_ed25519_over_the_bytes_as_they_are() {
    let emulator = Emulator::shared(Kind::MiniStack);
    let front = Front::to(emulator.port());
    let client = Client::new(&root(emulator.endpoint()).await);
    let arn = new_key(&client, KeySpec::EccNistEdwards25519).await;
    let signer = open(root(front.endpoint()).await, &arn).await.unwrap();
    assert_eq!(signer.name(), "prod");
    let again = open(root(front.endpoint()).await, &arn).await.unwrap();
    assert_eq!(signer.public(), again.public());
    for message in [&b"gatehouse/log\n7\nroot\n"[..], &[0; 4096]] {
        // Also where a runtime runs: its thread is its own.
        let signature = signer.sign(message).unwrap();
        assert!(verify(&signer.public(), message, &signature));
        let sent = front.sent();
        let sent: Value = serde_json::from_slice(&sent.last().unwrap().body).unwrap();
        let base64 = data_encoding::BASE64.encode(message);
        let asked = json!({
            "KeyId": arn, "Message": base64, "MessageType": "RAW",
            "SigningAlgorithm": "ED25519_SHA_512",
        });
        assert_eq!(sent, asked);
    }
    let before = front.count("Sign");
    assert!(matches!(signer.sign(&[0; 4097]), Err(SignError::TooLong)));
    assert_eq!(front.count("Sign"), before);
}

#[tokio::test]
async fn no_signature_is_better_than_a_wrong_one() {
    let emulator = Emulator::shared(Kind::MiniStack);
    let front = Front::to(emulator.port());
    let client = Client::new(&root(emulator.endpoint()).await);
    let arn = new_key(&client, KeySpec::EccNistEdwards25519).await;
    let signer = open(root(front.endpoint()).await, &arn).await.unwrap();
    let other = new_key(&client, KeySpec::EccNistEdwards25519).await;
    let other = open(root(front.endpoint()).await, &other).await.unwrap();
    let (by_other, shorter) = (other.sign(b"m").unwrap(), signer.sign(b"m").unwrap());
    for signature in [&by_other[..], &shorter[..63], &[]] {
        let base64 = data_encoding::BASE64.encode(signature);
        front.set(Fate::Answered(json!({ "Signature": base64 }).to_string()));
        assert!(matches!(signer.sign(b"m"), Err(SignError::Damaged)));
    }
    front.set(Fate::Refused(400, "ThrottlingException"));
    let refused = signer.sign(b"m");
    assert!(matches!(
        refused,
        Err(SignError::Provider(KeyError::Throttled))
    ));
    front.set(Fate::Cut);
    let refused = signer.sign(b"m");
    assert!(matches!(
        refused,
        Err(SignError::Provider(KeyError::Unreachable(_)))
    ));
    front.set(Fate::Passes);
    signer.sign(b"m").unwrap();
    client.disable_key().key_id(&arn).send().await.unwrap();
    let refused = signer.sign(b"m");
    assert!(matches!(
        refused,
        Err(SignError::Provider(KeyError::Disabled))
    ));
    client.enable_key().key_id(&arn).send().await.unwrap();
    signer.sign(b"m").unwrap();
}

#[tokio::test]
async fn another_kind_of_key_is_refused_at_the_start() {
    for kind in [Kind::Moto, Kind::MiniStack] {
        let emulator = Emulator::shared(kind);
        let config = root(emulator.endpoint()).await;
        let client = Client::new(&config);
        let arn = new_key(&client, KeySpec::EccNistP256).await;
        let refused = open(config.clone(), &arn).await.map(|_| ());
        assert!(matches!(
            refused,
            Err(SignError::Provider(KeyError::Unfit(_)))
        ));
        let refused = open(config, "alias/none").await.map(|_| ());
        assert!(matches!(
            refused,
            Err(SignError::Provider(KeyError::Missing))
        ));
    }
}
