//! Integration tests, one binary.

mod arrows;
mod cli;
mod errors;
mod gate;
mod size;
mod source;
mod streams;
mod wire;
