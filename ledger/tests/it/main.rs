//! Integration tests, one binary.

mod log;
mod writer;
