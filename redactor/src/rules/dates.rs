//! Dates, so that numbers are not taken for what they are part of.

/// Day, month and year in some order, or a date and a time.
pub(super) fn is_date(groups: &[&str]) -> bool {
    let number = |at: usize| {
        groups
            .get(at)
            .and_then(|g| g.parse::<u32>().ok())
            .unwrap_or(99)
    };
    let length = |at: usize| groups.get(at).map_or(0, |g| g.len());
    let year = |at: usize| length(at) == 4 && (1900..2100).contains(&number(at));
    let pair = |a: usize, b: usize| {
        length(a) <= 2
            && length(b) <= 2
            && (1..=31).contains(&number(a))
            && (1..=31).contains(&number(b))
    };
    (year(0) && pair(1, 2)) || (pair(0, 1) && year(2)) || (groups.len() == 2 && year(0) && year(1))
}

/// Whether a date of ISO 8601 stands in it, and what comes before is another number: a release
/// `1.6.1 (2022-12-09)`, or a log's next line.
pub(super) fn holds_date(text: &str) -> bool {
    text.as_bytes().windows(10).any(|window| {
        let [y0, y1, y2, y3, a, m0, m1, b, d0, d1] = window else {
            return false;
        };
        let digits = [y0, y1, y2, y3, m0, m1, d0, d1];
        digits.iter().all(|b| b.is_ascii_digit())
            && a == b
            && matches!(a, b'-' | b'/' | b'.')
            && matches!((y0, y1), (b'1', b'9') | (b'2', b'0'))
            && matches!((m0, m1), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2'))
            && matches!(d0, b'0'..=b'3')
    })
}
