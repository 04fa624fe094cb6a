//! Each format: a token of its shape is found whole, and what misses it by little is not.
//!
//! Tokens are put together here from a grammar and generated characters, so that no scanner of
//! secrets takes these files for a leak.

mod samples;

use std::collections::BTreeSet;
use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta::Regex;

use self::samples::{Part, Sample, samples};
use super::table::{Ending, Format, TABLE, formats};
use crate::rules::testing::{ENGINE, FIELD};

/// A token of a sample, and what of it the rule's head needs.
struct Token {
    format: &'static str,
    text: String,
    /// Where each part stands, and its part.
    parts: Vec<(Range<usize>, Part)>,
    /// Bytes of the shortest text that the head takes.
    head: usize,
    ending: Ending,
}

/// Characters without pattern, the same on every run.
fn generated(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 33) as usize % letters.len()]
        })
        .collect()
}

fn tokens() -> Vec<Token> {
    samples().into_iter().map(token).collect()
}

fn token(sample: Sample) -> Token {
    let (mut text, mut parts) = (String::new(), Vec::new());
    for (part, seed) in sample.parts.into_iter().zip(7..) {
        let start = text.len();
        match &part {
            Part::Is(literal) => text.push_str(literal),
            Part::Of(alphabet, length) => {
                text.push_str(&generated(alphabet.letters, *length, seed));
            }
        }
        parts.push((start..text.len(), part));
    }
    let format = sample.format;
    let Format { head, ending, .. } = formats()
        .find(|known| known.name == format)
        .unwrap_or_else(|| panic!("no format is called {format}"));
    let shape = Regex::new(&format!("^(?:{head})$")).unwrap();
    let head = (1..=text.len())
        .find(|end| shape.is_match(Input::new(&text[..*end])))
        .unwrap_or_else(|| panic!("the head of {format} takes no part of {text}"));
    Token {
        format,
        text,
        parts,
        head,
        ending,
    }
}

impl Token {
    /// A complaint if the format's rule takes some part of a near miss that must not be taken.
    fn taken(&self, near: &str, must_not: impl Fn(&Range<usize>) -> bool) -> Option<String> {
        let found = by(self.format, near);
        let taken = found.iter().any(must_not);
        taken.then(|| format!("{} in {near}: {found:?}", self.format))
    }

    /// A complaint if the rule takes a text that reaches over a letter which was changed.
    fn altered(&self, at: usize, other: char) -> Option<String> {
        let mut near = self.text.clone();
        near.replace_range(at..at + 1, other.encode_utf8(&mut [0; 4]));
        self.taken(&near, |found| found.contains(&at))
    }
}

fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What that rule finds in a text.
fn by(rule: &str, text: &str) -> Vec<Range<usize>> {
    let pass = crate::pass::Pass::over(&ENGINE, text, FIELD.key).unwrap();
    let own = pass.findings.iter().filter(|found| found.rule == rule);
    own.map(|found| found.start..found.end).collect()
}

#[test]
fn every_line_is_a_format_with_its_source() {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(lines.count(), formats().count(), "a line that is no format");
    assert!(formats().count() >= 150);
    let heads: BTreeSet<_> = formats().map(|format| format.head).collect();
    assert_eq!(
        heads.len(),
        formats().count(),
        "two formats share a grammar"
    );
    let sets = [
        "betterleaks:",
        "credsweeper:",
        "gitleaks:",
        "kingfisher:",
        "noseyparker:",
        "trufflehog:",
    ];
    for format in formats() {
        let set = sets.iter().find_map(|set| format.source.strip_prefix(set));
        let page = format.source.strip_prefix("https://");
        let named = set.is_some_and(|name| !name.is_empty());
        let without = ["samples", "unconfirmed"].contains(&format.source);
        let own = format.name == "gatehouse" && format.source == "docs/sessions-and-keys.md";
        assert!(
            named || without || own || page.is_some_and(|page| page.contains('.')),
            "{}",
            format.name
        );
    }
    let sorted = formats().zip(formats().skip(1));
    assert!(sorted.into_iter().all(|(one, next)| one.name < next.name));
}

#[test]
fn every_format_has_a_sample_and_its_own_name() {
    let names: BTreeSet<_> = formats().map(|format| format.name).collect();
    assert_eq!(names.len(), formats().count(), "two formats share a name");
    let sampled: BTreeSet<_> = samples().iter().map(|sample| sample.format).collect();
    let without: Vec<_> = names.difference(&sampled).collect();
    assert!(
        without.is_empty(),
        "formats without a sample in tests/samples.txt: {without:?}"
    );
    let unknown: Vec<_> = sampled.difference(&names).collect();
    assert!(
        unknown.is_empty(),
        "samples of formats that the table does not have: {unknown:?}"
    );
}

#[test]
fn tokens_are_found_whole_in_all_surroundings() {
    let mut missed = Vec::new();
    for Token { format, text, .. } in tokens() {
        for (before, after) in [
            ("", ""),
            ("key = \"", "\";"),
            ("see (", "), and"),
            ("K=", "\nX=1"),
            ("電話", "。"),
        ] {
            let around = format!("{before}{text}{after}");
            let whole = before.len()..before.len() + text.len();
            let found = by(format, &around);
            // Whatever other rules think of it, all of it goes, as a secret.
            let shown = ENGINE.find(&around, FIELD).unwrap();
            let covered = shown.iter().any(|found| {
                found.label.is_secret() && found.start <= whole.start && whole.end <= found.end
            });
            if !found.contains(&whole) || !covered {
                missed.push(format!("{format} in {around}: {found:?}, {shown:?}"));
            }
        }
    }
    none(&missed);
}

#[test]
fn shorter_and_longer_ones_are_not_found_by_that_rule() {
    let mut wrong = Vec::new();
    for token in tokens() {
        let mut near = vec![token.text[..token.head - 1].to_owned()];
        if matches!(token.ending, Ending::Exact | Ending::Mixed) {
            near.push(format!("{}Z", token.text));
        }
        wrong.extend(near.iter().filter_map(|near| token.taken(near, |_| true)));
    }
    none(&wrong);
}

#[test]
fn other_letters_are_not_found_by_that_rule() {
    let mut wrong = Vec::new();
    for token in tokens() {
        for (range, part) in &token.parts {
            // Behind the head a token goes on or ends; nothing depends on it.
            let needed = range.start..range.end.min(token.head);
            if needed.is_empty() {
                continue;
            }
            match part {
                Part::Of(alphabet, _) => {
                    let at = needed.start + needed.len() / 2;
                    let others = alphabet.not.chars();
                    wrong.extend(others.filter_map(|other| token.altered(at, other)));
                }
                Part::Is(_) => wrong.extend(needed.filter_map(|at| token.altered(at, '!'))),
            }
        }
    }
    none(&wrong);
}

#[test]
fn other_prefixes_are_not_found_by_that_rule() {
    let mut wrong = Vec::new();
    for token in tokens() {
        let Token { text, .. } = &token;
        let mut near = vec![format!("x{text}")];
        if let Some((_, Part::Is(_))) = token.parts.first() {
            near.extend([format!("9{text}"), text[1..].to_owned()]);
        }
        let cased = token.parts.iter().find_map(|(range, part)| match part {
            Part::Is(literal) => literal
                .find(|c: char| c.is_ascii_alphabetic())
                .map(|at| range.start + at),
            Part::Of(..) => None,
        });
        if let Some(at) = cased.filter(|at| *at < token.head) {
            let letter = char::from(text.as_bytes()[at] ^ 0x20);
            near.push(format!("{}{letter}{}", &text[..at], &text[at + 1..]));
        }
        wrong.extend(near.iter().filter_map(|near| token.taken(near, |_| true)));
    }
    none(&wrong);
}

#[test]
fn fillers_are_no_secrets() {
    let by_secret = |text: &str| {
        let names = formats().map(|format| format.name);
        names
            .filter(|name| !by(name, text).is_empty())
            .collect::<Vec<_>>()
    };
    for text in [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIAXXXXXXXXXXXXXXXX",
    ] {
        assert!(ENGINE.find(text, FIELD).unwrap().is_empty(), "{text}");
    }
    let published = ["AKIAIOSFODNN7", "EXAMPLE"].concat();
    assert_eq!(by_secret(&published), ["aws-access-key"]);
    // A known prefix is not doubted for the look of what follows.
    for repeated in [
        ["AIza", &"Q".repeat(35)].concat(),
        ["AIza", &"a1b2c3d".repeat(5)].concat(),
    ] {
        assert_eq!(by_secret(&repeated), ["google-api"], "{repeated}");
    }
}

#[test]
fn what_pages_write_in_place_of_a_secret() {
    for text in [
        format!("ghp_{}", "x".repeat(36)),
        format!("ABSK{}", "EXAMPLE".repeat(12)),
        format!("GR1348941{}", "123".repeat(7)),
        ["xoxp-1-", "RANDOMSTRINGHERE"].concat(),
    ] {
        let pass = crate::pass::Pass::over(&ENGINE, &text, FIELD.key).unwrap();
        let formats: Vec<_> = formats().map(|format| format.name).collect();
        assert!(
            !pass
                .findings
                .iter()
                .any(|found| formats.contains(&found.rule)),
            "{text}"
        );
    }
}
