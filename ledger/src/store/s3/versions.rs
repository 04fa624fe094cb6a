//! Listing a bucket by versions: what was written over or deleted shows.

use std::collections::BTreeMap;

use aws_sdk_s3::{
    Client,
    operation::list_object_versions::ListObjectVersionsOutput,
    types::{DeleteMarkerEntry, EncodingType, ObjectVersion},
};

use super::{
    fault::{Operation, S3Error, meaning},
    settings::Bucket,
};
use crate::store::StoreError;

/// More versions of one key are counted, but no longer told apart from those that a server lists
/// twice.
const MAX_TOLD_APART: usize = 64;

/// All versions of one key.
#[derive(Default)]
pub(super) struct Versions {
    /// The oldest; none if there are only delete markers.
    pub(super) oldest: Option<Version>,
    pub(super) count: u64,
    pub(super) markers: u64,
    /// The ids seen: a page may begin with what the last one ended with.
    seen: Vec<String>,
}

/// One version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) id: String,
}

impl Versions {
    fn is_new(&mut self, id: &str) -> bool {
        if self.seen.iter().any(|seen| seen == id) {
            return false;
        }
        if self.seen.len() < MAX_TOLD_APART {
            self.seen.push(id.to_owned());
        }
        true
    }

    fn add(&mut self, version: &ObjectVersion) -> Option<()> {
        let id = version.version_id()?;
        if !self.is_new(id) {
            return Some(());
        }
        self.count += 1;
        // Newer versions are listed first. Times would not do: a server may note when a put began,
        // and whoever looked before it ended saw another as the first.
        self.oldest = Some(Version { id: id.to_owned() });
        Some(())
    }

    fn add_marker(&mut self, marker: &DeleteMarkerEntry) -> Option<()> {
        if self.is_new(marker.version_id()?) {
            self.markers += 1;
        }
        Some(())
    }
}

/// Every key that begins with `prefix`, with its versions; those up to `behind` may be missing. Both
/// are the bucket's own keys, not ours.
pub(super) async fn list(
    client: Client,
    bucket: Bucket,
    prefix: String,
    behind: Option<String>,
) -> Result<BTreeMap<String, Versions>, StoreError> {
    let mut found = BTreeMap::new();
    let mut marker = Marker {
        key: behind,
        version: None,
    };
    loop {
        let page = client
            .list_object_versions()
            .bucket(&bucket.name)
            .set_expected_bucket_owner(bucket.expected_owner.clone())
            // Without it a key that is no XML would make all others unreadable.
            .encoding_type(EncodingType::Url)
            .prefix(&prefix)
            .set_max_keys(bucket.page.map(i32::from))
            .set_key_marker(marker.key.clone())
            .set_version_id_marker(marker.version.clone())
            .send()
            .await
            .map_err(|error| meaning(Operation::ListVersions, &error))?;
        let next = add(&mut found, &page).ok_or_else(unclear)?;
        if !page.is_truncated().unwrap_or(false) {
            return Ok(found);
        }
        // A list that does not go on would never end.
        if next.key.is_none() || next == marker {
            return Err(unclear());
        }
        marker = next;
    }
}

/// The versions of one key.
pub(super) async fn of_key(
    client: Client,
    bucket: Bucket,
    key: String,
) -> Result<Versions, StoreError> {
    let mut found = list(client, bucket, key.clone(), None).await?;
    Ok(found.remove(&key).unwrap_or_default())
}

fn unclear() -> StoreError {
    let operation = Operation::ListVersions;
    S3Error::Unclear { operation }.into()
}

/// Where the next page begins.
#[derive(Clone, Default, PartialEq, Eq)]
struct Marker {
    key: Option<String>,
    version: Option<String>,
}

/// Adds a page; none if it makes no sense.
fn add(found: &mut BTreeMap<String, Versions>, page: &ListObjectVersionsOutput) -> Option<Marker> {
    let encoded = page.encoding_type() == Some(&EncodingType::Url);
    let key = |text: &str| match encoded {
        true => decode(text),
        false => Some(text.to_owned()),
    };
    for version in page.versions() {
        found
            .entry(key(version.key()?)?)
            .or_default()
            .add(version)?;
    }
    for marker in page.delete_markers() {
        let versions = found.entry(key(marker.key()?)?).or_default();
        versions.add_marker(marker)?;
    }
    let next = page.next_key_marker().map(key);
    Some(Marker {
        key: match next {
            Some(next) => Some(next?),
            None => None,
        },
        version: page.next_version_id_marker().map(str::to_owned),
    })
}

/// Undoes `encoding-type=url`. A key that is no UTF-8 gets replacement characters: it is none of ours.
fn decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(key: &str, id: &str) -> ObjectVersion {
        ObjectVersion::builder().key(key).version_id(id).build()
    }

    #[test]
    fn the_oldest_version_is_found_whatever_stands_twice() {
        let marker = DeleteMarkerEntry::builder().key("a").version_id("m");
        let page = ListObjectVersionsOutput::builder()
            .versions(version("a", "3"))
            .versions(version("a", "2"))
            .versions(version("a", "1"))
            .versions(version("a", "3"))
            .delete_markers(marker.clone().build())
            .delete_markers(marker.build())
            .build();
        let mut found = BTreeMap::new();
        assert!(add(&mut found, &page).is_some());
        assert!(add(&mut found, &page).is_some());
        let versions = &found["a"];
        assert_eq!((versions.count, versions.markers), (3, 1));
        assert_eq!(versions.oldest.as_ref().unwrap().id, "1");
    }

    #[test]
    fn keys_are_decoded_where_they_were_encoded() {
        assert_eq!(
            decode("log/p_day%3D1%2Ba+b").as_deref(),
            Some("log/p_day=1+a b")
        );
        assert_eq!(decode("%01\u{e4}").as_deref(), Some("\u{1}\u{e4}"));
        assert_eq!(decode("a%2"), None);
        assert_eq!(decode("a%zz"), None);
        let plain = ListObjectVersionsOutput::builder().versions(version("a%41", "1"));
        let mut found = BTreeMap::new();
        assert!(add(&mut found, &plain.build()).is_some());
        assert!(found.contains_key("a%41"));
    }

    #[test]
    fn what_lacks_a_part_makes_no_sense() {
        let without = ObjectVersion::builder().key("a").build();
        let page = ListObjectVersionsOutput::builder()
            .versions(without)
            .build();
        assert!(add(&mut BTreeMap::new(), &page).is_none());
    }
}
