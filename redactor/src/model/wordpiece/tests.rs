//! Against the reference implementation: what Python's `tokenizers` 0.23.3 gave for the same
//! texts, with the pinned `tokenizer.json` and with the same file around an invented vocabulary.

use serde_json::Value;

use super::{Id, Vocabulary, Word, plain};

/// `vocabulary` is the invented one. A case has the `places` of its words in bytes and the ids of
/// their pieces: `ids` by the pinned vocabulary, `invented` by the invented one.
const REFERENCE: &str = include_str!("reference.json");

/// The words must have these ids, and these places but for characters that are dropped.
fn compare(vocabulary: &Vocabulary, case: &Value, ids: &str) {
    let text = case["text"].as_str().unwrap();
    let words = vocabulary.words(text, 0..text.len());
    let own: Vec<&[Id]> = words.iter().map(|word| word.ids.as_slice()).collect();
    let wanted: Vec<Vec<Id>> = serde_json::from_value(case[ids].clone()).unwrap();
    assert_eq!(own, wanted, "{text:?}");
    let places: Vec<(usize, usize)> = serde_json::from_value(case["places"].clone()).unwrap();
    for (Word { range, .. }, (start, end)) in words.iter().zip(places) {
        assert!(
            range.start <= start && end <= range.end,
            "{text:?} {range:?}"
        );
        let beside = [&text[range.start..start], &text[end..range.end]];
        assert_eq!(beside.map(plain), ["", ""], "{text:?} {range:?}");
    }
}

fn cases(file: &Value) -> &[Value] {
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 30);
    cases
}

#[test]
fn an_invented_vocabulary_gives_what_the_reference_gives() {
    let file: Value = serde_json::from_str(REFERENCE).unwrap();
    let pieces: Vec<String> = serde_json::from_value(file["vocabulary"].clone()).unwrap();
    let vocabulary = Vocabulary::of(pieces.into_iter().zip(0..)).unwrap();
    for case in cases(&file) {
        compare(&vocabulary, case, "invented");
    }
}

/// `GATEHOUSE_TEST_MODEL` names a data directory that has the model, as `scripts/test.sh` does. Without
/// it this compares nothing: the crate fetches nothing, and the invented vocabulary goes through the
/// same code.
#[test]
fn the_pinned_vocabulary_gives_what_the_reference_gives() {
    let Some(home) = std::env::var_os("GATEHOUSE_TEST_MODEL") else {
        return;
    };
    let path = std::path::Path::new(&home).join("model/tokenizer.json");
    let vocabulary = Vocabulary::read(&std::fs::read(path).unwrap()).unwrap();
    let file: Value = serde_json::from_str(REFERENCE).unwrap();
    for case in cases(&file) {
        compare(&vocabulary, case, "ids");
    }
}
