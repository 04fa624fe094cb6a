//! Errors that a provider reports. Its status and its words go to the caller, who cannot do anything
//! about an error without them, but always in the shape that the SDKs of the caller's protocol
//! raise their own classes from, whatever the provider itself sent: some leave the type out, some
//! send a bare text, some wrap the object in an array.

use bytes::Bytes;
use gatehouse_redactor::json::{Document, Kind, Limits, Node, Splice};
use http::StatusCode;

use super::{Blame, Code, Shape, text, type_of};

/// What stands in an error object in any case; the provider's own members of these names give way.
const OURS: [&str; 6] = ["blame", "code", "message", "param", "request_id", "type"];

/// The error that `body` reports, with our request id. Everything in `body` must have been searched.
/// An event that is a piece of the answer too stays one.
pub fn reported(shape: Shape, status: StatusCode, body: &[u8], request: &str) -> Bytes {
    let Ok(document) = Document::parse(body, &Limits::default()) else {
        return fresh(shape, &object(shape, status, None, request), request);
    };
    let root = document.root();
    let inner = match root.kind() {
        Kind::Array => root.children().next(),
        _ => Some(root),
    };
    let object = object(shape, status, inner, request);
    match root.get("error") {
        Some(error) if root.get("choices").is_some() => {
            let mut splice = Splice::new(&document);
            splice.replace(error.span(), object);
            splice.finish().into()
        }
        _ => fresh(shape, &object, request),
    }
}

/// A body that holds nothing but the error.
fn fresh(shape: Shape, object: &str, request: &str) -> Bytes {
    match shape {
        Shape::OpenAi => format!(r#"{{"error":{object}}}"#),
        Shape::Anthropic => format!(
            r#"{{"type":"error","error":{object},"request_id":{}}}"#,
            text(request)
        ),
    }
    .into()
}

/// The error object, made of what `root` says of the error.
fn object(shape: Shape, status: StatusCode, root: Option<Node<'_>>, request: &str) -> String {
    let error = root.and_then(|root| root.get("error"));
    let nested = error.filter(|error| error.kind() == Kind::Object);
    // Without an object of its own, the error's members may stand at the top.
    let holder = nested.or(root);
    let member = |key| holder.and_then(|holder| holder.get(key));
    let message = [error, member("message"), member("detail")]
        .into_iter()
        .flatten()
        .filter_map(Node::text)
        .find(|message| !message.is_empty());
    let kind = nested
        .and_then(|error| error.get("type")?.text())
        .filter(|kind| is_word(kind));
    let code = member("code").and_then(code);
    let param = member("param").and_then(Node::text);
    let mut object = format!(
        r#"{{"type":{},"message":{},"param":{},"code":{},"blame":{}"#,
        text(kind.as_deref().unwrap_or(type_of(shape, status))),
        text(message.as_deref().unwrap_or(Code::ProviderError.message())),
        param.map_or_else(|| "null".to_owned(), |param| text(&param)),
        code.unwrap_or_else(|| text(Code::ProviderError.word())),
        text(Blame::Provider.word()),
    );
    if shape == Shape::OpenAi {
        object.push_str(&format!(r#","request_id":{}"#, text(request)));
    }
    for other in nested.into_iter().flat_map(Node::children) {
        let key = other.key().unwrap_or_default();
        if !OURS.contains(&key.as_ref()) {
            let json = String::from_utf8_lossy(other.raw());
            object.push_str(&format!(",{}:{json}", text(&key)));
        }
    }
    object.push('}');
    object
}

/// A code that programs can compare: a plain word, or a short number as some providers send it.
fn code(node: Node<'_>) -> Option<String> {
    match node.kind() {
        Kind::String => Some(node.text()?)
            .filter(|code| is_word(code))
            .map(|code| text(&code)),
        Kind::Number => node
            .number()
            .filter(|code| code.len() <= 6)
            .map(str::to_owned),
        _ => None,
    }
}

/// What a type or a code may be: it names a cause, and never tells a story.
fn is_word(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(shape: Shape, status: u16, body: &str) -> Value {
        let status = StatusCode::from_u16(status).unwrap();
        serde_json::from_slice(&reported(shape, status, body.as_bytes(), "r_1")).unwrap()
    }

    #[test]
    fn what_a_provider_says_is_kept_and_what_is_missing_is_added() {
        let body = r#"{"error":{"message":"too long","type":"invalid_request_error","param":"messages",
            "code":"context_length_exceeded","inner":{"n":1.50}}}"#;
        assert_eq!(
            read(Shape::OpenAi, 400, body),
            json!({"error": {"type": "invalid_request_error", "message": "too long", "param": "messages",
                "code": "context_length_exceeded", "blame": "provider", "request_id": "r_1", "inner": {"n": 1.5}}})
        );
        let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_theirs"}"#;
        assert_eq!(
            read(Shape::Anthropic, 529, body),
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy", "param": null,
                "code": "provider_error", "blame": "provider"}, "request_id": "r_1"})
        );
    }

    #[test]
    fn every_body_becomes_an_error_of_the_shape() {
        for (body, message) in [
            ("{}", None),
            ("[]", None),
            ("7", None),
            ("", None),
            ("<html>", None),
            (r#"{"error":{}}"#, None),
            (r#"{"error":null,"message":"m"}"#, Some("m")),
            (r#"{"error":"m"}"#, Some("m")),
            (r#"{"error":["x"],"message":"m"}"#, Some("m")),
            (r#"{"message":"m","type":"x"}"#, Some("m")),
            (r#"{"detail":"m"}"#, Some("m")),
            (r#"[{"error":{"message":"m","code":400}}]"#, Some("m")),
            (r#"{"error":{"message":7}}"#, None),
        ] {
            let message = message.unwrap_or(Code::ProviderError.message());
            let open = read(Shape::OpenAi, 429, body);
            assert_eq!(open["error"]["message"], message, "{body}");
            assert_eq!(open["error"]["type"], "rate_limit_error", "{body}");
            assert_eq!(open["error"]["request_id"], "r_1", "{body}");
            assert_eq!(open["error"]["blame"], "provider", "{body}");
            let anthropic = read(Shape::Anthropic, 503, body);
            assert_eq!(anthropic["type"], "error", "{body}");
            assert_eq!(anthropic["error"]["type"], "api_error", "{body}");
            assert_eq!(anthropic["error"]["message"], message, "{body}");
            assert_eq!(anthropic["request_id"], "r_1", "{body}");
        }
    }

    #[test]
    fn only_words_are_types_and_codes() {
        for (code, shown) in [
            (r#""insufficient_quota""#, json!("insufficient_quota")),
            ("400", json!(400)),
            ("null", json!("provider_error")),
            ("4111111111111111", json!("provider_error")),
            (r#""[EMAIL]""#, json!("provider_error")),
            (r#""two words""#, json!("provider_error")),
            (r#""555-0100""#, json!("provider_error")),
            (r#"{"a":1}"#, json!("provider_error")),
        ] {
            let body = format!(r#"{{"error":{{"message":"m","type":{code},"code":{code}}}}}"#);
            let error = read(Shape::OpenAi, 400, &body);
            assert_eq!(error["error"]["code"], shown, "{code}");
            let kind = &error["error"]["type"];
            assert!(
                kind == "insufficient_quota" || kind == "invalid_request_error",
                "{kind}"
            );
        }
    }

    #[test]
    fn a_piece_of_the_answer_beside_an_error_stays() {
        let body =
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"x"}}],"error":{"message":"m"}}"#;
        let event = read(Shape::OpenAi, 502, body);
        assert_eq!(event["choices"][0]["delta"]["content"], "x");
        assert_eq!(event["error"]["blame"], "provider");
    }
}
