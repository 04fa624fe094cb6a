//! Time stamps on the last seals of days (RFC 3161): by when a log was what it is.

use gatehouse_envelope::stamp::{MAX_REPLY, Stamp, StampError};

use super::{
    Doubt, Fault, Finding, Report, Stamped,
    kept::CLOCKS_US,
    seal::{Check, LATE_US, Sealed, Stop},
};

/// How far stamps may be behind the seals: one comes when a day is over, and may be late.
const BEHIND_US: u64 = LATE_US;

impl Check<'_> {
    /// Checks the time stamps, once the seals are checked.
    pub(super) fn stamps(&mut self, report: &mut Report) {
        let found = self.found;
        // Of a log that ends at a fault, nobody knows whether the last seal was the last of its day.
        let last_day = self.days.keys().next_back().cloned();
        for (day, name) in &found.stamps {
            let open = self.summary.broken && last_day.as_ref().is_none_or(|last| day >= last);
            if open {
                continue;
            }
            match self.stamp(day, name, report) {
                Ok(stamped) => self.summary.stamped = stamped.or(self.summary.stamped),
                Err(Stop::Doubt(doubt)) => report.doubt(name, doubt),
                Err(Stop::Fault(fault)) => report.fault(name, fault),
            }
        }
        for (name, kept) in self.kept.drain(..) {
            self.by.locks.judge(&name, kept, None, report);
        }
        let named = self.by.authorities.is_some();
        if !named && !found.stamps.is_empty() {
            report.finding(self.name, Finding::Stamps);
        }
        let since = self.summary.stamped.map_or(self.first_us, |it| it.unix_us);
        let behind = self.summary.last_us.saturating_sub(since) > BEHIND_US;
        if named && behind && !self.summary.broken {
            report.doubt(self.name, Doubt::StampBehind);
        }
    }

    /// Checks one; none if nobody can say whose it is.
    fn stamp(
        &mut self,
        day: &str,
        name: &str,
        report: &mut Report,
    ) -> Result<Option<Stamped>, Stop> {
        let fault = || Stop::Fault(Fault::Stamp);
        let reply = match self.get(name, MAX_REPLY) {
            Err(Stop::Fault(Fault::Seal)) => return Err(fault()),
            other => other?,
        };
        // Of a day without a seal: the seals that were there are gone.
        let sealed = self.days.get(day);
        let Sealed {
            number,
            root,
            unix_us,
        } = sealed.ok_or(Stop::Fault(Fault::SealMissing))?;
        let stamp = Stamp::open(&reply).map_err(|error| match error {
            StampError::Algorithm => Stop::Doubt(Doubt::NotChecked),
            _ => fault(),
        })?;
        if stamp.imprint() != root {
            return Err(fault());
        }
        if stamp.unix_us().saturating_add(CLOCKS_US) < *unix_us {
            report.doubt(name, Doubt::Clock);
        }
        if stamp.unix_us() > unix_us.saturating_add(LATE_US) {
            report.doubt(name, Doubt::Late);
        }
        let Some(authorities) = self.by.authorities else {
            return Ok(None);
        };
        stamp
            .is_by(authorities)
            .map_err(|_| Stop::Doubt(Doubt::StampUntrusted))?;
        Ok(Some(Stamped {
            seal: *number,
            unix_us: *unix_us,
            stamped_us: stamp.unix_us(),
        }))
    }
}
