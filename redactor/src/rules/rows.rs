//! Rows of tables: what stands beside a mail address in a record of a person.

use crate::label::Label;
use crate::rule::{Candidate, Hit, Left, Rule, Tail};

use super::{checked, dates};

/// The domain of a mail address, and what sets cells apart.
const CELL: &str = r#"@[A-Za-z0-9.-]{3,64}["']?[;|,\t] ?["']?"#;
/// Bytes behind it in which a date has to end.
const DATE: usize = 32;

pub(super) fn rules() -> Vec<Rule> {
    vec![checked(
        "birth-in-row",
        Label::DATE_OF_BIRTH,
        CELL,
        (Left::Any, Tail::Near(DATE)),
        birth,
    )]
}

/// A date some time back in the cell behind the mail address. Recent ones are of the record.
fn birth(candidate: &Candidate<'_>) -> Option<Hit> {
    let rest = candidate.text.get(candidate.head..candidate.end)?;
    let length = dates::length(rest)?;
    let next = rest.as_bytes().get(length);
    let ends = next.is_none_or(|b| b";|,\t\"'\n\r".contains(b));
    (ends && dates::may_be_birth(rest.get(..length)?)).then_some(Hit {
        start: candidate.head,
        end: candidate.head + length,
        label: Label::DATE_OF_BIRTH,
        score: 72,
        certain: false,
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::testing::found;

    #[test]
    fn dates_beside_a_mail_address() {
        for (text, dates) in [
            (
                "bad row \"W. Young;w.young@example.org;1961-12-01\" at",
                &["1961-12-01"][..],
            ),
            ("7,w.young@example.org,March 5, 1977\n", &["March 5, 1977"]),
            ("7,w.young@example.org,2024-01-05\n", &[]),
            ("w.young@example.org, 1961-12-01T10:00:00Z", &[]),
        ] {
            found(text, "DATE_OF_BIRTH", dates);
        }
    }
}
