//! Sealed payloads beside the log: whether they are what the log says, and what today's detectors find
//! in them.

mod check;
mod keys;
mod rescan;
mod search;
mod survey;

pub(crate) use check::{Checked, check};
pub(crate) use rescan::{Arguments, run};

/// The most bytes of an object that are read: a body of the largest size that gateways take, sealed.
const LARGEST: usize = 256 << 20;
