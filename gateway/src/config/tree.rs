//! Reads a TOML text into a type and reports every fault, not only the first one.
//!
//! serde stops at the first fault. So the offending value is cut out of the tree, its fault noted,
//! and the rest is read again, until what is left reads or nothing can be cut any more.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use toml::Value;

use super::fault::Faults;

/// A file with more faults than this is not a configuration; the rest would be noise.
const MOST_FAULTS: usize = 100;

/// Reads `text`. Faults go to `faults` under `prefix`; `None` only if nothing could be read at
/// all. A value that is returned beside new faults lacks what was faulty and must not be used for
/// more than finding further faults.
pub(super) fn read<T: DeserializeOwned>(
    text: &str,
    prefix: &str,
    faults: &mut Faults,
) -> Option<T> {
    let table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => {
            faults.add(prefix, syntax(text, &error));
            return None;
        }
    };
    let mut tree = Value::Table(table);
    let mut cuts = Cuts::default();
    for _ in 0..MOST_FAULTS {
        let error = match serde_path_to_error::deserialize::<_, T>(tree.clone()) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let place = cuts.original(error.path());
        faults.add(join(prefix, &place), plain(error.inner().message()));
        if !cuts.cut(&mut tree, error.path()) {
            return None;
        }
    }
    None
}

/// The parser's message with line and column, but without the line itself: it may hold a secret.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let before = error
        .span()
        .and_then(|span| text.get(..span.start))
        .unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: {}", error.message())
}

/// serde quotes the value in "invalid type: string \"…\""; a dictionary entry or a misplaced
/// secret has no business in a message.
fn plain(message: &str) -> String {
    let quoted = ["invalid type: string \"", "invalid value: string \""];
    for start in quoted {
        let Some(rest) = message.strip_prefix(start) else {
            continue;
        };
        if let Some((_, tail)) = rest.rsplit_once("\", expected ") {
            let what = start.trim_end_matches(" \"");
            return format!("{what}, expected {tail}");
        }
    }
    message.to_owned()
}

fn join(prefix: &str, place: &str) -> String {
    match (prefix.is_empty(), place.is_empty()) {
        (true, _) => place.to_owned(),
        (_, true) => prefix.to_owned(),
        _ => format!("{prefix}: {place}"),
    }
}

/// What was cut so far, so that array positions can be reported as they stand in the file.
#[derive(Default)]
struct Cuts {
    /// The array's path (in original positions) and the original position of the removed element.
    elements: Vec<(String, usize)>,
}

impl Cuts {
    /// The path as it stands in the file.
    fn original(&self, path: &Path) -> String {
        let mut text = String::new();
        for segment in path.iter() {
            match segment {
                Segment::Seq { index } => {
                    let index = self.position(&text, *index);
                    text.push_str(&format!("[{index}]"));
                }
                Segment::Map { key } | Segment::Enum { variant: key } => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(key);
                }
                Segment::Unknown => {}
            }
        }
        text
    }

    /// The position in the file of what now stands at `index` of the array at `array`.
    fn position(&self, array: &str, index: usize) -> usize {
        let mut gone: Vec<usize> = self
            .elements
            .iter()
            .filter(|(at, _)| at == array)
            .map(|(_, n)| *n)
            .collect();
        gone.sort_unstable();
        gone.into_iter()
            .fold(index, |at, removed| if removed <= at { at + 1 } else { at })
    }

    /// Removes the value at `path`; false if there is none or it is the whole file.
    fn cut(&mut self, tree: &mut Value, path: &Path) -> bool {
        let segments: Vec<&Segment> = path.iter().collect();
        let Some((last, parents)) = segments.split_last() else {
            return false;
        };
        let mut at = tree;
        for segment in parents {
            let next = match segment {
                Segment::Map { key } => at.get_mut(key.as_str()),
                Segment::Seq { index } => at.get_mut(*index),
                Segment::Enum { .. } | Segment::Unknown => None,
            };
            let Some(next) = next else { return false };
            at = next;
        }
        match (last, at) {
            (Segment::Map { key }, Value::Table(table)) => table.remove(key).is_some(),
            (Segment::Seq { index }, Value::Array(array)) if *index < array.len() => {
                let whole = self.original(path);
                let array_path = whole
                    .rsplit_once('[')
                    .map_or("", |(start, _)| start)
                    .to_owned();
                let position = self.position(&array_path, *index);
                array.remove(*index);
                self.elements.push((array_path, position));
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, Default, PartialEq)]
    #[serde(deny_unknown_fields, default)]
    struct Outer {
        name: String,
        count: u8,
        inner: Vec<Inner>,
    }

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        id: u8,
    }

    fn faults_of(text: &str) -> Vec<String> {
        let mut faults = Faults::default();
        let _: Option<Outer> = read(text, "", &mut faults);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_text_has_no_fault() {
        let mut faults = Faults::default();
        let outer: Option<Outer> =
            read("name = 'a'\ncount = 3\n[[inner]]\nid = 1", "", &mut faults);
        assert!(faults.is_empty());
        assert_eq!(outer.map(|o| (o.count, o.inner.len())), Some((3, 1)));
    }

    #[test]
    fn unknown_keys_at_several_places_are_all_named() {
        let found = faults_of("nmae = 'a'\ncolour = 1\n[[inner]]\nid = 1\nextra = true\n");
        assert_eq!(found.len(), 3, "{found:?}");
        for place in [
            "nmae: unknown field",
            "colour: unknown field",
            "inner[0].extra: unknown",
        ] {
            assert!(
                found.iter().any(|f| f.starts_with(place)),
                "{place} in {found:?}"
            );
        }
    }

    #[test]
    fn positions_are_those_of_the_file_after_elements_were_cut() {
        let text = "[[inner]]\n[[inner]]\nid = 1\n[[inner]]\n[[inner]]\nid = 'x'\n[[inner]]\n";
        let found = faults_of(text);
        let places: Vec<&str> = found
            .iter()
            .filter_map(|f| f.split_once(": "))
            .map(|p| p.0)
            .collect();
        // Cutting inner[3].id leaves inner[3] without the field that it must have.
        assert_eq!(
            places,
            [
                "inner[0]",
                "inner[2]",
                "inner[3].id",
                "inner[3]",
                "inner[4]"
            ]
        );
    }

    #[test]
    fn a_syntax_error_names_its_line_and_not_its_text() {
        let found = faults_of("name = 'a'\ncount = = sk-very-secret\n");
        assert_eq!(found.len(), 1);
        let first = found.first().map(String::as_str).unwrap_or_default();
        assert!(first.starts_with("line 2, column "), "{first}");
        assert!(!first.contains("very-secret"), "{first}");
    }

    #[test]
    fn a_wrong_type_does_not_quote_the_value() {
        let found = faults_of("count = 'sk-very-secret'\n");
        assert_eq!(found, ["count: invalid type: string, expected u8"]);
    }
}
