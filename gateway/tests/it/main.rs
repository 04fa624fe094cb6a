//! Integration tests, one binary.

mod arrows;
mod errors;
mod size;
mod source;
