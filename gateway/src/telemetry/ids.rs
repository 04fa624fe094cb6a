//! Request ids and W3C trace context.

use std::fmt;

/// `r_` and 128 random bits in hex: made by us, on every reply and in every record of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// A new id, or `None` if the system gives no randomness.
    pub fn new() -> Option<Self> {
        let bytes = gatehouse_envelope::random::bytes::<16>().ok()?;
        Some(Self(format!("r_{}", hex(&bytes))))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A W3C `traceparent`: the caller's trace goes on under a span of ours.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace {
    trace: String,
    sampled: bool,
}

impl Trace {
    /// Reads a `traceparent` header strictly: version 00, lowercase hex, no zero ids.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length| {
            text.len() == length
                && text
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let zero = |text: &str| text.bytes().all(|byte| byte == b'0');
        let good = version == "00"
            && hex(trace, 32)
            && hex(span, 16)
            && hex(flags, 2)
            && !zero(trace)
            && !zero(span)
            && parts.next().is_none();
        good.then(|| Self {
            trace: trace.to_owned(),
            sampled: flags.ends_with(['1', '3', '5', '7', '9', 'b', 'd', 'f']),
        })
    }

    /// The trace id, 32 hex digits.
    pub fn id(&self) -> &str {
        &self.trace
    }

    /// The trace id as bytes.
    pub fn bytes(&self) -> Option<[u8; 16]> {
        u128::from_str_radix(&self.trace, 16)
            .ok()
            .map(u128::to_be_bytes)
    }

    /// The header for the provider, under a fresh span id.
    pub fn upstream(&self) -> Option<String> {
        let span = gatehouse_envelope::random::bytes::<8>().ok()?;
        Some(format!(
            "00-{}-{}-0{}",
            self.trace,
            hex(&span),
            u8::from(self.sampled)
        ))
    }
}

fn hex(bytes: &[u8]) -> String {
    gatehouse_envelope::digest::hex(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_goes_on_under_a_new_span() {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let trace = Trace::parse(header).unwrap();
        let sent = trace.upstream().unwrap();
        assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && sent.ends_with("-01"));
        assert_ne!(sent, header);
        assert!(Trace::parse(&sent).is_some_and(|again| again == trace));
    }

    #[test]
    fn anything_else_in_the_header_is_dropped() {
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-lena.fors@example.org-b7ad6b7169203331-01",
        ] {
            assert!(Trace::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn request_ids_differ() {
        let (one, two) = (RequestId::new().unwrap(), RequestId::new().unwrap());
        assert!(one != two && one.as_str().len() == 34);
    }
}
