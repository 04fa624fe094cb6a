//! What DynamoDB and S3 have in common: how a call fails, and when it is sent again.
//!
//! The SDK would send a call again by itself and not say so. Whether a write was sent twice matters
//! here: the second attempt may find what the first one left. So the SDK's retries are off, and calls
//! are repeated here, within one bound of time.

use std::{error::Error, future::Future, time::Duration};

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use gatehouse_envelope::random;
use tokio::time::Instant;

use super::Condition;

/// How long to wait before a call is sent again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How often a call is sent again of which nobody knows whether it was done.
const AGAIN: u32 = 2;
/// Codes of calls that were not done, and may be soon.
const PASSING: [&str; 10] = [
    "LimitExceededException",
    "ConditionalRequestConflict",
    "OperationAborted",
    "ProvisionedThroughputExceededException",
    "ReplicatedWriteConflictException",
    "RequestLimitExceeded",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TransactionConflictException",
];

/// Why a service of AWS gave no answer, or none that counts. Holds no name, value or message of the
/// service's.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{service} {fault}")]
pub struct AwsError {
    service: &'static str,
    fault: Fault,
}

impl AwsError {
    /// Whether the service refused with this code.
    pub(crate) fn refused(&self, code: &str) -> bool {
        matches!(&self.fault, Fault::Refused(refused) if refused == code)
    }
}

/// What went wrong with one attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The service failed, with this code. A write may have happened.
    #[error("failed: {0}")]
    Broken(String),
    /// The service has too much to do, or the item is being changed: this code. Nothing was done.
    #[error("is busy: {0}")]
    Busy(String),
    /// Not within the time-out. A write may have happened.
    #[error("did not answer in time")]
    Late,
    /// The connection could not be made, or broke. A write may have happened.
    #[error("could not be reached: {0}")]
    Lost(String),
    /// The service refused, with this code. Nothing was done.
    #[error("refused: {0}")]
    Refused(String),
    /// The answer has another form than it must have.
    #[error("gave an answer of an unknown form")]
    Unexpected,
}

impl Fault {
    /// What a failed call of the SDK means.
    pub(crate) fn of<E>(error: &SdkError<E>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match error {
            SdkError::TimeoutError(_) => Self::Late,
            SdkError::DispatchFailure(failure) if failure.is_timeout() => Self::Late,
            SdkError::DispatchFailure(failure) => match failure.as_connector_error() {
                Some(error) => Self::Lost(causes(error)),
                None => Self::Lost("no connection".to_owned()),
            },
            SdkError::ServiceError(answer) => {
                let code = answer.err().code().unwrap_or("no code").to_owned();
                match answer.raw().status().as_u16() {
                    _ if PASSING.contains(&code.as_str()) => Self::Busy(code),
                    429 => Self::Busy(code),
                    500.. => Self::Broken(code),
                    _ => Self::Refused(code),
                }
            }
            SdkError::ConstructionFailure(_) => {
                Self::Refused(format!("not sent: {}", causes(error)))
            }
            _ => Self::Unexpected,
        }
    }

    /// Whether nothing was done, and trying again soon may help.
    fn passes(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    /// Whether it may have been done all the same.
    fn is_doubtful(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Late | Self::Lost(_) | Self::Unexpected => true,
            Self::Busy(_) | Self::Refused(_) => false,
        }
    }
}

/// An error and what is behind it, in one line. What a connection says of itself quotes nothing that
/// was sent.
fn causes(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// What came of a call.
pub(crate) struct Sent<T> {
    /// What the service said.
    pub(crate) answer: T,
    /// Whether an earlier attempt at the same call may have been done too.
    pub(crate) doubtful: bool,
}

/// Sends calls to one service.
pub(crate) struct Sender {
    service: &'static str,
    timeout: Duration,
    condition: Condition,
}

impl Sender {
    /// For `service`, within `timeout` for a call with all that is sent again for it.
    pub(crate) fn new(service: &'static str, timeout: Duration) -> Self {
        Self {
            service,
            timeout,
            condition: Condition::default(),
        }
    }

    /// Whether the service answered last time.
    pub(crate) fn condition(&self) -> Condition {
        self.condition.clone()
    }

    /// This fault, as an error of the service.
    pub(crate) fn error(&self, fault: Fault) -> AwsError {
        let service = self.service;
        AwsError { service, fault }
    }

    /// Makes a call: again if the service was too busy, and if it `repeats`, also where nobody knows
    /// whether it was done.
    pub(crate) async fn send<T, F>(
        &self,
        repeats: bool,
        once: impl Fn() -> F,
    ) -> Result<Sent<T>, AwsError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let deadline = Instant::now() + self.timeout;
        let (mut pause, mut again, mut doubtful) = (PAUSE.0, 0, false);
        let done = loop {
            // A connection that leads nowhere must not take all the time there is.
            let patience = match repeats && again == 0 {
                true => Instant::now() + self.timeout / 2,
                false => deadline,
            };
            let once = Box::pin(once());
            let once = tokio::time::timeout_at(patience.min(deadline), once).await;
            let fault = match once.unwrap_or(Err(Fault::Late)) {
                Ok(answer) => break Ok(Sent { answer, doubtful }),
                Err(fault) => fault,
            };
            let may_again = fault.passes() || (repeats && fault.is_doubtful() && again < AGAIN);
            if !may_again || Instant::now() + pause >= deadline {
                break Err(fault);
            }
            again += u32::from(fault.is_doubtful());
            doubtful |= fault.is_doubtful();
            tokio::time::sleep(some_of(pause)).await;
            pause = (pause * 2).min(PAUSE.1);
        };
        self.condition.note(done.is_err());
        done.map_err(|fault| self.error(fault))
    }
}

/// Between half of it and all, so that those who were turned away together do not come back together.
fn some_of(pause: Duration) -> Duration {
    let [byte] = random::bytes().unwrap_or([u8::MAX]);
    pause / 2 + pause / 512 * u32::from(byte)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    async fn sent(repeats: bool, faults: Vec<Fault>) -> (Result<bool, Fault>, usize) {
        let sender = Sender::new("service", Duration::from_secs(60));
        let (faults, attempts) = (Mutex::new(faults), Mutex::new(0));
        let once = || async {
            *attempts.lock() += 1;
            let mut faults = faults.lock();
            match faults.is_empty() {
                true => Ok(()),
                false => Err(faults.remove(0)),
            }
        };
        let done = sender.send(repeats, once).await;
        assert_eq!(sender.condition().failed(), done.is_err());
        let done = done.map(|sent| sent.doubtful).map_err(|error| error.fault);
        (done, attempts.into_inner())
    }

    /// Time stands still but for the pauses.
    #[tokio::test(start_paused = true)]
    async fn what_was_not_done_is_sent_again_and_what_may_have_been_only_if_it_repeats() {
        let busy = || Fault::Busy("ThrottlingException".to_owned());
        let broken = || Fault::Broken("InternalServerError".to_owned());
        let refused = || Fault::Refused("ValidationException".to_owned());
        assert_eq!(sent(false, vec![]).await, (Ok(false), 1));
        assert_eq!(sent(false, vec![busy(); 5]).await, (Ok(false), 6));
        for fault in [broken(), Fault::Late, Fault::Lost("cut".to_owned())] {
            let once = sent(false, vec![fault.clone()]).await;
            assert_eq!(once, (Err(fault.clone()), 1));
            assert_eq!(sent(true, vec![fault.clone()]).await, (Ok(true), 2));
            let always = sent(true, vec![fault.clone(); 9]).await;
            assert_eq!(always, (Err(fault), 3));
        }
        let both = vec![busy(), broken(), busy()];
        assert_eq!(sent(true, both).await, (Ok(true), 4));
        assert_eq!(sent(true, vec![refused()]).await, (Err(refused()), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_stays_busy_is_given_up_in_time() {
        let busy = Fault::Busy("SlowDown".to_owned());
        let (done, attempts) = sent(false, vec![busy.clone(); 9999]).await;
        assert_eq!(done, Err(busy));
        assert!((60..=300).contains(&attempts), "{attempts}");
    }
}
