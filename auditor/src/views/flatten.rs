//! A record as a row: every scalar under the names of the keys that lead to it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Cell, Row};

/// The longest column name; longer paths are cut, which makes them clash and so be noticed.
const MAX_NAME: usize = 64;

/// What becomes of one record.
#[derive(Default)]
pub(super) struct Flat {
    /// The row of `records`.
    pub(super) row: Row,
    /// The rows of `labels`: place, label, count.
    pub(super) labels: Vec<(String, String, i64)>,
    /// Texts that stand in no view, in lists or as odd keys: the lints look at them too.
    pub(super) loose: Row,
    /// Two fields would have had one name; the second is left out.
    pub(super) clash: bool,
    seen: HashSet<String>,
}

/// Flattens a line that was read before; none if it is no object after all.
pub(super) fn flatten(line: &str) -> Option<Flat> {
    let Ok(Value::Object(leaf)) = serde_json::from_str(line) else {
        return None;
    };
    let mut flat = Flat::default();
    // The leaf's own fields come first: an event's field of the same name cannot take their place.
    for (key, value) in leaf.iter().filter(|(key, _)| *key != "e") {
        flat.value(key.clone(), value);
    }
    if let Some(Value::Object(event)) = leaf.get("e") {
        flat.object("", event);
    }
    Some(flat)
}

impl Flat {
    fn object(&mut self, path: &str, fields: &Map<String, Value>) {
        for (key, value) in fields {
            self.key(key);
            let name = match path {
                "" => plain(key),
                path => plain(&format!("{path}_{key}")),
            };
            self.value(name, value);
        }
    }

    fn value(&mut self, name: String, value: &Value) {
        let cell = match value {
            Value::Array(items) => {
                items.iter().for_each(|item| self.loose(&name, item));
                return self.counts(&name, items);
            }
            Value::Bool(flag) => Cell::Integer(i64::from(*flag)),
            Value::Null => return,
            Value::Number(number) => match number.as_i64() {
                Some(number) => Cell::Integer(number),
                None => Cell::Text(number.to_string()),
            },
            Value::Object(fields) => return self.object(&name, fields),
            Value::String(text) => Cell::Text(text.clone()),
        };
        if self.seen.insert(name.clone()) {
            self.row.push((name, cell));
        } else {
            self.clash = true;
        }
    }

    /// Keys are names, made by the writer; another may be text.
    fn key(&mut self, key: &str) {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !key.bytes().all(plain) || key.len() > MAX_NAME {
            self.loose.push(("key".into(), Cell::Text(key.to_owned())));
        }
    }

    /// Every text below a list.
    fn loose(&mut self, name: &str, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.loose(name, item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.key(key);
                    self.loose(name, value);
                }
            }
            Value::String(text) => {
                self.loose.push((name.to_owned(), Cell::Text(text.clone())));
            }
            Value::Bool(_) | Value::Null | Value::Number(_) => {}
        }
    }

    /// A list of labels and counts; other lists have no place in a flat view.
    fn counts(&mut self, place: &str, items: &[Value]) {
        for item in items {
            let label = item.get("label").and_then(Value::as_str);
            let count = item.get("n").and_then(Value::as_i64);
            if let (Some(label), Some(count)) = (label, count) {
                let place = match item.get("to").and_then(Value::as_str) {
                    Some(to) => plain(&format!("{place}_{to}")),
                    None => place.to_owned(),
                };
                self.labels.push((place, label.to_owned(), count));
            }
        }
    }
}

/// A name that is a plain identifier in every engine.
fn plain(path: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' | '0'..='9' | '_' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '_',
    };
    let name: String = path.chars().map(letter).take(MAX_NAME).collect();
    if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name
    } else {
        format!("x{name}").chars().take(MAX_NAME).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names_and_lists_become_labels() {
        let flat = flatten(
            r#"{"v":1,"w":"a","seq":3,"e":{"kind":"k","red":{"unvisited":0,"found":[{"label":"EMAIL","n":2}]},"reply":{"restored":[{"to":"tool","tool":"t","label":"IBAN","n":1}]},"cut":true,"Od d":"x","none":null}}"#,
        )
        .unwrap();
        let cell = |name: &str| {
            flat.row
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, c)| c.clone())
        };
        assert_eq!(cell("red_unvisited"), Some(Cell::Integer(0)));
        assert_eq!(cell("seq"), Some(Cell::Integer(3)));
        assert_eq!(cell("cut"), Some(Cell::Integer(1)));
        assert_eq!(cell("od_d"), Some(Cell::Text("x".into())));
        assert_eq!(cell("none"), None);
        assert_eq!(
            flat.labels,
            [
                ("red_found".to_owned(), "EMAIL".to_owned(), 2),
                ("reply_restored_tool".to_owned(), "IBAN".to_owned(), 1)
            ]
        );
        assert!(!flat.clash);
        let loose = flat.loose.iter().map(|(name, cell)| match cell {
            Cell::Text(text) => format!("{name}={text}"),
            Cell::Integer(number) => number.to_string(),
        });
        let wanted = [
            "red_found=EMAIL",
            "reply_restored=tool",
            "reply_restored=t",
            "reply_restored=IBAN",
            "key=Od d",
        ];
        let mut loose: Vec<String> = loose.collect();
        loose.sort();
        let mut wanted = wanted.map(str::to_owned);
        wanted.sort();
        assert_eq!(loose, wanted);
    }

    #[test]
    fn a_field_cannot_take_the_place_of_another() {
        let flat = flatten(r#"{"seq":3,"e":{"seq":4,"red":{"unvisited":5},"red_unvisited":0}}"#);
        let flat = flat.unwrap();
        assert!(flat.clash);
        assert_eq!(
            flat.row.first(),
            Some(&("seq".to_owned(), Cell::Integer(3)))
        );
        let unvisited = ("red_unvisited".to_owned(), Cell::Integer(5));
        assert_eq!(flat.row.get(1), Some(&unvisited));
    }
}
