//! `docs/errors.md` lists every error code as it is, and no other.

use std::collections::BTreeMap;

use gatehouse::reject::{Code, Retry};

use crate::source::root;

#[test]
fn the_page_lists_every_code_as_it_is() {
    let page = std::fs::read_to_string(root().join("docs/errors.md")).expect("the page");
    let rows: BTreeMap<&str, Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .map(|cells| (cells[1].trim_matches('`'), cells))
        .collect();
    for code in Code::ALL {
        let word = code.word();
        let cells = rows
            .get(word)
            .unwrap_or_else(|| panic!("{word} is not on the page"));
        let retry = match code.retry() {
            Retry::After(seconds) => format!("`retry-after: {seconds}`"),
            Retry::ByStatus => "–".to_owned(),
            Retry::No => "`x-should-retry: false`".to_owned(),
        };
        let facts = [
            code.status().as_str().to_owned(),
            code.blame().word().to_owned(),
            retry,
        ];
        assert_eq!(cells[2..5], facts, "{word}");
        assert!(!cells[6].is_empty(), "{word} has no meaning");
    }
    assert_eq!(
        rows.len(),
        Code::ALL.len(),
        "the page lists codes that do not exist"
    );
}
