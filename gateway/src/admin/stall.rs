//! When to say that something is wrong with the log, and when to say so again.

use std::time::Duration;

/// The first and the longest time between two warnings of one kind.
const TELL: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(600));

/// How long something has been wrong with the log, and when to say so next: less and less often.
#[derive(Default)]
pub(super) struct Stall {
    told: Option<(tokio::time::Instant, Duration)>,
}

impl Stall {
    pub(super) fn is_to_be_told(&mut self, stalled: bool, now: tokio::time::Instant) -> bool {
        match self.told {
            _ if !stalled => {
                self.told = None;
                false
            }
            Some((next, _)) if now < next => false,
            told => {
                let wait = told.map_or(TELL.0, |(_, wait)| (wait * 2).min(TELL.1));
                self.told = Some((now + wait, wait));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stall_is_told_less_and_less_often_and_anew_after_its_end() {
        let (mut stall, start) = (Stall::default(), tokio::time::Instant::now());
        let mut told = Vec::new();
        for second in 0..200 {
            let now = start + Duration::from_secs(second);
            if stall.is_to_be_told(second != 100, now) {
                told.push(second);
            }
        }
        assert_eq!(told, [0, 10, 30, 70, 101, 111, 131, 171]);
    }
}
