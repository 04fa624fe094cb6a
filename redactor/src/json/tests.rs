//! Tests of the reader, the tape and the splice.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn fault(json: &[u8]) -> JsonFault {
    Document::parse(json, &Limits::default())
        .err()
        .expect("refused")
        .fault
}

fn parse(json: &str) -> Document<'_> {
    Document::parse(json.as_bytes(), &Limits::default()).expect("accepted")
}

#[test]
fn what_parsers_read_differently_is_refused() {
    assert_eq!(fault(b"\xef\xbb\xbf{}"), JsonFault::ByteOrderMark);
    assert_eq!(fault(b"{\"a\":1,\"\\u0061\":2}"), JsonFault::DuplicateKey);
    assert_eq!(
        fault(b"{\"x\":{\"a\":1,\"b\":{},\"a\":[]}}"),
        JsonFault::DuplicateKey
    );
    assert_eq!(fault(b"\"a\xff\""), JsonFault::Utf8);
    assert_eq!(fault(b"\"\xed\xa0\xbd\""), JsonFault::Utf8);
    assert_eq!(fault(b"\"x\\ud83d y\""), JsonFault::LoneSurrogate);
    assert_eq!(fault(b"\"\\udc00\""), JsonFault::LoneSurrogate);
    assert_eq!(fault(b"\"a\nb\""), JsonFault::ControlCharacter);
    assert_eq!(fault(b"\"\\x\""), JsonFault::Escape);
    assert_eq!(fault(b"{} {}"), JsonFault::Trailing);
    assert_eq!(fault(b"{}\0"), JsonFault::Trailing);
    assert_eq!(fault(b"[1,]"), JsonFault::Syntax);
    assert_eq!(fault(b"{\"a\":1,}"), JsonFault::Syntax);
    assert_eq!(fault(b"{'a':1}"), JsonFault::Syntax);
    assert_eq!(fault(b"[NaN]"), JsonFault::Syntax);
    assert_eq!(fault(b""), JsonFault::End);
    assert_eq!(fault(b"[\"a"), JsonFault::End);
    assert_eq!(fault(b"{\"a\""), JsonFault::End);
    for number in [
        "01", "-", "1.", ".5", "1e", "1e999", "-1e999", "+1", "1-1", "0x1",
    ] {
        assert!(
            Document::parse(number.as_bytes(), &Limits::default()).is_err(),
            "{number}"
        );
    }
    assert_eq!(fault("9".repeat(600).as_bytes()), JsonFault::Number);
}

#[test]
fn duplicates_are_found_among_many_keys() {
    let mut json = String::from("{");
    for n in 0..1000 {
        json.push_str(&format!("\"key{n}\":{n},"));
    }
    json.push_str("\"key5\\u0030\":0}");
    assert_eq!(fault(json.as_bytes()), JsonFault::DuplicateKey);
}

#[test]
fn depth_and_numbers_of_values_are_bounded() {
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(Document::parse(deep(128).as_bytes(), &Limits::default()).is_ok());
    assert_eq!(fault(deep(129).as_bytes()), JsonFault::Depth);
    assert_eq!(fault("[".repeat(1 << 20).as_bytes()), JsonFault::Depth);
    let limits = Limits {
        depth: 4,
        leaves: 3,
    };
    assert!(Document::parse(b"[1,2,3]", &limits).is_ok());
    let error = Document::parse(b"[1,2,3,4]", &limits).err().unwrap();
    assert_eq!(
        (error.fault, error.path.as_str()),
        (JsonFault::TooMany, "[3]")
    );
    assert!(Document::parse(b"[[],[],[]]", &limits).is_err());
}

#[test]
fn errors_name_the_place_and_no_text() {
    let json = br#"{"messages":[{"content":"ok"},{"lena.fors@example.org":"\ud800"}]}"#;
    let error = Document::parse(json, &Limits::default()).err().unwrap();
    assert_eq!(error.path, "messages[1].*");
    assert_eq!(
        error.to_string(),
        "lone surrogate at byte 56 in messages[1].*"
    );
}

#[test]
fn nodes_know_their_surroundings() {
    let doc = parse(r#" {"a":[true,{"\u0062":"x\ny"},-1.50],"c":null} "#);
    let leaf = doc.leaves().nth(1).unwrap();
    assert_eq!(leaf.text().unwrap(), "x\ny");
    assert_eq!(leaf.key().unwrap(), "b");
    assert_eq!(leaf.path(), "a[1].b");
    assert_eq!(leaf.parent().unwrap().index(), 1);
    let root = doc.root();
    assert!(root.parent().is_none());
    let kinds: Vec<Kind> = root.get("a").unwrap().children().map(Node::kind).collect();
    assert_eq!(kinds, [Kind::Bool, Kind::Object, Kind::Number]);
    assert_eq!(
        root.get("a").unwrap().children().nth(2).unwrap().number(),
        Some("-1.50")
    );
    assert_eq!(root.get("c").unwrap().kind(), Kind::Null);
    assert!(root.get("d").is_none());
    assert_eq!(doc.leaf_count(), doc.leaves().count());
}

fn edited(json: &str, edit: impl FnOnce(&Document<'_>, &mut Splice<'_>)) -> String {
    let doc = parse(json);
    let mut splice = Splice::new(&doc);
    edit(&doc, &mut splice);
    String::from_utf8(splice.finish()).unwrap()
}

#[test]
fn members_come_out_with_their_commas() {
    let json = r#"{ "a": 1, "b": 2, "c": 3 }"#;
    let without = |keys: &[&str]| {
        edited(json, |doc, splice| {
            for key in keys {
                splice.remove_member(doc.root().get(key).unwrap());
            }
        })
    };
    assert_eq!(without(&["a"]), r#"{ "b": 2, "c": 3 }"#);
    assert_eq!(without(&["b"]), r#"{ "a": 1, "c": 3 }"#);
    assert_eq!(without(&["c"]), r#"{ "a": 1, "b": 2 }"#);
    for keys in [
        &["a", "b"][..],
        &["a", "c"],
        &["b", "c"],
        &["a", "b", "c"],
        &[],
    ] {
        let mut left: Value = serde_json::from_str(json).unwrap();
        left.as_object_mut()
            .unwrap()
            .retain(|key, _| !keys.contains(&key.as_str()));
        assert_eq!(serde_json::from_str::<Value>(&without(keys)).unwrap(), left);
    }
}

#[test]
fn members_are_added_beside_others_and_into_nothing() {
    let add = |json| {
        edited(json, |doc, splice| {
            splice.insert_member(doc.root(), "n", "{\"x\":true}");
            if let Some(gone) = doc.root().get("s") {
                splice.set_text(gone, "edited");
                splice.remove_member(gone);
            }
        })
    };
    assert_eq!(add("{}"), r#"{"n":{"x":true}}"#);
    assert_eq!(add(r#"{"a":1}"#), r#"{"n":{"x":true},"a":1}"#);
    assert_eq!(add(r#"{"s":"gone"}"#), r#"{"n":{"x":true}}"#);
    assert_eq!(add(r#"{"s":"gone","a":1}"#), r#"{"n":{"x":true},"a":1}"#);
    assert_eq!(add(r#"{"a":1 , "s":"gone"}"#), r#"{"n":{"x":true},"a":1 }"#);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}|[\u{0}-\u{7f}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map("\\PC{0,4}", inner, 0..12)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn rebuilt(node: Node<'_>) -> Value {
    match node.kind() {
        Kind::Array => node.children().map(rebuilt).collect(),
        Kind::Object => Value::Object(
            node.children()
                .map(|child| (child.key().unwrap().into_owned(), rebuilt(child)))
                .collect(),
        ),
        Kind::String => Value::from(node.text().unwrap()),
        _ => serde_json::from_slice(node.raw()).unwrap(),
    }
}

proptest! {
    #[test]
    fn reads_what_an_independent_parser_reads(value in value(), pretty: bool) {
        let json = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            serde_json::to_string(&value).unwrap()
        };
        let doc = parse(&json);
        prop_assert_eq!(rebuilt(doc.root()), value);
        prop_assert_eq!(Splice::new(&doc).finish(), json.as_bytes());
    }

    #[test]
    fn accepts_nothing_that_an_independent_parser_refuses(
        json in r#"[\[\]{},:"\\ua0-9eE.+tfnrl -]{0,14}|[\[{"]\PC{0,10}[\]}"]"#,
    ) {
        if Document::parse(json.as_bytes(), &Limits::default()).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
        }
    }
}
