//! What the redaction policies of the period said, as the log has it: without what may name somebody.

use std::collections::BTreeMap;

use gatehouse_envelope::digest::unhex;

use super::package::Package;
use crate::{cli::Failure, scan::Period, views::Database};

/// Writes `policies/<digest>.toml` for every policy under which a request was admitted in the period, if the
/// log has all of its text: logs of builds before it was written down have none.
pub(super) fn write(
    package: &mut Package,
    database: &Database,
    period: Period,
) -> Result<(), Failure> {
    for (digest, text) in texts(database, period)? {
        package.text(&format!("policies/{digest}.toml"), &text)?;
    }
    Ok(())
}

/// The texts by their policies' digests, in hex.
fn texts(database: &Database, period: Period) -> Result<BTreeMap<String, String>, Failure> {
    let sql = "SELECT policy, w, part, parts, text FROM records
        WHERE kind = 'policy.text' AND part IS NOT NULL AND parts IS NOT NULL AND text IS NOT NULL
          AND policy IN (
          SELECT policy FROM records
          WHERE kind = 'exchange.admitted' AND ts_us >= ?1 AND ts_us < ?2)
        ORDER BY policy, w, seq";
    let mut statement = database.connection().prepare(sql)?;
    let bounds = [period.from_us, period.to_us].map(|us| i64::try_from(us).unwrap_or(i64::MAX));
    let mut rows = statement.query(bounds)?;
    let (mut whole, mut begun) = (BTreeMap::new(), Begun::default());
    while let Some(row) = rows.next()? {
        let (policy, writer): (String, String) = (row.get(0)?, row.get(1)?);
        let (part, parts): (i64, i64) = (row.get(2)?, row.get(3)?);
        let text: String = row.get(4)?;
        let of = (policy, writer);
        if let Some(text) = begun.goes_on(&of, part, parts, &text)
            && let Some(digest) = digest_of(&of.0)
        {
            whole.entry(digest).or_insert(text);
        }
    }
    Ok(whole)
}

/// A file is called by it, so it must be nothing else.
fn digest_of(policy: &str) -> Option<String> {
    let digits = policy.strip_prefix("sha256:")?;
    unhex(digits).map(|_| digits.to_owned())
}

/// The parts of one text so far.
#[derive(Default)]
struct Begun {
    /// Policy and writer.
    of: (String, String),
    next: i64,
    text: String,
}

impl Begun {
    /// Takes a part; gives the whole text with its last one.
    fn goes_on(
        &mut self,
        of: &(String, String),
        part: i64,
        parts: i64,
        text: &str,
    ) -> Option<String> {
        if part == 1 {
            *self = Self {
                of: of.clone(),
                next: 1,
                text: String::new(),
            };
        }
        if self.of != *of || part != self.next {
            self.next = 0;
            return None;
        }
        self.next += 1;
        self.text.push_str(text);
        (part == parts).then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_texts_count() {
        let of = |writer: &str| ("sha256:00".to_owned(), writer.to_owned());
        let (one, two) = (of("w1"), of("w2"));
        let mut begun = Begun::default();
        assert_eq!(begun.goes_on(&one, 2, 2, "b"), None);
        assert_eq!(begun.goes_on(&one, 1, 3, "a"), None);
        assert_eq!(begun.goes_on(&one, 3, 3, "c"), None);
        assert_eq!(begun.goes_on(&one, 1, 2, "a"), None);
        assert_eq!(begun.goes_on(&two, 2, 2, "b"), None);
        assert_eq!(begun.goes_on(&two, 1, 2, "a"), None);
        assert_eq!(begun.goes_on(&two, 2, 2, "b").as_deref(), Some("ab"));
        assert_eq!(begun.goes_on(&two, 1, 1, "c").as_deref(), Some("c"));
    }
}
