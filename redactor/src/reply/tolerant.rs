//! Tokens as models write them back: in other case, with spaces, without their brackets, escaped for
//! JSON, HTML, URLs or Markdown. Only tokens that the vault holds are ever recognised.

use std::ops::Range;

use super::spelling::{Bracket, Form, Side, bracket};
use crate::token::LONGEST;
use crate::vault::Vault;

/// More spaces than this do not belong to a token.
const MOST_SPACES: usize = 4;
/// More backslashes than this in front do not belong to a token.
const MOST_SLASHES: usize = 4;

/// A token of the session in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What is replaced by its value.
    pub(super) range: Range<usize>,
    /// Its entry in the vault.
    pub(super) entry: usize,
    pub(super) form: Form,
}

/// What begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// Could become a token if the text goes on.
    Partial,
    Token {
        length: usize,
        entry: usize,
        form: Form,
    },
}

/// The tokens in a text and the first byte from which another may still be growing.
pub(super) struct Tokens {
    pub(super) found: Vec<Token>,
    pub(super) hold: usize,
}

/// Reads a text that stands behind `before`; `last` says that it will not go on.
///
/// A token without its brackets counts where it is a word of its own. What stands beside it, other
/// brackets or backticks say, stays.
pub(super) fn tokens(text: &str, before: Option<char>, vault: &Vault, last: bool) -> Tokens {
    let mut tokens = Tokens {
        found: Vec::new(),
        hold: text.len(),
    };
    if vault.is_empty() {
        return tokens;
    }
    let bytes = text.as_bytes();
    let (mut at, words) = (0, Words { text, before });
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let special = |byte: &u8| matches!(byte, b'<' | b'\\' | b'&' | b'%' | b'_');
        let Some(found) = rest.iter().position(special) else {
            break;
        };
        let mut start = at + found;
        let word = words.start(at, start);
        let next = match words.through(start, word, vault, last) {
            Match::No => read(bytes.get(start..).unwrap_or_default(), vault),
            found => {
                start = word;
                found
            }
        };
        match next {
            Match::Token {
                length,
                entry,
                form,
            } => {
                at = start + length;
                tokens.found.push(Token {
                    range: start..at,
                    entry,
                    form,
                });
            }
            Match::Partial if !last => {
                tokens.hold = start;
                return tokens;
            }
            Match::Partial | Match::No => at += found + 1,
        }
    }
    if !last {
        let start = words.start(at, text.len());
        if start < text.len() && words.read(start, vault, last) == Match::Partial {
            tokens.hold = start;
        }
    }
    tokens
}

/// Tokens without brackets.
struct Words<'t> {
    text: &'t str,
    before: Option<char>,
}

impl Words<'_> {
    /// Where the word begins that goes on at `end`, but not before `from`.
    fn start(&self, from: usize, end: usize) -> usize {
        let head = self.text.as_bytes().get(from..end).unwrap_or_default();
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        end - head.iter().rev().take(LONGEST).take_while(is_word).count()
    }

    /// Reads the word from `start` on that an underscore at `at`, escaped or not, is a part of.
    fn through(&self, at: usize, start: usize, vault: &Vault, last: bool) -> Match {
        match self.text.as_bytes().get(at..) {
            Some([b'_', ..] | [b'\\'] | [b'\\', b'_', ..]) => self.read(start, vault, last),
            _ => Match::No,
        }
    }

    /// Reads a word: letters, digits and underscores, which Markdown escapes.
    fn read(&self, start: usize, vault: &Vault, last: bool) -> Match {
        let left = self
            .text
            .get(..start)
            .and_then(|left| left.chars().next_back());
        if left
            .or(self.before.filter(|_| start == 0))
            .is_some_and(joins)
        {
            return Match::No;
        }
        let (mut normal, mut length) = (String::new(), 0);
        let rest = self.text.get(start..).unwrap_or_default();
        let mut chars = rest.chars().peekable();
        while let Some(c) = chars.next() {
            let escapes = c == '\\' && matches!(chars.peek(), None | Some('_'));
            if !escapes {
                if !(c.is_ascii_alphanumeric() || c == '_') {
                    let ends = !joins(c);
                    return vault
                        .spelled(&normal)
                        .filter(|_| ends)
                        .map_or(Match::No, |entry| Match::Token {
                            length,
                            entry,
                            form: Form::Plain,
                        });
                }
                normal.push(c.to_ascii_lowercase());
                if normal.len() > LONGEST || !vault.begins(&normal) {
                    return Match::No;
                }
            }
            length += c.len_utf8();
        }
        match vault.spelled(&normal) {
            Some(entry) if last && !rest.ends_with('\\') => Match::Token {
                length,
                entry,
                form: Form::Plain,
            },
            _ => Match::Partial,
        }
    }
}

/// Letters and digits of scripts that put spaces between words.
fn joins(c: char) -> bool {
    c == '_' || c.is_ascii_digit() || c.is_lowercase() || c.is_uppercase()
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
    match bracket(rest, Side::Opening, slashes) {
        Bracket::Here(length, form) => {
            let marked = slashes > 0 && form == Form::Plain;
            body(bytes, slashes + length, marked, form, vault)
        }
        Bracket::Perhaps => Match::Partial,
        Bracket::No => Match::No,
    }
}

/// Reads what follows the opening bracket. With `marked`, a backslash stands before `<`: it
/// belongs to the token only if another one escapes the rest as well, since it may be the end of
/// a Windows path.
fn body(bytes: &[u8], from: usize, marked: bool, form: Form, vault: &Vault) -> Match {
    let (mut at, mut normal, mut spaces, mut escaped) = (from, String::new(), 0, false);
    while at < LONGEST {
        let rest = bytes.get(at..).unwrap_or_default();
        let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        let behind = rest.get(slashes..).unwrap_or_default();
        match bracket(behind, Side::Closing, slashes) {
            Bracket::Here(closing, _) => {
                escaped |= slashes > 0;
                return match vault.spelled(&normal) {
                    Some(entry) if escaped || !marked => Match::Token {
                        length: at + slashes + closing,
                        entry,
                        form,
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
            Some(b'%') if matches!(form, Form::Percent(_)) => match underscore(behind) {
                Some(true) => {
                    normal.push('_');
                    at += UNDERSCORE.len() - 1;
                }
                Some(false) => return Match::No,
                None => return Match::Partial,
            },
            Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
                normal.push(char::from(byte.to_ascii_lowercase()));
            }
            _ => return Match::No,
        }
        if !normal.is_empty() && !vault.begins(&normal) {
            return Match::No;
        }
        at += 1;
    }
    Match::No
}

/// The underscore as some write it in URLs.
const UNDERSCORE: &[u8] = b"%5f";

/// Whether it stands at the start of `rest`; nothing if the text ends too early to say.
fn underscore(rest: &[u8]) -> Option<bool> {
    let common = rest.len().min(UNDERSCORE.len());
    let (head, wanted) = (rest.get(..common)?, UNDERSCORE.get(..common)?);
    let alike = head.eq_ignore_ascii_case(wanted);
    (!alike || common == UNDERSCORE.len()).then_some(alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::testing::Names;
    use crate::vault::Shape;

    fn vault() -> (Vault, String) {
        let mut vault = Vault::new();
        let entry = vault.insert("Tobias", Label::US_SSN, Shape::Text, false, &Names);
        let token = vault.entry(entry).unwrap().token.clone();
        (vault, token)
    }

    fn found(text: &str, vault: &Vault) -> Vec<(Range<usize>, Form)> {
        let tokens = tokens(text, None, vault, false);
        assert_eq!(tokens.hold, text.len(), "{text}");
        let found = tokens.found.into_iter();
        found.map(|token| (token.range, token.form)).collect()
    }

    /// Spellings of a token, and what they say of the text around it.
    fn spellings(token: &str) -> Vec<(String, Form)> {
        let inner = token.trim_matches(['<', '>']);
        let (name, digits) = inner.rsplit_once('_').unwrap();
        let marked = inner.replace('_', "\\_");
        let mut all = vec![
            (token.to_owned(), Form::Plain),
            (token.to_ascii_lowercase(), Form::Plain),
            (token.to_ascii_uppercase(), Form::Plain),
            (format!("< {inner} >"), Form::Plain),
            (format!("<{name} _ {digits}>"), Form::Plain),
            (format!("<{marked}>"), Form::Plain),
            (format!("\\<{marked}\\>"), Form::Plain),
            (format!("\\u003c{inner}\\u003e"), Form::Json(1)),
            (format!("\\u003C{inner}\\u003E"), Form::Json(1)),
            (format!("\\\\u003c{inner}\\\\u003e"), Form::Json(2)),
            (format!("&lt;{inner}&gt;"), Form::Entity(1)),
            (format!("&#60;{inner}&#62;"), Form::Entity(1)),
            (format!("&#x3C;{inner}&#x3E;"), Form::Entity(1)),
            (format!("&amp;lt;{inner}&amp;gt;"), Form::Entity(2)),
            (format!("%3C{inner}%3E"), Form::Percent(1)),
            (
                format!("%3c{}%3e", inner.replace('_', "%5F")),
                Form::Percent(1),
            ),
            (format!("%253C{inner}%253E"), Form::Percent(2)),
        ];
        for bare in [inner, &inner.to_ascii_lowercase(), &marked] {
            all.push((bare.to_owned(), Form::Plain));
        }
        all
    }

    #[test]
    fn spellings_of_a_known_token_are_recognised() {
        let (vault, token) = vault();
        let inner = token.trim_matches(['<', '>']);
        for (spelling, form) in spellings(&token) {
            for (before, after) in [
                ("a ", " b"),
                ("[", "]"),
                ("(", ")."),
                ("`", "`"),
                ("**", "**"),
                ("\u{79c1}\u{306f}", "\u{3067}\u{3059}"),
            ] {
                let text = format!("{before}{spelling}{after}");
                let range = before.len()..before.len() + spelling.len();
                assert_eq!(found(&text, &vault), [(range, form)], "{text}");
            }
            for cut in 1..spelling.len() {
                let part = &spelling[..cut];
                assert_eq!(tokens(part, None, &vault, false).hold, 0, "{part}");
                let whole = tokens(part, None, &vault, true).found;
                // Only brackets are missing.
                let word = part.to_ascii_lowercase().replace('\\', "");
                let is_word = word.contains(&inner.to_ascii_lowercase());
                assert!(whole.is_empty() || is_word, "{part}");
            }
        }
    }

    #[test]
    fn a_word_is_a_token_only_alone() {
        let (vault, token) = vault();
        let word = token.trim_matches(['<', '>']);
        for text in [
            format!("x{word} "),
            format!("_{word} "),
            format!("{word}x "),
            format!("{word}_ "),
            format!("{word}\u{e9} "),
            format!("7{word} "),
            format!("{} ", &word[..word.len() - 1]),
            format!("{} ", word.replace('_', "-")),
            format!("{} ", word.replace('_', "")),
        ] {
            assert!(found(&text, &vault).is_empty(), "{text}");
        }
        // What stands before is known also if it was released already.
        for (before, count) in [(Some('x'), 0), (Some('_'), 0), (Some('('), 1), (None, 1)] {
            let text = format!("{word}.");
            let tokens = tokens(&text, before, &vault, false);
            assert_eq!(tokens.found.len(), count, "{before:?}");
        }
        // The word may go on, until the text ends.
        assert_eq!(tokens(word, None, &vault, false).hold, 0);
        assert_eq!(tokens(word, None, &vault, true).found.len(), 1);
    }

    #[test]
    fn nothing_else_is_recognised_or_held() {
        let (vault, token) = vault();
        for text in [
            "<US_SSN_zzzzz1>",
            "US_SSN_zzzzzz.",
            "%3CUS_SSN_zzzzzz%3E",
            "&lt;US_SSN_zzzzzz&gt;",
            "< 5",
            "a < b",
            "<div>",
            "&amp; ",
            "100%.",
            "\\n",
            "<EMAIL_",
            "<US_SSN_k7!",
            "<US_SSN>",
            "\\u0041",
            "C:\\Users\\x",
            "snake_case_name",
            "https://example.com/?q=%20%3E",
        ] {
            assert!(found(text, &vault).is_empty(), "{text}");
        }
        let path = format!("C:\\{token}\\docs");
        let range = 3..3 + token.len();
        assert_eq!(found(&path, &vault), [(range, Form::Plain)]);
        assert_eq!(tokens("<US_SSN", None, &Vault::new(), false).hold, 7);
    }
}
