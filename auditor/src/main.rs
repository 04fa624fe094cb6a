//! The `gatehouse-auditor` binary.

use std::process::ExitCode;

use clap::Parser;
use gatehouse_auditor::cli::{Arguments, Failure, run};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and the version are no errors; they go to standard output.
            let code = if error.use_stderr() { 64 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(arguments) {
        Ok(code) => code,
        Err(failure) => {
            let code = match failure {
                Failure::Usage(_) => 64,
                Failure::Read(_) | Failure::Write(_) => 2,
            };
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("gatehouse-auditor: {failure}\n"),
            );
            ExitCode::from(code)
        }
    }
}
