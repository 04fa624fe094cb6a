//! The time of a table, moved for tests: the emulator's clock stands, so all that is compared with it
//! is moved instead.

use std::time::Duration;

use super::super::{Item, number, number_of, text_of};

/// An item whose time is nearer by so much; `None` if it has none.
pub(super) fn earlier(mut item: Item, by: Duration) -> Option<Item> {
    let by_us = i64::try_from(by.as_micros()).unwrap();
    let partition = text_of(&item, "pk").unwrap();
    let kind = partition.split('#').next().unwrap();
    let names: &[&str] = match kind {
        "session" => &["ends_us", "lease_until_us"],
        "conversation" => &["crowded_us"],
        _ => &["over_us"],
    };
    let mut changed = false;
    for name in names {
        if let Some(at_us) = number_of::<i64>(&item, name) {
            item.insert((*name).to_owned(), number(at_us - by_us));
            changed = true;
        }
    }
    if let Some(line) = text_of(&item, "lease_line") {
        let line = crate::registry::redis_tests::time::earlier_line(&line, by_us);
        let line = aws_sdk_dynamodb::types::AttributeValue::S(line);
        item.insert("lease_line".to_owned(), line);
    }
    if let Some(references) = item.get_mut("refs_m") {
        let mut moved = references.as_m().unwrap().clone();
        for at in moved.values_mut() {
            let at_us: i64 = at.as_n().unwrap().parse().unwrap();
            *at = number(at_us - by_us);
        }
        *references = aws_sdk_dynamodb::types::AttributeValue::M(moved);
    }
    changed.then_some(item)
}
