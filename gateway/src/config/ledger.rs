//! The audit log: `[ledger]`, and the bucket that it may be kept in.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_ledger::names::is_bucket;
use gatehouse_ledger::{DEFAULT_RETENTION_DAYS, SPOOL_BYTES};
use http::Uri;

use super::anchor::{Timestamp, Witness};
use super::check::Check;
use super::payloads::Payloads;
use super::raw::{RawLedger, RawMode};

/// The audit log.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Where it is kept.
    pub store: LogStore,
    /// What a request waits for.
    pub mode: LedgerMode,
    /// How long the log may take for one record before the request that it belongs to fails.
    pub append_timeout: Duration,
    /// This deployment's name, part of every stream's name: `a-z`, `0-9` and `-`.
    pub deployment: String,
    /// A segment is closed when its first record is this old.
    pub segment_age: Duration,
    /// A segment is closed when it holds this many bytes, before compression.
    pub segment_size: usize,
    /// How many bytes may wait for the store on the local disk; past them requests are refused.
    pub spool: u64,
    /// For how long requests go on while the log does not take their records; `None`: they don't.
    pub allow_degraded: Option<Duration>,
    /// Whether records hold digests of the prompts' parts.
    pub prompt_parts: bool,
    /// Who is asked to cosign the seals.
    pub witnesses: Vec<Arc<Witness>>,
    /// Who stamps the last seal of a day.
    pub timestamp: Option<Arc<Timestamp>>,
    /// The sealed payloads beside it; `None`: there are none.
    pub payloads: Option<Arc<Payloads>>,
}

/// Where the log is kept.
#[derive(Clone, Debug, Default)]
pub enum LogStore {
    /// In `DATA_DIR/ledger`.
    #[default]
    Dir,
    /// In a bucket with Object Lock.
    S3(Arc<LogBucket>),
}

/// The bucket that the log is kept in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogBucket {
    /// Its name.
    pub bucket: String,
    /// What every key begins with; may be empty.
    pub prefix: String,
    /// Its region; `None` takes what the environment says.
    pub region: Option<String>,
    /// Another endpoint than the region's own.
    pub endpoint: Option<String>,
    /// For how many days nobody can remove an object.
    pub retention_days: u32,
    /// The KMS key that objects are encrypted with; `None` leaves it to the bucket.
    pub kms_key_id: Option<String>,
    /// The account that must own the bucket.
    pub expected_owner: Option<String>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One request.
    pub timeout: Duration,
}

/// What a request waits for before a provider sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerMode {
    /// For the record to be taken, not for the disk.
    Async,
    /// For the record to be on the local disk.
    Local,
    /// For the segment's store to hold it.
    Strict,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            store: LogStore::Dir,
            mode: LedgerMode::Local,
            append_timeout: Duration::from_millis(250),
            deployment: "gatehouse".to_owned(),
            segment_age: Duration::from_secs(5),
            segment_size: 8 << 20,
            spool: SPOOL_BYTES,
            allow_degraded: None,
            prompt_parts: false,
            witnesses: Vec::new(),
            timestamp: None,
            payloads: None,
        }
    }
}

/// Where in a bucket the log is unless something else is said.
const PREFIX: &str = "gatehouse/v1";
/// A record that has to be in a bucket before its request goes on has two requests to S3 ahead.
const STRICT_IN_S3: Duration = Duration::from_secs(2);
/// How long a gateway may go on without its log.
const LONGEST_DEGRADED: Duration = Duration::from_secs(24 * 3600);
/// A century: nothing here means "for ever", and a slip of a digit would be storage for longer.
const MOST_DAYS: i64 = 36_500;

impl Check<'_> {
    pub(super) fn ledger(&mut self, raw: &RawLedger) -> Ledger {
        let or = Ledger::default();
        let store = self.log_store(raw);
        let deployment = raw.deployment.clone().unwrap_or(or.deployment);
        if !is_deployment(&deployment) {
            let message = "must be 1 to 32 characters of a-z, 0-9 and -, and begin with a letter";
            self.faults.add("ledger.deployment", message);
        }
        let mode = match raw.mode {
            Some(RawMode::Async) => LedgerMode::Async,
            Some(RawMode::Local) | None => LedgerMode::Local,
            Some(RawMode::Strict) => LedgerMode::Strict,
        };
        let patience = match (&store, mode) {
            (LogStore::S3(_), LedgerMode::Strict) => STRICT_IN_S3,
            _ => or.append_timeout,
        };
        let (age, size) = (raw.segment_age.as_deref(), raw.segment_size.as_deref());
        let append = raw.append_timeout.as_deref();
        let segment_size = self.size("ledger.segment_size", size, or.segment_size);
        Ledger {
            store,
            mode,
            append_timeout: self.duration("ledger.append_timeout", append, patience),
            deployment,
            segment_age: self.duration("ledger.segment_age", age, or.segment_age),
            segment_size,
            spool: self.spool(raw.spool.as_deref(), segment_size, or.spool),
            allow_degraded: self.degraded(raw.allow_degraded.as_deref()),
            prompt_parts: raw.prompt_parts.unwrap_or(or.prompt_parts),
            witnesses: self.witnesses(&raw.witness),
            timestamp: raw.timestamp.as_ref().and_then(|raw| self.timestamp(raw)),
            payloads: None,
        }
    }

    fn degraded(&mut self, text: Option<&str>) -> Option<Duration> {
        let limit = self.duration("ledger.allow_degraded", text, Duration::ZERO);
        if limit > LONGEST_DEGRADED {
            let message = "must be at most 24h: without an end it would be a gateway without a log";
            self.faults.add("ledger.allow_degraded", message);
        }
        (!limit.is_zero()).then_some(limit)
    }

    fn spool(&mut self, text: Option<&str>, segment: usize, default: u64) -> u64 {
        let default = usize::try_from(default).unwrap_or(usize::MAX);
        let spool = self.size("ledger.spool", text, default);
        if spool / 4 < segment {
            let message = "must hold at least four segments (ledger.segment_size)";
            self.faults.add("ledger.spool", message);
        }
        spool as u64
    }

    fn log_store(&mut self, raw: &RawLedger) -> LogStore {
        match raw.store.as_deref() {
            None | Some("dir") => {
                self.only_for_s3(raw);
                LogStore::Dir
            }
            Some("s3") if cfg!(feature = "aws") => {
                LogStore::S3(Arc::new(self.bucket("ledger", raw)))
            }
            Some("s3") => {
                self.faults.add("ledger.store", "this build has no S3");
                LogStore::Dir
            }
            Some(_) => {
                let message = "must be \"dir\" or \"s3\"";
                self.faults.add("ledger.store", message);
                LogStore::Dir
            }
        }
    }

    /// What is written in vain is more likely a mistake about where the log is.
    fn only_for_s3(&mut self, raw: &RawLedger) {
        let written = [
            ("bucket", raw.bucket.is_some()),
            ("prefix", raw.prefix.is_some()),
            ("region", raw.region.is_some()),
            ("endpoint", raw.endpoint.is_some()),
            ("retention_days", raw.retention_days.is_some()),
            ("kms_key_id", raw.kms_key_id.is_some()),
            ("expected_owner", raw.expected_owner.is_some()),
            ("connect_timeout", raw.connect_timeout.is_some()),
            ("timeout", raw.timeout.is_some()),
            ("allow_plain_http", raw.allow_plain_http.is_some()),
        ];
        for (name, _) in written.into_iter().filter(|(_, written)| *written) {
            let message = "has a meaning only with store = \"s3\"";
            self.faults.add(format!("ledger.{name}"), message);
        }
    }

    /// A bucket of the settings under `at`.
    pub(super) fn bucket(&mut self, at: &str, raw: &RawLedger) -> LogBucket {
        let bucket = raw.bucket.clone().unwrap_or_default();
        if !is_bucket(&bucket) {
            let message = match raw.bucket {
                Some(_) => "is not the name of a bucket",
                None => "is missing: the bucket that the log is kept in",
            };
            self.faults.add(format!("{at}.bucket"), message);
        }
        let prefix = raw.prefix.as_deref().unwrap_or(PREFIX);
        if !is_prefix(prefix) {
            let message = "must be at most 200 characters of A-Z, a-z, 0-9, =, ., _ and -, with \
                           slashes between its parts and none at its ends";
            self.faults.add(format!("{at}.prefix"), message);
        }
        if let Some(endpoint) = raw.endpoint.as_deref()
            && let Err(message) = endpoint_fits(endpoint, raw.allow_plain_http.unwrap_or(false))
        {
            self.faults.add(format!("{at}.endpoint"), message);
        }
        self.words(at, raw);
        let (connect, timeout) = (raw.connect_timeout.as_deref(), raw.timeout.as_deref());
        let or = (Duration::from_secs(5), Duration::from_secs(30));
        LogBucket {
            bucket,
            prefix: prefix.to_owned(),
            region: raw.region.clone(),
            endpoint: raw.endpoint.clone(),
            retention_days: self.retention(&format!("{at}.retention_days"), raw.retention_days),
            kms_key_id: raw.kms_key_id.clone(),
            expected_owner: raw.expected_owner.clone(),
            connect_timeout: self.duration(&format!("{at}.connect_timeout"), connect, or.0),
            timeout: self.duration(&format!("{at}.timeout"), timeout, or.1),
        }
    }

    /// What goes into requests as it is written.
    fn words(&mut self, at: &str, raw: &RawLedger) {
        let plain = |text: &str, more: &[u8]| {
            let fits = |b: u8| b.is_ascii_alphanumeric() || more.contains(&b);
            (1..=2048).contains(&text.len()) && text.bytes().all(fits)
        };
        if raw.region.as_deref().is_some_and(|it| !plain(it, b"-")) {
            self.faults.add(
                format!("{at}.region"),
                "is not a region such as eu-central-1",
            );
        }
        let key = raw.kms_key_id.as_deref();
        if key.is_some_and(|it| !plain(it, b":/_-")) {
            let message = "is not the id, the ARN or the alias of a key";
            self.faults.add(format!("{at}.kms_key_id"), message);
        }
        let account = |it: &str| it.len() == 12 && it.bytes().all(|b| b.is_ascii_digit());
        if raw.expected_owner.as_deref().is_some_and(|it| !account(it)) {
            let message = "is not an account: 12 digits, in quotation marks";
            self.faults.add(format!("{at}.expected_owner"), message);
        }
    }

    pub(super) fn retention(&mut self, at: &str, days: Option<i64>) -> u32 {
        match days {
            None => DEFAULT_RETENTION_DAYS,
            Some(days @ 1..=MOST_DAYS) => u32::try_from(days).unwrap_or(DEFAULT_RETENTION_DAYS),
            Some(_) => {
                let message = format!("must be a number of days from 1 to {MOST_DAYS}");
                self.faults.add(at, message);
                DEFAULT_RETENTION_DAYS
            }
        }
    }
}

fn is_deployment(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 32
        && name.bytes().all(fits)
}

fn is_prefix(prefix: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"=._-".contains(&b);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    prefix.is_empty() || prefix.len() <= 200 && prefix.split('/').all(part)
}

/// Messages never quote it: it may hold a secret.
fn endpoint_fits(text: &str, allow_plain: bool) -> Result<(), &'static str> {
    let url: Uri = text.parse().map_err(|_| "is not a URL")?;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err("must be an absolute URL, such as https://s3.eu-central-1.amazonaws.com");
    };
    if authority.as_str().contains('@') {
        return Err("holds a credential; those come from the environment or the machine");
    }
    if !url.path().trim_matches('/').is_empty() || url.query().is_some() || text.contains('#') {
        return Err("must end with the host or its port");
    }
    let bare = authority.host().trim_matches(['[', ']']);
    let ip = bare.parse().map(|ip: std::net::IpAddr| ip.is_loopback());
    match scheme {
        "https" => Ok(()),
        "http" if allow_plain || ip.unwrap_or(bare == "localhost") => Ok(()),
        "http" => Err(
            "is not encrypted; say allow_plain_http = true where the network itself \
                       keeps others out",
        ),
        _ => Err("must be https or http"),
    }
}

#[cfg(test)]
mod tests;
