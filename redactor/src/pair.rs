//! A name and its value in two fields beside each other: `{"name": "DB_PASSWORD", "value": "…"}`,
//! `<add key="…" value="…"/>`, `- name: …` above `value: …`, `--name … --value …`. The name says of
//! the value what a key would.

use crate::columns::Column;

/// Longer words are no keys of such a pair, longer texts no names.
const LONGEST_KEY: usize = 32;
const LONGEST_NAME: usize = 128;

/// Whether such a key holds what the field beside it names: `value`, `ParameterValue`, `valueString`.
pub(crate) fn holds_value(key: &str) -> bool {
    // Of the letters of `val`, `value` and `answer` these are in few keys.
    let telling = |byte: u8| matches!(byte.to_ascii_lowercase(), b'v' | b'w');
    if key.len() > LONGEST_KEY || !key.bytes().any(telling) {
        return false;
    }
    let key = folded(key);
    ["val", "answer"].contains(&key.as_str())
        || [key.strip_suffix("value"), key.strip_suffix("values")]
            .iter()
            .flatten()
            .any(|kind| kind.is_empty() || KINDS.contains(kind))
        || key
            .strip_prefix("value")
            .is_some_and(|kind| TYPES.contains(&kind))
}

/// Stands for the name of a value that is said to be secret.
pub(crate) const SECRET: &str = "password";

/// Stands for the name of a value that opens a session.
pub(crate) const TOKEN: &str = "token";
/// Stands for the name of a value that is secret whatever it looks like: all of it, however long.
pub(crate) const SEALED: &str = "secret value";

/// Whether such a key holds cookies: `cookies`, `Set-Cookies`, `sessionCookies`.
pub(crate) fn holds_cookies(key: &str) -> bool {
    // Of each key in a document this is asked first.
    let telling = key.len() >= "cookies".len() && key.len() <= LONGEST_KEY && key.ends_with('s');
    telling && folded(key).ends_with("cookies")
}

/// Whether such a key holds the names of a table's columns, whose rows stand beside it.
pub(crate) fn holds_columns(key: &str) -> bool {
    const HEADS: &[&str] = &[
        "columnnames",
        "columns",
        "cols",
        "fieldnames",
        "fields",
        "head",
        "header",
        "headers",
        "schema",
    ];
    key.len() <= LONGEST_KEY && HEADS.contains(&folded(key).as_str())
}

/// Whether such a key says, if it is true, that the value beside it is secret.
pub(crate) fn marks_secret(key: &str) -> bool {
    const MARKS: &[&str] = &[
        "sensitive",
        "issensitive",
        "secret",
        "issecret",
        "secure",
        "issecure",
    ];
    key.len() <= LONGEST_KEY && MARKS.contains(&folded(key).as_str())
}

/// Whether such a key may hold the name of what stands beside it: `name`, `ParameterKey`, `label`.
pub(crate) fn holds_name(key: &str) -> bool {
    if key.len() > LONGEST_KEY {
        return false;
    }
    let key = folded(key);
    NAMES.contains(&key.as_str())
        || ["name", "key"].iter().any(|end| {
            key.strip_suffix(end)
                .is_some_and(|kind| KINDS.contains(&kind))
        })
}

/// The name that a text is, if it says anything of a value: `/prod/db/password` names a password.
pub(crate) fn name(text: &str) -> Option<&str> {
    let text = text.trim();
    if text.len() > LONGEST_NAME {
        return None;
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    let name = name.trim_end_matches([':', '?', '*', ' ']);
    Column::named(name).is_some().then_some(name)
}

/// What such keys begin with.
const KINDS: &[&str] = &[
    "attribute",
    "attr",
    "current",
    "default",
    "env",
    "field",
    "header",
    "input",
    "item",
    "new",
    "old",
    "option",
    "output",
    "param",
    "parameter",
    "property",
    "raw",
    "secret",
    "setting",
    "string",
    "tag",
    "text",
    "var",
    "variable",
];
/// What `value` goes on with where its type is part of the key.
const TYPES: &[&str] = &["string", "text"];
const NAMES: &[&str] = &[
    "attr",
    "attribute",
    "code",
    "column",
    "field",
    "header",
    "id",
    "k",
    "key",
    "label",
    "name",
    "param",
    "parameter",
    "prop",
    "property",
    "question",
    "setting",
    "system",
    "title",
    "type",
    "var",
    "variable",
];

fn folded(key: &str) -> String {
    let letters = key.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_pairs_are_told_from_others() {
        for key in [
            "value",
            "Value",
            "ParameterValue",
            "string_value",
            "valueString",
            "answer",
        ] {
            assert!(holds_value(key), "{key}");
            assert!(!holds_name(key), "{key}");
        }
        for key in [
            "name",
            "Key",
            "ParameterKey",
            "header_name",
            "label",
            "variable",
        ] {
            assert!(holds_name(key), "{key}");
            assert!(!holds_value(key), "{key}");
        }
        for key in [
            "content",
            "evaluate",
            "devalue",
            "username",
            "monkey",
            "values_of",
            "",
        ] {
            assert!(!holds_value(key), "{key}");
            assert!(!holds_name(key), "{key}");
        }
    }

    #[test]
    fn names_say_something_of_a_value() {
        assert_eq!(name("/prod/db/password"), Some("password"));
        assert_eq!(name("Date of birth?"), Some("Date of birth"));
        assert_eq!(name("LOG_LEVEL"), None);
        assert_eq!(name("/"), None);
        assert_eq!(name(""), None);
    }
}
