//! Buckets to test with, each of its own test.
#![allow(dead_code, reason = "each crate's tests use the part that they need")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use aws_sdk_s3::{
    Client,
    config::{Builder, Credentials, SharedCredentialsProvider},
    types::{BucketVersioningStatus, VersioningConfiguration},
};
use gatehouse_envelope::aws::{self, SdkConfig};
use gatehouse_ledger::{
    clock::{Clock, SystemClock},
    store::{Bucket, Keeping, S3, StoreError},
};
use tokio::runtime::Runtime;

use super::RadosGw;
use crate::aws::{ACCESS_KEY, Emulator, Front, Kind, SECRET_KEY};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    MiniStack,
    RadosGw,
}

impl Server {
    pub(crate) const ALL: [Self; 2] = [Self::RadosGw, Self::MiniStack];

    fn port(self) -> u16 {
        match self {
            Self::MiniStack => Emulator::shared(Kind::MiniStack).port(),
            Self::RadosGw => RadosGw::shared().port(),
        }
    }

    fn credentials(self) -> (&'static str, &'static str) {
        match self {
            Self::MiniStack => (ACCESS_KEY, SECRET_KEY),
            Self::RadosGw => super::radosgw::CREDENTIALS,
        }
    }
}

/// A bucket behind a wire that remembers and fails.
pub(crate) struct Place {
    pub(crate) front: Front,
    pub(crate) server: Server,
    pub(crate) bucket: Bucket,
    /// Straight to the server, to do what nobody should.
    client: Client,
    /// Until it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that is asynchronous itself may not wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Place {
    /// A bucket with Object Lock, and with it versions.
    pub(crate) fn new(server: Server) -> Self {
        Self::with(server, true)
    }

    pub(crate) fn with(server: Server, lock: bool) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let front = Front::to(server.port());
        let name = format!("log-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut bucket = Bucket::new(&name, "gatehouse/v1");
        bucket.region = Some("us-east-1".into());
        bucket.endpoint = Some(front.endpoint());
        bucket.timeout = Duration::from_secs(60);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let direct = format!("http://127.0.0.1:{}", server.port());
        let sdk = runtime.block_on(sdk(&direct, server.credentials()));
        let mut config = Builder::from(&sdk);
        config.set_force_path_style(Some(true));
        let client = Client::from_conf(config.build());
        let place = Self {
            front,
            server,
            bucket,
            client,
            runtime: Some(runtime),
        };
        place.ask(async |client, bucket| {
            let new = client.create_bucket().bucket(bucket);
            new.object_lock_enabled_for_bucket(lock)
                .send()
                .await
                .unwrap();
        });
        place
    }

    /// Asks the server itself.
    pub(crate) fn ask<T>(&self, what: impl AsyncFnOnce(&Client, &str) -> T) -> T {
        self.wait(what(&self.client, &self.bucket.name))
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    pub(crate) fn sdk(&self) -> SdkConfig {
        self.sdk_with(self.server.credentials())
    }

    pub(crate) fn sdk_with(&self, credentials: (&str, &str)) -> SdkConfig {
        let endpoint = self.bucket.endpoint.as_deref().unwrap();
        self.wait(sdk(endpoint, credentials))
    }

    /// The store as a gateway opens it.
    pub(crate) fn writer(&self) -> S3 {
        self.try_writer(&self.keeping()).unwrap()
    }

    pub(crate) fn try_writer(&self, keeping: &Keeping) -> Result<S3, StoreError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        S3::writer_with(&self.sdk(), self.bucket.clone(), keeping.clone(), clock)
    }

    /// The store as an auditor opens it.
    pub(crate) fn reader(&self) -> S3 {
        S3::reader_with(&self.sdk(), self.bucket.clone()).unwrap()
    }

    /// Locks for a day: a test's buckets go with their server.
    pub(crate) fn keeping(&self) -> Keeping {
        Keeping {
            retention_days: 1,
            kms_key_id: None,
        }
    }

    /// The ids of an object's versions, the newest first, and of its delete markers.
    pub(crate) fn versions(&self, name: &str) -> (Vec<String>, Vec<String>) {
        let key = format!("{}/{name}", self.bucket.prefix);
        let listed = self.ask(async |client, bucket| {
            let list = client.list_object_versions().bucket(bucket).prefix(key);
            list.send().await.unwrap()
        });
        let versions = listed.versions().iter().filter_map(|it| it.version_id());
        let markers = listed.delete_markers().iter();
        let markers = markers.filter_map(|it| it.version_id());
        let all = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect();
        (all(versions.collect()), all(markers.collect()))
    }

    /// Switches versioning on in a bucket without locks.
    pub(crate) fn keep_versions(&self) {
        self.ask(async |client, bucket| {
            let enabled = VersioningConfiguration::builder();
            let enabled = enabled.status(BucketVersioningStatus::Enabled).build();
            let put = client.put_bucket_versioning().bucket(bucket);
            put.versioning_configuration(enabled).send().await.unwrap();
        });
    }
}

async fn sdk(endpoint: &str, (key, secret): (&str, &str)) -> SdkConfig {
    let access = aws::Access {
        region: Some("us-east-1".into()),
        endpoint: Some(endpoint.to_owned()),
        connect_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(60),
        attempts: 1,
    };
    let credentials = Credentials::new(key, secret, None, None, "test");
    let sdk = aws::config(&access).await.into_builder();
    sdk.credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}
