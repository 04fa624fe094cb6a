//! A store that is a bucket of S3, with versions and Object Lock.
//!
//! Each object is one PutObject that carries everything that keeps it: `If-None-Match: *`, its
//! SHA-256, a COMPLIANCE lock, the account that must own the bucket. Servers differ in what of this
//! they enforce, so a put is followed by a look at the key's versions: what counts is the oldest, for
//! us as for whoever verifies.

mod ahead;
mod fault;
mod requests;
mod settings;
mod thread;
mod versions;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use aws_sdk_s3::{Client, config::Builder};
use gatehouse_envelope::aws::{self, SdkConfig};

use super::{Fetcher, LedgerStore, Object, StoreError, Stored, is_name};
use crate::clock::{Clock, DAY_US};
use ahead::Ahead;
pub use fault::{Operation, S3Error};
use requests::{Put, check, is_locked, put, read};
pub use settings::{Bucket, Keeping};
use thread::Thread;
use versions::Version;

/// How often a request that changes nothing is sent, at most.
const ATTEMPTS: u32 = 3;

/// How many names are remembered to be there; those that may be are remembered in any case.
const MOST_TRIED: usize = 4096;

/// A bucket.
pub struct S3 {
    client: Client,
    bucket: Bucket,
    writing: Option<Writing>,
    /// The oldest versions of keys, where they are known.
    known: Mutex<HashMap<String, Version>>,
    ahead: Ahead,
    thread: Thread,
}

/// What a store that is also written to has besides.
struct Writing {
    keeping: Keeping,
    clock: Arc<dyn Clock>,
    /// Names that a put was begun for, and whether one is known to have ended well.
    tried: Mutex<HashMap<String, bool>>,
    /// An object was looked at, and its lock is what was asked for.
    locks: AtomicBool,
}

impl S3 {
    /// A bucket to read from. Nothing is asked of it yet.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn reader(bucket: Bucket) -> Result<Self, StoreError> {
        let thread = Thread::start()?;
        let sdk = thread.wait(sdk(bucket.clone()))?;
        Ok(Self::over(thread, &sdk, bucket, None))
    }

    /// As [`S3::reader`], for those who have credentials of their own.
    ///
    /// # Errors
    /// As [`S3::reader`].
    pub fn reader_with(sdk: &SdkConfig, bucket: Bucket) -> Result<Self, StoreError> {
        Ok(Self::over(Thread::start()?, sdk, bucket, None))
    }

    /// A bucket to write to as well, which is looked at: it must have versions and Object Lock.
    ///
    /// # Errors
    /// It has not, cannot be reached, or denies what a writer needs.
    pub fn writer(
        bucket: Bucket,
        keeping: Keeping,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let thread = Thread::start()?;
        let sdk = thread.wait(sdk(bucket.clone()))?;
        let store = Self::over(thread, &sdk, bucket, Some(Writing::new(keeping, clock)));
        store.check()?;
        Ok(store)
    }

    /// As [`S3::writer`], for those who have credentials of their own.
    ///
    /// # Errors
    /// As [`S3::writer`].
    pub fn writer_with(
        sdk: &SdkConfig,
        bucket: Bucket,
        keeping: Keeping,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let writing = Writing::new(keeping, clock);
        let store = Self::over(Thread::start()?, sdk, bucket, Some(writing));
        store.check()?;
        Ok(store)
    }

    fn over(thread: Thread, sdk: &SdkConfig, bucket: Bucket, writing: Option<Writing>) -> Self {
        let mut config = Builder::from(sdk);
        // An endpoint of one's own seldom has a name for every bucket.
        let own = bucket.endpoint.is_some() || sdk.endpoint_url().is_some();
        config.set_force_path_style(Some(own));
        Self {
            client: Client::from_conf(config.build()),
            bucket,
            writing,
            known: Mutex::default(),
            ahead: Ahead::default(),
            thread,
        }
    }

    /// Refuses a bucket in which something could be removed unseen.
    fn check(&self) -> Result<(), StoreError> {
        let (client, bucket) = (self.client.clone(), self.bucket.clone());
        self.thread.wait(check(client, bucket))?;
        // That it may be listed by versions is needed for every put.
        let nothing = self.bucket.key("-");
        let (client, bucket) = (self.client.clone(), self.bucket.clone());
        self.thread
            .wait(versions::of_key(client, bucket, nothing))
            .map(drop)
    }

    /// Those whose names begin with `prefix` and come after `behind`.
    fn objects(&self, prefix: &str, behind: Option<&str>) -> Result<Vec<Object>, StoreError> {
        let (client, bucket) = (self.client.clone(), self.bucket.clone());
        let after = behind.map(|name| self.bucket.key(name));
        let listed = versions::list(client, bucket, self.bucket.key(prefix), after);
        let mut known = HashMap::new();
        let mut objects = Vec::new();
        for (key, versions) in self.thread.wait(listed)? {
            let Some(name) = self.bucket.name_of(&key) else {
                continue;
            };
            if behind.is_some_and(|behind| name <= behind) {
                continue;
            }
            objects.push(Object {
                name: name.to_owned(),
                versions: versions.count,
                deletions: versions.markers,
            });
            if let Some(oldest) = versions.oldest {
                known.insert(key, oldest);
            }
        }
        if self.writing.is_none() {
            self.ahead.follow(&known);
            lock(&self.known).extend(known);
        }
        Ok(objects)
    }

    /// The oldest version of a key.
    fn oldest(&self, key: &str) -> Result<Option<Version>, StoreError> {
        if let Some(version) = lock(&self.known).get(key) {
            return Ok(Some(version.clone()));
        }
        let (client, bucket) = (self.client.clone(), self.bucket.clone());
        let versions = self
            .thread
            .wait(versions::of_key(client, bucket, key.to_owned()))?;
        Ok(versions.oldest)
    }

    /// Whether that version of a key holds `bytes`.
    fn holds(&self, key: &str, version: Version, bytes: &[u8]) -> Result<(), StoreError> {
        let (client, bucket) = (self.client.clone(), self.bucket.clone());
        let read = read(client, bucket, key.to_owned(), version, bytes.len());
        match self.thread.wait(read) {
            Ok(Some(stored)) if stored.bytes == bytes => Ok(()),
            Ok(_) | Err(StoreError::TooLarge) => Err(StoreError::Conflict),
            Err(error) => Err(error),
        }
    }

    fn put(&self, writing: &Writing, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let request = put(
            self.client.clone(),
            self.bucket.clone(),
            writing.keeping.clone(),
            writing.until(),
            key.to_owned(),
            bytes.to_vec(),
        );
        let ours = match self.thread.wait(request)? {
            Put::Made(id) => id,
            Put::Taken => None,
        };
        let Some(oldest) = self.oldest(key)? else {
            // It was there a moment ago.
            return Err(StoreError::Conflict);
        };
        if ours.as_deref() != Some(&oldest.id) {
            return self.holds(key, oldest, bytes);
        }
        if !writing.locks.load(Ordering::Relaxed) {
            let (client, bucket) = (self.client.clone(), self.bucket.clone());
            let lock = is_locked(client, bucket, key.to_owned(), oldest, writing.until());
            self.thread.wait(lock)?;
            writing.locks.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Writing {
    fn new(keeping: Keeping, clock: Arc<dyn Clock>) -> Self {
        Self {
            keeping,
            clock,
            tried: Mutex::default(),
            locks: AtomicBool::new(false),
        }
    }

    /// Whether this is the first put of that name, as far as is remembered.
    fn try_first(&self, name: &str) -> bool {
        let mut tried = lock(&self.tried);
        if tried.len() > MOST_TRIED {
            tried.retain(|_, done| !*done);
        }
        tried.insert(name.to_owned(), false).is_none()
    }

    /// Until when a lock set now has to hold, in seconds since 1970: the end of the day that lies the
    /// retention ahead, so that it is never too short by the time that the put takes.
    fn until(&self) -> i64 {
        let days = self.clock.now().unix_us / DAY_US + u64::from(self.keeping.retention_days) + 1;
        i64::try_from(days.saturating_mul(DAY_US / 1_000_000)).unwrap_or(i64::MAX)
    }
}

impl Fetcher for S3 {
    fn list(&self, prefix: &str) -> Result<Vec<Object>, StoreError> {
        self.objects(prefix, None)
    }

    fn list_after(&self, prefix: &str, name: &str) -> Result<Vec<Object>, StoreError> {
        self.objects(prefix, Some(name))
    }

    fn fetch(&self, name: &str, limit: usize) -> Result<Option<Stored>, StoreError> {
        let key = self.bucket.key(name);
        let begin = |key: &str, version: Version| {
            let (client, bucket) = (self.client.clone(), self.bucket.clone());
            self.thread
                .begin(read(client, bucket, key.to_owned(), version, limit))
        };
        if let Some(told) = self.ahead.take(&key, limit, begin) {
            return thread::outcome(&told);
        }
        match self.oldest(&key)? {
            Some(version) => thread::outcome(&begin(&key, version)),
            None => Ok(None),
        }
    }
}

impl LedgerStore for S3 {
    fn put_once(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let writing = self.writing.as_ref().ok_or(StoreError::ReadOnly)?;
        if !is_name(name) {
            return Err(StoreError::Name);
        }
        let key = self.bucket.key(name);
        // It may be there after a put whose end is not known; a second one could be a second version.
        let there = match writing.try_first(name) {
            true => None,
            false => self.oldest(&key)?,
        };
        let outcome = match there {
            Some(version) => self.holds(&key, version, bytes),
            None => self.put(writing, &key, bytes),
        };
        // A name that others have taken stays theirs: that too is an end that is known.
        if matches!(outcome, Ok(()) | Err(StoreError::Conflict)) {
            lock(&writing.tried).insert(name.to_owned(), true);
        }
        outcome
    }
}

/// The SDK's part of the settings. Without attempts of its own: whoever puts tries again, and has to
/// look first.
async fn sdk(bucket: Bucket) -> Result<SdkConfig, StoreError> {
    let access = aws::Access {
        region: bucket.region,
        endpoint: bucket.endpoint,
        connect_timeout: bucket.connect_timeout,
        timeout: bucket.timeout,
        attempts: ATTEMPTS,
    };
    Ok(aws::config(&access).await)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is one call, so a panic elsewhere leaves the collection whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
