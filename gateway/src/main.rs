//! The `gatehouse` binary.
fn main() {}
