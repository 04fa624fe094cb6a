//! What is promised about streams, and that the work is linear.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::policy::{Dictionary, Direction, Policy};
use crate::resolve::resolve;
use crate::scan::Automaton;
use crate::{Field, Label};

const FIELD: Field<'static> = Field {
    key: None,
    direction: Direction::Reply,
};

fn engine() -> &'static Engine {
    use std::sync::LazyLock;
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
        let terms = vec![
            "Tobias Lindqvist".to_owned(),
            "Anna Maria Kowalska".to_owned(),
        ];
        let dictionaries = vec![Dictionary {
            label: Label::PERSON,
            terms,
            inflect: true,
        }];
        Engine::new(&Policy {
            dictionaries,
            ..Policy::default()
        })
        .unwrap()
    });
    &ENGINE
}

/// Pieces that texts are made of: values in many forms, their beginnings, and what is between.
fn piece() -> impl Strategy<Value = String> {
    let key = [
        "-----BEGIN PRIV",
        "ATE KEY-----\nMC4CAQAw\n-----END PRIV",
        "ATE KEY-----",
    ]
    .concat();
    let github = ["ghp", "_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"].concat();
    let token = [
        "eyJhbGciOiJIUzI1NiJ9",
        ".eyJzdWIiOiIxMjM0In0",
        ".c2lnbmF0dXJl",
    ]
    .concat();
    let fixed = [
        "lena.fors@example.org",
        "le\u{200B}na@ex\u{AD}ample.org",
        "lena%40example.org",
        "lena\\u0040example.org",
        "lena&#64;example.org",
        "lena [at] example [dot] org",
        "4111 1111 1111 1111",
        "4111111111111111",
        "3782-822463-10005",
        "512-48-3071",
        "ssn \u{202E}512\u{202C}-48\u{2060}-3071",
        "GB82 WEST 1234 5698 7654 32",
        "DE89370400440532013000",
        "+49 30 6763086",
        "(415) 555-0132",
        "06 59 85 49 04",
        "203.0.113.9",
        "2001:db8::8a2e:370:7334",
        "https://lena:s3cr3t@host/x",
        "Authorization: Basic bGVuYTpzZWNyZXQ=",
        "password: hunter2x",
        "\"password\": \"a\\\"b7c\"",
        "The password is hunter2x.",
        "Tobias Lindqvist",
        "Anny Marii Kowalskiej",
        "tobias",
        "Y29udGFjdD1taXJhLm9rYWZvckBleGFtcGxlLmNvbQ==",
        "6c656e614065782e6f7267",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "phone: ",
        "card ",
        "ssn: ",
        "password ",
        "Authorization: ",
        "AK",
        "-----BEGIN",
        "4111",
        "512-",
        "+49",
        "the quick brown fox",
        "src/lib/main.rs",
        "1748500000123",
        "👩🏽‍🚀🎉",
        "\u{1b}[01;31m",
        "\\x1b[0m",
        "\\u0022",
        "\\\\u0027",
        "?t=3D",
        "=34=31=31=31",
        "_",
        "\u{E0034}\u{E0031}\u{E0031}\u{E0031}\u{E0031}\u{E0031}",
        "\u{E0061}\u{E002E}\u{E0062}\u{E0040}\u{E0063}\u{E002E}\u{E0064}\u{E0065}",
        "żółć 東京",
        "%4",
        "&#",
        "\\u00",
        "eyJ",
        "://",
        "@.",
        "@ab.example",
    ];
    let fixed: Vec<String> = fixed
        .into_iter()
        .map(str::to_owned)
        .chain([key, github, token])
        .collect();
    prop_oneof![
        6 => proptest::sample::select(fixed),
        3 => proptest::sample::select(vec![" ", ", ", "\n", ". ", "", "=", ": ", "\"", "-", "/"])
            .prop_map(str::to_owned),
        1 => "[a-z0-9 .@:-]{0,12}",
        1 => "\\PC{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// Whatever follows, what was said to be settled stays as it was found.
    #[test]
    fn settled_text_stays_as_it_was_found(pieces in proptest::collection::vec(piece(), 1..10)) {
        let text = pieces.concat();
        let whole = engine().find(&text, FIELD).unwrap();
        for (split, _) in text.char_indices() {
            let head = &text[..split];
            let settled = engine().undecided(head, FIELD);
            prop_assert!(head.is_char_boundary(settled));
            let before = |findings: &[Finding]| -> Vec<Finding> {
                findings.iter().filter(|f| f.start < settled).copied().collect()
            };
            let then = before(&engine().find(head, FIELD).unwrap());
            prop_assert_eq!(&before(&whole), &then, "{:?} settled {} of {:?}", head, settled, text);
            prop_assert!(then.iter().all(|f| f.end <= settled), "{:?} {}", head, settled);
        }
    }

    /// Findings are disjoint, in order, and cut no character.
    #[test]
    fn findings_are_disjoint_and_whole(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let mut last = 0;
        for finding in engine().find(&text, FIELD).unwrap() {
            prop_assert!(last <= finding.start && finding.start < finding.end);
            prop_assert!(text.is_char_boundary(finding.start) && text.is_char_boundary(finding.end));
            last = finding.end;
        }
    }
}

fn gated_engine() -> &'static Engine {
    &crate::rules::testing::ENGINE
}

/// The engine without gates: the automaton runs from every start.
fn open_engine() -> &'static Engine {
    use std::sync::LazyLock;
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
        let mut engine = Engine::new(&Policy::default()).unwrap();
        let mut automaton = Automaton::new(&engine.rules).unwrap();
        automaton.open_gates();
        engine.automaton = Arc::new(automaton);
        engine
    });
    &ENGINE
}

/// Pieces of heads of all kinds, so that many almost match.
fn shred() -> impl Strategy<Value = String> {
    let heads = crate::rules::built_in();
    let heads: Vec<String> = heads
        .into_iter()
        .map(|rule| rule.head.into_owned())
        .collect();
    let head = proptest::sample::select(heads).prop_flat_map(|head| {
        proptest::string::bytes_regex(&format!("(?s-u:{head})"))
            .map_or_else(|_| Just(Vec::new()).boxed(), Strategy::boxed)
    });
    (head, 0usize..80, 0usize..80).prop_map(|(bytes, from, length)| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.chars()
            .skip(from.saturating_sub(50))
            .take(length + 1)
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// What the gates refuse could have been nothing.
    #[test]
    fn gates_take_nothing_away(
        pieces in proptest::collection::vec(prop_oneof![2 => piece(), 2 => shred(), 1 => "[ -~\n]{0,9}"], 1..9)
    ) {
        let text = pieces.concat();
        let gated = Pass::over(gated_engine(), &text, None).unwrap();
        let open = Pass::over(open_engine(), &text, None).unwrap();
        prop_assert_eq!(&gated.findings, &open.findings);
        let whole = Pass::whole(gated_engine(), &text, None).unwrap();
        prop_assert_eq!(&whole.findings, &gated.findings);
        prop_assert_eq!(gated.settled, open.settled);
        prop_assert_eq!(gated.open, open.open);
    }
}

#[test]
fn the_work_is_linear_on_hostile_texts() {
    for unit in [
        "a@",
        "a.b@c-",
        "1",
        "1-",
        "12 ",
        "(((",
        "[[",
        "password:",
        "password:\"",
        "eyJ",
        "eyJ-",
        "\\",
        "secret=",
        "password=(",
        "(a",
        "-----BEGIN PRIVATE KEY-----",
        "a",
        "Aa",
        "https://a:",
        "%40",
        "\\u0040",
        "Y29u",
        "::",
        "AKIA",
        "token is ",
        "password a ",
        "+1 ",
        "0.0.",
        "a at a dot ",
    ] {
        let steps = |size: usize| {
            let text = unit.repeat(size / unit.len());
            Pass::over(engine(), &text, None).unwrap().steps + text.len()
        };
        let (small, large) = (steps(20_000), steps(80_000));
        assert!(large < small * 5, "{unit:?}: {small} steps, then {large}");
        assert!(large < 80_000 * 1200, "{unit:?}: {large} steps");
    }
}

#[test]
fn nothing_is_cut_off_a_large_text() {
    let text = format!("{}\nlena.fors@example.org", "x".repeat(3_000_000));
    let found = engine().find(&text, FIELD).unwrap();
    assert_eq!(found.len(), 1);
}

#[test]
fn a_key_block_without_an_end_is_open() {
    let text = [
        "x -----BEGIN PRIV",
        "ATE KEY-----\n",
        &"MC4CAQAw".repeat(100),
    ]
    .concat();
    assert_eq!(engine().undecided(&text, FIELD), 2);
    let open = engine().open(&text, FIELD).unwrap();
    assert_eq!((open.start, open.label), (2, Label::PRIVATE_KEY));
    assert_eq!(open.end("MC4CAQAw"), None);
    let more = ["MC\n-----END PRIV", "ATE KEY-----", " and on"].concat();
    assert_eq!(open.end(&more).map(|end| &more[end..]), Some(" and on"));
}

#[test]
fn a_field_that_is_a_password_is_one_match() {
    let field = Field {
        key: Some("db_password"),
        direction: Direction::ToolOutput,
    };
    assert_eq!(engine().undecided("hun", field), 0);
    assert_eq!(engine().find("hunter2x", field).unwrap().len(), 1);
    let other = Field {
        key: Some("password_hint"),
        direction: Direction::ToolOutput,
    };
    assert!(engine().find("hunter2x", other).unwrap().is_empty());
}

#[test]
fn an_encoded_run_is_found_as_a_whole() {
    let run = "Y29udGFjdD1taXJhLm9rYWZvckBleGFtcGxlLmNvbQ==";
    let text = format!("blob={run} sha=3f786850e387550fdab836ed7e6dc881de23001b");
    let found = engine().find(&text, FIELD).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(&text[found[0].start..found[0].end], run);
    assert_eq!(found[0].label, Label::EMAIL);
}

#[test]
fn format_characters_go_with_their_finding() {
    for (text, value) in [
        (
            "mail le\u{200B}na.fors@\u{200D}exam\u{AD}ple.org now",
            "le\u{200B}na.fors@\u{200D}exam\u{AD}ple.org",
        ),
        (
            "ssn \u{202E}512\u{202C}-48\u{2060}-3071 end",
            "\u{202E}512\u{202C}-48\u{2060}-3071",
        ),
        (
            "👩🏽‍🚀🎉 hi, lena.fors@example.org👍 bye",
            "lena.fors@example.org",
        ),
    ] {
        let found = resolve(Pass::over(engine(), text, None).unwrap().findings);
        let texts: Vec<_> = found.iter().map(|f| &text[f.start..f.end]).collect();
        assert_eq!(texts, [value]);
    }
}
