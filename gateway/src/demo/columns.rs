//! Prints texts side by side where a terminal is wide enough, else one below the other.

/// Columns narrower than this are harder to read than no columns.
const NARROWEST: usize = 24;
const GAP: &str = " │ ";

/// Lays out texts under their headings. `width` is the terminal's, `None` if there is none.
pub(super) fn lay_out(columns: &[(&str, &str)], width: Option<usize>) -> String {
    let gaps = GAP.chars().count() * columns.len().saturating_sub(1);
    let each = width
        .and_then(|width| width.checked_sub(gaps))
        .and_then(|room| room.checked_div(columns.len()))
        .filter(|each| *each >= NARROWEST);
    match each {
        Some(each) => side_by_side(columns, each),
        None => one_below_the_other(columns),
    }
}

fn side_by_side(columns: &[(&str, &str)], each: usize) -> String {
    let cells: Vec<Vec<String>> = columns
        .iter()
        .map(|(heading, text)| {
            let mut lines = vec![(*heading).to_owned(), "─".repeat(each)];
            lines.extend(wrap(text, each));
            lines
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let mut out = String::new();
    for row in 0..height {
        let line: Vec<String> = cells
            .iter()
            .map(|lines| pad(lines.get(row).map_or("", String::as_str), each))
            .collect();
        out.push_str(line.join(GAP).trim_end());
        out.push('\n');
    }
    out
}

fn one_below_the_other(columns: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (heading, text) in columns {
        out.push_str(&format!("{heading}\n"));
        for line in text.lines() {
            out.push_str(&format!("    {line}\n"));
        }
    }
    out
}

fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks at spaces; a word that is longer than a line is cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        let mut length = 0;
        for word in paragraph.split_inclusive(' ') {
            let letters = word.trim_end().chars().count();
            if length > 0 && length + letters > width {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            for letter in word.chars() {
                if length == width && letter != ' ' {
                    lines.push(std::mem::take(&mut line));
                    length = 0;
                }
                line.push(letter);
                length += 1;
            }
        }
        lines.push(line);
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_wide_terminal_gets_columns() {
        let text = lay_out(
            &[("left", "one two three four five six"), ("right", "x")],
            Some(60),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("{:28} │ right", "left"));
        assert_eq!(
            lines[2],
            format!("{:28} │ x", "one two three four five six")
        );
    }

    #[test]
    fn a_pipe_and_a_narrow_terminal_get_blocks() {
        for width in [None, Some(40)] {
            let text = lay_out(&[("left", "one\ntwo"), ("right", "x")], width);
            assert_eq!(text, "left\n    one\n    two\nright\n    x\n");
        }
    }

    proptest! {
        #[test]
        fn wrapping_loses_no_letter_and_keeps_the_width(text in "[a-zé ]{0,200}", width in 1usize..40) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
