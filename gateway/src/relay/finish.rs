//! How a reply comes to its end. Streams and whole replies share this, so that the same fault has the
//! same ending in the log and the same word for the caller.

use super::Shared;
use crate::audit::Ending;
use crate::reject::{Code, Rejection};

/// The end of a reply; `T` is what is still to be delivered.
pub(super) enum Finish<T> {
    /// As the protocol ends it.
    Whole(T),
    /// With an error that the provider reports.
    Reported(T),
    /// In any other way.
    Broken(Rejection),
    /// Nobody listens any more.
    CallerGone,
}

impl<T> Finish<T> {
    /// What the record says of it.
    pub(super) fn ending(&self) -> Ending {
        match self {
            Self::Whole(_) => Ending::Done,
            Self::Reported(_) => Ending::Error,
            Self::Broken(rejection) => match rejection.code() {
                Code::ExchangeTimeout | Code::ProviderTimeout => Ending::Timeout,
                Code::ProviderTruncated => Ending::UpstreamCut,
                Code::SessionInterrupted => Ending::Interrupted,
                _ => Ending::Error,
            },
            Self::CallerGone => Ending::CallerGone,
        }
    }

    /// The end as the caller sees it: one that the log did not take is broken, whatever it was.
    pub(super) fn recorded(self, settled: Result<(), Code>, shared: &Shared) -> Self {
        let finish = match (self, settled) {
            (Self::CallerGone, _) => Self::CallerGone,
            (finish, Ok(())) => finish,
            (_, Err(code)) => Self::Broken(code.into()),
        };
        if let Self::Broken(rejection) = &finish {
            shared.metrics.refused(rejection.code());
        }
        finish
    }
}
