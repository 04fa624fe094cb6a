//! The JSON walker: what it accepts, another reader accepts and reads the same; what is spliced
//! stays JSON, and what is not edited stays as it was.
#![no_main]

use gatehouse_redactor::json::{Document, Kind, Limits, Node, Splice};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Below the depth at which the other reader gives up.
const LIMITS: Limits = Limits {
    depth: 100,
    leaves: 10_000,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Document::parse(bytes, &LIMITS) else {
        return;
    };
    assert_eq!(Splice::new(&document).finish(), bytes);
    let other: Value = serde_json::from_slice(bytes).expect("the other reader accepts it");
    compare(document.root(), &other);
    assert_eq!(document.leaves().count(), document.leaf_count());
    // Every string is written again from its text.
    let mut splice = Splice::new(&document);
    for leaf in document.leaves() {
        assert!(!leaf.path().contains('\n'));
        if let Some(text) = leaf.text() {
            splice.set_text(leaf, &text);
        }
    }
    let again = splice.finish();
    let read: Value = serde_json::from_slice(&again).expect("what is spliced is JSON");
    assert_eq!(read, other);
    assert!(Document::parse(&again, &LIMITS).is_ok());
});

fn compare(node: Node<'_>, other: &Value) {
    match (node.kind(), other) {
        (Kind::Array, Value::Array(items)) => {
            assert_eq!(node.children().count(), items.len());
            node.children().zip(items).for_each(|(n, v)| compare(n, v));
        }
        (Kind::Object, Value::Object(members)) => {
            assert_eq!(node.children().count(), members.len());
            for child in node.children() {
                let key = child.key().expect("a member has a key");
                compare(child, members.get(&*key).expect("the same keys"));
            }
        }
        (Kind::String, Value::String(text)) => assert_eq!(node.text().as_deref(), Some(&**text)),
        (Kind::Number, Value::Number(_))
        | (Kind::Bool, Value::Bool(_))
        | (Kind::Null, Value::Null) => assert_eq!(
            serde_json::from_slice::<Value>(node.raw()).ok().as_ref(),
            Some(other)
        ),
        _ => panic!("the two readers differ in kind"),
    }
}
