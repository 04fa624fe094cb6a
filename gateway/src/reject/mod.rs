//! The one place where a cause becomes an answer. Every refusal and failure that a caller can meet
//! is a [`Code`] of a closed list; each has a status, a blame and a retry rule, and
//! looks the way the official SDK of the caller's protocol expects, so that it raises its own
//! class. A rejection never carries payload text: its detail is a path, a label or a rule name. What a
//! provider reports is passed on by [`reported`].

mod codes;
mod reported;

pub use codes::Code;
pub use reported::reported;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

use crate::wire::body::ReplyBody;

/// Whose fault a rejection is; it goes into the reply and into the audit record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The request was wrong.
    Caller,
    /// The request was fine, but the policy does not allow it.
    Policy,
    /// The provider failed.
    Provider,
    /// We failed.
    Gateway,
}

impl Blame {
    /// The word used in replies and records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Policy => "policy",
            Self::Provider => "provider",
            Self::Gateway => "gateway",
        }
    }
}

/// Whether a client may send the same request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// `x-should-retry: false`: it would fail again, or cost twice.
    No,
    /// No header: the SDK decides by the status.
    ByStatus,
    /// `retry-after`, in seconds.
    After(u32),
}

/// How the error body must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `{"type":"error","error":{…}}`
    Anthropic,
    /// `{"error":{…}}`
    OpenAi,
}

/// A refusal or failure, ready to be answered and recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    code: Code,
    detail: Option<String>,
    parameter: Option<String>,
    status: Option<StatusCode>,
    retry_after: Option<u32>,
    closes: bool,
}

impl Rejection {
    /// A rejection without further detail.
    pub fn new(code: Code) -> Self {
        Self {
            code,
            detail: None,
            parameter: None,
            status: None,
            retry_after: None,
            closes: false,
        }
    }

    /// Adds what a developer needs to find the cause: names of ours, never payload text.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Names the place in the request, such as `messages[0].content`.
    pub fn parameter(mut self, path: impl Into<String>) -> Self {
        self.parameter = Some(path.into());
        self
    }

    /// Passes a provider's own error status on instead of the code's.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = Some(status);
        self
    }

    /// Passes a provider's `retry-after` on, in seconds.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The connection must not be used for another request.
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The path that was named, if any.
    pub fn path(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    /// The status that the caller sees.
    pub fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| self.code.status())
    }

    fn message(&self) -> String {
        let mut message = self.code.message().to_owned();
        for part in [self.parameter.as_deref(), self.detail.as_deref()]
            .into_iter()
            .flatten()
        {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }

    /// The error as JSON, without a line break: the body of a reply, or the data of an error event.
    pub fn json(&self, shape: Shape, request: &str) -> Bytes {
        let parameter = self
            .parameter
            .as_deref()
            .map_or_else(|| "null".to_owned(), text);
        let common = format!(
            r#""message":{},"param":{parameter},"code":{},"blame":{}"#,
            text(&self.message()),
            text(self.code.word()),
            text(self.code.blame().word()),
        );
        let kind = text(type_of(shape, self.status()));
        match shape {
            Shape::OpenAi => format!(
                r#"{{"error":{{"type":{kind},{common},"request_id":{}}}}}"#,
                text(request)
            ),
            Shape::Anthropic => format!(
                r#"{{"type":"error","error":{{"type":{kind},{common}}},"request_id":{}}}"#,
                text(request)
            ),
        }
        .into()
    }

    /// The whole reply, but for the headers that every reply carries.
    pub fn response(&self, shape: Shape, request: &str) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody::Whole(self.json(shape, request)));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match (self.retry_after, self.code.retry()) {
            (Some(seconds), _) | (None, Retry::After(seconds)) => {
                headers.insert(RETRY_AFTER, seconds.into());
            }
            (None, Retry::No) => {
                let name = HeaderName::from_static("x-should-retry");
                headers.insert(name, HeaderValue::from_static("false"));
            }
            (None, Retry::ByStatus) => {}
        }
        if self.closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<Code> for Rejection {
    fn from(code: Code) -> Self {
        Self::new(code)
    }
}

/// A JSON string.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// The error type that the SDKs know for a status.
fn type_of(shape: Shape, status: StatusCode) -> &'static str {
    match shape {
        Shape::Anthropic => anthropic_type(status),
        Shape::OpenAi => openai_type(status),
    }
}

fn openai_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

fn anthropic_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_are_json_and_name_code_blame_and_request() {
        for code in Code::ALL {
            let rejection = Rejection::new(*code).parameter("a[\"b\"]").detail("\u{1}");
            for shape in [Shape::OpenAi, Shape::Anthropic] {
                let json = rejection.json(shape, "r_1");
                assert!(!json.contains(&b'\n'));
                let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
                assert_eq!(value["error"]["code"], code.word());
                assert_eq!(value["error"]["blame"], code.blame().word());
                assert_eq!(value["error"]["param"], "a[\"b\"]");
                let holder = if shape == Shape::OpenAi {
                    &value["error"]
                } else {
                    &value
                };
                assert_eq!(holder["request_id"], "r_1");
            }
        }
    }

    #[test]
    fn a_status_that_sdks_repeat_says_whether_they_should() {
        for code in Code::ALL {
            if matches!(code.status().as_u16(), 408 | 409) {
                assert_eq!(code.retry(), Retry::No, "{}", code.word());
            }
        }
    }
}
