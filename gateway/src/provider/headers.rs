//! Headers for providers come from an allow-list: nothing else of a caller's head goes on, and
//! framing, encoding and credentials are always our own.

use gatehouse_envelope::secret::Secret;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};

use crate::reject::{Code, Rejection, Shape};
use crate::wire::encoding;

/// Version and feature switches of the providers, which hold no text of the caller's.
const SWITCHES: [&str; 3] = ["anthropic-beta", "anthropic-version", "openai-beta"];

/// What the Anthropic API asks for where the caller did not say.
const ANTHROPIC_VERSION: &str = "2023-06-01";

const LONGEST_SWITCH: usize = 512;

/// The head of a request to a provider of this shape.
///
/// # Errors
/// [`Code::Internal`] if the configured credential cannot stand in a header.
pub(super) fn outgoing(
    shape: Shape,
    incoming: &HeaderMap,
    credential: Option<&Secret<String>>,
    trace: Option<&str>,
) -> Result<HeaderMap, Rejection> {
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("application/json, text/event-stream"),
    );
    headers.insert(
        ACCEPT_ENCODING,
        HeaderValue::from_static(encoding::ACCEPTED),
    );
    let agent = concat!("gatehouse/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    for name in SWITCHES {
        for value in incoming
            .get_all(name)
            .iter()
            .filter(|value| is_switch(value))
        {
            headers.append(HeaderName::from_static(name), value.clone());
        }
    }
    if shape == Shape::Anthropic {
        let version = HeaderValue::from_static(ANTHROPIC_VERSION);
        headers.entry("anthropic-version").or_insert(version);
    }
    if let Some(trace) = trace.and_then(|trace| HeaderValue::from_str(trace).ok()) {
        headers.insert("traceparent", trace);
    }
    if let Some(credential) = credential {
        let (name, mut value) = match shape {
            Shape::Anthropic => (
                HeaderName::from_static("x-api-key"),
                sensitive(credential.expose())?,
            ),
            Shape::OpenAi => (
                AUTHORIZATION,
                sensitive(&format!("Bearer {}", credential.expose()))?,
            ),
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn sensitive(value: &str) -> Result<HeaderValue, Rejection> {
    HeaderValue::from_str(value).map_err(|_| {
        Rejection::new(Code::Internal).detail("the provider's key cannot stand in a header")
    })
}

/// Lists of plain words only: a switch is no place for text.
fn is_switch(value: &HeaderValue) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.,= ".contains(byte);
    value.len() <= LONGEST_SWITCH && value.as_bytes().iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_caller_goes_on_but_switches() {
        let mut incoming = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer gk_x"),
            ("cookie", "session=1"),
            ("proxy-authorization", "Basic eDp5"),
            ("te", "trailers"),
            ("x-session-id", "X"),
            ("x-forwarded-for", "10.0.0.1"),
            ("user-agent", "lena"),
            ("anthropic-beta", "tools-2024-04-04,x=1"),
            ("openai-beta", "lena.fors@example.org"),
        ] {
            incoming.insert(name, HeaderValue::from_static(value));
        }
        let key = Secret::new("sk-provider".to_owned());
        let headers = outgoing(Shape::Anthropic, &incoming, Some(&key), None).unwrap();
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let want = [
            "accept",
            "accept-encoding",
            "anthropic-beta",
            "anthropic-version",
            "content-type",
            "user-agent",
            "x-api-key",
        ];
        assert_eq!(names, want);
        assert_eq!(headers["x-api-key"], "sk-provider");
        assert!(headers["x-api-key"].is_sensitive());
    }
}
