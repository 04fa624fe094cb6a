//! Screening, both ways: what may not leave is taken out of requests, what may not come in is taken
//! out of replies, and the caller's own values are put back.

mod reply;
mod request;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use reply::{Findings, Flow, ReplySearch};
pub use request::{Names, Outcome, Refused, Screening};

/// Runs long work without holding up the tasks of this thread.
pub fn aside<T>(long: bool, work: impl FnOnce() -> T) -> T {
    let flavor = tokio::runtime::Handle::current().runtime_flavor();
    if long && flavor == tokio::runtime::RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Runs a search that hostile text may bring to a panic. That is a search that did not end:
/// `None`, so that the exchange ends with a record like any other that could not be searched.
fn finished<T>(search: impl FnOnce() -> T) -> Option<T> {
    // What a panic leaves half done is never sent: its holder goes by the `None`.
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(done) => Some(done),
        Err(_) => {
            tracing::error!("a search panicked");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_unfinished_search() {
        assert_eq!(finished(|| 1), Some(1));
        let mut found = Vec::new();
        let search = || {
            found.push(1);
            assert!(found.is_empty(), "hostile text");
        };
        assert_eq!(finished(search), None);
    }
}
