//! What S3's answers mean to the log.

use std::{error::Error, fmt};

use aws_sdk_s3::{
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
};

use crate::store::StoreError;

/// The most characters of a reason; it goes into an operator's log.
const MAX_REASON: usize = 300;

/// What was asked of S3, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// GetObject.
    Get,
    /// GetObjectLockConfiguration.
    GetLock,
    /// GetBucketVersioning.
    GetVersioning,
    /// HeadObject.
    Head,
    /// ListObjectVersions.
    ListVersions,
    /// PutObject.
    Put,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GetObject",
            Self::GetLock => "GetObjectLockConfiguration",
            Self::GetVersioning => "GetBucketVersioning",
            Self::Head => "HeadObject",
            Self::ListVersions => "ListObjectVersions",
            Self::Put => "PutObject",
        })
    }
}

/// Why S3 did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum S3Error {
    /// 403: wrong credentials, a permission or a policy, another owner than expected.
    #[error("S3 denied {operation} ({code})")]
    Denied {
        /// What was asked.
        operation: Operation,
        /// S3's word for it.
        code: String,
    },
    /// No such bucket.
    #[error("S3 knows no bucket of that name")]
    NoBucket,
    /// The bucket has no Object Lock, so what is in it could be removed.
    #[error("the bucket has no Object Lock; it can hold no log")]
    NoLock,
    /// The bucket keeps no versions.
    #[error("the bucket's versioning is not enabled; it can hold no log")]
    NoVersions,
    /// An object was stored, but not under the lock that was asked for.
    #[error("S3 took an object, but not the lock that was asked for with it")]
    NotLocked,
    /// Too many requests, or an error of S3's own. Trying again helps.
    #[error("S3 is not ready for {operation} ({status} {code})")]
    NotReady {
        /// What was asked.
        operation: Operation,
        /// The HTTP status.
        status: u16,
        /// S3's word for it.
        code: String,
    },
    /// Something else that S3 refused.
    #[error("S3 refused {operation} ({status} {code})")]
    Refused {
        /// What was asked.
        operation: Operation,
        /// The HTTP status.
        status: u16,
        /// S3's word for it.
        code: String,
    },
    /// No answer in time.
    #[error("S3 did not answer {operation} in time")]
    TimedOut {
        /// What was asked.
        operation: Operation,
    },
    /// An answer that makes no sense.
    #[error("S3's answer to {operation} makes no sense")]
    Unclear {
        /// What was asked.
        operation: Operation,
    },
    /// S3 could not be reached, or there are no credentials to reach it with.
    #[error("S3 could not be reached for {operation}: {reason}")]
    Unreachable {
        /// What was asked.
        operation: Operation,
        /// What is known of the reason.
        reason: String,
    },
}

/// The status of a refusal, and S3's word for it; none if there was no answer.
pub(super) fn refusal<E: ProvideErrorMetadata>(
    error: &SdkError<E, HttpResponse>,
) -> Option<(u16, &str)> {
    let status = error.raw_response()?.status().as_u16();
    let code = match error {
        SdkError::ServiceError(service) => service.err().code(),
        _ => None,
    };
    Some((status, code.unwrap_or_default()))
}

/// What an error of the SDK means.
pub(super) fn meaning<E>(operation: Operation, error: &SdkError<E, HttpResponse>) -> StoreError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let Some((status, code)) = refusal(error) else {
        return match error {
            SdkError::TimeoutError(_) => S3Error::TimedOut { operation },
            _ => S3Error::Unreachable {
                operation,
                reason: reason(error),
            },
        }
        .into();
    };
    let code = word(code);
    match (status, code.as_str()) {
        (403, _) => S3Error::Denied { operation, code },
        (404, "NoSuchBucket") => S3Error::NoBucket,
        (408 | 409 | 429 | 500.., _) => S3Error::NotReady {
            operation,
            status,
            code,
        },
        (200..300, _) => S3Error::Unclear { operation },
        _ => S3Error::Refused {
            operation,
            status,
            code,
        },
    }
    .into()
}

/// S3's code as it may stand in a log: whoever answers for S3 may be anybody.
fn word(code: &str) -> String {
    let plain = code.chars().filter(char::is_ascii_alphanumeric);
    plain.take(64).collect()
}

/// What the errors under an error say, without what would break a line.
fn reason(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    let said = causes.join(": ");
    let plain = said.chars().filter(|c| !c.is_control());
    plain.take(MAX_REASON).collect()
}
