//! Sealed payloads beside the audit log: `[ledger.payloads]`. Without it none are kept.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::check::Check;
use super::ledger::{Ledger, LogBucket, LogStore};
use super::raw::{RawLedger, RawPayloads, RawReply};

/// What requests and replies are kept of, sealed under the keys of their sessions. What cannot be kept is
/// not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payloads {
    /// Where.
    pub place: PayloadPlace,
    /// For how many days; the keys of ended sessions are kept as long.
    pub retention_days: u32,
    /// Which form of a reply.
    pub reply: KeptReply,
    /// How long one of them may take to be stored.
    pub timeout: Duration,
}

/// Where sealed payloads are kept: never where the log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadPlace {
    /// A folder.
    Dir(PathBuf),
    /// A bucket with Object Lock.
    S3(Arc<LogBucket>),
}

/// Which form of a reply is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptReply {
    /// As the provider sent it: with tokens in the places of values.
    Received,
    /// As the caller got it: with the values.
    Restored,
}

/// For how many days payloads are kept if nothing else is said.
const DAYS: u32 = 30;
/// And how long storing one may take.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Check<'_> {
    pub(super) fn payloads(
        &mut self,
        raw: Option<&RawPayloads>,
        ledger: &Ledger,
        data_dir: &Path,
    ) -> Option<Arc<Payloads>> {
        let raw = raw?;
        let days = raw.retention_days.or(Some(i64::from(DAYS)));
        let retention_days = self.retention("ledger.payloads.retention_days", days);
        let timeout = raw.timeout.as_deref();
        let timeout = self.duration("ledger.payloads.timeout", timeout, TIMEOUT);
        let payloads = Payloads {
            place: self.payload_place(raw, retention_days, timeout),
            retention_days,
            reply: match raw.reply {
                None | Some(RawReply::Received) => KeptReply::Received,
                Some(RawReply::Restored) => KeptReply::Restored,
            },
            timeout,
        };
        self.apart(&payloads, ledger, data_dir);
        Some(Arc::new(payloads))
    }

    fn payload_place(
        &mut self,
        raw: &RawPayloads,
        retention_days: u32,
        timeout: Duration,
    ) -> PayloadPlace {
        let place = raw.place.as_deref().unwrap_or_default();
        if place.is_empty() {
            let message = "is missing: a folder, or s3://BUCKET/PREFIX, that is not the log's";
            self.faults.add("ledger.payloads.place", message);
        }
        let Some(rest) = place.strip_prefix("s3://") else {
            self.only_in_a_bucket(raw);
            return PayloadPlace::Dir(self.environment.path(place));
        };
        if cfg!(not(feature = "aws")) {
            self.faults
                .add("ledger.payloads.place", "this build has no S3");
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let as_log = RawLedger {
            bucket: Some(bucket.to_owned()),
            prefix: Some(prefix.trim_end_matches('/').to_owned()),
            region: raw.region.clone(),
            endpoint: raw.endpoint.clone(),
            retention_days: Some(i64::from(retention_days)),
            kms_key_id: raw.kms_key_id.clone(),
            expected_owner: raw.expected_owner.clone(),
            connect_timeout: raw.connect_timeout.clone(),
            allow_plain_http: raw.allow_plain_http,
            ..RawLedger::default()
        };
        let bucket = self.bucket("ledger.payloads", &as_log);
        PayloadPlace::S3(Arc::new(LogBucket { timeout, ..bucket }))
    }

    fn only_in_a_bucket(&mut self, raw: &RawPayloads) {
        let written = [
            ("region", raw.region.is_some()),
            ("endpoint", raw.endpoint.is_some()),
            ("kms_key_id", raw.kms_key_id.is_some()),
            ("expected_owner", raw.expected_owner.is_some()),
            ("connect_timeout", raw.connect_timeout.is_some()),
            ("allow_plain_http", raw.allow_plain_http.is_some()),
        ];
        for (name, _) in written.into_iter().filter(|(_, written)| *written) {
            let message = "has a meaning only with place = \"s3://BUCKET/PREFIX\"";
            self.faults.add(format!("ledger.payloads.{name}"), message);
        }
    }

    /// A turn stores what it keeps under its lease.
    pub(super) fn sooner_than_a_lease(&mut self, ledger: &Ledger, lease: Duration) {
        if let Some(payloads) = &ledger.payloads
            && payloads.timeout >= lease
        {
            let message = "must be shorter than a lease (sessions.lease)";
            self.faults.add("ledger.payloads.timeout", message);
        }
    }

    /// What can be erased does not lie where nothing can, and goes before what stays.
    fn apart(&mut self, payloads: &Payloads, ledger: &Ledger, data_dir: &Path) {
        let same = match (&payloads.place, &ledger.store) {
            (PayloadPlace::Dir(folder), LogStore::Dir) => {
                let (folder, log) = (real(folder), real(&data_dir.join("ledger")));
                folder.starts_with(&log) || log.starts_with(&folder)
            }
            (PayloadPlace::S3(ours), LogStore::S3(log)) => {
                ours.bucket == log.bucket
                    && (is_under(&ours.prefix, &log.prefix) || is_under(&log.prefix, &ours.prefix))
            }
            (PayloadPlace::Dir(_), LogStore::S3(_)) | (PayloadPlace::S3(_), LogStore::Dir) => false,
        };
        if same {
            let message = "is the log's place, or lies in it, or the log in this: payloads need a \
                           place of their own";
            self.faults.add("ledger.payloads.place", message);
        }
        if let LogStore::S3(log) = &ledger.store
            && payloads.retention_days >= log.retention_days
        {
            let message = "must be shorter than the log's (ledger.retention_days)";
            self.faults.add("ledger.payloads.retention_days", message);
        }
    }
}

/// Whether one prefix of keys lies under another, or is the same.
fn is_under(prefix: &str, other: &str) -> bool {
    let rest = prefix.strip_prefix(other);
    other.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Where a path leads, through links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in path.ancestors() {
        if let Ok(found) = there.canonicalize() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return without_detours(&found, rest);
        }
    }
    path
}

/// A path below a folder, of which nothing is there, with its `..` worked out.
fn without_detours(folder: &Path, rest: &Path) -> PathBuf {
    let mut path = folder.to_owned();
    for part in rest.components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
    path
}

#[cfg(test)]
mod tests;
