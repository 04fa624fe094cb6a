//! Screening, both ways: what may not leave is taken out of requests, what may not come in is taken
//! out of replies, and the caller's own values are put back.

mod reply;
mod request;

pub use reply::{Findings, Flow, ReplySearch};
pub use request::{Names, Outcome, Refused, Screening};
