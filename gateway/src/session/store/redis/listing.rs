//! Names of sessions by pages: bucket after bucket.

use redis::{Cmd, cmd};

use super::{Page, RedisStore, StoreError};
use crate::registry::{Call, LinkError, bucket, buckets, fields, tag};

/// Where a page begins: the bucket, and what stands there in front of the first.
struct Place {
    bucket: u32,
    behind: Option<String>,
}

impl Place {
    /// `bucket`, or `bucket:what`.
    fn parse(text: Option<&str>) -> Result<Self, StoreError> {
        let Some(text) = text else {
            return Ok(Self::start_of(buckets().start));
        };
        let (bucket, behind) = match text.split_once(':') {
            Some((bucket, behind)) => (bucket, Some(behind.to_owned())),
            None => (text, None),
        };
        let bucket = bucket.parse().map_err(|_| LinkError::Unexpected)?;
        Ok(Self { bucket, behind })
    }

    fn start_of(bucket: u32) -> Self {
        Self {
            bucket,
            behind: None,
        }
    }
}

impl RedisStore {
    pub(super) async fn names_by_pages(
        &self,
        prefix: &str,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        // With its first part whole, a name can be in one bucket only.
        if prefix.contains('/') {
            let place = Place {
                bucket: bucket(tag(prefix)),
                behind: from.map(str::to_owned),
            };
            let names = self.names_behind(&place, prefix, limit).await?;
            let next = (names.len() >= limit).then(|| names.last().cloned());
            return Ok(Page {
                next: next.flatten(),
                names,
            });
        }
        let mut place = Place::parse(from)?;
        let mut page = Page::default();
        while buckets().contains(&place.bucket) {
            let left = limit.saturating_sub(page.names.len());
            let names = self.names_behind(&place, prefix, left).await?;
            if names.len() >= left {
                let last = names.last().cloned().or(place.behind).unwrap_or_default();
                page.next = Some(format!("{}:{last}", place.bucket));
                page.names.extend(names);
                break;
            }
            page.names.extend(names);
            place = Place::start_of(place.bucket + 1);
        }
        Ok(page)
    }

    async fn names_behind(
        &self,
        place: &Place,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let key = self.names(place.bucket);
        let start = match place.behind.as_deref() {
            Some(behind) if !behind.is_empty() => format!("({behind}"),
            _ => format!("[{prefix}"),
        };
        let range = range(&key, &start, prefix, limit);
        let answer = self.link.command(&range, Some(&key)).await?;
        let names = fields(answer)?.into_iter().flatten();
        names
            .map(|name| String::from_utf8(name).map_err(|_| StoreError::Damaged))
            .collect()
    }

    pub(super) async fn ended_by_pages(
        &self,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let mut place = Place::parse(from)?;
        let mut page = Page::default();
        while buckets().contains(&place.bucket) {
            let left = limit.saturating_sub(page.names.len());
            let behind = place.behind.as_deref().unwrap_or("-inf");
            let call = Call::new(&self.ended, vec![self.ends(place.bucket)])
                .arg(behind)
                .number(left);
            let answer = self.run(&call).await?;
            let mut fields = answer.fields.into_iter().flatten();
            let (mut found, mut last) = (0, None);
            while let (Some(name), Some(end)) = (fields.next(), fields.next()) {
                page.names
                    .push(String::from_utf8(name).map_err(|_| StoreError::Damaged)?);
                last = Some(String::from_utf8(end).map_err(|_| StoreError::Damaged)?);
                found += 1;
            }
            if found >= left {
                // Others that ended in the very same microsecond are for the next sweep.
                let last = last.or(place.behind).unwrap_or_else(|| "-inf".to_owned());
                page.next = Some(format!("{}:{last}", place.bucket));
                break;
            }
            place = Place::start_of(place.bucket + 1);
        }
        Ok(page)
    }
}

/// The names from `start` on that begin with `prefix`.
fn range(key: &str, start: &str, prefix: &str, limit: usize) -> Cmd {
    let mut range = cmd("ZRANGEBYLEX");
    range.arg(key).arg(start);
    if prefix.is_empty() {
        range.arg("+");
    } else {
        // No name holds this byte, so it is behind all that begin so.
        let mut end = vec![b'('];
        end.extend_from_slice(prefix.as_bytes());
        end.push(0xff);
        range.arg(end);
    }
    range.arg("LIMIT").arg(0).arg(limit);
    range
}
