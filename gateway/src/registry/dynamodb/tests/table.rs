//! A table and a bucket of a test's own, in an emulator that all share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_sdk_dynamodb::{
    Client,
    config::{Builder, Credentials, SharedCredentialsProvider},
    types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, LocalSecondaryIndex,
        Projection, ProjectionType, TimeToLiveSpecification,
    },
};
use gatehouse_envelope::aws::config;

use super::{
    super::{DynamoLink, Item, access},
    aws::{self, Emulator, Fate, Front, Kind, REGION, Sent},
};
use crate::{
    clock::{Clock, SystemClock},
    config::DynamoDb,
};

/// Time for a connection and for a call. The machine may be busy.
pub(crate) const LIMITS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

/// What the emulator's clock shows: this machine's.
#[expect(
    clippy::disallowed_methods,
    reason = "the emulator asks the system too"
)]
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

/// One request has this fate, and those behind it pass.
pub(crate) fn once(fate: Fate) -> impl Fn(&Sent) -> Fate + Send + Sync {
    let left = AtomicU32::new(1);
    move |_| match left.swap(0, Ordering::SeqCst) {
        0 => Fate::Passes,
        _ => fate.clone(),
    }
}

/// The same for the first request for an operation.
pub(crate) fn once_for(
    operation: &'static str,
    fate: Fate,
) -> impl Fn(&Sent) -> Fate + Send + Sync {
    let first = once(fate);
    move |sent| match sent.operation() == operation {
        true => first(sent),
        false => Fate::Passes,
    }
}

/// A table that only one test uses, and the bucket beside it.
pub(crate) struct Table {
    emulator: &'static Emulator,
    name: String,
}

impl Table {
    /// A table in the emulator of that kind.
    pub(crate) async fn new(kind: Kind) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Started off the runtime's threads: it takes seconds.
        let emulator = tokio::task::spawn_blocking(move || Emulator::shared(kind));
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let table = Self {
            emulator: emulator.await.unwrap(),
            name: format!("sessions-{next}"),
        };
        let client = table.client().await;
        make_table(&client, &table.name, ["pk", "sk"], "let_go_s").await;
        table
    }

    /// A name that only this test has.
    pub(crate) fn name(&self, word: &str) -> String {
        format!("{}-{word}", self.name)
    }

    /// What a gateway would be told.
    pub(crate) fn settings(&self) -> DynamoDb {
        DynamoDb {
            table: self.name.clone(),
            region: Some(REGION.to_owned()),
            endpoint: Some(self.emulator.endpoint()),
            parts_bucket: self.name("parts"),
            parts_endpoint: Some(self.emulator.endpoint()),
            connect_timeout: LIMITS.0,
            timeout: LIMITS.1,
        }
    }

    /// Where the emulator listens.
    pub(crate) fn port(&self) -> u16 {
        self.emulator.port()
    }

    /// A wire to DynamoDB that can fail, and settings that lead over it. S3 is reached directly.
    pub(crate) fn front(&self) -> (Front, DynamoDb) {
        let front = Front::to(self.emulator.port());
        let mut settings = self.settings();
        settings.endpoint = Some(front.endpoint());
        (front, settings)
    }

    pub(crate) async fn link(&self) -> Arc<DynamoLink> {
        self.link_by(&self.settings()).await
    }

    pub(crate) async fn link_by(&self, settings: &DynamoDb) -> Arc<DynamoLink> {
        link(settings, &root(), Arc::new(SystemClock::new())).await
    }

    pub(crate) async fn link_at(&self, clock: Arc<dyn Clock>) -> Arc<DynamoLink> {
        link(&self.settings(), &root(), clock).await
    }

    pub(crate) async fn link_as(&self, user: &aws::Credentials) -> Arc<DynamoLink> {
        link(&self.settings(), user, Arc::new(SystemClock::new())).await
    }

    /// A client that may do everything.
    pub(crate) async fn client(&self) -> Client {
        self.client_as(&root()).await
    }

    pub(crate) async fn client_as(&self, user: &aws::Credentials) -> Client {
        Client::from_conf(builder(&self.settings(), user).await.build())
    }

    /// Everything that is in it.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let scan = self.client().await.scan().table_name(&self.name);
        let items = scan.into_paginator().items().send().try_collect().await;
        items.unwrap()
    }

    /// Makes time go by for all that is in it: whatever was to last lasts that much less.
    pub(crate) async fn advance(&self, by: Duration) {
        let client = self.client().await;
        for item in self.items().await {
            if let Some(item) = super::time::earlier(item, by) {
                let put = client.put_item().table_name(&self.name);
                put.set_item(Some(item)).send().await.unwrap();
            }
        }
    }

    /// The same from where nobody may wait.
    pub(crate) fn advance_now(&self, by: Duration) {
        tokio::runtime::Handle::current().block_on(self.advance(by));
    }

    /// The policy that the terraform module gives the gateway's role, for this table and bucket.
    pub(crate) fn policy(&self) -> String {
        let source = include_str!("../../../../../terraform/modules/sessions/outputs.tf");
        let actions = |begin: &str| {
            let (_, rest) = source.split_once(begin).unwrap();
            let (list, _) = rest.split_once(']').unwrap();
            format!("[{}]", list.trim().trim_end_matches(','))
        };
        let table = format!("arn:aws:dynamodb:{REGION}:000000000000:table/{}", self.name);
        let bucket = format!("arn:aws:s3:::{}", self.name("parts"));
        format!(
            r#"{{"Version": "2012-10-17", "Statement": [
              {{"Effect": "Allow", "Action": {}, "Resource": ["{table}", "{table}/index/by_end"]}},
              {{"Effect": "Allow", "Action": {}, "Resource": "{bucket}/parts/*"}},
              {{"Effect": "Allow", "Action": {}, "Resource": "{bucket}"}}]}}"#,
            actions("table_actions = ["),
            actions("object_actions = ["),
            actions("bucket_actions = ["),
        )
    }
}

fn root() -> aws::Credentials {
    aws::Credentials {
        access_key: aws::ACCESS_KEY.to_owned(),
        secret_key: aws::SECRET_KEY.to_owned(),
    }
}

async fn link(
    settings: &DynamoDb,
    user: &aws::Credentials,
    clock: Arc<dyn Clock>,
) -> Arc<DynamoLink> {
    let builder = builder(settings, user).await;
    Arc::new(DynamoLink::with(builder, settings, clock))
}

async fn builder(settings: &DynamoDb, user: &aws::Credentials) -> Builder {
    let sdk = config(&access(settings, settings.endpoint.clone())).await;
    let sdk = sdk.into_builder().credentials_provider(provider(user));
    Builder::from(&sdk.build())
}

/// What a client of S3 is made from.
pub(crate) async fn s3_builder(settings: &DynamoDb) -> aws_sdk_s3::config::Builder {
    let sdk = config(&access(settings, settings.parts_endpoint.clone())).await;
    let sdk = sdk.into_builder().credentials_provider(provider(&root()));
    aws_sdk_s3::config::Builder::from(&sdk.build())
}

fn provider(user: &aws::Credentials) -> SharedCredentialsProvider {
    let (key, secret) = (&user.access_key, &user.secret_key);
    SharedCredentialsProvider::new(Credentials::new(key, secret, None, None, "test"))
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    let key = KeySchemaElement::builder().attribute_name(name);
    key.key_type(kind).build().unwrap()
}

/// As terraform makes it.
pub(crate) async fn make_table(client: &Client, name: &str, keys: [&str; 2], time_to_live: &str) {
    let types = [(keys[0], "S"), (keys[1], "S"), ("ends_us", "N")];
    let types = types.map(|(name, kind)| {
        let attribute = AttributeDefinition::builder().attribute_name(name);
        attribute.attribute_type(kind.into()).build().unwrap()
    });
    let keys_only = Projection::builder().projection_type(ProjectionType::KeysOnly);
    let by_end = LocalSecondaryIndex::builder()
        .index_name("by_end")
        .key_schema(key(keys[0], KeyType::Hash))
        .key_schema(key("ends_us", KeyType::Range))
        .projection(keys_only.build())
        .build()
        .unwrap();
    let made = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(types.to_vec()))
        .key_schema(key(keys[0], KeyType::Hash))
        .key_schema(key(keys[1], KeyType::Range))
        .local_secondary_indexes(by_end);
    made.send().await.unwrap();
    let to_live = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(time_to_live)
        .build()
        .unwrap();
    let set = client.update_time_to_live().table_name(name);
    let set = set.time_to_live_specification(to_live);
    set.send().await.unwrap();
}
