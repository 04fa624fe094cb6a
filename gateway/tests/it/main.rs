//! Integration tests, one binary.

mod arrows;
mod errors;
mod gate;
mod size;
mod source;
mod wire;
