//! The line of those that wait for a lease: a text in the session's item, swapped as a whole.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    super::{StoreError, line::Line},
    DynamoStore,
    row::{Stored, key, parts},
};
use crate::registry::{Verb, Written, number};

/// The lease as it was when it was looked at.
pub(super) const IF_UNCHANGED: &str = "row_format = :one AND lease_no = :seen_lease \
                                       AND lease_nonce = :seen_nonce AND lease_beat = :seen_beat";
/// How often a line is looked at again that others change at the same time.
const ATTEMPTS: u32 = 64;

type Values = Vec<(&'static str, AttributeValue)>;

/// What came of a change of the line.
pub(super) enum Kept {
    /// Another has changed it meanwhile, to this.
    Changed(Stored),
    /// It is as it should be.
    Done,
    /// There is no such session.
    Missing,
}

/// The lease that was looked at.
pub(super) fn seen_lease(stored: &Stored) -> Values {
    let (lease, nonce) = parts(stored.lease.fence);
    vec![
        (":seen_lease", number(lease)),
        (":seen_nonce", number(nonce)),
        (":seen_beat", number(stored.lease.beat)),
    ]
}

impl Stored {
    /// The places in line that are somebody's.
    pub(super) fn line(&self, now_us: i64) -> Line {
        Line::parse(self.line.as_deref().unwrap_or_default(), now_us)
    }

    /// That the line is as it was seen.
    pub(super) fn if_line_is(&self) -> (&'static str, Values) {
        match &self.line {
            None => ("attribute_not_exists(lease_line)", Vec::new()),
            Some(line) => (
                "lease_line = :seen_line",
                vec![(":seen_line", AttributeValue::S(line.clone()))],
            ),
        }
    }

    /// What an update that sets other attributes too has to say for the line to become this.
    pub(super) fn set_line(&self, line: &Line, values: &mut Values) -> String {
        match line.is_empty() {
            true if self.line.is_none() => String::new(),
            true => " REMOVE lease_line".to_owned(),
            false => {
                values.push((":line", AttributeValue::S(line.text())));
                ", lease_line = :line".to_owned()
            }
        }
    }

    /// Whether its line is written so.
    fn has(&self, line: &Line) -> bool {
        self.line.as_deref().unwrap_or_default() == line.text()
    }
}

impl DynamoStore {
    /// Has turns of a holder stand in line. Says whether all of them do.
    pub(super) async fn stand(
        &self,
        id: &str,
        holder: u64,
        turns: usize,
    ) -> Result<bool, StoreError> {
        let Some(item) = self.link.get(key(id)).await? else {
            return Ok(true);
        };
        let mut stored = Stored::read(&item)?;
        for _attempt in 0..ATTEMPTS {
            let now_us = self.link.now_us();
            let mut line = stored.line(now_us);
            let stand = line.bring(holder, turns, now_us);
            match self.keep_line(id, &stored, &line).await? {
                Kept::Changed(there) => stored = there,
                Kept::Done => return Ok(stand == turns),
                Kept::Missing => return Ok(true),
            }
        }
        Err(self.link.doubtful().into())
    }

    /// Has a turn of a holder leave the line.
    pub(super) async fn leave(
        &self,
        id: &str,
        holder: u64,
        nth: usize,
        turns: usize,
    ) -> Result<(), StoreError> {
        let Some(item) = self.link.get(key(id)).await? else {
            return Ok(());
        };
        let mut stored = Stored::read(&item)?;
        for _attempt in 0..ATTEMPTS {
            let mut line = stored.line(self.link.now_us());
            line.leave(holder, nth, turns);
            match self.keep_line(id, &stored, &line).await? {
                Kept::Changed(there) => stored = there,
                Kept::Done | Kept::Missing => return Ok(()),
            }
        }
        Err(self.link.doubtful().into())
    }

    /// Puts a line in the place of the one that was seen.
    pub(super) async fn keep_line(
        &self,
        id: &str,
        seen: &Stored,
        line: &Line,
    ) -> Result<Kept, StoreError> {
        if seen.has(line) {
            return Ok(Kept::Done);
        }
        let (unchanged, mut values) = seen.if_line_is();
        let expression = match line.is_empty() {
            true => "REMOVE lease_line",
            false => {
                values.push((":line", AttributeValue::S(line.text())));
                "SET lease_line = :line"
            }
        };
        values.push((":one", number(1)));
        let condition = format!("row_format = :one AND {unchanged}");
        let expression = expression.to_owned();
        self.swap_line(id, (expression, condition), values, line)
            .await
    }

    /// The same, and gives a lease back that a turn of the holder's own has left behind: it must not hold
    /// up those that come first.
    pub(super) async fn give_back(
        &self,
        id: &str,
        seen: &Stored,
        line: &Line,
    ) -> Result<Kept, StoreError> {
        let (unchanged, mut values) = seen.if_line_is();
        let mut expression = "SET lease_nonce = :zero, lease_holder = :zero".to_owned();
        expression.push_str(&seen.set_line(line, &mut values));
        values.extend(seen_lease(seen));
        values.extend([(":one", number(1)), (":zero", number(0))]);
        let condition = format!("{IF_UNCHANGED} AND {unchanged}");
        self.swap_line(id, (expression, condition), values, line)
            .await
    }

    async fn swap_line(
        &self,
        id: &str,
        (expression, condition): (String, String),
        values: Values,
        line: &Line,
    ) -> Result<Kept, StoreError> {
        let verb = Verb::Update {
            key: key(id),
            expression,
            shown: false,
        };
        match self.change(verb, condition, values, true).await? {
            Written::Done(_) => Ok(Kept::Done),
            Written::Unmet { there: None, .. } => Ok(Kept::Missing),
            Written::Unmet { there, doubtful } => match self.stored(there)? {
                // The first sending did it; only its answer was lost.
                stored if doubtful && stored.has(line) => Ok(Kept::Done),
                stored => Ok(Kept::Changed(stored)),
            },
        }
    }
}
