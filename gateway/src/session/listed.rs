//! The list of legal holds: a row a session that may be on hold, and what about it the log, or the key's
//! own row, may not have yet. A process that dies in between leaves that to whoever comes next.

use super::{SessionError, Sessions, begun::GATEWAY, hold::Hold, store::Durable, turn::Location};
use crate::{
    audit::HoldAction,
    registry::{Expected, Put, Table},
};

/// Stands behind the time of a hold whose record the log may not have.
const HELD: u8 = b'h';
/// Stands behind the time of a hold that is about to end.
const RELEASED: u8 = b'r';

/// What is begun about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is put, or put anew.
    Hold,
    /// It is ended.
    Release,
}

impl Step {
    fn tag(self) -> u8 {
        match self {
            Self::Hold => HELD,
            Self::Release => RELEASED,
        }
    }

    /// What its record says.
    fn action(self) -> HoldAction {
        match self {
            Self::Hold => HoldAction::Hold,
            Self::Release => HoldAction::Release,
        }
    }
}

/// What is left to be done about a hold: `since ‖ [h|r ‖ asked ‖ by]`, times in microseconds since 1970 (UTC), as
/// 64 bits, big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Which hold of the session it is.
    pub(super) since_us: i64,
    pub(super) owed: Option<Owed>,
}

/// Something that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) step: Step,
    /// When it was asked for, or somebody last went on with it.
    asked_us: i64,
    /// Who asked, as the system knows.
    pub(super) by: String,
}

impl Listed {
    pub(super) fn parse(row: &[u8]) -> Option<Self> {
        let (since, rest) = row.split_first_chunk()?;
        let owed = match rest.split_first() {
            None => None,
            Some((tag, rest)) => {
                let (asked, by) = rest.split_first_chunk()?;
                Some(Owed {
                    step: match *tag {
                        HELD => Step::Hold,
                        RELEASED => Step::Release,
                        _ => return None,
                    },
                    asked_us: i64::from_be_bytes(*asked),
                    by: std::str::from_utf8(by).ok()?.to_owned(),
                })
            }
        };
        Some(Self {
            since_us: i64::from_be_bytes(*since),
            owed,
        })
    }

    fn row(&self) -> Vec<u8> {
        let mut row = self.since_us.to_be_bytes().to_vec();
        if let Some(owed) = &self.owed {
            row.push(owed.step.tag());
            row.extend_from_slice(&owed.asked_us.to_be_bytes());
            row.extend_from_slice(owed.by.as_bytes());
        }
        row
    }

    /// The same with nothing left to be done.
    pub(super) fn done(&self) -> Self {
        Self {
            owed: None,
            ..self.clone()
        }
    }
}

impl Sessions {
    /// The row of something that is begun now.
    pub(super) fn owing(&self, hold: &Hold, step: Step, by: &str) -> Listed {
        Listed {
            since_us: hold.since_us,
            owed: Some(Owed {
                step,
                asked_us: self.shared.clock.utc_us(),
                by: by.to_owned(),
            }),
        }
    }

    /// Lists a session, whatever the list said of it before.
    pub(super) async fn list_hold(
        &self,
        location: &Location,
        listed: &Listed,
    ) -> Result<(), SessionError> {
        let _before = self.note(Table::Holds, location, listed.row()).await?;
        Ok(())
    }

    /// What the list says of a session.
    pub(super) async fn listed(&self, location: &Location) -> Result<Option<Listed>, SessionError> {
        let row = self.shared.registry.get(Table::Holds, &location.name);
        Ok(row.await?.as_deref().and_then(Listed::parse))
    }

    /// Says something else of it, or nothing any more, unless somebody else has meanwhile.
    pub(super) async fn relist(
        &self,
        location: &Location,
        was: &Listed,
        is: Option<&Listed>,
    ) -> Result<bool, SessionError> {
        let put = match is {
            Some(is) => Put::new(Expected::Value(was.row()), is.row(), Durable::Now),
            None => Put::away(was.row(), Durable::Now),
        };
        let registry = &self.shared.registry;
        Ok(registry.put_if(Table::Holds, &location.name, put).await?)
    }

    /// Notes that nothing is left to be done.
    pub(super) async fn settle(
        &self,
        location: &Location,
        owing: &Listed,
    ) -> Result<(), SessionError> {
        let _was_own = self.relist(location, owing, Some(&owing.done())).await?;
        Ok(())
    }

    /// Writes the records of holds that a process left unwritten, and ends those whose release it had begun. Once
    /// an hour is often enough.
    ///
    /// # Errors
    /// The registry did not tell which there are. What fails for one of them is tried again next time.
    pub async fn conclude_holds(&self) -> Result<(), SessionError> {
        let rows = self.shared.registry.list(Table::Holds, "").await?;
        for (name, row) in rows {
            let listed = Location::parse(&name).zip(Listed::parse(&row));
            let Some((location, listed)) = listed else {
                tracing::warn!("what is remembered of a legal hold is damaged");
                continue;
            };
            if let Err(error) = self.conclude_hold(&location, &listed).await {
                let session = location.reference.as_str();
                tracing::warn!(session, %error, "what was begun about a legal hold is not done");
            }
        }
        Ok(())
    }

    pub(super) async fn conclude_hold(
        &self,
        location: &Location,
        listed: &Listed,
    ) -> Result<(), SessionError> {
        let Some(owed) = &listed.owed else {
            return Ok(());
        };
        if !self.is_left(owed.asked_us) {
            return Ok(());
        }
        let Some(hold) = self.hold_on(location).await? else {
            // It never came into the key's row, or is not there any more. Nothing says whether the one before took
            // the key's end with it, so that gets one again.
            self.end_key_of_ended(location).await?;
            let _was_so = self.relist(location, listed, None).await?;
            return Ok(());
        };
        // What was begun never came into the key's row where that has another hold; the log may not have that one.
        let (step, by) = match hold.since_us == listed.since_us {
            true => (owed.step, owed.by.as_str()),
            false => (Step::Hold, GATEWAY),
        };
        // Another process may have found the same: one of them goes on with it.
        let claimed = self.owing(&hold, step, by);
        if !self.relist(location, listed, Some(&claimed)).await? {
            return Ok(());
        }
        self.say_hold(&hold, step.action(), by).await?;
        match step {
            Step::Hold => self.settle(location, &claimed).await,
            Step::Release => self.end_hold(location, &hold, &claimed).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_those_of_before_can_be_read() {
        for owed in [None, Some(Step::Hold), Some(Step::Release)] {
            let listed = Listed {
                since_us: -5,
                owed: owed.map(|step| Owed {
                    step,
                    asked_us: 7,
                    by: "uid:0".to_owned(),
                }),
            };
            assert_eq!(Listed::parse(&listed.row()), Some(listed));
        }
        let plain = Listed::parse(&[0; 8]).unwrap();
        assert_eq!((plain.since_us, plain.owed), (0, None));
        for bad in [&[0; 7][..], &[0; 9], &[0; 17]] {
            assert_eq!(Listed::parse(bad), None);
        }
    }
}
