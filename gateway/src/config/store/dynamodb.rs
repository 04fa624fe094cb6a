//! `[sessions] store = "dynamodb"`: a table, and a bucket for large parts.

use std::{sync::Arc, time::Duration};

use super::super::{check::Check, raw::RawSessions};
use super::{REDIS, Store};

/// A table in DynamoDB, and a bucket in S3 for what is too large for its items.
#[derive(Clone, Debug)]
pub struct DynamoDb {
    /// The table's name.
    pub table: String,
    /// The region of both; `None` for what the environment or the instance says.
    pub region: Option<String>,
    /// Another endpoint of DynamoDB than the region's own.
    pub endpoint: Option<String>,
    /// The bucket's name.
    pub parts_bucket: String,
    /// Another endpoint of S3 than the region's own; buckets are then in its paths.
    pub parts_endpoint: Option<String>,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// One operation, with all that is sent again for it.
    pub timeout: Duration,
}

impl Check<'_> {
    pub(super) fn dynamodb(&mut self, raw: &RawSessions) -> Store {
        self.only_for(REDIS, raw);
        if cfg!(not(feature = "aws")) {
            let message = "this program was built without the feature aws";
            self.faults.add("sessions.store", message);
        }
        let table = raw.table.as_deref();
        let table = self.named(
            "table",
            table,
            is_table,
            "3 to 255 of A-Z, a-z, 0-9, _, - and .",
        );
        let bucket = raw.parts_bucket.as_deref();
        let form = "3 to 63 of a-z, 0-9, - and ., as S3 names buckets";
        let parts_bucket = self.named("parts_bucket", bucket, is_bucket, form);
        if raw
            .region
            .as_deref()
            .is_some_and(|region| !is_region(region))
        {
            let message = "is not a region such as eu-central-1";
            self.faults.add("sessions.region", message);
        }
        let endpoint = self.endpoint("sessions.endpoint", raw.endpoint.as_deref());
        let parts_endpoint =
            self.endpoint("sessions.parts_endpoint", raw.parts_endpoint.as_deref());
        let connect = raw.connect_timeout.as_deref();
        let (second, timeout) = (Duration::from_secs(1), raw.timeout.as_deref());
        Store::DynamoDb(Arc::new(DynamoDb {
            table,
            region: raw.region.clone(),
            endpoint,
            parts_bucket,
            parts_endpoint,
            connect_timeout: self.duration("sessions.connect_timeout", connect, second),
            timeout: self.duration("sessions.timeout", timeout, 2 * second),
        }))
    }

    /// A name that must be there, in a form that AWS takes.
    fn named(
        &mut self,
        name: &str,
        written: Option<&str>,
        fits: impl Fn(&str) -> bool,
        form: &str,
    ) -> String {
        let message = match written {
            None => "is missing: sessions in DynamoDB need it".to_owned(),
            Some(text) if !fits(text) => format!("must be {form}"),
            Some(text) => return text.to_owned(),
        };
        self.faults.add(format!("sessions.{name}"), message);
        String::new()
    }
}

fn is_table(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    (3..=255).contains(&text.len()) && text.bytes().all(fits)
}

fn is_bucket(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(word) && text.bytes().last().is_some_and(word);
    let fits = |b: u8| word(b) || b"-.".contains(&b);
    (3..=63).contains(&text.len()) && ends && text.bytes().all(fits)
}

fn is_region(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(fits)
}
