//! Who watches the calls to KMS hears of each once, whatever becomes of it and of whoever made it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_sdk_kms::Client;
use gatehouse_envelope::{
    keys::{KeyContext, KeyError, KeyProvider, KmsCall, KmsKeys, KmsWatch},
    secret::Secret,
};

use crate::{
    aws::{Emulator, Fate, Front, Kind},
    emulators::root,
};

const HERE: KeyContext<'_> = KeyContext {
    purpose: "tenant",
    tenant: "acme",
    epoch: 3,
};

/// What was heard: the call, the key's tenant and epoch, and the error's words.
#[derive(Default)]
struct Heard(Mutex<Vec<(KmsCall, String, Option<String>)>>);

impl KmsWatch for Heard {
    fn called(
        &self,
        call: KmsCall,
        root: &str,
        context: &KeyContext<'_>,
        failed: Option<&KeyError>,
    ) {
        assert!(root.starts_with("arn:"), "{root}");
        let of = format!("{}/{}", context.tenant, context.epoch);
        let failed = failed.map(ToString::to_string);
        self.0.lock().unwrap().push((call, of, failed));
    }
}

impl Heard {
    fn taken(&self) -> Vec<(KmsCall, String, Option<String>)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

struct Scene {
    front: Front,
    heard: Arc<Heard>,
    keys: KmsKeys,
    /// Under the key before.
    older: Vec<u8>,
}

impl Scene {
    async fn new() -> Self {
        let emulator = Emulator::shared(Kind::Moto);
        let client = Client::new(&root(emulator.endpoint()).await);
        let front = Front::to(emulator.port());
        let config = root(front.endpoint()).await;
        let new_key = async || {
            let made = client.create_key().send().await.unwrap();
            made.key_metadata.unwrap().arn.unwrap()
        };
        let (before, arn) = (new_key().await, new_key().await);
        let older = KmsKeys::open(&config, &before, &[]).await.unwrap();
        let older = older.generate(&HERE).await.unwrap().wrapped;
        let heard = Arc::new(Heard::default());
        let keys = KmsKeys::open(&config, &arn, &[before]).await.unwrap();
        let keys = keys.watched(heard.clone());
        Self {
            front,
            heard,
            keys,
            older,
        }
    }

    /// Makes a call, and is gone when KMS has it.
    async fn gone<T>(&self, operation: &str, call: impl Future<Output = T>) {
        let before = self.front.count(operation);
        self.front.set(Fate::Silent);
        let mut call = Box::pin(call);
        while self.front.count(operation) == before {
            let early = tokio::time::timeout(Duration::from_millis(5), &mut call).await;
            assert!(early.is_err(), "it was answered");
        }
        drop(call);
        self.front.set(Fate::Passes);
    }
}

fn once(call: KmsCall, failed: Option<&str>) -> Vec<(KmsCall, String, Option<String>)> {
    vec![(call, "acme/3".to_owned(), failed.map(str::to_owned))]
}

#[tokio::test]
async fn each_call_is_told_of_once() {
    let scene = Scene::new().await;
    let (keys, heard) = (&scene.keys, &scene.heard);
    let made = keys.generate(&HERE).await.unwrap();
    assert_eq!(heard.taken(), once(KmsCall::GenerateDataKey, None));
    keys.unwrap(&HERE, &made.wrapped).await.unwrap();
    assert_eq!(heard.taken(), once(KmsCall::Decrypt, None));
    assert!(keys.rewrap(&HERE, &scene.older).await.unwrap().is_some());
    assert_eq!(heard.taken(), once(KmsCall::ReEncrypt, None));
    // Nobody was asked.
    assert!(keys.rewrap(&HERE, &made.wrapped).await.unwrap().is_none());
    assert!(keys.unwrap(&HERE, b"\x01\x00\x00").await.is_err());
    assert!(heard.taken().is_empty());

    scene.front.set(Fate::Refused(400, "DisabledException"));
    let refused: Result<Secret<_>, _> = keys.unwrap(&HERE, &made.wrapped).await;
    let said = refused.err().unwrap().to_string();
    assert_eq!(heard.taken(), once(KmsCall::Decrypt, Some(&said)));
}

#[tokio::test]
async fn a_call_is_told_of_though_its_caller_has_gone() {
    let scene = Scene::new().await;
    let (keys, heard) = (&scene.keys, &scene.heard);
    let made = keys.generate(&HERE).await.unwrap();
    heard.taken();
    let unheard = Some("nobody waited for the key provider's answer");
    let opening = keys.unwrap(&HERE, &made.wrapped);
    scene.gone("Decrypt", opening).await;
    assert_eq!(heard.taken(), once(KmsCall::Decrypt, unheard));
    scene.gone("GenerateDataKey", keys.generate(&HERE)).await;
    assert_eq!(heard.taken(), once(KmsCall::GenerateDataKey, unheard));
    let again = keys.rewrap(&HERE, &scene.older);
    scene.gone("ReEncrypt", again).await;
    assert_eq!(heard.taken(), once(KmsCall::ReEncrypt, unheard));
}
