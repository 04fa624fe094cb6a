//! Control sequences of terminals (ECMA-48), which set colours and move the cursor: raw, and as
//! the strings of programs write them.

/// The control character that begins one.
pub(super) const ESCAPE: u8 = 0x1B;
/// How strings write that character, behind their backslashes.
const SPELLINGS: &[&[u8]] = &[
    b"x1b", b"x1B", b"u001b", b"u001B", b"u{1b}", b"u{1B}", b"033", b"e", b"E",
];
/// More backslashes in a row than any nesting of strings makes.
const MOST_SLASHES: usize = 8;
/// The longest row of parameters: two colours of three numbers each take 33 bytes.
const PARAMETERS: usize = 48;
/// Parameters are numbers of no more digits: longer ones may be a value.
const DIGITS: usize = 4;
/// Nothing that goes on behind the end of a text is longer.
const LONGEST: usize = MOST_SLASHES + 6 + 1 + PARAMETERS + 1;

/// The length of the control sequence that a text begins with.
pub(super) fn length(text: &[u8]) -> Option<usize> {
    let lead = introducer(text)?;
    let body = text.get(lead..)?;
    let length = body_length(body);
    let last = body.get(length)?;
    (0x40..=0x7E).contains(last).then_some(lead + length + 1)
}

/// Where a sequence begins that may go on behind the end of the text; the text's length if none
/// does.
pub(super) fn cut_off(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.last() == Some(&ESCAPE) {
        return bytes.len() - 1;
    }
    let from = bytes.len().saturating_sub(LONGEST);
    let tail = bytes.get(from..).unwrap_or_default();
    let Some(bracket) = tail.iter().rposition(|b| *b == b'[') else {
        return bytes.len();
    };
    let body = tail.get(bracket + 1..).unwrap_or_default();
    if body_length(body) < body.len() {
        return bytes.len();
    }
    let begins = |at: &usize| {
        let lead = tail.get(*at..).and_then(introducer);
        lead == Some(bracket + 1 - at)
    };
    (0..bracket)
        .find(begins)
        .map_or(bytes.len(), |at| from + at)
}

/// The length of the escape character, however it is written, and the bracket behind it.
fn introducer(text: &[u8]) -> Option<usize> {
    let length = match text.first()? {
        &ESCAPE => 1,
        b'\\' => {
            let row = text.iter().take(MOST_SLASHES + 1);
            let slashes = row.take_while(|b| **b == b'\\').count();
            let name = text.get(slashes..)?;
            let spelling = SPELLINGS.iter().find(|known| name.starts_with(known))?;
            if slashes > MOST_SLASHES {
                return None;
            }
            slashes + spelling.len()
        }
        _ => return None,
    };
    (text.get(length) == Some(&b'[')).then_some(length + 1)
}

/// The length of the parameters and the byte that may stand before the last one.
fn body_length(body: &[u8]) -> usize {
    let mut digits = 0;
    let within = |b: &&u8| {
        digits = if b.is_ascii_digit() { digits + 1 } else { 0 };
        (0x30..=0x3F).contains(*b) && digits <= DIGITS
    };
    let parameters = body.iter().take(PARAMETERS).take_while(within).count();
    let intermediate = body.get(parameters).is_some_and(|b| b" !\"$'".contains(b));
    parameters + usize::from(intermediate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_in_every_spelling() {
        for lead in ["\u{1b}", "\\x1b", "\\u001b", "\\\\u001B", "\\033", "\\e"] {
            for body in [
                "[m",
                "[0m",
                "[01;31m",
                "[38;2;255;0;128m",
                "[?25l",
                "[2K",
                "[1 q",
            ] {
                let text = format!("{lead}{body}");
                assert_eq!(length(text.as_bytes()), Some(text.len()), "{text:?}");
                for (at, _) in text.char_indices().skip(1) {
                    // A spelling that is cut itself is an escape that is.
                    if at > lead.len() || lead.len() == 1 {
                        assert_eq!(cut_off(&format!("x{}", &text[..at])), 1, "{text:?} {at}");
                    }
                }
                assert_eq!(cut_off(&text), text.len());
            }
        }
    }

    #[test]
    fn what_may_be_a_value_is_none() {
        for text in [
            "\u{1b}[4111111111111111m",
            "\u{1b}]0;x",
            "[32m",
            "\\x1b32m",
            "\u{1b}[1\nm",
        ] {
            assert_eq!(length(text.as_bytes()), None, "{text:?}");
        }
    }
}
