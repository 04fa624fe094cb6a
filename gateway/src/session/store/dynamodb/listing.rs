//! Names of sessions by pages: bucket after bucket.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{DynamoStore, Page, StoreError, row::partition_of};
use crate::registry::{
    BY_END, ENDS, Item, Key, Range, SORT, bucket, buckets, number, tag, text_of,
};

/// Where a page begins: the bucket, and the keys behind which.
struct Place {
    bucket: u32,
    behind: Option<Item>,
}

/// Written in front of the first name: there is no session of an empty one.
const START: &str = "";

impl DynamoStore {
    /// In the order of the buckets, and within one of the names.
    pub(super) async fn names_by_pages(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        // With its first part whole, a name can be in one bucket only.
        let only = prefix.contains('/').then(|| bucket(tag(prefix)));
        let mut place = match from {
            Some(from) => self.place(from)?,
            None => Place {
                bucket: only.unwrap_or(buckets().start),
                behind: None,
            },
        };
        let last = only.map_or(buckets().end, |only| only + 1);
        let mut page = Page::default();
        while place.bucket < last {
            let mut values = vec![(":bucket", AttributeValue::S(partition_of(place.bucket)))];
            if !prefix.is_empty() {
                values.push((":prefix", AttributeValue::S(prefix.to_owned())));
            }
            let range = Range {
                index: None,
                condition: match prefix.is_empty() {
                    true => "pk = :bucket",
                    false => "pk = :bucket AND begins_with(sk, :prefix)",
                },
                values,
                behind: place.behind.take(),
                attributes: Some("pk, sk"),
                limit: Some(limit.saturating_sub(page.names.len())),
            };
            if self.fill(&mut page, &mut place, range, limit).await? {
                break;
            }
        }
        Ok(page)
    }

    /// In the order of the buckets, and within one of the ends.
    pub(super) async fn ended_by_pages(
        &self,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let mut place = match from {
            Some(from) => self.place(from)?,
            None => Place {
                bucket: buckets().start,
                behind: None,
            },
        };
        let mut page = Page::default();
        while place.bucket < buckets().end {
            let range = Range {
                index: Some(BY_END),
                condition: "pk = :bucket AND ends_us <= :now",
                values: vec![
                    (":bucket", AttributeValue::S(partition_of(place.bucket))),
                    (":now", number(self.link.now_us())),
                ],
                behind: place.behind.take(),
                attributes: None,
                limit: Some(limit.saturating_sub(page.names.len())),
            };
            if self.fill(&mut page, &mut place, range, limit).await? {
                break;
            }
        }
        Ok(page)
    }

    /// Reads one answer into a page, and says whether it is full. Otherwise `place` is where to go on.
    async fn fill(
        &self,
        page: &mut Page,
        place: &mut Place,
        range: Range,
        limit: usize,
    ) -> Result<bool, StoreError> {
        let found = self.link.query(range).await?;
        for item in &found.items {
            let name = text_of(item, SORT).ok_or(StoreError::Damaged)?;
            page.names.push(name);
        }
        match found.last {
            Some(last) => place.behind = Some(last),
            None => place.bucket += 1,
        }
        let is_full = page.names.len() >= limit;
        if is_full && place.bucket < buckets().end {
            page.next = Some(written(place));
        }
        Ok(is_full)
    }

    fn place(&self, text: &str) -> Result<Place, StoreError> {
        parse(text).ok_or_else(|| self.link.unexpected().into())
    }
}

/// `bucket`, `bucket:name`, or `bucket:name:end` in the index.
fn written(place: &Place) -> String {
    let bucket = place.bucket;
    let Some(behind) = &place.behind else {
        return bucket.to_string();
    };
    let name = text_of(behind, SORT).unwrap_or(START.to_owned());
    match behind.get(ENDS).map(AttributeValue::as_n) {
        Some(Ok(ends)) => format!("{bucket}:{ends}:{name}"),
        _ => format!("{bucket}::{name}"),
    }
}

fn parse(text: &str) -> Option<Place> {
    let mut words = text.splitn(3, ':');
    let bucket = words.next()?.parse().ok()?;
    let Some(ends) = words.next() else {
        return Some(Place {
            bucket,
            behind: None,
        });
    };
    let key = Key {
        partition: partition_of(bucket),
        sort: words.next()?.to_owned(),
    };
    let mut behind = key.into_item();
    if !ends.is_empty() {
        behind.insert(ENDS.to_owned(), number(ends.parse::<i64>().ok()?));
    }
    Some(Place {
        bucket,
        behind: Some(behind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["0", "255", "7::s_a/t:x/1", "7:1800000000000000:s_a/t/1"] {
            let place = parse(text).unwrap();
            assert_eq!(written(&place), text);
            if let Some(behind) = place.behind {
                assert_eq!(behind["pk"].as_s().unwrap(), "session#07");
            }
        }
        for bad in ["", "x", "1:", "1:5", "1:x:name", "-1"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
