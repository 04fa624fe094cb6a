//! The `gatehouse` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatehouse::cli::run(std::env::args_os())
}
