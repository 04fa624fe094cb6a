//! Builds a JSON value that fits a JSON schema, out of the pseudonyms at hand.

use serde_json::{Map, Value, json};

use super::tokens::Token;

/// Schemas may refer to themselves; deeper than this everything is null.
const DEPTH: usize = 8;

/// A value for `schema`. Every property is filled, whether required or not. Schemas are followed
/// as far as a caller's tool needs it: `type`, `properties`, `items`, `enum`, `const`, `default`,
/// the first of `anyOf`, `oneOf` and `allOf`. References are not followed.
pub(super) fn build(schema: &Value, tokens: &[Token]) -> Value {
    let mut builder = Builder {
        tokens,
        used: vec![false; tokens.len()],
    };
    match builder.value(schema, "", DEPTH) {
        Value::Object(object) => Value::Object(object),
        // Arguments are an object in both protocols.
        _ => json!({}),
    }
}

struct Builder<'t> {
    tokens: &'t [Token],
    used: Vec<bool>,
}

impl Builder<'_> {
    fn value(&mut self, schema: &Value, name: &str, depth: usize) -> Value {
        if depth == 0 {
            return Value::Null;
        }
        if let Some(fixed) = fixed(schema) {
            return fixed;
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            if let Some(first) = schema.get(choice).and_then(|choices| choices.get(0)) {
                return self.value(first, name, depth - 1);
            }
        }
        match kind(schema) {
            "array" => self.array(schema, name, depth),
            "boolean" => json!(true),
            "integer" | "number" => json!(at_least(schema)),
            "null" => Value::Null,
            "object" => self.object(schema, depth),
            _ => json!(self.text(name)),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = self.value(property, name, depth - 1);
            object.insert(name.clone(), value);
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, name: &str, depth: usize) -> Value {
        match schema.get("items") {
            Some(items) => json!([self.value(items, name, depth - 1)]),
            None => json!([]),
        }
    }

    /// The pseudonym whose label fits the property's name; else the first that no other property
    /// has taken; else the word `echo`.
    fn text(&mut self, name: &str) -> String {
        let fitting = self
            .tokens
            .iter()
            .position(|token| fits(name, &token.label));
        let unused = || self.used.iter().position(|used| !used);
        let Some(at) = fitting.or_else(unused) else {
            return "echo".to_owned();
        };
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
        self.tokens
            .get(at)
            .map_or_else(String::new, |token| token.text.clone())
    }
}

/// What the schema leaves no choice about, or has chosen itself.
fn fixed(schema: &Value) -> Option<Value> {
    let chosen = schema.get("const").or_else(|| schema.get("enum")?.get(0));
    chosen.or_else(|| schema.get("default")).cloned()
}

/// The schema's type: of several, the first that is not null; without one, what its other
/// keywords imply.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn at_least(schema: &Value) -> i64 {
    schema.get("minimum").and_then(Value::as_i64).unwrap_or(1)
}

/// Whether a property's name speaks of a label: `card_number` of `CREDIT_CARD`, `mail` of
/// `EMAIL`, `customer_name` of `PERSON`.
fn fits(name: &str, label: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let about = if label == "PERSON" {
        "PERSON_NAME"
    } else {
        label
    };
    let speaks = |word: &str| {
        word.len() >= 2
            && name
                .split(|c: char| !c.is_ascii_alphanumeric())
                .any(|part| part == word || (part.len() >= 4 && word.contains(part)))
    };
    about.split('_').any(speaks)
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    #[test]
    fn properties_take_the_tokens_that_fit_their_names() {
        let tokens = tokens::in_order(
            "<PERSON_aaaaaa> <EMAIL_bbbbbb> <CREDIT_CARD_cccccc> <IBAN_dddddd>",
            "",
        );
        let schema = json!({"type": "object", "properties": {
            "card_number": {"type": "string"},
            "mail": {"type": "string"},
            "iban": {"type": ["null", "string"]},
            "customer_name": {"type": "string"},
        }});
        assert_eq!(
            build(&schema, &tokens),
            json!({"card_number": "<CREDIT_CARD_cccccc>", "mail": "<EMAIL_bbbbbb>",
                   "iban": "<IBAN_dddddd>", "customer_name": "<PERSON_aaaaaa>"})
        );
    }

    #[test]
    fn other_types_are_filled_too() {
        let schema = json!({"properties": {
            "count": {"type": "integer", "minimum": 3},
            "sure": {"type": "boolean"},
            "unit": {"enum": ["c", "f"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "deep": {"properties": {"x": {"anyOf": [{"type": "number"}, {"type": "null"}]}}},
            "none": {"type": "null"},
        }});
        assert_eq!(
            build(&schema, &[]),
            json!({"count": 3, "sure": true, "unit": "c", "tags": ["echo"],
                   "deep": {"x": 1}, "none": null})
        );
    }

    #[test]
    fn what_is_no_object_becomes_an_empty_one() {
        for schema in [
            json!(null),
            json!("x"),
            json!({"type": "string"}),
            json!([1]),
        ] {
            assert_eq!(build(&schema, &[]), json!({}));
        }
    }

    #[test]
    fn depth_is_bounded() {
        let mut schema = json!({"type": "string"});
        for _ in 0..50 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        assert!(build(&schema, &[]).to_string().ends_with("null}}}}}}}}"));
    }
}
