//! Checks that raise the confidence in a bare number: sums, issuer prefixes, country formats.
//! None of them vetoes a value that stands beside its own label.

pub(crate) mod coins;
pub(crate) mod context;
pub(crate) mod sums;
