//! What the demo claims, checked on the bytes: nothing private was seen, everything came back.

use serde_json::Value;

use super::agent::Reply;
use super::script::{PRIVATE, Turn};

/// Checks one turn. `seen` is what the provider was sent in this turn.
///
/// # Errors
/// The claim that does not hold. Names labels only; the values are on the screen anyway, but a
/// failure may end in a log.
pub(super) fn check(turn: &Turn, seen: &[u8], reply: &Reply) -> Result<(), String> {
    let body: Value = serde_json::from_slice(seen).map_err(|error| error.to_string())?;
    let mut texts = Vec::new();
    collect(&body, &mut texts);
    for private in &PRIVATE {
        let label = private.label;
        if texts.iter().any(|text| holds(text, private.value)) {
            return Err(format!("the provider saw a value of {label}"));
        }
        let said = turn.message.text().contains(private.value);
        let token = format!("<{label}_");
        if said && !texts.iter().any(|text| text.contains(&token)) {
            return Err(format!("the provider saw no pseudonym for {label}"));
        }
        // Without a tool call the echo says the message back, so every value must be in it again.
        if said && reply.call.is_none() && !reply.shown.contains(private.value) {
            return Err(format!("a value of {label} did not come back"));
        }
        if reply.shown.contains(&token) {
            return Err(format!(
                "a pseudonym for {label} came back instead of its value"
            ));
        }
    }
    arguments_hold_values(reply)
}

/// A tool call is of use only with the real values in it.
fn arguments_hold_values(reply: &Reply) -> Result<(), String> {
    let Some((tool, arguments)) = &reply.call else {
        return Ok(());
    };
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let Some(fields) = arguments.as_object().filter(|fields| !fields.is_empty()) else {
        return Err(format!("{tool} was called without arguments"));
    };
    let known = |value: &Value| PRIVATE.iter().any(|private| value == private.value);
    match fields.iter().find(|(_, value)| !known(value)) {
        Some((name, _)) => Err(format!(
            "{tool} was called with another {name} than was given"
        )),
        None => Ok(()),
    }
}

/// Every text of a body, keys too.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => {
            for (key, value) in fields {
                texts.push(key.clone());
                collect(value, texts);
            }
        }
        Value::String(text) => texts.push(text.clone()),
        other => texts.push(other.to_string()),
    }
}

/// Whether the value stands in the text, however it is spaced and whatever its case.
fn holds(text: &str, value: &str) -> bool {
    let bare = |text: &str| -> String {
        let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
        kept.flat_map(char::to_lowercase).collect()
    };
    bare(text).contains(&bare(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::script::turns;
    use super::*;

    fn body(text: &str) -> Vec<u8> {
        json!({ "messages": [{ "role": "tool", "content": text }] })
            .to_string()
            .into_bytes()
    }

    fn said(text: &str) -> Reply {
        Reply {
            shown: text.to_owned(),
            call: None,
        }
    }

    const SAFE: &str = "Refunded to <IBAN_abcdef>.";

    #[test]
    fn the_claims_hold_and_every_one_of_them_can_fail() {
        let [first, _, _, last] = turns();
        let whole = last.message.text();
        assert_eq!(check(&last, &body(SAFE), &said(whole)), Ok(()));
        for leak in [whole, "gb82west12345698765432", "a 4111-1111-1111-1111"] {
            assert!(
                check(&last, &body(&format!("{SAFE} {leak}")), &said(whole)).is_err(),
                "{leak}"
            );
        }
        assert!(
            check(&last, &body("Refunded."), &said(whole)).is_err(),
            "no pseudonym"
        );
        assert!(
            check(&last, &body(SAFE), &said("Refunded.")).is_err(),
            "not restored"
        );
        assert!(
            check(
                &last,
                &body(SAFE),
                &said(&format!("{whole} <EMAIL_abcdef>"))
            )
            .is_err()
        );

        let seen = body("<PERSON_aaaaaa> <EMAIL_aaaaaa> <PHONE_aaaaaa> <CREDIT_CARD_aaaaaa>");
        let call = |arguments: &str| Reply {
            shown: String::new(),
            call: Some(("find_order".to_owned(), arguments.to_owned())),
        };
        assert_eq!(
            check(&first, &seen, &call(r#"{"email":"ada@example.org"}"#)),
            Ok(())
        );
        for bad in [
            r#"{"email":"<EMAIL_aaaaaa>"}"#,
            "{}",
            r#"{"email":"x"}"#,
            "[",
        ] {
            assert!(check(&first, &seen, &call(bad)).is_err(), "{bad}");
        }
    }
}
