//! The closed list of error codes. `docs/errors.md` describes each; a test compares the two.

use http::StatusCode;

use super::{Blame, Retry};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal, $status:literal, $blame:ident, $retry:expr, $message:literal;)+) => {
        /// Every reason a caller can be given.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All of them, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The code as replies, records and metrics spell it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The HTTP status, unless a provider's own is passed on.
            pub fn status(self) -> StatusCode {
                let number: u16 = match self { $(Self::$name => $status),+ };
                StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }

            /// Whose fault it is.
            pub fn blame(self) -> Blame {
                match self { $(Self::$name => Blame::$blame),+ }
            }

            /// What a client should do next.
            pub fn retry(self) -> Retry {
                match self { $(Self::$name => $retry),+ }
            }

            /// One sentence for people.
            pub fn message(self) -> &'static str {
                match self { $(Self::$name => $message),+ }
            }
        }
    };
}

codes! {
    /// The audit log did not take the record in time; nothing was sent.
    AuditUnavailable = "audit_unavailable", 503, Gateway, Retry::After(1), "The audit log is unavailable, so nothing was sent";
    /// No key, a malformed key, an unknown key or a revoked key.
    AuthenticationFailed = "authentication_failed", 401, Caller, Retry::ByStatus, "The API key is missing or not valid";
    /// The callers' keys could not be read for too long; nobody is let in by keys that may have been revoked.
    AuthenticationUnavailable = "authentication_unavailable", 503, Gateway, Retry::After(1), "Keys cannot be checked at present";
    /// The policy blocks a kind of value that the request holds.
    BlockedByPolicy = "blocked_by_policy", 403, Policy, Retry::No, "The policy does not let this content out";
    /// The body did not arrive in time.
    BodyTimeout = "body_timeout", 408, Caller, Retry::No, "The request body did not arrive in time";
    /// The body is larger than the limit.
    BodyTooLarge = "body_too_large", 413, Caller, Retry::No, "The request body is too large";
    /// The body ended early or its chunks are malformed.
    BodyUnreadable = "body_unreadable", 400, Caller, Retry::No, "The request body could not be read";
    /// A cap on tokens does not allow the request, at the worst that it may cost.
    BudgetExceeded = "budget_exceeded", 402, Policy, Retry::No, "The budget does not allow this request";
    /// What may be spent cannot be looked up or noted; nothing was sent.
    BudgetUnavailable = "budget_unavailable", 503, Gateway, Retry::After(1), "The budget cannot be kept at present, so nothing was sent";
    /// The request has a content encoding; bodies must come as they are.
    EncodingUnsupported = "encoding_unsupported", 415, Caller, Retry::No, "A content encoding is not accepted on requests";
    /// The whole exchange took longer than the limit.
    ExchangeTimeout = "exchange_timeout", 504, Gateway, Retry::No, "The exchange took longer than allowed";
    /// An id, a name or an enum word holds a value that must not leave; it is never edited.
    FindingInName = "finding_in_name", 400, Policy, Retry::No, "A name or id holds a value that must not leave";
    /// A number literal holds a value that must not leave; send it as a string.
    FindingInNumber = "finding_in_number", 400, Policy, Retry::No, "A number holds a value that must not leave; send it as a string";
    /// Two parsers could read the request's framing in different ways.
    FramingAmbiguous = "framing_ambiguous", 400, Caller, Retry::No, "The request's framing is ambiguous";
    /// The request names no host, several, or one that is none.
    HostMalformed = "host_malformed", 400, Caller, Retry::No, "The request must name exactly one host";
    /// A failure of ours without a better name.
    Internal = "internal", 500, Gateway, Retry::ByStatus, "The gateway failed";
    /// The body is not strict JSON, or two parsers could read it in different ways.
    JsonInvalid = "json_invalid", 400, Caller, Retry::No, "The request body is not valid JSON";
    /// The body is JSON, but not what this route takes.
    JsonUnexpected = "json_unexpected", 400, Caller, Retry::No, "The request body is not what this route takes";
    /// The provider of the keys that sessions are sealed under (KMS) refuses them, is asked too often or cannot be reached; nothing was done.
    KeysUnavailable = "keys_unavailable", 503, Gateway, Retry::After(5), "The keys of sessions cannot be had at present";
    /// A picture, a sound or a file, which cannot be searched.
    MediaRefused = "media_refused", 422, Policy, Retry::No, "Content that cannot be searched is not let out";
    /// The body must be JSON.
    MediaTypeUnsupported = "media_type_unsupported", 415, Caller, Retry::No, "The request body must be application/json";
    /// The route exists, the method does not.
    MethodNotAllowed = "method_not_allowed", 405, Caller, Retry::No, "The route does not take this method";
    /// The local model has more waiting than it can do in time; nothing was sent.
    ModelOverloaded = "model_overloaded", 503, Gateway, Retry::After(1), "The local model is busy, so nothing was sent";
    /// The request brings more new text than the local model may be asked about at once.
    ModelTextTooLong = "model_text_too_long", 413, Policy, Retry::No, "The request brings more new text than can be searched at once";
    /// No provider is configured for this protocol.
    ModelUnknown = "model_unknown", 404, Caller, Retry::No, "No provider is configured for this model";
    /// A name, an id or an enum word that is not spelled as the protocol asks for.
    NameMalformed = "name_malformed", 400, Caller, Retry::No, "A name or id is not spelled as the protocol asks for";
    /// A parameter that would carry the reply's text past the search.
    ParameterRefused = "parameter_refused", 400, Policy, Retry::No, "The policy does not allow this parameter";
    /// The sealed copy of the request could not be stored, so nothing was sent.
    PayloadUnavailable = "payload_unavailable", 503, Gateway, Retry::After(1), "The request cannot be kept as the policy demands, so nothing was sent";
    /// The caller is told of as many turns at a time as one may be.
    ProgressLimited = "progress_limited", 429, Caller, Retry::After(1), "Too many streams of progress at a time";
    /// The provider did not accept the gateway's own key.
    ProviderAuthentication = "provider_authentication", 502, Gateway, Retry::No, "The provider did not accept the gateway's key";
    /// The provider reported an error of its own.
    ProviderError = "provider_error", 502, Provider, Retry::ByStatus, "The provider reported an error";
    /// The provider's reply could not be read.
    ProviderMalformed = "provider_malformed", 502, Provider, Retry::No, "The provider's reply could not be read";
    /// The provider took too long.
    ProviderTimeout = "provider_timeout", 504, Provider, Retry::No, "The provider took too long";
    /// The provider's reply is larger than the limit.
    ProviderTooLarge = "provider_too_large", 502, Provider, Retry::No, "The provider's reply is too large";
    /// The provider's reply broke off.
    ProviderTruncated = "provider_truncated", 502, Provider, Retry::No, "The provider's reply broke off";
    /// No connection to the provider could be made; nothing was sent.
    ProviderUnreachable = "provider_unreachable", 502, Provider, Retry::ByStatus, "The provider could not be reached";
    /// The reply holds a value that the policy does not let through.
    ReplyBlocked = "reply_blocked", 403, Policy, Retry::No, "The policy does not let this reply through";
    /// The exchange's outcome could not be recorded, so the reply is withheld. The provider may have answered.
    ReplyUnrecorded = "reply_unrecorded", 503, Gateway, Retry::No, "The reply could not be recorded, so it is withheld; the provider may have answered";
    /// The route is not served; it never reaches a provider.
    RouteUnknown = "route_unknown", 404, Caller, Retry::No, "This route is not served";
    /// The search could not be finished; nothing was sent.
    ScanFailed = "scan_failed", 503, Gateway, Retry::No, "The content could not be searched to the end, so nothing was sent";
    /// The session is still working on another request.
    SessionBusy = "session_busy", 409, Caller, Retry::No, "The session is still working on your previous request";
    /// The session was changed by another request meanwhile.
    SessionConflict = "session_conflict", 409, Caller, Retry::No, "The session was changed by another request";
    /// The session holds as many values as it may; a new one has room.
    SessionFull = "session_full", 409, Policy, Retry::No, "The session holds too many values; open a new one";
    /// Another request of the session came, and the configuration lets it interrupt this one.
    SessionInterrupted = "session_interrupted", 409, Caller, Retry::No, "Another request of this session interrupted this one";
    /// A later release of the gateway wrote the session's state; a replica of that release can use it.
    SessionNewer = "session_newer", 503, Gateway, Retry::After(1), "The session was written by a later release of the gateway";
    /// Unknown, foreign, expired and revoked look the same.
    SessionNotFound = "session_not_found", 404, Caller, Retry::No, "There is no such session";
    /// The session waits for no answer.
    SessionNotPaused = "session_not_paused", 409, Caller, Retry::No, "The session does not wait for an answer";
    /// The session waits for its user's answer; no model is called until it is resumed.
    SessionPaused = "session_paused", 409, Caller, Retry::No, "The session waits for an answer; resume it first";
    /// The configuration asks for a session id, and there is none.
    SessionRequired = "session_required", 400, Caller, Retry::No, "A session_id is required";
    /// The store has lost a part of the session, which is not gone on with; a new one can be used.
    SessionRolledBack = "session_rolled_back", 409, Gateway, Retry::No, "The session's store has lost a part of it; open a new one";
    /// The session store or its keys cannot be used.
    SessionUnavailable = "session_unavailable", 503, Gateway, Retry::After(1), "Sessions are unavailable";
    /// The gateway is stopping.
    ShuttingDown = "shutting_down", 503, Gateway, Retry::After(1), "The gateway is stopping";
    /// Signed thinking came back changed and holds a value that must not leave.
    SignedContentChanged = "signed_content_changed", 400, Caller, Retry::No, "A signed block is not what the provider sent in this session";
    /// The session's state has no room for more of this.
    StateFull = "state_full", 409, Policy, Retry::No, "The session's state has no room for more of this";
    /// The session is there; the checkpoint, artifact or tool result is not.
    StateItemUnknown = "state_item_unknown", 404, Caller, Retry::No, "The session has no such item";
    /// The policy's table, or the life of a tool's result, does not allow this change.
    TransitionRefused = "transition_refused", 409, Policy, Retry::No, "The state does not allow this change";
    /// The session's state is of another version than `If-Match` names.
    VersionMismatch = "version_mismatch", 412, Caller, Retry::No, "The session's state has another version";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_statuses_are_errors() {
        let words: std::collections::BTreeSet<_> =
            Code::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|code| code.word()));
        for code in Code::ALL {
            assert!(code.status().as_u16() >= 400, "{}", code.word());
            assert!(!code.message().is_empty());
        }
    }
}
