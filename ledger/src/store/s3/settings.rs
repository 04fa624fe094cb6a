//! Which bucket, and how what goes into it is kept.

use std::time::Duration;

use crate::names::is_bucket;

/// A bucket that holds a log, and how it is reached. Credentials come from the usual places:
/// environment, profile, web identity, container, instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// What every key begins with, without a slash at its end; may be empty.
    pub prefix: String,
    /// Its region; `None` takes what the environment says.
    pub region: Option<String>,
    /// Another endpoint than the region's own. Buckets are then part of its paths, not of its name.
    pub endpoint: Option<String>,
    /// The account (12 digits) that must own the bucket; S3 refuses everything if another does.
    pub expected_owner: Option<String>,
    /// How many versions are listed at one time, at most; `None` leaves it to S3 (1,000).
    pub page: Option<u16>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One request. What it is about may be 16 MiB.
    pub timeout: Duration,
}

/// How long a request may take if nothing else is said, and its connection.
const TIMEOUTS: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5));

impl Bucket {
    /// A bucket of that name, reached as the environment says.
    pub fn new(name: &str, prefix: &str) -> Self {
        Self {
            name: name.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            region: None,
            endpoint: None,
            expected_owner: None,
            page: None,
            connect_timeout: TIMEOUTS.1,
            timeout: TIMEOUTS.0,
        }
    }

    /// The bucket of a place such as `s3://bucket/prefix`; none if that is no such place.
    pub fn of_place(place: &str) -> Option<Self> {
        let rest = place.strip_prefix("s3://")?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        is_bucket(name).then(|| Self::new(name, prefix))
    }

    /// The key of an object, or what the keys of all objects with such names begin with.
    pub(super) fn key(&self, name: &str) -> String {
        match self.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }

    /// The name of the object with that key.
    pub(super) fn name_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        match self.prefix.as_str() {
            "" => Some(key),
            prefix => key.strip_prefix(prefix)?.strip_prefix('/'),
        }
    }
}

/// How objects are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// For so many days nobody can remove an object or shorten its lock (COMPLIANCE).
    pub retention_days: u32,
    /// The KMS key that objects are encrypted with; `None` leaves it to the bucket's default.
    pub kms_key_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let bucket = Bucket::of_place("s3://acme-log/gatehouse/v1/").unwrap();
        assert_eq!(
            (bucket.name.as_str(), bucket.prefix.as_str()),
            ("acme-log", "gatehouse/v1")
        );
        assert_eq!(bucket.key("log/a"), "gatehouse/v1/log/a");
        assert_eq!(bucket.name_of("gatehouse/v1/log/a"), Some("log/a"));
        assert_eq!(bucket.name_of("gatehouse/v10/log/a"), None);
        let root = Bucket::of_place("s3://acme-log").unwrap();
        assert_eq!(root.key("log/a"), "log/a");
        assert_eq!(root.name_of("log/a"), Some("log/a"));
        for none in [
            "acme-log/x",
            "s3://",
            "s3:///x",
            "s3://A/x",
            "s3://ab",
            "s3://-ab",
            "s3://a_b/",
        ] {
            assert_eq!(Bucket::of_place(none), None, "{none}");
        }
    }
}
