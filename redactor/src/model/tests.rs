//! Segments, windows and reading, with a small invented vocabulary and invented chances.

use std::sync::LazyLock;

use super::network::{CLASSES, Chances, Class, Numbers, Scores};
use super::shape::{Kind, is_name_like, kind, may_name};
use super::wordpiece::{Vocabulary, Word};
use super::{Files, Item, Model, ModelError, Plan, WINDOW, segment};
use crate::label::Label;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut pieces = vec![
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "word", "##s", ",", ".", ":", "-", "'",
    ];
    let letters: Vec<String> = ('a'..='z').chain('0'..='9').map(String::from).collect();
    let further: Vec<String> = letters.iter().map(|letter| format!("##{letter}")).collect();
    pieces.extend(letters.iter().chain(&further).map(String::as_str));
    let numbered = pieces.iter().map(|piece| (*piece).to_owned()).zip(0..);
    Vocabulary::of(numbered).unwrap()
});

fn words(text: &str) -> Vec<(&str, usize)> {
    let words = VOCABULARY.words(text, 0..text.len());
    words
        .iter()
        .map(|Word { range, ids }| (&text[range.clone()], ids.len()))
        .collect()
}

#[test]
fn words_are_cut_into_the_longest_pieces_that_are_known() {
    assert_eq!(
        words("Words, wörds.ab\u{301}c"),
        [
            ("Words", 2),
            (",", 1),
            ("wörds", 2),
            (".", 1),
            ("ab\u{301}c", 3)
        ]
    );
    let unknown = VOCABULARY.words("ł", 0.."ł".len());
    assert_eq!(unknown[0].ids, [1]);
    assert_eq!(words("東京"), [("東", 1), ("京", 1)]);
    assert_eq!(words(" \u{200B} "), []);
}

/// A name in a stretch of glued words must not drown in one unknown piece.
#[test]
fn long_words_are_cut_where_small_letters_meet_capitals_and_anywhere_at_last() {
    let glued = words("customerNameAnnaKowalskaIsHere");
    let texts: Vec<&str> = glued.iter().map(|(text, _)| *text).collect();
    assert_eq!(
        texts,
        ["customer", "Name", "Anna", "Kowalska", "Is", "Here"]
    );
    let long = "x".repeat(250);
    assert!(words(&long).iter().all(|(text, _)| text.len() <= 100));
}

#[test]
fn a_run_that_is_no_word_is_not_shown() {
    let shown = |run: &str| {
        let text = format!("see {run} and Anna");
        let found = segment::segments(&text, None);
        found.iter().any(|s| !s.is_opaque(100))
    };
    assert!(!shown(&"x".repeat(65_500)));
    assert!(!shown(&"ABCD1".repeat(60)));
    assert!(shown(&"customerName".repeat(30)));
    assert!(shown(&"anna-kowalska|".repeat(30)));
}

#[test]
fn lines_are_prose_or_code() {
    for prose in [
        "Anna asked whether John's order (the second one) had shipped.",
        "hi, this is anna. can you call me back?",
        "The person(s) named above may sign.",
    ] {
        assert_eq!(kind(prose), Kind::Prose, "{prose}");
    }
    for code in [
        "let user = find(name);",
        "2024-05-01T12:00:01Z INFO started",
        "    return self.name",
        r#"{"id": 7, "name": "x"}"#,
        "SELECT name FROM users",
        "assert_eq!(a, b)",
    ] {
        assert_eq!(kind(code), Kind::Code, "{code}");
    }
    assert!(is_name_like("O'Brien") && is_name_like("Żółć") && is_name_like("McDonald"));
    assert!(!is_name_like("HTTP") && !is_name_like("getName") && !is_name_like("Jenkins"));
    assert!(may_name("logged in: Anna") && !may_name("Starting the build of module_a"));
}

fn shown(text: &str, key: Option<&str>) -> Vec<(String, String, Kind)> {
    let segments = segment::segments(text, key);
    segments
        .iter()
        .map(|it| {
            let body = text[it.body.clone()].trim_end().to_owned();
            (it.context.to_owned(), body, it.setting.kind)
        })
        .collect()
}

#[test]
fn values_are_shown_with_their_keys() {
    let json = r#"{"id": "Ab12", "customer": "Anna Kowalska", "status": "Open", "path": "/a/B"}"#;
    let value = (
        "customer".to_owned(),
        "Anna Kowalska".to_owned(),
        Kind::Value,
    );
    assert_eq!(shown(json, None), std::slice::from_ref(&value));
    assert_eq!(
        shown(r#"level=info customer="Anna Kowalska" n=1"#, None),
        std::slice::from_ref(&value)
    );
    assert_eq!(shown("Anna Kowalska", Some("customer")), [value]);
    let table = "id,name,email\n7,Anna Kowalska,a@b.example\n";
    let cell = ("name".to_owned(), "Anna Kowalska".to_owned(), Kind::Value);
    assert_eq!(shown(table, None), [cell]);
}

#[test]
fn what_can_hold_no_name_is_not_shown() {
    for text in [
        "1234567 89",
        "東京都千代田区",
        "fn main() {",
        "cache_size = 12_000",
        "use std::sync::Arc;",
        "deadbeef0123456789abcdef0123456789abcdef",
    ] {
        let plan = Plan::new(&VOCABULARY, &[Item { text, key: None }]);
        assert!(plan.pieces() <= 3, "{text}: {}", plan.pieces());
    }
}

/// Chances by what a word begins with: p a person, s a street, n a number, z a postcode, c a town.
fn invented(plan: &Plan<'_>, text: &str) -> Scores {
    let rows = plan.windows.iter().enumerate().map(|(number, window)| {
        let mut row: Numbers = vec![[0.0; CLASSES]; window.ids.len()];
        let (words, pieces) = window.words();
        for (range, at) in words.iter().zip(pieces) {
            let class = match text[range.clone()].to_lowercase().chars().next() {
                Some('p') => Class::Surname,
                Some('s') => Class::Street,
                Some('c') => Class::City,
                Some('1'..='4') => Class::Building,
                Some('5'..='9') => Class::Zip,
                _ => continue,
            };
            for piece in at {
                let chances: &mut Chances = &mut row[piece];
                chances[class as usize] = 0.9;
            }
        }
        (number, row)
    });
    Scores::of(rows.collect())
}

fn found(text: &str) -> Vec<(Label, String)> {
    let plan = Plan::new(&VOCABULARY, &[Item { text, key: None }]);
    let findings = plan.read(&[invented(&plan, text)], false).unwrap();
    let own = findings[0].iter();
    own.map(|f| (f.label, text[f.start..f.end].to_owned()))
        .collect()
}

fn names(text: &str) -> Vec<String> {
    let own = found(text)
        .into_iter()
        .filter(|(label, _)| *label == Label::PERSON);
    own.map(|(_, text)| text).collect()
}

#[test]
fn neighbours_particles_and_initials_are_one_name() {
    assert_eq!(names("I met Paul van der Pas there."), ["Paul van der Pas"]);
    assert_eq!(names("I met P. J. Perez there."), ["P. J. Perez"]);
    assert_eq!(names("I met Paula-Pia P'Pory there."), ["Paula-Pia P'Pory"]);
    assert_eq!(names("It is Paul's, not Pia's."), ["Paul", "Pia"]);
    assert_eq!(names("It is Paul, Pia and Per"), ["Paul", "Pia", "Per"]);
    assert_eq!(names("so paul said hi"), ["paul"]);
}

#[test]
fn technical_words_parts_of_code_and_small_words_are_no_names() {
    for text in [
        "We deploy with Puppet and Prometheus.",
        "The lid is of paul",
        "Use path/Paul/x and Paul_x or Paul(1)",
        "let x = Paul;",
        "PostGres speaks",
        "We use the Penrose here",
    ] {
        assert_eq!(names(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_address_goes_from_its_number_to_its_postcode() {
    assert_eq!(
        found("I live at 12 Sandy Street, Suite 7, Chester 90210, until May."),
        [(
            Label::ADDRESS,
            "12 Sandy Street, Suite 7, Chester 90210".to_owned()
        )]
    );
    assert_eq!(found("the Street is long"), []);
    assert_eq!(
        found("Suite 14\n"),
        [(Label::ADDRESS, "Suite 14".to_owned())]
    );
    assert_eq!(
        found("Art. street 14 is read"),
        [],
        "no part of a street is written as one"
    );
}

#[test]
fn findings_point_into_the_text_as_given() {
    let text = "I met \u{FF30}aul\u{200B}a, really.";
    let plan = Plan::new(&VOCABULARY, &[Item { text, key: None }]);
    let view = "I met Paula, really.";
    let findings = plan.read(&[invented(&plan, view)], false).unwrap();
    let own = &findings[0][0];
    assert_eq!(&text[own.start..own.end], "\u{FF30}aul\u{200B}a");
}

/// Every word is in a window that is not too long, and windows that overlap agree on one verdict.
#[test]
fn long_lines_become_windows_that_overlap() {
    let text = "Pia and word ".repeat(200);
    let plan = Plan::new(
        &VOCABULARY,
        &[Item {
            text: &text,
            key: None,
        }],
    );
    assert!(plan.windows.len() > 2);
    assert!(
        plan.windows
            .iter()
            .all(|window| window.ids.len() <= WINDOW + 2)
    );
    assert_eq!(names(&text).len(), 200);
    for batch in plan.batches() {
        assert!(batch.pieces() <= 512);
    }
    let rows: usize = plan.batches().iter().map(|batch| batch.rows.len()).sum();
    assert_eq!(rows, plan.windows.len());
}

/// What follows changes neither the windows of the lines before nor what is found in them.
#[test]
fn borders_do_not_depend_on_what_comes_later() {
    let head = "Paul met Pia.\nThe rest of it was word.\nname: \"Per\"\n";
    let whole = format!("{head}id,name,email\n{{\"x\": \"Peter Pan\"}}\nmore");
    let (short, long) = (found(head), found(&whole));
    assert_eq!(long[..short.len()], short);
}

#[test]
fn a_window_without_scores_is_an_unfinished_search() {
    let text = "I met Paul there";
    let plan = Plan::new(&VOCABULARY, &[Item { text, key: None }]);
    assert_eq!(plan.read(&[], false).err(), Some(ModelError::Failed));
    let wrong = Scores::of(vec![(0, vec![[0.0; CLASSES]; 2])]);
    assert_eq!(plan.read(&[wrong], false).err(), Some(ModelError::Failed));
}

#[test]
fn bytes_that_are_not_the_pinned_ones_are_refused() {
    let files = Files {
        network: b"x".to_vec(),
        tokenizer: Vec::new(),
        config: Vec::new(),
    };
    let error = Model::load(files, |_| [0; 32]).err();
    assert_eq!(error, Some(ModelError::Digest("model_q4.onnx")));
}
