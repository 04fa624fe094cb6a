//! What a process notes before it does it, so that another goes on with it: a row a session, of erasures and of
//! legal holds.

use std::time::Duration;

use super::{SessionError, Sessions, store::Durable, turn::Location};
use crate::{
    clock::later,
    registry::{Expected, Put, Table},
};

/// Who has begun something, and is not done after so long, is dead: another does it.
const AT_IT: Duration = Duration::from_secs(600);
/// Who goes on with what a process left undone, in records.
pub(super) const GATEWAY: &str = "gateway";

/// Whether a process that has begun something then, and is not done, is dead: it was so long ago, or before
/// `alone_since_us`, when there was no other process.
fn is_left(begun_us: i64, alone_since_us: Option<i64>, now_us: i64) -> bool {
    let is_before = alone_since_us.is_some_and(|alone_us| begun_us < alone_us);
    is_before || later(begun_us, AT_IT) <= now_us
}

impl Sessions {
    /// Whether who has begun something then, and is not done, is dead.
    pub(super) fn is_left(&self, begun_us: i64) -> bool {
        let alone_since_us = (!self.shared.is_shared()).then_some(self.shared.opened_us);
        is_left(begun_us, alone_since_us, self.shared.clock.utc_us())
    }

    /// Notes something, whatever was noted before; says what that was.
    pub(super) async fn note(
        &self,
        table: Table,
        location: &Location,
        row: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let registry = &self.shared.registry;
        loop {
            let there = registry.get(table, &location.name).await?;
            let expected = there.clone().map_or(Expected::Absent, Expected::Value);
            let put = Put::new(expected, row.clone(), Durable::Now);
            if registry.put_if(table, &location.name, put).await? {
                return Ok(there);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_is_left_to_its_process_for_a_while() {
        for alone_us in [None, Some(1_000)] {
            assert!(!is_left(1_000, alone_us, 600_000_999));
            assert!(is_left(1_000, alone_us, 600_001_000));
        }
        assert!(is_left(1_000, Some(1_001), 1_002));
    }
}
