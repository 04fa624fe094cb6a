//! Integration tests, one binary.

mod arrows;
mod size;
mod source;
