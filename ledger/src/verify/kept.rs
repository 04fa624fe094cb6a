//! What a store with locks says of an object: can it be removed, and does its clock agree.

use super::{Doubt, Fault, Finding, Report};
use crate::{clock::DAY_US, store::Kept};

/// How far two clocks may differ. S3 takes no request whose time differs more.
pub(super) const CLOCKS_US: u64 = 15 * 60 * 1_000_000;
/// A segment is stored a few seconds after its records; more than this is worth knowing.
const LATE_US: u64 = 3600 * 1_000_000;

/// What is demanded of the locks of a store that has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locks {
    /// For how many days an object must have been locked when it was stored; 0 demands no lock.
    pub days: u32,
    /// The time now, in microseconds since 1970; without it no lock counts as ended.
    pub now_us: Option<u64>,
}

impl Default for Locks {
    /// As long as a gateway locks its log if nothing else is said.
    fn default() -> Self {
        Self {
            days: crate::DEFAULT_RETENTION_DAYS,
            now_us: None,
        }
    }
}

impl Locks {
    /// Judges one object; `last_us` is the time of its last record, or of the seal that it is.
    pub(super) fn judge(&self, name: &str, kept: Kept, last_us: Option<u64>, report: &mut Report) {
        if self.days > 0 {
            self.judge_lock(name, kept, report);
        }
        let Some(last_us) = last_us else {
            return;
        };
        if last_us > kept.written_us.saturating_add(CLOCKS_US) {
            report.doubt(name, Doubt::Clock);
        } else if kept.written_us > last_us.saturating_add(LATE_US) {
            report.finding(name, Finding::Late);
        }
    }

    fn judge_lock(&self, name: &str, kept: Kept, report: &mut Report) {
        let Some(until_us) = kept.locked_until_us else {
            report.fault(name, Fault::Unlocked);
            return;
        };
        let demanded = kept
            .written_us
            .saturating_add(u64::from(self.days) * DAY_US);
        if until_us.saturating_add(CLOCKS_US) < demanded {
            report.fault(name, Fault::LockShort);
        }
        if self.now_us.is_some_and(|now_us| until_us <= now_us) {
            report.finding(name, Finding::LockEnded);
        }
        let least = report.locked_until_us.get_or_insert(until_us);
        *least = until_us.min(*least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-29T14:05:00Z.
    const AT: u64 = 1_795_961_100_000_000;

    fn judge(days: u32, lock_days: Option<u64>, after: u64, last_us: u64) -> Report {
        let mut report = Report::default();
        let locks = Locks {
            days,
            now_us: Some(AT + after * DAY_US),
        };
        let kept = Kept {
            written_us: AT,
            locked_until_us: lock_days.map(|days| AT + days * DAY_US),
        };
        locks.judge("log/a", kept, Some(last_us), &mut report);
        report
    }

    #[test]
    fn locks() {
        let fault = |days, lock_days| {
            judge(days, lock_days, 0, AT)
                .faults
                .first()
                .map(|at| at.what)
        };
        assert_eq!(fault(400, Some(400)), None);
        assert_eq!(fault(400, Some(399)), Some(Fault::LockShort));
        assert_eq!(fault(400, None), Some(Fault::Unlocked));
        assert_eq!(fault(0, None), None);
        assert_eq!(
            judge(400, Some(401), 0, AT).locked_until_us,
            Some(AT + 401 * DAY_US)
        );
        let ended = judge(400, Some(400), 400, AT);
        assert!(ended.faults.is_empty());
        assert_eq!(ended.findings[0].what, Finding::LockEnded);
    }

    #[test]
    fn clocks() {
        let minute = 60_000_000;
        assert!(judge(1, Some(1), 0, AT + 14 * minute).doubts.is_empty());
        let ahead = judge(1, Some(1), 0, AT + 16 * minute);
        assert_eq!(ahead.doubts[0].what, Doubt::Clock);
        assert!(judge(1, Some(1), 0, AT - 59 * minute).findings.is_empty());
        let late = judge(1, Some(1), 0, AT - 61 * minute);
        assert_eq!(late.findings[0].what, Finding::Late);
    }
}
