//! Tokens as models write them back: in other case, with spaces, escaped for JSON, HTML or
//! Markdown. Only tokens that the vault holds are ever recognised.

use std::ops::Range;

use crate::token::LONGEST;
use crate::vault::Vault;

/// More spaces than this do not belong to a token.
const MOST_SPACES: usize = 4;
/// More backslashes than this in front do not belong to a token.
const MOST_SLASHES: usize = 4;

/// What begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// Could become a token if the text goes on.
    Partial,
    Token {
        length: usize,
        entry: usize,
    },
}

/// The tokens in a text and the first byte from which another may still be growing.
pub(super) struct Tokens {
    pub(super) found: Vec<(Range<usize>, usize)>,
    pub(super) hold: usize,
}

/// Reads a text; `last` says that it will not go on.
pub(super) fn tokens(text: &str, vault: &Vault, last: bool) -> Tokens {
    let mut tokens = Tokens {
        found: Vec::new(),
        hold: text.len(),
    };
    if vault.is_empty() {
        return tokens;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr3(b'<', b'\\', b'&', bytes.get(at..).unwrap_or_default())
    {
        let start = at + found;
        match read(bytes.get(start..).unwrap_or_default(), vault) {
            Match::Token { length, entry } => {
                tokens.found.push((start..start + length, entry));
                at = start + length;
            }
            Match::Partial if !last => {
                tokens.hold = start;
                return tokens;
            }
            Match::Partial | Match::No => at = start + 1,
        }
    }
    tokens
}

fn read(bytes: &[u8], vault: &Vault) -> Match {
    let slashes = bytes
        .iter()
        .take(MOST_SLASHES + 1)
        .take_while(|byte| **byte == b'\\')
        .count();
    if slashes > MOST_SLASHES {
        return Match::No;
    }
    let rest = bytes.get(slashes..).unwrap_or_default();
    let (opening, marked) = match (bracket(rest, b"<", b"u003c", b"&lt;", slashes), slashes) {
        (Bracket::Here(1), 1..) => (1, true),
        (Bracket::Here(length), _) => (length, false),
        (Bracket::Perhaps, _) => return Match::Partial,
        (Bracket::No, _) => return Match::No,
    };
    body(bytes, slashes + opening, marked, vault)
}

/// Reads what follows the opening bracket. With `marked`, a backslash stands before `<`: it
/// belongs to the token only if another one escapes the rest as well, since it may be the end of
/// a Windows path.
fn body(bytes: &[u8], from: usize, marked: bool, vault: &Vault) -> Match {
    let (mut at, mut normal, mut spaces, mut escaped) = (from, String::new(), 0, false);
    while at < LONGEST {
        let rest = bytes.get(at..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        match bracket(
            rest.get(slashes..).unwrap_or_default(),
            b">",
            b"u003e",
            b"&gt;",
            slashes,
        ) {
            Bracket::Here(closing) => {
                escaped |= slashes > 0;
                return match vault.spelled(&normal) {
                    Some(entry) if escaped || !marked => Match::Token {
                        length: at + slashes + closing,
                        entry,
                    },
                    _ => Match::No,
                };
            }
            Bracket::Perhaps => return Match::Partial,
            Bracket::No => {}
        }
        escaped |= slashes > 0;
        at += slashes;
        match bytes.get(at) {
            Some(b' ' | b'\t') if spaces < MOST_SPACES => spaces += 1,
            Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
                normal.push(char::from(byte.to_ascii_lowercase()));
                if !vault.begins(&normal) {
                    return Match::No;
                }
            }
            _ => return Match::No,
        }
        at += 1;
    }
    Match::No
}

enum Bracket {
    Here(usize),
    No,
    /// The text ends before it is clear.
    Perhaps,
}

/// Whether a bracket stands at the start of `rest`: plain, as `u003c` behind a backslash, or as
/// an HTML entity.
fn bracket(rest: &[u8], plain: &[u8], unicode: &[u8], entity: &[u8], slashes: usize) -> Bracket {
    if rest.is_empty() {
        return Bracket::Perhaps;
    }
    for spelling in [plain, if slashes > 0 { unicode } else { entity }] {
        let common = rest.len().min(spelling.len());
        let (head, wanted) = (rest.get(..common), spelling.get(..common));
        if let (Some(head), Some(wanted)) = (head, wanted)
            && head.eq_ignore_ascii_case(wanted)
        {
            return if common == spelling.len() {
                Bracket::Here(common)
            } else {
                Bracket::Perhaps
            };
        }
    }
    Bracket::No
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::testing::Names;
    use crate::vault::Shape;

    fn vault() -> (Vault, String) {
        let mut vault = Vault::new();
        let entry = vault.insert("Tobias", Label::PERSON, Shape::Text, false, &Names);
        let token = vault.entry(entry).unwrap().token.clone();
        (vault, token)
    }

    #[test]
    fn spellings_of_a_known_token_are_recognised() {
        let (vault, token) = vault();
        let inner = token.trim_matches(['<', '>']);
        let (name, digits) = inner.split_once('_').unwrap();
        for spelling in [
            token.clone(),
            token.to_ascii_lowercase(),
            token.to_ascii_uppercase(),
            format!("< {inner} >"),
            format!("<{name} _ {digits}>"),
            format!("\\u003c{inner}\\u003e"),
            format!("\\u003C{inner}\\u003E"),
            format!("\\\\u003c{inner}\\\\u003e"),
            format!("&lt;{inner}&gt;"),
            format!("<{name}\\_{digits}>"),
            format!("\\<{name}\\_{digits}\\>"),
        ] {
            let text = format!("a {spelling} b");
            let tokens = tokens(&text, &vault, false);
            assert_eq!(tokens.found, [(2..2 + spelling.len(), 0)], "{spelling}");
            assert_eq!(tokens.hold, text.len());
            for cut in 1..spelling.len() {
                let part = &spelling[..cut];
                let hold = super::tokens(part, &vault, false).hold;
                assert_eq!(hold, 0, "{part}");
                assert!(super::tokens(part, &vault, true).found.is_empty());
            }
        }
    }

    #[test]
    fn nothing_else_is_recognised_or_held() {
        let (vault, token) = vault();
        for text in [
            "<PERSON_zzzzz1>",
            "< 5",
            "a < b",
            "<div>",
            "&amp;",
            "\\n",
            "<EMAIL_",
            "<PERSON_k7!",
            "<PERSON>",
            "\\u0041",
            "C:\\Users\\x",
        ] {
            let tokens = tokens(text, &vault, false);
            assert!(tokens.found.is_empty(), "{text}");
            assert_eq!(tokens.hold, text.len(), "{text}");
        }
        let path = format!("C:\\{token}\\docs");
        assert_eq!(
            tokens(&path, &vault, false).found,
            [(3..3 + token.len(), 0)]
        );
        assert_eq!(tokens("<PERSON", &Vault::new(), false).hold, 7);
    }
}
