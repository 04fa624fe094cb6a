//! The `gatehouse-auditor` binary.
fn main() {}
