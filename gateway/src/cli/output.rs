//! Where commands write: results to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

/// Standard output and standard error of this process.
pub(crate) struct Output {
    out: io::BufWriter<Standard>,
}

/// Standard output, and whether its reader has left.
struct Standard {
    out: io::Stdout,
    left: bool,
}

impl Standard {
    fn noting<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        let left = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        self.left |= done.as_ref().is_err_and(left);
        done
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.noting(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.noting(done)
    }
}

impl Output {
    pub(crate) fn of_process() -> Output {
        Output {
            out: io::BufWriter::new(Standard {
                out: io::stdout(),
                left: false,
            }),
        }
    }

    /// Whether whoever read the result wants no more of it, as `head` does.
    pub(crate) fn is_unread(&self) -> bool {
        self.out.get_ref().left
    }

    /// One line of the result, visible at once.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// The result's raw stream, for commands that write much; they flush it themselves.
    pub(crate) fn stream(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// A line for the operator beside the result.
    pub(crate) fn note(&mut self, text: &str) {
        // Nobody is left to be told that nobody is left to be told.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// What went wrong, a line a fault, each with the program's name.
    pub(crate) fn complain(&mut self, message: &str) {
        for line in message.lines() {
            self.note(&format!("gatehouse: {line}"));
        }
    }

    /// The terminal's width in columns; `None` if standard output is no terminal.
    pub(crate) fn width() -> Option<usize> {
        io::stdout().is_terminal().then_some(())?;
        terminal_width()
    }
}

/// Asks the terminal itself, by way of `stty`: a system call for it would need unsafe code.
fn terminal_width() -> Option<usize> {
    let answer = std::process::Command::new("stty")
        .arg("size")
        .stdin(std::process::Stdio::inherit())
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
