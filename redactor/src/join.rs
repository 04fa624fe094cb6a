//! The rules' findings and the model's, made one.
//!
//! The rules' are resolved among themselves already. What both found under one label is joined,
//! so that a first name that a cue gave away and the surname that only the model knows are one
//! value. Where labels differ the more certain wins; what is left of a name or an address beside
//! a winner stays a finding, because half a name is a leak.

use std::ops::Range;

use crate::finding::Finding;

/// Fewer letters than this tell nothing.
const LEFT_OVER: usize = 2;

/// Sorted, disjoint findings. Both lists are sorted and disjoint in themselves.
pub(crate) fn join(text: &str, rules: Vec<Finding>, model: Vec<Finding>) -> Vec<Finding> {
    if model.is_empty() {
        return rules;
    }
    let mut kept = rules;
    for own in model {
        add(text, &mut kept, own);
    }
    kept.sort_by_key(|finding| finding.start);
    kept
}

fn add(text: &str, kept: &mut Vec<Finding>, own: Finding) {
    let meets = |other: &Finding| other.start < own.end && own.start < other.end;
    // Weaker findings of other labels give way if they lie inside.
    kept.retain(|other| {
        let inside = own.start <= other.start && other.end <= own.end;
        let weaker = !other.certain && other.score < own.score;
        !(inside && weaker && other.label != own.label && meets(other))
    });
    let same = |other: &Finding| meets(other) && other.label == own.label;
    let Some(first) = kept.iter().position(same) else {
        let taken: Vec<Range<usize>> = met(kept, &own);
        let parts = outside(own.start..own.end, taken);
        kept.extend(parts.into_iter().filter_map(|part| cut(text, own, part)));
        return;
    };
    let together = kept.iter().filter(|other| same(other));
    let start = together.clone().map(|it| it.start).min();
    let end = together.map(|it| it.end).max();
    let wide = start.unwrap_or(own.start).min(own.start)..end.unwrap_or(own.end).max(own.end);
    let mut whole = kept.swap_remove(first);
    whole.score = whole.score.max(own.score);
    kept.retain(|other| !same(other));
    (whole.start, whole.end) = (wide.start, wide.end);
    let taken = met(kept, &whole);
    let parts = outside(wide, taken);
    kept.extend(parts.into_iter().filter_map(|part| cut(text, whole, part)));
}

/// The ranges of the findings that overlap this one, in order.
fn met(kept: &[Finding], own: &Finding) -> Vec<Range<usize>> {
    let meets = |other: &&Finding| other.start < own.end && own.start < other.end;
    let mut ranges: Vec<Range<usize>> = kept
        .iter()
        .filter(meets)
        .map(|other| other.start..other.end)
        .collect();
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// What of a range lies in none of the others.
fn outside(whole: Range<usize>, taken: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = whole.start;
    for other in taken {
        if other.start > at {
            parts.push(at..other.start);
        }
        at = at.max(other.end);
    }
    if at < whole.end {
        parts.push(at..whole.end);
    }
    parts
}

/// The finding on a part of its range, without marks and spaces at the borders.
fn cut(text: &str, finding: Finding, part: Range<usize>) -> Option<Finding> {
    if part == (finding.start..finding.end) {
        return Some(finding);
    }
    let own = text.get(part.clone())?;
    let start = part.start + own.find(char::is_alphanumeric)?;
    let end = part.start + own.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let letters = text
        .get(start..end)?
        .chars()
        .filter(|c| c.is_alphanumeric());
    (letters.count() >= LEFT_OVER).then_some(Finding {
        start,
        end,
        ..finding
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;

    fn finding(range: Range<usize>, label: Label, score: u8) -> Finding {
        Finding {
            start: range.start,
            end: range.end,
            label,
            score,
            rule: "t",
            certain: false,
        }
    }

    fn joined(text: &str, rules: &[Finding], model: &[Finding]) -> Vec<(Label, String)> {
        let found = join(text, rules.to_vec(), model.to_vec());
        found
            .iter()
            .map(|f| (f.label, text[f.start..f.end].to_owned()))
            .collect()
    }

    #[test]
    fn one_label_makes_one_value() {
        let found = joined(
            "Dear Anna Maria Kowalska,",
            &[finding(5..9, Label::PERSON, 90)],
            &[finding(5..24, Label::PERSON, 80)],
        );
        assert_eq!(found, [(Label::PERSON, "Anna Maria Kowalska".to_owned())]);
    }

    #[test]
    fn what_is_left_beside_a_winner_stays() {
        let found = joined(
            "Anna anna@x.example Kowalska",
            &[finding(5..19, Label::EMAIL, 95)],
            &[finding(0..28, Label::PERSON, 80)],
        );
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["Anna", "anna@x.example", "Kowalska"]);
        let nothing = joined(
            "Anna, 5",
            &[finding(0..4, Label::USERNAME, 95)],
            &[finding(0..7, Label::PERSON, 80)],
        );
        assert_eq!(nothing, [(Label::USERNAME, "Anna".to_owned())]);
    }

    #[test]
    fn a_weak_number_inside_an_address_gives_way() {
        let found = joined(
            "12 Main Street 12345",
            &[finding(15..20, Label::BANK_ACCOUNT, 50)],
            &[finding(0..20, Label::ADDRESS, 80)],
        );
        assert_eq!(found, [(Label::ADDRESS, "12 Main Street 12345".to_owned())]);
    }
}
