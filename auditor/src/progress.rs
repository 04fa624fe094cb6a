//! A progress bar on standard error, for what takes more than a second and somebody watches.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// How wide the bar is.
const WIDTH: u64 = 40;
/// How long nothing is shown, and how long one picture stands.
const PATIENCE: Duration = Duration::from_secs(1);
const PICTURE: Duration = Duration::from_millis(100);

/// A bar that is shown if it is worth it, and wiped when dropped.
pub(crate) struct Bar {
    start: Instant,
    shown: Option<Instant>,
    terminal: bool,
    unit: &'static str,
}

impl Bar {
    pub(crate) fn new(unit: &'static str) -> Self {
        Self {
            start: Instant::now(),
            shown: None,
            terminal: io::stderr().is_terminal(),
            unit,
        }
    }

    /// Shows that `done` of `all` is done.
    pub(crate) fn show(&mut self, done: u64, all: u64) {
        let now = Instant::now();
        let recent = self
            .shown
            .is_some_and(|at| now.duration_since(at) < PICTURE);
        if !self.terminal || recent || now.duration_since(self.start) < PATIENCE {
            return;
        }
        self.shown = Some(now);
        // A bar that cannot be shown is no reason to stop.
        let _ = write!(
            io::stderr(),
            "\r{} {done} of {all} {}",
            picture(done, all),
            self.unit
        );
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn picture(done: u64, all: u64) -> String {
    let full = (done.min(all) * WIDTH).checked_div(all).unwrap_or(WIDTH);
    (0..WIDTH)
        .map(|at| if at < full { '█' } else { '░' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures() {
        let full = |done, all| picture(done, all).chars().filter(|c| *c == '█').count();
        assert_eq!(picture(1, 3).chars().count(), 40);
        assert_eq!(
            [full(0, 3), full(1, 2), full(3, 3), full(9, 3), full(0, 0)],
            [0, 20, 40, 40, 40]
        );
    }
}
