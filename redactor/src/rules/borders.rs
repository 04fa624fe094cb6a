//! What may stand beside a value: every border with every main kind of value.

use super::testing::{ENGINE, FIELD};

/// Values, put together here so that no search for secrets finds this file, with their labels.
fn values() -> Vec<(&'static str, String)> {
    let parts: &[(&str, &[&str])] = &[
        ("API_KEY", &["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"]),
        ("API_KEY", &["AKIA", "Q3EGRZK7T2MXYNLP"]),
        (
            "API_KEY",
            &["sk-proj-", "Ab3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7bC9d"],
        ),
        (
            "JWT",
            &[
                "eyJhbGciOiJIUzI1NiJ9",
                ".eyJzdWIiOiIxMjM0In0",
                ".c2lnbmF0dXJl",
            ],
        ),
        ("CREDIT_CARD", &["4111111111111111"]),
        ("CREDIT_CARD", &["4111 1111 ", "1111 1111"]),
        ("US_SSN", &["536-90-4399"]),
        ("IBAN", &["GB82 WEST 1234 5698 7654 32"]),
        ("IBAN", &["GB82WEST12345698765432"]),
        ("PHONE", &["+44 20 7946 0018"]),
        ("EMAIL", &["a.b@example.org"]),
    ];
    let whole = |(label, parts): &(&'static str, &[&str])| (*label, parts.concat());
    parts.iter().map(whole).collect()
}

/// Every border with what closes it.
const BORDERS: &[(&str, &str)] = &[
    (" ", " "),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("\\\"", "\\\""),
    ("\\\\\\\"", "\\\\\\\""),
    ("\\u0022", "\\u0022"),
    ("\\\\u0022", "\\\\u0022"),
    ("\\u0027", "\\u0027"),
    ("\\x22", "\\x22"),
    ("\\x27", "\\x27"),
    ("\\u003E", "\\u003C"),
    ("\\u003e", "\\u003c"),
    ("\\u005c", "\\u005c"),
    ("\\n", "\\n"),
    ("&quot;", "&quot;"),
    ("%22", "%22"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<b>", "</b>"),
    ("x=", "&"),
    ("?t=3D", " "),
    ("x: ", ","),
    ("/", "/"),
    ("|", "|"),
    ("*", "*"),
    ("**", "**"),
    ("\u{1b}[32m", "\u{1b}[0m"),
    ("\u{1b}[01;31m\u{1b}[K", "\u{1b}[m\u{1b}[K"),
    ("\\x1b[32m", "\\x1b[0m"),
    ("\\u001b[31m", "\\u001b[39m"),
    ("\\\\u001b[31m", "\\\\u001b[39m"),
    ("\\033[1;31m", "\\033[0m"),
    ("\\e[38;5;196m", "\\e[m"),
];

/// Borders that a value may contain itself, so that they are looked at before it only, and not
/// before mail.
const MARKS: &[(&str, &str)] = &[
    ("_", "_"),
    ("__", "__"),
    ("-", " "),
    ("--", " "),
    ("scan_", ".pdf"),
    ("name_", "_front.png"),
    ("key-", " "),
    (".", " "),
    ("..", ""),
];

fn found_between(open: &str, close: &str, label: &str, value: &str) -> Result<(), String> {
    let text = format!("see {open}{value}{close} end");
    let findings = ENGINE.find(&text, FIELD).unwrap();
    let from = 4 + open.len();
    let covered = findings.iter().any(|f| {
        let own = f.start == from && f.end >= from + value.len();
        f.label.as_str() == label && own && f.end <= from + value.len() + close.len()
    });
    if covered {
        Ok(())
    } else {
        Err(format!("{label} in {text:?}: {findings:?}"))
    }
}

#[test]
fn values_in_tag_characters_are_found() {
    for (label, value) in values() {
        let tags: String = value
            .chars()
            .filter_map(|c| char::from_u32(0xE0000 + u32::from(c)))
            .collect();
        let text = format!("see {tags} end");
        let findings = ENGINE.find(&text, FIELD).unwrap();
        let whole = |f: &&crate::Finding| (f.start, f.end) == (4, 4 + tags.len());
        let found = findings.iter().find(whole).map(|f| f.label.as_str());
        assert_eq!(found, Some(label), "{value}: {findings:?}");
    }
}

#[test]
fn colours_inside_a_value_are_read_over() {
    for (before, after) in [("\u{1b}[01;31m", "\u{1b}[m"), ("\\x1b[31m", "\\x1b[0m")] {
        for (label, value) in values() {
            let middle = value.len() / 2;
            let (head, tail) = value.split_at(middle);
            let text = format!("see {head}{before}{tail}{after} end");
            let findings = ENGINE.find(&text, FIELD).unwrap();
            let whole = (4, 4 + value.len() + before.len());
            let found = findings.iter().find(|f| (f.start, f.end) == whole);
            assert_eq!(
                found.map(|f| f.label.as_str()),
                Some(label),
                "{text:?}: {findings:?}"
            );
        }
    }
}

#[test]
fn names_in_code_are_no_values() {
    for text in [
        "cache-key-9f86d081884c7d659a2feaa0c55ad015",
        "feature_test_9f86d081884c7d659a2feaa0c55ad0",
        "id_1748500000123456_x",
        "img_20240102_103000_de8937040044",
        "v1_02.536.90.4399",
        "x_00493067630861",
    ] {
        super::testing::nothing(text);
    }
}

#[test]
fn every_border_lets_every_value_be_seen() {
    let mut missed = Vec::new();
    for (open, close) in BORDERS {
        for (label, value) in values() {
            missed.extend(found_between(open, close, label, &value).err());
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn marks_that_names_are_made_of_are_borders_too() {
    let mut missed = Vec::new();
    for (open, close) in MARKS {
        for (label, value) in values() {
            // `KARTA-4167 6152 …` is a reference that was made up.
            let reference = *open == "key-" && value.contains(' ') && label == "CREDIT_CARD";
            if label == "EMAIL" || reference {
                continue;
            }
            missed.extend(found_between(open, close, label, &value).err());
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
