//! What the other tests count on of the emulators and of the wire to them.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_kms::{
    Client,
    config::{Credentials, SharedCredentialsProvider},
    error::ProvideErrorMetadata,
    types::DataKeySpec,
};
use gatehouse_envelope::aws::{Access, config};

use crate::aws::{ACCESS_KEY, Emulator, Fate, Front, Kind, REGION, SECRET_KEY};

/// An address, asked once.
pub(crate) fn access(endpoint: String) -> Access {
    Access {
        region: Some(REGION.to_owned()),
        endpoint: Some(endpoint),
        connect_timeout: Duration::from_secs(5),
        timeout: Duration::from_secs(60),
        attempts: 1,
    }
}

/// Everything at an address, asked once, with these credentials.
pub(crate) async fn reach(endpoint: String, access_key: &str, secret_key: &str) -> SdkConfig {
    signed_as(&access(endpoint), access_key, secret_key).await
}

/// The same as `access` says.
pub(crate) async fn signed_as(access: &Access, access_key: &str, secret_key: &str) -> SdkConfig {
    let credentials = Credentials::new(access_key, secret_key, None, None, "a test");
    let provider = SharedCredentialsProvider::new(credentials);
    let config = config(access).await.into_builder();
    config.credentials_provider(provider).build()
}

/// The same with the credentials that may do everything.
pub(crate) async fn root(endpoint: String) -> SdkConfig {
    reach(endpoint, ACCESS_KEY, SECRET_KEY).await
}

async fn key(client: &Client) -> String {
    let made = client.create_key().send().await.unwrap();
    made.key_metadata.unwrap().arn.unwrap()
}

#[tokio::test]
async fn both_answer_and_the_wire_tells_and_fails() {
    for kind in [Kind::Moto, Kind::MiniStack] {
        let emulator = Emulator::shared(kind);
        let front = Front::to(emulator.port());
        let client = Client::new(&root(front.endpoint()).await);
        let arn = key(&client).await;
        let ask = || {
            let asked = client.generate_data_key().key_id(&arn);
            asked.key_spec(DataKeySpec::Aes256).send()
        };
        assert_eq!(ask().await.unwrap().plaintext.unwrap().as_ref().len(), 32);
        assert_eq!(front.count("GenerateDataKey"), 1);
        let sent = front.sent();
        let text = String::from_utf8(sent.last().unwrap().body.clone()).unwrap();
        assert!(text.contains(&arn), "{text}");

        front.set(Fate::Refused(400, "ThrottlingException"));
        let refused = ask().await.unwrap_err();
        assert_eq!(refused.code(), Some("ThrottlingException"));
        for fate in [Fate::Cut, Fate::Swallowed] {
            front.set(fate);
            let lost = ask().await.unwrap_err();
            assert!(lost.code().is_none() && lost.raw_response().is_none());
        }
        front.rule(|sent| match sent.operation() {
            "GenerateDataKey" => Fate::Cut,
            _ => Fate::Passes,
        });
        assert!(ask().await.is_err());
        key(&client).await;
        front.set(Fate::Passes);
        ask().await.unwrap();
    }
}

#[tokio::test]
async fn one_that_was_killed_starts_again_empty() {
    let mut emulator = Emulator::start(Kind::Moto);
    let client = Client::new(&root(emulator.endpoint()).await);
    let arn = key(&client).await;
    let describe = || client.describe_key().key_id(&arn).send();
    describe().await.unwrap();
    emulator.kill();
    assert!(describe().await.unwrap_err().raw_response().is_none());
    emulator.restart();
    let gone = describe().await.unwrap_err();
    assert_eq!(gone.code(), Some("NotFoundException"));
}

#[tokio::test]
async fn ministack_checks_what_a_user_may_do() {
    let emulator = Emulator::shared(Kind::MiniStack);
    let arn = key(&Client::new(&root(emulator.endpoint()).await)).await;
    let may = |action: &str| {
        format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"{action}","Resource":"{arn}"}}]}}"#
        )
    };
    let user = emulator.user("describes", &may("kms:DescribeKey"));
    let config = reach(emulator.endpoint(), &user.access_key, &user.secret_key);
    let client = Client::new(&config.await);
    client.describe_key().key_id(&arn).send().await.unwrap();
    let generate = || {
        let asked = client.generate_data_key().key_id(&arn);
        asked.key_spec(DataKeySpec::Aes256).send()
    };
    let refused = generate().await.unwrap_err();
    assert_eq!(refused.code(), Some("AccessDeniedException"));
    emulator.allow("describes", &may("kms:GenerateDataKey"));
    generate().await.unwrap();
    let wrong = reach(emulator.endpoint(), &user.access_key, "not the secret");
    let refused = Client::new(&wrong.await).describe_key().key_id(&arn).send();
    let refused = refused.await.unwrap_err();
    assert_eq!(refused.code(), Some("InvalidSignatureException"));
}
