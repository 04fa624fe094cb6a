//! The flat of an address on a line or behind a street, in whatever case: `apt. 581`.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::checked;

const FLAT: &str = r"(?i)(?:apt\.?|apartment) ?#?[0-9]{1,5}";
const SUITE: &str = r"(?i)suite #?[0-9]{1,5}";

pub(super) fn rules() -> Vec<Rule> {
    let left = (Left::Token, Tail::None);
    vec![
        checked("flat", Label::ADDRESS, FLAT, left, flat),
        checked("suite", Label::ADDRESS, SUITE, left, suite),
    ]
}

fn flat(candidate: &Candidate<'_>) -> Option<Hit> {
    // `apt 2.9.4`, `apt 7:`: the tool that installs packages.
    let goes_on = match candidate.next() {
        Some(b'.') => candidate
            .text
            .as_bytes()
            .get(candidate.end + 1)
            .is_some_and(u8::is_ascii_alphanumeric),
        Some(b) => b.is_ascii_alphanumeric() || b"_-/:=(%".contains(&b),
        None => false,
    };
    let digits = candidate
        .matched()
        .bytes()
        .filter(u8::is_ascii_digit)
        .count();
    (!goes_on && digits > 1)
        .then(|| candidate.whole(Label::ADDRESS, 68)?.by_context())
        .flatten()
}

/// On a line of its own or behind a number or a comma; tests and software come in suites too.
fn suite(candidate: &Candidate<'_>) -> Option<Hit> {
    let head = candidate
        .text
        .get(..candidate.start)?
        .trim_end_matches([' ', '\t']);
    let line = head.len() < candidate.start && head.ends_with('\n');
    let behind = head.ends_with(|c: char| c.is_ascii_digit());
    (line || behind).then(|| flat(candidate)).flatten()
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::{found, nothing};

    #[test]
    fn flats_of_houses() {
        found(
            "65 somesteenweg 197\n apt. 581\n montzen",
            "ADDRESS",
            &["apt. 581"],
        );
        found(
            "19 hillside road\n suite 482\n wells",
            "ADDRESS",
            &["suite 482"],
        );
    }

    #[test]
    fn tools_and_tests() {
        for text in [
            "apt 2.9.4 (amd64)",
            "test suite 12 failed",
            "apt-get 20",
            "suite 12: ok",
            "adapt 25",
        ] {
            nothing(text);
        }
    }
}
