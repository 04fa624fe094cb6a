//! What AWS KMS answers when it does not do what was asked.

use aws_sdk_kms::{
    config::http::HttpResponse,
    error::{DisplayErrorContext, ProvideErrorMetadata, SdkError},
};

use crate::keys::KeyError;

/// The most that is kept of what AWS says, in characters.
const SAID: usize = 300;

/// The error, in terms of keys. What AWS says of it names keys and roles, never what is wrapped.
pub(crate) fn failure<E>(error: &SdkError<E, HttpResponse>) -> KeyError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    match error.code() {
        Some("DisabledException" | "KMSInvalidStateException" | "KMSInvalidState") => {
            KeyError::Disabled
        }
        Some("NotFoundException") => KeyError::Missing,
        Some("InvalidCiphertextException" | "IncorrectKeyException") => KeyError::Damaged,
        Some("InvalidKeyUsageException" | "UnsupportedOperationException") => {
            KeyError::Unfit("for this use")
        }
        Some(code) if is_throttling(code) => KeyError::Throttled,
        Some(
            "AccessDenied"
            | "AccessDeniedException"
            | "ExpiredToken"
            | "ExpiredTokenException"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "InvalidClientTokenId"
            | "InvalidGrantTokenException"
            | "InvalidSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "NotAuthorized"
            | "OptInRequired"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException",
        ) => KeyError::Denied(said(error)),
        _ if status == Some(429) => KeyError::Throttled,
        _ if matches!(status, Some(401 | 403)) => KeyError::Denied(said(error)),
        _ => KeyError::Unreachable(said(error)),
    }
}

/// As the SDK's own retries know them.
fn is_throttling(code: &str) -> bool {
    matches!(
        code,
        "LimitExceededException"
            | "RequestLimitExceeded"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "SlowDown"
            | "Throttling"
            | "ThrottledException"
            | "ThrottlingException"
            | "TooManyRequestsException"
    )
}

/// One line for the operator.
fn said<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let text = match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => DisplayErrorContext(error).to_string(),
    };
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).take(SAID).collect()
}
